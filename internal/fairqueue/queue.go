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

// Package fairqueue is the queue of a controller whose objects belong to tenants: namespaces take
// turns, however many objects each of them has waiting, and no namespace has more than its share of
// the workers.
//
// client-go's queue keeps an object from being worked on twice at once and counts for the metrics;
// this package tells it which object is next. Like controller-runtime's priority queue, it keeps one
// place for an object: an add that waits is dropped when the object's turn comes before.
package fairqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Share is how many of the workers one namespace may have: half of them, so that an object of
// another one finds a worker also while every pass of the first one takes long.
func Share(workers int) int { return max(1, (workers+1)/2) }

// New returns what makes the queue of a controller; it fits controller.Options.NewQueue.
func New(share int, clock clock.WithDelayedExecution) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return newQueue(name, limiter, share, clock)
	}
}

func newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], share int, clock clock.WithDelayedExecution) *queue {
	turns := newTurns(share)
	return &queue{
		TypedInterface: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: turns}),
		turns:          turns, limiter: limiter, clock: clock, waiting: map[reconcile.Request]*wait{},
	}
}

// queue implements priorityqueue.PriorityQueue.
type queue struct {
	// TypedInterface is client-go's. It calls turns with its lock held, so it is never called with
	// theirs.
	workqueue.TypedInterface[reconcile.Request]
	turns   *turns
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	clock   clock.WithDelayedExecution

	mu      sync.Mutex
	waiting map[reconcile.Request]*wait
	stopped bool
}

// wait is an add that is to be made later.
type wait struct {
	until time.Time
	timer clock.Timer
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &queue{}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *queue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, r := range requests {
		after := o.After
		if o.RateLimited {
			if limited := q.limiter.When(r); after == 0 || limited < after {
				after = limited
			}
		}
		q.turns.rank(r, ptr.Deref(o.Priority, 0))
		if after > 0 {
			q.later(r, after)
			continue
		}
		q.now(r)
	}
}

// now adds a request in the place of what waits for it.
func (q *queue) now(r reconcile.Request) {
	q.forgetWait(r)
	q.TypedInterface.Add(r)
}

// later adds a request after a while, unless it is added before.
func (q *queue) later(r reconcile.Request, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	until := q.clock.Now().Add(after)
	before := q.waiting[r]
	if before != nil && !until.Before(before.until) {
		return
	}
	if q.turns.queued(r) || q.stopped {
		return
	}
	if before != nil {
		before.timer.Stop()
	}
	w := &wait{until: until}
	q.waiting[r] = w
	w.timer = q.clock.AfterFunc(after, func() { q.due(r, w) })
}

// due ends a wait that was not replaced.
func (q *queue) due(r reconcile.Request, w *wait) {
	q.mu.Lock()
	mine := q.waiting[r] == w
	if mine {
		delete(q.waiting, r)
	}
	q.mu.Unlock()
	if mine {
		q.TypedInterface.Add(r)
	}
}

func (q *queue) forgetWait(r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.waiting[r]; w != nil {
		w.timer.Stop()
		delete(q.waiting, r)
	}
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *queue) GetWithPriority() (r reconcile.Request, priority int, shutdown bool) {
	r, shutdown = q.TypedInterface.Get()
	if shutdown {
		return r, 0, true
	}
	q.forgetWait(r) // this pass does what an add that waits is for
	return r, q.turns.priority(r), false
}

// Get implements workqueue.TypedInterface.
func (q *queue) Get() (r reconcile.Request, shutdown bool) {
	r, _, shutdown = q.GetWithPriority()
	return r, shutdown
}

// Done implements workqueue.TypedInterface.
func (q *queue) Done(r reconcile.Request) {
	q.turns.done(r)
	q.TypedInterface.Done(r)
}

// Add implements workqueue.TypedInterface.
func (q *queue) Add(r reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, r) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue) AddAfter(r reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, r)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue) AddRateLimited(r reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, r)
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue) Forget(r reconcile.Request) { q.limiter.Forget(r) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue) NumRequeues(r reconcile.Request) int { return q.limiter.NumRequeues(r) }

// Len implements workqueue.TypedInterface: how many are in the queue, without those that wait.
func (q *queue) Len() int { return q.turns.total() }

// ShutDown implements workqueue.TypedInterface. Unlike client-go's, and like controller-runtime's, it
// leaves what is in the queue.
func (q *queue) ShutDown() {
	q.turns.close()
	q.stop()
	q.TypedInterface.ShutDown()
}

// ShutDownWithDrain implements workqueue.TypedInterface. A controller does not drain its queue.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

// stop ends the timers.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	for _, w := range q.waiting {
		w.timer.Stop()
	}
	clear(q.waiting)
}
