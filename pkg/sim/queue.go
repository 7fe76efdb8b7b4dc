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
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is the work queue of a process. A key is in it at most once; a key that is added
// while it is being processed comes back when that is done.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	now        func() time.Time
	ready      []reconcile.Request
	processing *reconcile.Request
	dirty      bool
	timers     map[reconcile.Request]timer
	failures   map[reconcile.Request]int
	// fired counts the timers of a key since the last change of the world.
	fired map[reconcile.Request]int
	// added are the keys that the handlers of one event added.
	added []reconcile.Request
}

type timer struct {
	at   time.Time
	wait time.Duration
}

func newQueue(now func() time.Time) *queue {
	return &queue{
		now: now, timers: map[reconcile.Request]timer{},
		failures: map[reconcile.Request]int{}, fired: map[reconcile.Request]int{},
	}
}

// Add implements workqueue.TypedInterface.
func (q *queue) Add(req reconcile.Request) {
	q.added = append(q.added, req)
	switch {
	case q.processing != nil && *q.processing == req:
		q.dirty = true
	case !slices.Contains(q.ready, req):
		q.ready = append(q.ready, req)
	}
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue) AddAfter(req reconcile.Request, wait time.Duration) {
	if wait <= 0 {
		q.Add(req)
		return
	}
	at := q.now().Add(wait)
	if old, ok := q.timers[req]; !ok || at.Before(old.at) {
		q.timers[req] = timer{at, wait}
	}
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface: 5 ms, doubled with
// every failure, as controller-runtime's default.
func (q *queue) AddRateLimited(req reconcile.Request) {
	const first, longest = 5 * time.Millisecond, 1000 * time.Second
	wait := longest
	if n := q.failures[req]; n < 18 {
		wait = min(first<<n, longest)
	}
	q.failures[req]++
	q.AddAfter(req, wait)
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue) Forget(req reconcile.Request) { delete(q.failures, req) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue) NumRequeues(req reconcile.Request) int { return q.failures[req] }

// Len implements workqueue.TypedInterface.
func (q *queue) Len() int { return len(q.ready) }

// take is the next key to reconcile.
func (q *queue) take() reconcile.Request {
	req := q.ready[0]
	q.ready = q.ready[1:]
	q.processing, q.dirty = &req, false
	return req
}

// done puts a key back that was added in the meantime.
func (q *queue) done() {
	req := *q.processing
	q.processing = nil
	if q.dirty {
		q.dirty = false
		q.Add(req)
	}
}

// nextTimer is the key whose timer is due first.
func (q *queue) nextTimer() (reconcile.Request, timer, bool) {
	var first reconcile.Request
	var found timer
	ok := false
	for _, req := range sortedKeys(q.timers) {
		if t := q.timers[req]; !ok || t.at.Before(found.at) {
			first, found, ok = req, t, true
		}
	}
	return first, found, ok
}

func sortedKeys[V any](m map[reconcile.Request]V) []reconcile.Request {
	return slices.SortedFunc(maps.Keys(m), func(a, b reconcile.Request) int { return strings.Compare(a.String(), b.String()) })
}

// idle says whether only timers are left, and each has fired twice without effect.
func (q *queue) idle() bool {
	for req := range q.timers {
		if q.fired[req] < 2 {
			return false
		}
	}
	return len(q.ready) == 0 && q.processing == nil
}

// snapshot is the queue for a reader.
func (q *queue) snapshot() Queue {
	var s Queue
	for _, req := range q.ready {
		s.Waiting = append(s.Waiting, req.String())
	}
	if q.processing != nil {
		s.Processing = []string{q.processing.String()}
		if q.dirty {
			s.Dirty = s.Processing
		}
	}
	for _, req := range sortedKeys(q.timers) {
		s.BackingOff = append(s.BackingOff, req.String())
	}
	return s
}
