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
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Tap is the recorder's connection to one controller with the usual reconcile.Request.
type Tap = TypedTap[reconcile.Request]

// TypedTap is the recorder's connection to one controller. It wraps the controller's parts: its
// options (Options), its event handlers (Handler; for the builder's For and Owns, which make their
// own, the predicates ForPredicate and OwnsPredicate), its raw sources (Source) and its reconciler
// (Reconciler). One Tap serves one controller.
//
// # How triggers find their run
//
// The queue merges everything that is added for a request into one run. So a trigger is written down
// when it is added, under its request, and all that is written down is taken when the queue hands the
// request out. It is written down before the Add, never after: the run that takes the request because of
// that Add finds it. The price is that a run that was being handed out at that very moment may take it
// too early; then the request, which the queue has once more, comes out again with nothing written
// down, and its run is given the same trigger, marked Carried.
//
// An Add that arrives while the request is being reconciled belongs to the next run, because what was
// written down for this one is gone already.
type TypedTap[R comparable] struct {
	recorder   *Recorder
	controller string
	object     ObjectRef // without a name
	groupKind  schema.GroupKind
	keyOf      func(R) types.NamespacedName
	scheme     *runtime.Scheme
	defaults   config.Controller

	queue atomic.Pointer[queue[R]]

	mu      sync.Mutex
	waiting map[R]*waiting
	// credits are adds that were written down already and are on their way to the queue.
	credits map[R]int
	running map[R]*handout
	// announced are the events that predicates have seen, one per watch.
	announced []*announcement[R]
	// recent holds the last trigger of the requests handed out last, for Carried.
	recent  *lru.Cache // R -> queued
	trimmed map[trimmedKey]*watchEvent
}

// keptRecent is for how many requests the last trigger is remembered. The run that may need it
// follows at once, so that this has to exceed the number of workers and little more.
const keptRecent = 1024

// waiting is what was written down for one request.
type waiting struct {
	triggers []queued
	dropped  int
}

// queued is an event with what is particular to one request. The event may be shared by all the
// requests that it led to.
type queued struct {
	event       *watchEvent
	at          time.Time
	delay       time.Duration
	attempt     int
	count       int // where it is set, the event is a copy, into which others were folded
	size        int64
	rateLimited bool // delay is not known until the rate limiter was asked
	carried     bool
}

func (q *queued) ready() time.Time { return q.at.Add(q.delay) }

type trimmedKey struct {
	kind   TriggerKind
	object ObjectRef
}

// handout is a request that the queue has given to a worker.
type handout struct {
	triggers []queued
	dropped  int
	priority int
	begun    bool
	next     *Trigger // what the run wants: it becomes a trigger when the controller adds it
}

// Host is what a Tap needs of a manager.Manager.
type Host interface {
	GetScheme() *runtime.Scheme
	GetControllerOptions() config.Controller
}

// NewTap connects the recorder to the controller of this name, which reconciles objects of this type.
func NewTap(recorder *Recorder, mgr Host, controller string, object client.Object) (*Tap, error) {
	return NewTypedTap(recorder, mgr, controller, object, func(r reconcile.Request) types.NamespacedName {
		return r.NamespacedName
	})
}

// NewTypedTap is NewTap for a controller whose requests are of another type. keyOf says which object
// a request is for.
func NewTypedTap[R comparable](
	recorder *Recorder, mgr Host, controller string, object client.Object, keyOf func(R) types.NamespacedName,
) (*TypedTap[R], error) {
	if recorder == nil || controller == "" {
		return nil, errors.New("flightrecorder: a tap needs a recorder and the controller's name")
	}
	gvk, err := apiutil.GVKForObject(object, mgr.GetScheme())
	if err != nil {
		return nil, fmt.Errorf("flightrecorder: tap for controller %s: %w", controller, err)
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return &TypedTap[R]{
		recorder: recorder, controller: controller, keyOf: keyOf, scheme: mgr.GetScheme(),
		object: ObjectRef{APIVersion: apiVersion, Kind: kind}, groupKind: gvk.GroupKind(),
		defaults: mgr.GetControllerOptions(),
		waiting:  map[R]*waiting{}, credits: map[R]int{}, running: map[R]*handout{},
		recent: lru.New(keptRecent), trimmed: map[trimmedKey]*watchEvent{},
	}, nil
}

// note writes an event down for a request. With credit, an Add for it will pass the queue. It returns the
// event if it is to be described after the Add.
func (t *TypedTap[R]) note(request R, e *watchEvent, o priorityqueue.AddOpts, credit bool) []*watchEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if credit && t.queue.Load() != nil {
		t.credits[request]++
	}
	if t.add(request, e, o) {
		return []*watchEvent{e}
	}
	return nil
}

// What waits is counted with flat estimates: a request with its place in the map, an event, and what the
// event says.
const (
	waitingBytes   = 192
	queuedBytes    = 192
	describedBytes = 640
)

// add is called with the lock held. It returns false where the event was not kept by itself, and so need not
// be described.
func (t *TypedTap[R]) add(request R, e *watchEvent, o priorityqueue.AddOpts) (kept bool) {
	w := t.waiting[request]
	if w == nil {
		w = &waiting{}
		t.waiting[request] = w
		t.recorder.pendingBytes.Add(waitingBytes)
	}
	if len(w.triggers) >= t.recorder.config.MaxTriggers {
		w.fold(e, t.recorder.config.MaxFields)
		return false
	}
	q := queued{event: e, at: t.recorder.config.Now(), delay: max(o.After, 0), rateLimited: o.RateLimited, size: queuedBytes}
	if kept = t.recorder.pendingBytes.Load()+queuedBytes+describedBytes <= t.recorder.maxPending; kept {
		q.size += describedBytes
	} else {
		q.event = t.trim(e)
	}
	t.recorder.pendingBytes.Add(q.size)
	w.triggers = append(w.triggers, q)
	return kept
}

// trim returns an event that says no more than the kinds, shared by all requests.
func (t *TypedTap[R]) trim(e *watchEvent) *watchEvent {
	small, key := &Trigger{Kind: e.kind, Trimmed: true}, trimmedKey{kind: e.kind}
	if e.object != nil {
		key.object = ObjectRef{APIVersion: e.object.APIVersion, Kind: e.object.Kind}
		small.Object = &key.object
	}
	if t.trimmed[key] == nil {
		t.trimmed[key] = toldEvent(small)
	}
	return t.trimmed[key]
}

// fold merges an event for which there is no room into the last one of the same kind for the same object.
// One that is dropped is not described.
func (w *waiting) fold(e *watchEvent, maxFields int) {
	for i := len(w.triggers) - 1; i >= 0; i-- {
		mine := &w.triggers[i]
		if mine.event.kind != e.kind || !ptr.Equal(mine.event.object, e.object) {
			continue
		}
		kept, trigger := mine.event.describe(), e.describe()
		if mine.count == 0 {
			kept = kept.clone()
			mine.event, mine.count = toldEvent(kept), 1
		}
		mine.count++
		kept.ResourceVersion = trigger.ResourceVersion
		kept.mergeChanges(trigger, maxFields)
		return
	}
	w.dropped++
}

func (t *Trigger) clone() *Trigger {
	c := *t
	c.Changes = slices.Clone(t.Changes)
	for i := range c.Changes {
		c.Changes[i].Fields = slices.Clone(c.Changes[i].Fields)
	}
	return &c
}

func (t *Trigger) mergeChanges(other *Trigger, maxFields int) {
	kept := 0
	for i := range t.Changes {
		kept += len(t.Changes[i].Fields)
	}
	for _, c := range other.Changes {
		mine := t.changeBy(c)
		for _, f := range c.Fields {
			switch {
			case slices.Contains(mine.Fields, f):
			case kept >= maxFields:
				t.MoreFields++
			default:
				mine.Fields = append(mine.Fields, f)
				kept++
			}
		}
	}
}

func (t *Trigger) changeBy(c Change) *Change {
	i := slices.IndexFunc(t.Changes, func(mine Change) bool {
		return mine.Manager == c.Manager && mine.Operation == c.Operation && mine.Subresource == c.Subresource
	})
	if i < 0 {
		c.Fields = nil
		t.Changes = append(t.Changes, c)
		i = len(t.Changes) - 1
	}
	return &t.Changes[i]
}

// handOut takes what is written down for a request that now begins.
func (t *TypedTap[R]) handOut(request R, priority int) *handout {
	now := t.recorder.config.Now()
	h := &handout{priority: priority}
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.waiting[request]; w != nil {
		h.dropped = w.dropped
		h.triggers = t.take(request, w, now)
	}
	if len(h.triggers) == 0 {
		last := queued{event: toldEvent(&Trigger{Kind: TriggerUnattributed}), at: now}
		if recent, ok := t.recent.Get(request); ok {
			last = recent.(queued)
			last.carried = true
		}
		h.triggers = []queued{last}
	}
	t.recent.Add(request, h.triggers[len(h.triggers)-1])
	t.running[request] = h
	return h
}

// take removes the triggers that led to this run. A priority queue holds one place per request and
// takes the earliest of its times, so that a run uses up the delayed adds as well. client-go's queue
// keeps delayed adds in a place of their own, one per request with the earliest of their times, from which
// they still come when that has come. On a machine too busy to move them in time, that queue merges a delayed
// add into one that is overdue; the Tap cannot see that, and its trigger stays until the request's next run.
func (t *TypedTap[R]) take(request R, w *waiting, now time.Time) []queued {
	due, later := w.triggers, []queued(nil)
	if q := t.queue.Load(); q != nil && !q.merges && w.hasLater(now) {
		due = nil
		for _, q := range w.triggers {
			if q.ready().After(now) {
				later = append(later, q)
			} else {
				due = append(due, q)
			}
		}
		// Nothing else explains this run: the delayed adds shared an earlier one's time after all.
		if len(due) == 0 {
			due, later = later, nil
		}
	}
	for i := range due {
		t.recorder.pendingBytes.Add(-due[i].size)
	}
	if len(later) > 0 {
		w.triggers, w.dropped = later, 0
	} else {
		delete(t.waiting, request)
		t.recorder.pendingBytes.Add(-waitingBytes)
	}
	return due
}

// hasLater says whether delayed adds stay behind. They share the earliest time among them.
func (w *waiting) hasLater(now time.Time) bool {
	later := false
	for i := range w.triggers {
		q := &w.triggers[i]
		if q.delay > 0 && !q.ready().After(now) {
			return false
		}
		later = later || q.ready().After(now)
	}
	return later
}

// delayed is called by the rate limiter with how long an add will wait.
func (t *TypedTap[R]) delayed(request R, delay time.Duration, attempt int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.waiting[request]
	if w == nil {
		return
	}
	for i := range w.triggers {
		if q := &w.triggers[i]; q.rateLimited {
			q.rateLimited = false
			if q.delay == 0 || delay < q.delay {
				q.delay = delay
			}
			q.attempt = attempt
		}
	}
}

// refOf names an object. Typed objects do not carry their kind; the scheme has it.
func refOf(obj client.Object, scheme *runtime.Scheme) *ObjectRef {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" {
		var err error
		if gvk, err = apiutil.GVKForObject(obj, scheme); err != nil {
			gvk.Kind = fmt.Sprintf("%T", obj)
		}
	}
	ref := &ObjectRef{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()}
	ref.APIVersion, ref.Kind = gvk.ToAPIVersionAndKind()
	return ref
}
