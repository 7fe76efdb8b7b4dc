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

package lab

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// queue is the controller's work queue, below which is the flight recorder's tap and below that
// the real one. It keeps its own list of the keys, to be drawn, and hands a key out only when
// the gate is open.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	process    *process
	controller string
	tap        *flightrecorder.Tap
	stopped    chan struct{}
	stopOnce   sync.Once

	// turn is held while a key goes in or out, so that the list and the queue agree. No
	// worker waits with it for another one: a key is taken only if there is one.
	turn sync.Mutex

	mu   sync.Mutex
	keys map[reconcile.Request]*keyState
	// order is that in which keys became ready.
	order []reconcile.Request
}

type keyState struct {
	ready      bool
	processing bool
	due        time.Time // zero where no delayed add is waiting
	failed     bool      // what waits is the retry of a run that failed
	why        []string
}

// The verbs of adds with a delay: Reconcile asked for one, or failed.
const (
	addAfter       = "AddAfter"
	addRateLimited = "AddRateLimited"
)

// poll is how often a worker that waits looks at delayed keys.
const poll = 10 * time.Millisecond

func (q *queue) Add(r reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, r) }

func (q *queue) AddAfter(r reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, r)
}

func (q *queue) AddRateLimited(r reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, r)
}

func (q *queue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, r := range requests {
		q.add(o, r)
	}
}

func (q *queue) add(o priorityqueue.AddOpts, r reconcile.Request) {
	if o.RateLimited || o.After > 0 {
		if !o.RateLimited { // else the rate limiter says how long
			q.later(r, o.After, text("Reconcile asked to run again: %s waits %s.", "Reconcile 要求再次执行：%s 等待 %s。", r, trace.Brief(o.After)), addAfter)
		}
		q.PriorityQueue.AddWithOpts(o, r)
		return
	}
	d := q.process.enqueues(r.String())
	q.turn.Lock()
	defer q.turn.Unlock()
	q.now(r, d)
	q.throughTap(d, o, r)
}

// throughTap adds as a handler of the flight recorder does, so that the record of the run says
// which event led to it.
func (q *queue) throughTap(d *delivery, o priorityqueue.AddOpts, r reconcile.Request) {
	if d == nil {
		q.PriorityQueue.AddWithOpts(o, r)
		return
	}
	type rateLimiting = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(noting rateLimiting) { noting.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(o, r) }
	ctx := context.Background()
	h := flightrecorder.WrapHandler(q.tap, handler.TypedEventHandler[client.Object, reconcile.Request](handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, noting rateLimiting) { add(noting) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, noting rateLimiting) { add(noting) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, noting rateLimiting) { add(noting) },
	}))
	switch d.verb {
	case "Create":
		h.Create(ctx, event.CreateEvent{Object: d.after, IsInInitialList: d.initial}, q.PriorityQueue)
	case "Update":
		h.Update(ctx, event.UpdateEvent{ObjectOld: d.before, ObjectNew: d.after}, q.PriorityQueue)
	default:
		h.Delete(ctx, event.DeleteEvent{Object: d.after}, q.PriorityQueue)
	}
}

func (q *queue) state(r reconcile.Request) *keyState {
	if q.keys[r] == nil {
		q.keys[r] = &keyState{}
	}
	return q.keys[r]
}

// now notes an add without a delay.
func (q *queue) now(r reconcile.Request, d *delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.state(r)
	var t trace.Text
	switch {
	case s.ready:
		t = text("%s is in the queue already: the queue merges both into one run.", "%s 已在队列中：两次入队合并为一次执行。", r)
	case s.processing:
		t = text("%s is being reconciled: it is marked dirty and runs once more afterwards.", "%s 正在调谐：标记为 dirty，结束后再执行一次。", r)
	default:
		t = text("%s waits in the queue for a worker.", "%s 在队列中等待 worker。", r)
	}
	s.due = time.Time{} // a priority queue holds one place for a key
	q.ready(r, s)
	if d != nil {
		s.why = append(s.why, d.verb+" "+d.object)
	}
	q.say("Add", r, t)
}

func (q *queue) ready(r reconcile.Request, s *keyState) {
	if !s.ready {
		s.ready = true
		q.order = append(q.order, r)
	}
}

// later notes an add with a delay.
func (q *queue) later(r reconcile.Request, after time.Duration, t trace.Text, verb string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.state(r)
	if due := time.Now().Add(after); !s.ready && (s.due.IsZero() || due.Before(s.due)) {
		s.due, s.failed = due, verb == addRateLimited
	}
	s.why = append(s.why, verb+" "+trace.Brief(after))
	q.say(verb, r, t)
}

// available says whether the next key can be taken, after moving those whose time has come.
func (q *queue) available() (next string, ok bool) {
	if q.Len() == 0 {
		return "", false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for r, s := range q.keys {
		if !s.due.IsZero() && !s.due.After(time.Now()) {
			s.due = time.Time{}
			q.ready(r, s)
			q.say("due", r, text("The delay of %s is over: it waits for a worker.", "%s 的等待时间到了：等待 worker。", r))
		}
	}
	for _, r := range q.order {
		if !q.keys[r].processing {
			return r.String(), true
		}
	}
	return "", false
}

func (q *queue) GetWithPriority() (r reconcile.Request, priority int, shutdown bool) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for !q.ShuttingDown() {
		if next, ok := q.available(); ok && q.process.lab.gates.pass(GateItem, next, q.stopped) {
			if r, priority, shutdown, ok = q.take(); ok {
				return r, priority, shutdown
			}
		}
		select {
		case <-ticker.C:
		case <-q.stopped:
		}
	}
	return q.PriorityQueue.GetWithPriority()
}

// take takes a key if there is still one: another worker may have been faster.
func (q *queue) take() (r reconcile.Request, priority int, shutdown, ok bool) {
	q.turn.Lock()
	defer q.turn.Unlock()
	if _, ok := q.available(); !ok {
		return r, 0, false, false
	}
	if r, priority, shutdown = q.PriorityQueue.GetWithPriority(); shutdown {
		return r, priority, shutdown, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.state(r)
	s.processing, s.ready, s.due = true, false, time.Time{}
	q.order = slices.DeleteFunc(q.order, func(other reconcile.Request) bool { return other == r })
	q.say("Get", r, text("A worker takes %s: from now on the key is being processed, and no other worker gets it.", "worker 取走 %s：它进入 processing，其他 worker 拿不到它。", r))
	return r, priority, false, true
}

func (q *queue) Get() (r reconcile.Request, shutdown bool) {
	r, _, shutdown = q.GetWithPriority()
	return r, shutdown
}

func (q *queue) Done(r reconcile.Request) {
	q.PriorityQueue.Done(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.state(r)
	s.processing = false
	switch {
	case s.ready:
		q.say("Done", r, text("%s is done, and dirty: it was added meanwhile, so it waits again.", "%s 处理完毕，但它是 dirty 的：期间又被加入，于是重新等待。", r))
	default:
		q.say("Done", r, text("%s is done.", "%s 处理完毕。", r))
		if s.due.IsZero() {
			delete(q.keys, r)
		}
	}
}

func (q *queue) ShutDown() {
	q.stopOnce.Do(func() { close(q.stopped) })
	q.PriorityQueue.ShutDown()
}

// takeWhy returns why a key was added since it was last taken.
func (q *queue) takeWhy(r reconcile.Request) (why []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.state(r)
	why, s.why = s.why, nil
	return why
}

// say adds a step with the state of the queue. It is called with the lock held.
func (q *queue) say(verb string, r reconcile.Request, t trace.Text) {
	q.process.step(trace.Step{Box: trace.BoxQueue, Verb: verb, Object: q.controller + " " + r.String(), Text: t, Queue: q.drawn()})
}

// drawn is called with the lock held.
func (q *queue) drawn() *trace.Queue {
	lists := &trace.Queue{}
	for _, r := range q.order {
		if q.keys[r].processing {
			lists.Dirty = append(lists.Dirty, r.String())
		} else {
			lists.Waiting = append(lists.Waiting, r.String())
		}
	}
	for r, s := range q.keys {
		if s.processing {
			lists.Processing = append(lists.Processing, r.String())
		}
		switch {
		case s.due.IsZero():
		case s.failed:
			lists.BackingOff = append(lists.BackingOff, r.String())
		default:
			lists.Delayed = append(lists.Delayed, r.String())
		}
	}
	slices.Sort(lists.Processing)
	slices.Sort(lists.BackingOff)
	slices.Sort(lists.Delayed)
	return lists
}

// rateLimiter tells the queue how long a retry waits.
type rateLimiter struct {
	workqueue.TypedRateLimiter[reconcile.Request]
	queue *queue
}

func (l *rateLimiter) When(r reconcile.Request) time.Duration {
	delay := l.TypedRateLimiter.When(r)
	n := l.NumRequeues(r)
	l.queue.later(r, delay, text("Reconcile failed %[2]s in a row: %[1]s backs off for %[3]s.", "Reconcile 连续失败 %[4]d 次：%[1]s 退避 %[3]s。",
		r, trace.Counted(n, "time"), trace.Brief(delay), n), addRateLimited)
	return delay
}
