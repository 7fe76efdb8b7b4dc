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

// Package conformance judges kinds that keep pods: does a controller do what every
// controller of pods should do? It knows a kind only by an Adapter, a YAML file
// that says where its replicas, its pod template and its status are, so that the
// same behaviours judge a Deployment, a PodManager and the operator that you wrote
// yesterday.
//
// A Behaviour is a name, a sentence and an ordered list of steps. Each one runs in a
// namespace of its own. Two watches write down every version of every pod and of
// the object under judgement there, and a behaviour is judged by that log: not only
// by how things ended, but by what was true at each resourceVersion on the way.
// Nothing in the log depends on when the suite looked.
//
// The result is a Report: for each profile what passed, what failed, with a sentence,
// and what does not apply, with the adapter's reason.
package conformance
