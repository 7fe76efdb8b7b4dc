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
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// errDead is what the calls of a crashed process return.
var errDead = errors.New("the process has crashed")

// errStuck ends a run whose reconcile neither returns nor calls the API.
var errStuck = errors.New("a reconcile neither returned nor called the API within 30 s")

// stuck is how long a reconcile may take between two calls, in real time.
const stuck = 30 * time.Second

// process is one process of the operator. A reconcile runs in a goroutine of its own
// and hands control back at each call to the API server, so that only one of them and
// the explorer ever runs.
type process struct {
	name       string
	run        *run
	reconciler reconcile.Reconciler
	watches    []Watch
	handlers   []handler.EventHandler
	caches     map[schema.GroupKind]*cache
	queue      *queue
	// deposed: another process leads, and this one ends after its reconcile.
	deposed bool
	serving bool

	// current is the reconcile under way and pending the call that it waits for.
	current *task
	pending *call
	yield   chan *call
	one     sync.Mutex
	dead    atomic.Bool
	cancel  context.CancelFunc

	// chain identifies all that the reconcile has read and all answers it got, and
	// memory what the reconciler remembered when it started. Where the memory cannot be
	// read, chain goes on from one reconcile to the next.
	chain, memory uint64
}

type task struct {
	req    reconcile.Request
	result reconcile.Result
	err    error
}

// cache is the cache of one kind: the log up to a position.
type cache struct {
	at      int
	cut     bool
	objects map[objectKey]*record
}

func (r *run) start() *process {
	r.born++
	p := &process{
		name: string(rune('a' + (r.born-1)%26)), run: r, caches: map[schema.GroupKind]*cache{},
		queue: newQueue(r.clock.Now), yield: make(chan *call),
	}
	p.reconciler = r.world.New(Process{
		Name: p.name, Scheme: r.world.Scheme, Clock: r.clock, Recorder: &recorder{r}, Term: int64(r.born), Serve: func() { p.serving = true },
		Client:    &api{source: source{p.cached, p.see}, server: r.server, via: p},
		APIReader: &live{source: source{func(schema.GroupKind) map[objectKey]*record { return r.server.objects }, p.see}, server: r.server, via: p},
	})
	p.watches = r.world.Watches
	if w, ok := p.reconciler.(Watcher); ok {
		p.watches = slices.Concat(p.watches, w.Watches())
	}
	for i := range p.watches {
		w := &p.watches[i]
		p.handlers = append(p.handlers, w.handler(r.world.Scheme, r.kinds.mapper))
		kind := r.kinds.of(w.Object)
		p.list(kind)
		for _, rec := range sorted(p.caches[kind].objects) {
			w.pass(p.handlers[i], change{after: rec}, p.queue)
		}
	}
	p.remember()
	r.processes = append(r.processes, p)
	return p
}

// list fills the cache of a kind with what is stored.
func (p *process) list(kind schema.GroupKind) {
	c := &cache{at: len(p.run.server.log[kind]), objects: map[objectKey]*record{}}
	for key, rec := range p.run.server.objects {
		if key.kind == kind {
			c.objects[key] = rec
		}
	}
	p.caches[kind] = c
}

// cached are the objects of a kind that a reconcile reads. The first read of a kind
// starts its cache.
func (p *process) cached(kind schema.GroupKind) map[objectKey]*record {
	if p.caches[kind] == nil {
		p.list(kind)
	}
	return p.caches[kind].objects
}

// see is told what a reconcile reads.
func (p *process) see(key objectKey, r *record) {
	sum := uint64(0)
	if r != nil {
		sum = r.full
	}
	p.chain = hashOf(p.chain, key, sum)
}

// deliver reads one event into a cache and sends it through the handlers.
func (p *process) deliver(kind schema.GroupKind) Step {
	c := p.caches[kind]
	line := p.run.server.log[kind][c.at]
	c.at++
	key, verb := objectKey{}, "MODIFIED"
	if line.after == nil {
		key, verb = line.before.key, "DELETED"
	} else {
		key = line.after.key
	}
	old := c.objects[key]
	if old == nil {
		verb = "ADDED"
	}
	step := Step{Kind: StepDeliver, Verb: verb, Object: key.String()}
	if line.after == nil {
		delete(c.objects, key)
		step.Verb = "DELETED"
		if old != nil {
			old = line.before
		}
	} else {
		c.objects[key] = line.after
	}
	p.notify(&step, kind, change{old, line.after})
	return step
}

// notify passes a change through all watches of its kind.
func (p *process) notify(step *Step, kind schema.GroupKind, c change) {
	p.queue.added = nil
	passed := false
	for i := range p.watches {
		w := &p.watches[i]
		if p.run.kinds.of(w.Object) != kind {
			continue
		}
		step.Watched = true
		passed = w.pass(p.handlers[i], c, p.queue) || passed
	}
	step.Dropped = step.Watched && !passed
	for _, req := range p.queue.added {
		if key := req.String(); !slices.Contains(step.Enqueued, key) {
			step.Enqueued = append(step.Enqueued, key)
		}
	}
	p.queue.added = nil
	// Handlers may remember something.
	if p.current == nil {
		p.remember()
	} else {
		for _, r := range []*record{c.before, c.after} {
			if r != nil {
				p.chain = hashOf(p.chain, r.full)
			}
		}
	}
}

// relist is what a reflector does after its watch was cut: it reads the newest state and
// never learns what happened in between.
func (p *process) relist(kind schema.GroupKind) Step {
	old := p.caches[kind].objects
	p.list(kind)
	step := Step{Kind: StepRelist, Object: kind.Kind}
	both := maps.Clone(old)
	maps.Copy(both, p.caches[kind].objects)
	for _, r := range sorted(both) {
		before, after := old[r.key], p.caches[kind].objects[r.key]
		if before != after {
			p.notify(&step, kind, change{before, after})
		}
	}
	step.Dropped = false
	return step
}

// work starts the reconcile of the first key in the queue, up to its first call.
func (p *process) work() (Step, error) {
	t := &task{req: p.queue.take()}
	p.current = t
	ctx, cancel := context.WithCancel(log.IntoContext(context.Background(), logr.Discard()))
	p.cancel = cancel
	go func() {
		t.result, t.err = p.reconcile(ctx, t.req)
		p.yield <- nil
	}()
	step := Step{Kind: StepReconcile, Object: t.req.String()}
	return step, p.wait(&step)
}

// reconcile turns a panic into an error, as controller-runtime does.
func (p *process) reconcile(ctx context.Context, req reconcile.Request) (result reconcile.Result, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return p.reconciler.Reconcile(ctx, req)
}

// wait waits until the reconcile calls the API server or returns.
func (p *process) wait(step *Step) error {
	timeout := time.NewTimer(stuck)
	defer timeout.Stop()
	select {
	case p.pending = <-p.yield:
	case <-timeout.C:
		return errStuck
	}
	if p.pending == nil {
		p.finish(step)
	} else {
		step.Next = p.pending.verb + " " + p.pending.key.String()
	}
	return nil
}

// finish puts the key back into the queue as controller-runtime does.
func (p *process) finish(step *Step) {
	t := p.current
	p.current = nil
	p.cancel()
	key := t.req.String()
	step.Returned = &Returned{Key: key, RequeueAfter: t.result.RequeueAfter}
	delete(p.run.failing, key)
	p.queue.done()
	switch {
	case t.err != nil:
		step.Returned.Error, step.Returned.RequeueAfter = t.err.Error(), 0
		p.run.failing[key] = t.err
		if !errors.Is(t.err, reconcile.TerminalError(nil)) {
			p.queue.AddRateLimited(t.req)
		}
	case t.result.RequeueAfter > 0:
		p.queue.Forget(t.req)
		p.queue.AddAfter(t.req, t.result.RequeueAfter)
	case t.result.Requeue: //nolint:staticcheck // reconcilers still use it
		p.queue.AddRateLimited(t.req)
	default:
		p.queue.Forget(t.req)
	}
	p.remember()
	if p.deposed {
		p.run.processes = slices.DeleteFunc(p.run.processes, func(other *process) bool { return other == p })
	}
}

// remember starts a new chain, if the memory of the reconciler can be read.
func (p *process) remember() {
	if sum, ok := fingerprint(p.reconciler); ok {
		p.memory, p.chain = sum, 0
	}
}

// answer hands the answer of the pending call to the reconcile, which goes on to the
// next call.
func (p *process) answer(step *Step, a answer) error {
	c := p.pending
	if a.err != nil {
		step.Error = a.err.Error()
		p.chain = hashOf(p.chain, step.Error)
	}
	if a.record != nil {
		p.chain = hashOf(p.chain, a.record.full)
	}
	c.answers <- a
	return p.wait(step)
}

// carry carries the pending call out.
func (p *process) carry() answer {
	if p.deposed && p.run.world.Fenced && p.pending.write {
		return answer{err: errors.New("the API server refuses writes of a former leader")}
	}
	r, err := p.pending.run()
	return answer{r, err}
}

// kill ends the process: whatever it still asks for fails.
func (p *process) kill() error {
	p.run.processes = slices.DeleteFunc(p.run.processes, func(other *process) bool { return other == p })
	p.dead.Store(true)
	if p.current == nil {
		return nil
	}
	p.cancel()
	timeout := time.NewTimer(stuck)
	defer timeout.Stop()
	for c := p.pending; c != nil; {
		c.answers <- answer{err: errDead}
		select {
		case c = <-p.yield:
		case <-timeout.C:
			return errStuck
		}
	}
	return nil
}

// do implements transport. Calls of goroutines that a reconcile starts wait for each
// other.
func (p *process) do(c *call) (*record, error) {
	p.one.Lock()
	defer p.one.Unlock()
	if p.dead.Load() {
		return nil, errDead
	}
	c.answers = make(chan answer)
	p.yield <- c
	a := <-c.answers
	return a.record, a.err
}

func (p *process) author() author { return author{p.name} }

// recorder keeps events for the promises.
type recorder struct{ run *run }

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	object := ""
	if obj, ok := regarding.(client.Object); ok {
		object = r.run.kinds.key(obj).String()
	}
	r.run.recorded = append(r.run.recorded, Recorded{object, kind, reason, fmt.Sprintf(note, args...)})
}

// cacheKinds are the kinds in the caches, in a fixed order.
func (p *process) cacheKinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(p.caches), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}
