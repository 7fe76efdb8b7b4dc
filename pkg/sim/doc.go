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

// Package sim runs a reconciler against every interleaving of a small world.
//
// A World is a scheme, the objects at the start, the reconciler, its watches, what
// users do, and promises. The reconciler gets an ordinary client: reads come from a
// cache that lags behind, writes go to a simulated API server with resourceVersions,
// UIDs, finalizers, generated names, status subresources and a garbage collector.
// Everything happens in one order that the explorer chooses: deliver one watch event,
// start a reconcile, carry out one write, one action of a user, one fault.
//
// The fair order of a world is: answer what is asked, deliver what is due, reconcile
// what is queued, and only then the next action of the user; time passes when nothing
// else is left to do. [Explore] tries this order first, then all orders that deviate
// from it once, twice and so on. An order is a list of choices, and a run repeats the
// list from the start, because a reconcile under way cannot be copied. Where a run
// reaches a state that an earlier run has reached, it ends: all that follows has been
// tried, or is going to be. When no state is left, the search is complete; when its
// limit comes first, random orders follow.
//
// A failure is shrunk: first by leaving out steps, then by a search for shorter orders,
// breadth first. The result is a list of steps to read.
//
// A reconciler must be deterministic: the same reads and answers lead to the same
// writes. It gets its clock from [Process]. It may keep memory in its fields, but not in
// package variables.
package sim
