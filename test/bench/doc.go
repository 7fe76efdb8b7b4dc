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

// Package bench measures PodManager beside the controllers that people know.
//
// Every contender runs in a process of its own, alone, with a login of its own
// on the same control plane: so its CPU and memory are the process's, and its
// requests are those of its user in the audit log. All logins have the same
// rights and fall under the same priority level; no client throttles itself.
// A step is run by one contender after the other, in another order in each
// repetition, each time in a fresh namespace and with a fresh process that has
// made and removed one pod before the clock starts. Before all of them a bare
// loop warms the cluster up. When a step's goal is
// reached, its writes are counted until the contender has been silent for a
// while, because what comes late was sent too.
//
// The clock is this process's: from just before the request that starts the
// step to the watch event that shows the goal. The observer that watches for it
// is the same for all.
package bench
