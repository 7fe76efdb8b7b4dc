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

package sim

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// World is what a reconciler is run in.
type World struct {
	// Scheme knows all kinds of the world.
	Scheme *runtime.Scheme
	// ClusterScoped are kinds without a namespace.
	ClusterScoped []client.Object
	// Objects exist before the operator starts.
	Objects []client.Object
	// New makes the reconciler of a process. It is called at the start of every run and
	// again after every crash, so that memory does not survive what it would not survive.
	New func(Process) reconcile.Reconciler
	// Watches are what wakes the reconciler. Kinds that are read without a watch are
	// cached as well, but their events start nothing.
	Watches []Watch
	// Actions are what a user does, in this order.
	Actions []Action
	// Others are other controllers. Each is asked for its next move at every step.
	Others []Other
	// Kubelet starts pods and ends those that are being deleted. Without it, pods stay
	// Pending and a delete removes them at once.
	Kubelet bool
	// Admit is called for every create and update, as a webhook is; it may change the
	// object. An error refuses the write.
	Admit func(Admission) error

	// Invariants must hold after every step, and Goals when the world rests: nothing is
	// left to do, and what comes back by a timer changes nothing.
	Invariants, Goals []Promise
	// MayRunForever leaves out the promise that the world comes to rest.
	MayRunForever bool

	// Faults are the faults that may happen, and MaxFaults how many of them in one run;
	// 0 means one.
	Faults    []Fault
	MaxFaults int
	// Fenced: the API server refuses the writes of a leader that has been replaced.
	Fenced bool
	// Jump is by how much a ClockJump turns the clock; 0 means an hour.
	Jump time.Duration
}

// Process is what one process of the operator gets.
type Process struct {
	// Name is a, b and so on.
	Name string
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	Scheme    *runtime.Scheme
	Clock     clock.PassiveClock
	Recorder  events.EventRecorder
	// Term counts the leaders: 1 for the first one. It is what a Lease has as
	// leaseTransitions, and grows with every process.
	Term int64
	// Serve says that the process serves its webhooks from now on.
	Serve func()
}

// Action is something a user does.
type Action struct {
	Name string
	Do   func(ctx context.Context, c client.Client) error
}

// Other is another controller.
type Other struct {
	Name string
	// Next returns the next thing it would do, or nil. It must not write.
	Next func(s *State) *Action
}

// Promise is something that must be true.
type Promise struct {
	// Name identifies the promise in results.
	Name string
	// Check returns an error that says how the promise is broken.
	Check func(s *State) error
}

// Admission is a write before it is stored.
type Admission struct {
	// Verb is create or update; patches are updates.
	Verb string
	// By is the process that writes, or empty for users and other controllers.
	By string
	// Serving says whether a process of the operator runs that has called Serve.
	Serving bool
	Object  client.Object
	// Old is the stored object, nil for a create.
	Old client.Object
}

// Fault is something that goes wrong.
type Fault string

// The faults.
const (
	// Conflict answers an update, a patch or a delete with 409.
	Conflict Fault = "conflict"
	// Throttle answers a write with 429.
	Throttle Fault = "throttle"
	// LostAnswer carries out a write and answers with a time-out.
	LostAnswer Fault = "lost answer"
	// CutWatch ends a watch; the cache stays as it is until the next list.
	CutWatch Fault = "cut watch"
	// Crash ends the process, before or after a write or between two reconciles, and
	// another one starts.
	Crash Fault = "crash"
	// SecondLeader starts another process in the middle of a reconcile, whose process
	// does not know that it has been replaced.
	SecondLeader Fault = "second leader"
	// ClockJump turns the clock forward.
	ClockJump Fault = "clock jump"
)

// AllFaults lists the faults.
func AllFaults() []Fault {
	return []Fault{Conflict, Throttle, LostAnswer, CutWatch, Crash, SecondLeader, ClockJump}
}

// RestPromise is the name of the promise that every world has: it comes to rest.
const RestPromise = "rest"

// State is what promises are checked on.
type State struct {
	stored map[objectKey]*record
	kinds  *kinds
	// Now is the time.
	Now time.Time
	// Writes are the changes that the last step made.
	Writes []Write
	// Recorded are the events that the last step recorded.
	Recorded []Recorded
	// Polling is the shortest time after which a reconcile asked to run again although
	// the world rests, and 0 where none did. It is set for goals.
	Polling time.Duration
	// Failing is the error of the last reconcile of each key that ended with one.
	Failing map[string]error
}

// Write is one change of an object.
type Write struct {
	// By is the process, or empty for users and other controllers.
	By string
	// Verb is create, update, update status, patch or delete.
	Verb string
	// Before is nil after a create, and After is nil when the object is gone.
	Before, After client.Object
}

// Recorded is an event for users.
type Recorded struct{ Object, Type, Reason, Note string }

// All lists the stored objects of a type by namespace and name. They must not be
// changed.
func All[T client.Object](s *State) []T {
	var list []T
	for _, r := range sorted(s.stored) {
		if obj, ok := r.obj.(T); ok {
			list = append(list, obj)
		}
	}
	return list
}
