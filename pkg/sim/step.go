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
	"fmt"
	"strings"
	"time"
)

// StepKind says what kind of thing happened.
type StepKind string

// The kinds of steps.
const (
	// StepDeliver: a watch event reached a cache and the handlers.
	StepDeliver StepKind = "deliver"
	// StepRelist: a cache listed its kind anew.
	StepRelist StepKind = "relist"
	// StepReconcile: a reconcile started.
	StepReconcile StepKind = "reconcile"
	// StepCall: the API server carried out a call of a reconcile.
	StepCall StepKind = "call"
	// StepAction: a user did something.
	StepAction StepKind = "action"
	// StepOther: another controller did something.
	StepOther StepKind = "other"
	// StepTime: time passed until a timer of the queue was due.
	StepTime StepKind = "time"
	// StepFault: something went wrong.
	StepFault StepKind = "fault"
)

// Step is one thing that happened in a run.
type Step struct {
	Kind StepKind
	// Process is the process it happened to: a, b and so on.
	Process string
	// Verb is ADDED, MODIFIED or DELETED for a delivery; create, update, update status,
	// patch, patch status, delete, get or list for a call; the name of an action or of
	// another controller; crash, crash before or crash after for the fault Crash.
	Verb string
	// Object is what it happened to, such as "Pod default/web-0".
	Object string
	// Fault is set for a fault.
	Fault Fault
	// Error is the answer to a call that failed.
	Error string
	// Dropped: all predicates refused a delivery. Enqueued are the keys that it added to
	// the queue.
	Dropped  bool
	Enqueued []string
	// Watched says whether the reconciler watches the kind of a delivery.
	Watched bool
	// Next is the call that the reconcile waits for after this step.
	Next string
	// Returned is set if a reconcile ended in this step.
	Returned *Returned
	// Recorded are the events that were recorded in this step.
	Recorded []Recorded
	// Queue is the work queue of the process after the step.
	Queue Queue
	// Stored and Cached list the objects at the API server and in the caches of the
	// process after the step.
	Stored, Cached []string
	// At is the time since the start.
	At time.Duration
}

// Returned is what a reconcile returned.
type Returned struct {
	Key          string
	Error        string
	RequeueAfter time.Duration
}

// Queue lists the keys of a work queue.
type Queue struct{ Waiting, Dirty, Processing, BackingOff []string }

// String is the step in a line.
func (s Step) String() string {
	var b strings.Builder
	if s.Process != "" {
		b.WriteString(s.Process + ": ")
	}
	b.WriteString(s.happened())
	if s.Error != "" {
		b.WriteString(": " + s.Error)
	}
	if s.Next != "" {
		b.WriteString("; asks for " + s.Next)
	}
	if r := s.Returned; r != nil {
		switch {
		case r.Error != "":
			b.WriteString("; the reconcile fails: " + r.Error)
		case r.RequeueAfter > 0:
			fmt.Fprintf(&b, "; the reconcile ends, again after %s", r.RequeueAfter)
		default:
			b.WriteString("; the reconcile ends")
		}
	}
	return b.String()
}

func (s Step) happened() string {
	switch s.Kind {
	case StepDeliver:
		text := "event " + s.Verb + " " + s.Object
		switch {
		case !s.Watched:
			return text + ", cached only"
		case s.Dropped:
			return text + ", dropped by a predicate"
		case len(s.Enqueued) == 0:
			return text + ", wakes nothing"
		}
		return text + ", wakes " + strings.Join(s.Enqueued, ", ")
	case StepRelist:
		return "lists " + s.Object + " again"
	case StepReconcile:
		return "reconcile of " + s.Object
	case StepCall:
		return s.Verb + " " + s.Object
	case StepAction:
		return "user: " + s.Verb
	case StepOther:
		return s.Verb + " " + s.Object
	case StepTime:
		return "time passes until the timer of " + s.Object
	case StepFault:
		return "FAULT " + s.faulted()
	}
	return string(s.Kind)
}

func (s Step) faulted() string {
	switch s.Fault {
	case LostAnswer:
		return s.Verb + " " + s.Object + " is carried out, but its answer is lost"
	case Conflict, Throttle:
		return s.Verb + " " + s.Object + " is refused"
	case CutWatch:
		return "the watch of " + s.Object + " is cut"
	case Crash:
		return s.Verb + " " + s.Object
	case SecondLeader:
		return "a second leader starts"
	case ClockJump:
		return "the clock jumps"
	}
	return string(s.Fault)
}
