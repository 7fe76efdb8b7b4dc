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

package fairqueue

import (
	"container/list"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// level is how urgent a request is: what happens now goes before what is looked at because the
// operator starts.
type level int

const (
	urgent level = iota
	patient
	levels
)

// onePatientOf so many turns is for a patient request, so that a neighbour with much going on does
// not keep another's objects from being looked at after a start.
const onePatientOf = 4

func levelOf(priority int) level {
	if priority < 0 {
		return patient
	}
	return urgent
}

// turns is the order of the queue: the storage that client-go's queue takes and returns requests from.
type turns struct {
	share int

	mu    sync.Mutex
	lanes map[string]*lane
	// next are the namespaces that can be served, by level, the one whose turn it is first.
	next [levels]*list.List
	// ranks are the priorities of requests that are in the queue or wait for it, and running of those
	// that are worked on.
	ranks, running map[reconcile.Request]int
	// queuedAt is where a request is; what else a lane holds of it is out of date.
	queuedAt map[reconcile.Request]level
	taken    uint
	closed   bool
}

// lane is the queue of a namespace.
type lane struct {
	requests [levels][]reconcile.Request
	count    [levels]int
	place    [levels]*list.Element // in next; nil where it cannot be served
	running  int
}

func newTurns(share int) *turns {
	return &turns{
		share: share, lanes: map[string]*lane{}, next: [levels]*list.List{list.New(), list.New()},
		ranks: map[reconcile.Request]int{}, running: map[reconcile.Request]int{}, queuedAt: map[reconcile.Request]level{},
	}
}

// rank notes a request's priority; the highest counts.
func (t *turns) rank(r reconcile.Request, priority int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, ok := t.ranks[r]; ok && before >= priority {
		return
	}
	t.ranks[r] = priority
	if at, ok := t.queuedAt[r]; ok && at != levelOf(priority) {
		l := t.lanes[r.Namespace]
		l.count[at]--
		t.put(l, r, levelOf(priority))
	}
}

// priority is that of a request which is worked on.
func (t *turns) priority(r reconcile.Request) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[r]
}

func (t *turns) queued(r reconcile.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.queuedAt[r]
	return ok
}

// total is how many requests are in the queue.
func (t *turns) total() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queuedAt)
}

// close ends the queue: what is in it is not worked on any more.
func (t *turns) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// Touch implements workqueue.Queue: rank has seen to it.
func (t *turns) Touch(reconcile.Request) {}

// Push implements workqueue.Queue.
func (t *turns) Push(r reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[r.Namespace]
	if l == nil {
		l = &lane{}
		t.lanes[r.Namespace] = l
	}
	t.put(l, r, levelOf(t.ranks[r]))
}

func (t *turns) put(l *lane, r reconcile.Request, at level) {
	t.queuedAt[r] = at
	l.requests[at] = append(l.requests[at], r)
	l.count[at]++
	t.arrange(l)
}

// arrange puts a namespace last in line, or takes it out where it has nothing to do or as many workers
// as it may have. The place of one that is in line stays.
func (t *turns) arrange(l *lane) {
	for at := range levels {
		serves := l.count[at] > 0 && l.running < t.share
		switch {
		case serves && l.place[at] == nil:
			l.place[at] = t.next[at].PushBack(l)
		case !serves && l.place[at] != nil:
			t.next[at].Remove(l.place[at])
			l.place[at] = nil
		}
	}
}

// Len implements workqueue.Queue: client-go's asks only whether there is something to take. Where all
// that is left is of namespaces with as many workers as they may have, there is not. The worker that
// is done with one of their requests asks again, so nothing is left lying.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0
	}
	return t.next[urgent].Len() + t.next[patient].Len()
}

// Pop implements workqueue.Queue.
func (t *turns) Pop() reconcile.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := urgent
	t.taken++
	if t.next[patient].Len() > 0 && (t.next[urgent].Len() == 0 || t.taken%onePatientOf == 0) {
		at = patient
	}
	l := t.next[at].Remove(t.next[at].Front()).(*lane)
	l.place[at] = nil
	r := t.take(l, at)
	l.count[at]--
	l.running++
	t.running[r] = t.ranks[r]
	delete(t.ranks, r)
	delete(t.queuedAt, r)
	t.arrange(l)
	return r
}

// take finds a lane's first request at a level.
func (t *turns) take(l *lane, at level) reconcile.Request {
	for {
		r := l.requests[at][0]
		l.requests[at] = l.requests[at][1:]
		if is, ok := t.queuedAt[r]; ok && is == at {
			return r
		}
	}
}

// done returns the worker of a request.
func (t *turns) done(r reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[r.Namespace]
	if _, ok := t.running[r]; !ok || l == nil {
		return
	}
	delete(t.running, r)
	l.running--
	if l.running == 0 && l.count == [levels]int{} {
		delete(t.lanes, r.Namespace)
		return
	}
	t.arrange(l)
}
