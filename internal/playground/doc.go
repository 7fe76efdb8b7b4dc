/*
Copyright 2026 The pod-operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package playground is the command of the same name: a Kubernetes with the
// operator on it, on a machine that has neither.
//
// "up" is a supervisor. It starts the control plane (internal/localkube),
// installs what config/ ships, runs bin/manager as a process that logs in as
// the operator's own ServiceAccount, applies the sample, shows it until it is
// ready, and then waits for the end: Ctrl-C, "down", or the death of a
// component. With --detach it does all that in a session of its own.
//
// The supervisor writes .playground/state.json, and the other verbs go by it.
// It names every process by its id and its start time, because ids are given
// out again: a process is signalled only when both match. The file may be
// stale, when the supervisor was killed; the processes then are gone as well,
// for they die with it, and the next "up" says so and continues with the data.
package playground
