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

package flightrecorder

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Options returns the controller's options with a queue that tells the Tap about every request that
// goes in and out. Everything else stays as it is given; so does the kind of queue, be it the default
// priority queue, client-go's (UsePriorityQueue: false) or one of your own (NewQueue).
func (t *TypedTap[R]) Options(options controller.TypedOptions[R]) controller.TypedOptions[R] {
	newQueue := options.NewQueue
	if newQueue == nil {
		// The builder fills in the manager's defaults only later, but the kind of queue depends on
		// them. They must not be filled in for good here: what is set counts for more than the
		// builder's own defaults, such as the concurrency of a kind.
		defaulted := options
		defaulted.DefaultFromConfig(t.defaults)
		newQueue = defaultQueue(defaulted)
	}
	options.NewQueue = func(name string, limiter workqueue.TypedRateLimiter[R]) workqueue.TypedRateLimitingInterface[R] {
		q := t.newQueue(newQueue(name, &rateLimiter[R]{TypedRateLimiter: limiter, tap: t}))
		t.queue.Store(q)
		return q
	}
	return options
}

// defaultQueue makes what controller-runtime makes where NewQueue is not set.
func defaultQueue[R comparable](
	options controller.TypedOptions[R],
) func(string, workqueue.TypedRateLimiter[R]) workqueue.TypedRateLimitingInterface[R] {
	return func(name string, limiter workqueue.TypedRateLimiter[R]) workqueue.TypedRateLimitingInterface[R] {
		if ptr.Deref(options.UsePriorityQueue, true) {
			return priorityqueue.New(name, func(o *priorityqueue.Opts[R]) {
				o.Log = options.Logger.WithValues("controller", name)
				o.RateLimiter = limiter
			})
		}
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[R]{Name: name})
	}
}

// notingQueue is a queue whose adds are written down before they are made.
type notingQueue[R comparable] struct {
	priorityqueue.PriorityQueue[R]
	// passes says that an add may still pass the Tap's queue, which must not write it down again.
	passes bool
	// note returns the events to describe after the add, so that the worker need not wait for that.
	note func(request R, o priorityqueue.AddOpts) []*watchEvent
}

func (q *notingQueue[R]) Add(request R) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

func (q *notingQueue[R]) AddAfter(request R, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

func (q *notingQueue[R]) AddRateLimited(request R) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

func (q *notingQueue[R]) AddWithOpts(o priorityqueue.AddOpts, requests ...R) {
	for _, request := range requests {
		events := q.note(request, o)
		q.PriorityQueue.AddWithOpts(o, request)
		for _, e := range events {
			e.describe()
		}
	}
}

// noting is the queue that an event handler or a source gets: it writes the event down for every request
// that is added.
func (t *TypedTap[R]) noting(q workqueue.TypedRateLimitingInterface[R], e *watchEvent) *notingQueue[R] {
	bare, passes := bareQueue(q)
	return &notingQueue[R]{PriorityQueue: bare, passes: passes, note: func(request R, o priorityqueue.AddOpts) []*watchEvent {
		return t.note(request, e, o, passes)
	}}
}

// bareQueue returns the queue below the Tap's own wrappers. passes says that there is something else in
// between (handler.WithLowPriorityWhenUnchanged, say), below which the Tap's queue may come after all.
func bareQueue[R comparable](q workqueue.TypedRateLimitingInterface[R]) (bare priorityqueue.PriorityQueue[R], passes bool) {
	switch own := q.(type) {
	case *queue[R]:
		return own.PriorityQueue, false
	case *notingQueue[R]:
		return own.PriorityQueue, own.passes
	}
	return asPriorityQueue(q), true
}

// queue is the controller's queue, with the Tap looking on.
type queue[R comparable] struct {
	notingQueue[R]
	tap *TypedTap[R]
	// merges says that a delayed add shares the request's one place in the queue.
	merges bool
}

func (t *TypedTap[R]) newQueue(inner workqueue.TypedRateLimitingInterface[R]) *queue[R] {
	_, merges := inner.(priorityqueue.PriorityQueue[R])
	return &queue[R]{notingQueue: notingQueue[R]{PriorityQueue: asPriorityQueue(inner), note: t.pass}, tap: t, merges: merges}
}

func (q *queue[R]) GetWithPriority() (request R, priority int, shutdown bool) {
	request, priority, shutdown = q.PriorityQueue.GetWithPriority()
	if !shutdown {
		q.tap.handOut(request, priority)
	}
	return request, priority, shutdown
}

func (q *queue[R]) Get() (request R, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

func (q *queue[R]) Done(request R) {
	q.tap.done(request)
	q.PriorityQueue.Done(request)
}

// pass sees an add on its way into the queue. A delayed one during a run is what that run asked for. Else
// it may come from the builder's For or Owns, whose events were announced by a predicate; or it was written
// down already, by a handler whose queue is wrapped in another; or its origin is unknown.
//
// Several watches may be at work on the same request at once, and nothing tells their adds apart. So the
// first add takes all events that are announced for the request, and leaves a credit for each of the adds
// that are still to come for them. An event taken with another one's add would be lost if it were left to
// its own add instead: that one may find the credit of a third, and the watch goes on to its next event.
func (t *TypedTap[R]) pass(request R, o priorityqueue.AddOpts) (kept []*watchEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run := t.running[request]; (o.After > 0 || o.RateLimited) && run != nil && run.next != nil {
		t.add(request, toldEvent(run.next), o)
		run.next = nil
		return nil
	}
	events := t.claim(request)
	credits := t.credits[request] + len(events)
	switch {
	case credits > 1:
		t.credits[request] = credits - 1
	case credits == 1:
		delete(t.credits, request)
	default:
		events = []*watchEvent{toldEvent(&Trigger{Kind: TriggerUnattributed})}
	}
	for _, e := range events {
		if t.add(request, e, o) {
			kept = append(kept, e)
		}
	}
	return kept
}

// done forgets a run. What it wanted and the controller did not add, it does not get.
func (t *TypedTap[R]) done(request R) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, request)
}

// rateLimiter tells the Tap how long a retry will wait.
type rateLimiter[R comparable] struct {
	workqueue.TypedRateLimiter[R]
	tap *TypedTap[R]
}

func (l *rateLimiter[R]) When(request R) time.Duration {
	delay := l.TypedRateLimiter.When(request)
	l.tap.delayed(request, delay, l.NumRequeues(request))
	return delay
}

// asPriorityQueue gives a plain queue the methods of a priority queue, as controller-runtime does.
func asPriorityQueue[R comparable](q workqueue.TypedRateLimitingInterface[R]) priorityqueue.PriorityQueue[R] {
	if pq, ok := q.(priorityqueue.PriorityQueue[R]); ok {
		return pq
	}
	return plainQueue[R]{q}
}

type plainQueue[R comparable] struct {
	workqueue.TypedRateLimitingInterface[R]
}

func (q plainQueue[R]) AddWithOpts(o priorityqueue.AddOpts, requests ...R) {
	for _, request := range requests {
		switch {
		case o.RateLimited:
			q.AddRateLimited(request)
		case o.After > 0:
			q.AddAfter(request, o.After)
		default:
			q.Add(request)
		}
	}
}

func (q plainQueue[R]) GetWithPriority() (request R, priority int, shutdown bool) {
	request, shutdown = q.Get()
	return request, 0, shutdown
}
