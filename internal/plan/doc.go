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

// Package plan is the pure core: it decides what happens to a fleet of pods.
//
// Plan takes what is desired, what was observed and the time, and returns a
// Decision: the actions to take, for each the Why, for what is held back the
// blocker, and when to look again. Report takes a Decision and what became of
// its actions and returns the status, the history and the events. Neither has
// a client, a clock, a logger or any state, so the controller, the command
// line, the admission warnings, the simulator and a replay all ask the same
// function and get the same answer.
//
// The algorithm is an ordered list of rules (see plan.go). Each is one function in
// a file of its name. A rule reads the classified fleet, appends actions or
// blockers and moves the pods it dealt with out of the way of the rules after it.
// What rules share is in scene.go and brief.go (the classified fleet), text.go
// (wording), budget.go, claims.go, names.go, order.go and slots.go; deadline.go is part of
// the rule progress, rebalance.go and tally.go of find-leaving, pin.go of revise, rank.go of scale-down.
//
// Invariants, for any input:
//   - a pod that is not the owner's is never acted on, except to adopt it;
//   - no slot gets a second pod while one is alive in it;
//   - one pod gets one action at most; only a resize goes with the update it
//     is part of, and a word to a pod's holder with what else is done to it;
//   - every action has a Why, and everything held back has a Blocked;
//   - the order of the observed pods does not matter;
//   - a fleet at its goal gets no action.
package plan
