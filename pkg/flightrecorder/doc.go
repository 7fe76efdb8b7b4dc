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

// Package flightrecorder records, for every reconcile of a controller-runtime operator, why it ran and
// what it did.
//
// controller-runtime merges all events for an object into one request, and the request carries nothing
// but a name: by the time the reconciler runs, the reason is gone. This package writes the reasons down
// as they come in and hands them to the run that the queue makes of them. A [Record] holds
//
//   - all its triggers: the watch events with kind, name, resourceVersion, the paths of the fields that
//     changed and the field manager that wrote them; or a RequeueAfter, a retry with its count, a resync,
//     a start-up, a request by hand;
//   - how long the request waited, how long the run took, its result or error;
//   - every write to the API server made with the run's context: verb, object, status, latency;
//   - whatever the operator adds with [SetPayload].
//
// The package needs nothing but controller-runtime, and works with any operator built on it.
//
// # Wiring
//
// One Recorder per operator, one [Tap] per controller. What an operator has to add:
//
//	rec, err := flightrecorder.New(flightrecorder.Config{})
//	mgr, err := ctrl.NewManager(cfg, ctrl.Options{NewClient: rec.NewClient})     // writes
//	tap, err := flightrecorder.NewTap(rec, mgr, "podmanager", &v1.PodManager{})
//	err = ctrl.NewControllerManagedBy(mgr).
//		For(&v1.PodManager{}, builder.WithPredicates(tap.ForPredicate())).       // events
//		Owns(&corev1.Pod{}, builder.WithPredicates(tap.OwnsPredicate())).        // events
//		Watches(&corev1.Node{}, tap.Handler(handler)).                          // events
//		WithOptions(tap.Options(controller.Options{})).                         // the queue
//		Complete(tap.Reconciler(reconciler))                                    // runs
//
// Each piece is worth having without the others; what is not wired is recorded as
// [TriggerUnattributed], or not at all. A cache that strips managedFields takes the names of the writers
// away: use [Recorder.StripManagedFields] for it. Clients of client-go are recorded by
// [Recorder.Transport].
//
// # Asking
//
// [Recorder.Query] finds records by object, by time, by outcome, or by an object they touched;
// [Recorder.Subscribe] streams them; [Recorder.Stats] says what had to be left out. A Record marshals to
// JSON. There is no server in here: put the answers where your operator has its own.
//
// With [Config.File] the records also go to a file of JSON lines, which outlives the process, and
// [Replay] hands the payloads back to a function: if the payload holds what the operator saw and what it
// decided, yesterday's decisions can be made again at a desk.
//
// With [Config.TracerProvider] each run is a span, the root of its own trace, linked to its triggers:
// through the annotation of KEP-5915, tracing.k8s.io/traceparent, and, for events that the operator's own
// writes led to, to the span of the run that wrote.
//
// # What it costs
//
// Memory is bounded by [Config.MaxBytes], 64 MiB unless set: each object keeps its newest records, and
// when the bytes run out, the oldest of the namespace that has most go. Nothing waits: a subscriber that does not read, or a disk
// that does not write, loses records, and they are counted. A run costs some microseconds; BenchmarkReconcile
// measures it against the same operator without the recorder.
//
// # What it does not know
//
// No value of any object gets into a record: changes are paths, writes have no bodies, and of API errors
// the quoted values are taken out. Payloads are the operator's own words; the values of Secrets and of
// environment variables are taken out of them too, by their place in the JSON (see [SetPayload]), which is
// a net, not a wall.
//
// Two limits come with Kubernetes. The object does not show who deleted it: no manager is recorded for a
// deletion. And managedFields have times in seconds: the writer of the second of two writes within one
// second may have to be guessed; the change is then marked [Change.Inferred].
package flightrecorder
