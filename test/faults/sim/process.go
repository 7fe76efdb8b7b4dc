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
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/fleet"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// errDead is what the calls of a crashed process return. It has no reader: the
// process's code runs on only to end its goroutines.
var errDead = errors.New("the process is dead")

// process is one operator: the real reconciler, with caches that are cursors,
// a queue, and calls that wait for the scheduler.
type process struct {
	name       string
	world      *World
	cache      *cacheOf
	ledger     *observe.Ledger
	reconciler *fleet.Reconciler
	handlers   fleet.Handlers
	queue      *queue
	task       *task
	// deposed: another leads, and this one may begin only so much more before
	// it finds out.
	deposed bool
	credit  int
	// trusts: it has read its owner live, as it does before it first acts, and knows
	// what was asked for by then.
	trusts bool
	// wrote: it has written something. What it reads live before that also binds its
	// status, because it reports nothing before the API server confirmed its owner.
	wrote bool
	// frozen are the kinds whose watch is stuck.
	frozen map[string]bool

	// failed: a write of this reconcile was refused, where a weakness asks.
	failed atomic.Bool

	mu      sync.Mutex
	pending []*pendingCall
	dead    bool
}

// task is one reconcile.
type task struct {
	req reconcile.Request
	// floor is the version up to which the owner was read before the reconcile acted, and
	// cached that up to which it was read before its status: from the cache when the
	// reconcile began, and live where the process had not written anything before.
	floor, cached int64
	seen          int64
	// began is how many steps the world had made.
	began int

	done   bool
	result ctrl.Result
	err    error
}

// pendingCall is a call that waits for its answer.
type pendingCall struct {
	call
	answers chan answer
}

type answer struct {
	obj client.Object
	err error
}

// start makes an operator whose caches have listed the cluster as it was at a
// position of the log.
func (w *World) start(name string, at int) *process {
	p := &process{
		name: name, world: w, ledger: observe.NewLedger(w.clock), frozen: map[string]bool{},
		cache: &cacheOf{server: w.server, cursors: map[string]*cursor{}},
		queue: &queue{clock: w.clock, timers: map[reconcile.Request]time.Time{}, limiter: fleet.RateLimiter()},
	}
	p.reconciler = p.newReconciler()
	atOnce := &reader{source: p.cache, server: w.server, transport: direct{}, indexes: w.indexes}
	p.handlers = p.reconciler.Handlers(atOnce, p.ledger, fleet.Watched{GVK: desired.PodManagerGVK, NameLabel: appsv1.LabelName})
	for _, kind := range kinds {
		p.cache.cursors[kind] = &cursor{kind: kind, objects: map[objectKey]client.Object{}, sharded: w.run.Sharded}
	}
	for _, kind := range kinds {
		c := p.cache.cursors[kind]
		for i := range w.server.log[:at] {
			if e := &w.server.log[i]; e.kind == kind {
				c.at = i
				c.read(w.server, e)
			}
		}
		c.at = at
	}
	for _, kind := range []string{"Pod", "PodManager"} {
		for _, obj := range p.cache.objectsOf(kind) {
			p.hear(kind, nil, obj)
		}
	}
	return p
}

// newReconciler makes the operator's own, with clients that end here.
func (p *process) newReconciler() *fleet.Reconciler {
	w := p.world
	clientOf := &api{
		Reader: &reader{source: p.cache, server: w.server, transport: local{p}, indexes: w.indexes},
		server: w.server, transport: remote{p},
	}
	live := &reader{source: w.server, server: w.server, transport: remote{p}}
	return fleet.New(w.weakness.kind(desired.PodManagerKind{MaxHold: maxHold}), fleet.Parts{
		Client: w.weakness.client(clientOf, p), Live: w.weakness.live(live, clientOf), Ledger: p.ledger,
		Recorder: silent{}, Metrics: w.metrics, Clock: w.clock,
		FirstBatch: w.weakness.firstBatch(),
	})
}

// hear passes an event through the operator's own predicates and handlers.
func (p *process) hear(kind string, before, after client.Object) {
	var h handler.EventHandler
	var passes predicate.Predicate
	switch kind {
	case "PodManager":
		h, passes = p.handlers.Owners, p.world.weakness.ownerChanged(p.handlers.OwnerChanged)
	case "Pod":
		h, passes = p.handlers.Pods, p.handlers.PodChanged
	case "PersistentVolumeClaim":
		h, passes = p.handlers.Claims, p.handlers.ClaimChanged
	case "ControllerRevision":
		h, passes = p.handlers.Revisions, p.handlers.RevisionChanged
	case "Node":
		h, passes = p.handlers.Nodes, p.handlers.NodeChanged
	default:
		return
	}
	ctx := context.Background()
	switch {
	case before == nil && after == nil:
	case before == nil:
		if e := (event.CreateEvent{Object: after}); passes.Create(e) {
			h.Create(ctx, e, p.queue)
		}
	case after == nil:
		if kind == "Pod" {
			p.handlers.PodGone(before)
		}
		if e := (event.DeleteEvent{Object: before}); passes.Delete(e) {
			h.Delete(ctx, e, p.queue)
		}
	default:
		if e := (event.UpdateEvent{ObjectOld: before, ObjectNew: after}); passes.Update(e) {
			h.Update(ctx, e, p.queue)
		}
	}
}

// deliver reads one entry of the log into a cache.
func (p *process) deliver(kind string) {
	c := p.cache.cursors[kind]
	e := c.next(p.world.server)
	if e == nil {
		return
	}
	before, after := c.read(p.world.server, e)
	p.hear(kind, before, after)
}

// relist is what a reflector does whose watch was cut for too long: it reads
// the newest state, and never learns what happened in between.
func (p *process) relist(kind string) {
	c := p.cache.cursors[kind]
	old := c.objects
	c.objects = map[objectKey]client.Object{}
	c.at = len(p.world.server.log)
	for _, obj := range p.world.server.objectsOf(kind) {
		if slim := c.trim(obj); slim != nil {
			c.objects[p.world.server.key(obj)] = slim
		}
	}
	var keys []objectKey
	for key := range old {
		keys = append(keys, key)
	}
	for key := range c.objects {
		if old[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b objectKey) int { return strings.Compare(a.name, b.name) })
	for _, key := range keys {
		before, after := old[key], c.objects[key]
		if before != nil && after != nil && before.GetResourceVersion() == after.GetResourceVersion() {
			continue
		}
		p.hear(kind, before, after)
	}
}

// work starts the reconcile of the first owner that waits.
func (p *process) work() {
	req := p.queue.ready[0]
	p.queue.ready = p.queue.ready[1:]
	p.credit--
	p.world.weakness.beforeReconcile(p, req)
	t := &task{
		req: req, floor: p.cache.cursors["PodManager"].version(p.world.server), cached: p.cache.cursors["PodManager"].version(p.world.server), seen: p.seen(),
		began: len(p.world.trace),
	}
	p.task = t
	ctx := log.IntoContext(context.Background(), logr.Discard())
	go func() {
		result, err := p.reconciler.Reconcile(ctx, req)
		p.mu.Lock()
		defer p.mu.Unlock()
		t.result, t.err, t.done = result, err, true
	}()
}

// seen is the version up to which the caches show everything but the owners.
func (p *process) seen() int64 {
	seen := p.cache.cursors["Pod"].version(p.world.server)
	for _, kind := range kinds {
		if kind != "PodManager" {
			seen = min(seen, p.cache.cursors[kind].version(p.world.server))
		}
	}
	return seen
}

// collect puts an owner whose reconcile is done back in the queue as
// controller-runtime would.
func (p *process) collect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.task
	if t == nil || !t.done {
		return
	}
	p.task = nil
	switch {
	case t.err != nil:
		p.queue.retry(t.req)
	case t.result.RequeueAfter > 0:
		p.queue.limiter.Forget(t.req)
		p.queue.after(t.req, p.world.weakness.wait(t.result.RequeueAfter))
	default:
		p.queue.limiter.Forget(t.req)
	}
}

// waiting are the calls under way, in an order that does not depend on which
// goroutine came first.
func (p *process) waiting() []*pendingCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.SortStableFunc(p.pending, func(a, b *pendingCall) int { return strings.Compare(a.text, b.text) })
	return slices.Clone(p.pending)
}

func (p *process) answer(c *pendingCall, a answer) {
	p.mu.Lock()
	p.pending = slices.DeleteFunc(p.pending, func(other *pendingCall) bool { return other == c })
	p.mu.Unlock()
	c.answers <- a
}

// kill ends the process: everything it still asks for fails, and nothing it
// says has an effect.
func (p *process) kill() {
	p.mu.Lock()
	p.dead = true
	calls := p.pending
	p.pending = nil
	p.mu.Unlock()
	for _, c := range calls {
		c.answers <- answer{err: errDead}
	}
}

// remote is the way to the API server.
type remote struct{ *process }

func (r remote) do(c call) error {
	r.mu.Lock()
	if r.dead {
		r.mu.Unlock()
		return errDead
	}
	waiting := &pendingCall{call: c, answers: make(chan answer, 1)}
	r.pending = append(r.pending, waiting)
	r.mu.Unlock()
	a := <-waiting.answers
	if a.err == nil && a.obj != nil && c.into != nil {
		take(a.obj, c.into)
	}
	return a.err
}

func (r remote) request() request {
	by := request{actor: oracle.Operator}
	if r.task != nil {
		by.floor, by.cached, by.seen, by.began = r.task.floor, r.task.cached, r.task.seen, r.task.began
	}
	if r.dead {
		by.actor = oracle.Late
	}
	return by
}

// local is the way to the process's own caches. In some runs it waits for the
// scheduler too, so that events arrive between two reads.
type local struct{ *process }

func (l local) do(c call) error {
	if l.world.slowReads && l.task != nil {
		return remote(l).do(c)
	}
	return direct{}.do(c)
}

func (l local) request() request { return request{} }

// queue is the work queue as far as handlers and the controller use it.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	clock   interface{ Now() time.Time }
	ready   []reconcile.Request
	timers  map[reconcile.Request]time.Time
	limiter workqueue.TypedRateLimiter[reconcile.Request]
}

// Add implements the queue for event handlers.
func (q *queue) Add(req reconcile.Request) {
	if !slices.Contains(q.ready, req) {
		q.ready = append(q.ready, req)
	}
}

// AddAfter implements the queue for event handlers that wait for more.
func (q *queue) AddAfter(req reconcile.Request, wait time.Duration) { q.after(req, wait) }

func (q *queue) after(req reconcile.Request, wait time.Duration) {
	at := q.clock.Now().Add(wait)
	if old, ok := q.timers[req]; !ok || at.Before(old) {
		q.timers[req] = at
	}
}

// retry backs off as the operator's own queue does.
func (q *queue) retry(req reconcile.Request) { q.after(req, q.limiter.When(req)) }

// due moves what has waited long enough.
func (q *queue) due() {
	for req, at := range q.timers {
		if !at.After(q.clock.Now()) {
			delete(q.timers, req)
			q.Add(req)
		}
	}
	slices.SortFunc(q.ready, func(a, b reconcile.Request) int { return strings.Compare(a.String(), b.String()) })
}

// nextTimer is when the next request is due, or zero.
func (q *queue) nextTimer() time.Time {
	var next time.Time
	for _, at := range q.timers {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// silent takes events and keeps none.
type silent struct{}

// Eventf implements recorder.EventRecorder.
func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// AnnotatedEventf implements recorder.EventRecorder.
func (silent) AnnotatedEventf(runtime.Object, runtime.Object, map[string]string, string, string, string, string, ...any) {
}
