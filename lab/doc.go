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

// Package lab shows the machinery of a running controller on a page, one step after the
// other, and lets a learner pause it, single-step it and break it.
//
// One line attaches it to any controller-runtime program, after the manager is made and
// before controllers are added to it:
//
//	mgr, err := ctrl.NewManager(cfg, ctrl.Options{})
//	mgr, err = lab.Attach(mgr)                       // the lab
//	err = (&MyReconciler{mgr.GetClient()}).SetupWithManager(mgr)
//	err = mgr.Start(ctx)
//
// # What is tapped, and how
//
//   - API server and reflector: the manager's HTTP client. Its transport is wrapped, asks for
//     JSON, and hands one watch event after the other to client-go's reflector.
//   - Queue of deltas: client-go has no tap there. The step says what the reflector does with
//     the event; the next step, at the indexer, confirms it.
//   - Indexer, handlers, predicates: the manager that Attach returns has a cache whose informers
//     wrap each event handler. A handler that puts nothing into the queue is shown as well:
//     then a predicate refused the event, or it leads to no object.
//   - Work queue and Reconcile: a controller that is added gets the flight recorder's tap
//     (pkg/flightrecorder) around its queue and its reconciler, and the lab's own around that.
//     controller-runtime keeps both in exported fields of an internal type; Attach sets them
//     by reflection, and Add fails with a sentence where a version has no such fields.
//   - Reads and writes: the manager's client and, below it, the transport.
//
// What a program does past its manager, with a client of its own, is not seen.
//
// # Gates
//
// While the lab is paused, each of these is held until it is stepped: a watch event before the
// reflector reads it, a key before the queue hands it out, a Reconcile before it begins, a write
// before it is sent.
package lab
