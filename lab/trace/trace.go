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

// Package trace describes a walk: what the machinery of a controller did, one step
// after the other, and at which box of the lab's picture. The live page records walks
// of a running manager, and the graders of the exercises write the shortest one that
// breaks a reconciler; both are drawn by the same page.
package trace

import (
	"strconv"
	"time"
)

// Boxes of the picture, in the order in which a change passes through them.
const (
	BoxUser      = "user"      // kubectl, a button, or another controller
	BoxAPI       = "api"       // the API server and its store
	BoxReflector = "reflector" // list and watch
	BoxDeltas    = "deltas"    // the queue of deltas
	BoxIndexer   = "indexer"   // the cache that a reconcile reads
	BoxHandlers  = "handlers"  // event handlers and predicates
	BoxQueue     = "queue"     // the work queue
	BoxReconcile = "reconcile" // one call of Reconcile
	BoxWrites    = "writes"    // what it asked the API server for
	BoxFault     = "fault"     // a crash, a lost answer, a clock that jumps
)

// Walk is a sequence of steps with the outcome.
type Walk struct {
	Title Text `json:"title"`
	// Violation says which promise was broken. Empty for a walk that went well.
	Violation *Text  `json:"violation,omitempty"`
	Steps     []Step `json:"steps"`
}

// Step is one thing that happened.
type Step struct {
	// Box is where, one of the constants above.
	Box string `json:"box"`
	// Verb is what, as the machinery names it: ADDED, Replaced, Add, AddAfter, create, conflict.
	Verb string `json:"verb"`
	// Object is what it happened to: "Pod default/web-0".
	Object string `json:"object,omitempty"`
	// Text explains the step in a sentence.
	Text Text `json:"text"`
	// Process is set where more than one operator runs: "a", "b".
	Process string `json:"process,omitempty"`
	// Queue is the state of the work queue after the step, where the step changed it.
	Queue *Queue `json:"queue,omitempty"`
	// Stored and Cached list the objects at the API server and in the indexer after the step, where the step
	// changed them: nil is no change, an empty list is nothing there.
	Stored []string `json:"stored,omitzero"`
	Cached []string `json:"cached,omitzero"`
	// Milliseconds since the walk began.
	At int64 `json:"at,omitempty"`
}

// Queue lists the keys in a work queue. A key can be dirty and processing at once.
type Queue struct {
	Waiting    []string `json:"waiting,omitempty"`    // ready to be taken
	Dirty      []string `json:"dirty,omitempty"`      // added again while being processed
	Processing []string `json:"processing,omitempty"` // a Reconcile works on it
	BackingOff []string `json:"backingOff,omitempty"` // waits after a failure, longer each time
	// Delayed keys wait because a Reconcile asked for it. A walk of the simulator has all
	// timers here.
	Delayed []string `json:"delayed,omitempty"`
}

// Text is a sentence in the languages of the lab.
type Text struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// Brief is a duration for a sentence: no more digits than people read.
func Brief(d time.Duration) string {
	if d >= 10*time.Second || d <= -10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// Counted is a number with its noun.
func Counted[N int | int32](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(int(n)) + " " + noun + "s"
}
