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
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/config"
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
	kinds      kinds
	scheme     *runtime.Scheme
	defaults   config.Controller

	queue atomic.Pointer[queue[R]]

	mu      sync.Mutex
	waiting map[R]*waiting
	// credits are adds that were written down already and are on their way to the queue.
	credits map[R]int
	running map[R]*handout
	slots   []*slot[R]
	// recent holds the last trigger of the requests handed out last, for Carried.
	recent     map[R]queued
	recentKeys []R
	recentNext int
	trimmed    map[trimmedKey]*watchEvent
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
	count       int
	size        int64
	rateLimited bool // delay is not known until the rate limiter was asked
	own         bool // the event is a copy that may be changed
	carried     bool
}

func (q *queued) ready() time.Time { return q.at.Add(q.delay) }

type trimmedKey struct {
	kind             TriggerKind
	apiVersion, name string
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
		recent: map[R]queued{}, trimmed: map[trimmedKey]*watchEvent{},
	}, nil
}

// add writes an event down for a request. With credit, an Add for it will pass the queue. It returns true
// where the event still has to be settled: that is for after the Add, so that the worker need not wait for it.
func (t *TypedTap[R]) add(request R, e *watchEvent, after time.Duration, rateLimited, credit bool) (unsettled bool) {
	q := queued{event: e, at: t.recorder.config.Now(), delay: max(after, 0), rateLimited: rateLimited}
	t.mu.Lock()
	if credit && t.queue.Load() != nil {
		t.credits[request]++
	}
	fits, unsettled := t.push(request, q)
	t.mu.Unlock()
	if !fits && t.repeats(request, e) {
		q.event = toldEvent(e.describe())
		t.fold(request, q)
	}
	return unsettled
}

// repeats says whether an event for which there is no room could be merged into another, and counts it as
// dropped where it could not: a trigger that will not be read need not be computed.
func (t *TypedTap[R]) repeats(request R, e *watchEvent) bool {
	object := e.object()
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.waiting[request]
	if w == nil || len(w.triggers) < t.recorder.config.MaxTriggers { // the others were taken meanwhile
		return true
	}
	for i := range w.triggers {
		if kept := w.triggers[i].event; kept.kind == e.kind && sameObject(kept.object(), object) {
			return true
		}
	}
	w.dropped++
	return false
}

// What an event that waits takes, and a request that waits, with its place in the map.
const (
	queuedBytes  = 192
	waitingBytes = 192
)

// push is called with the lock held.
func (t *TypedTap[R]) push(request R, q queued) (fits, unsettled bool) {
	w := t.waiting[request]
	if w == nil {
		w = &waiting{}
		t.waiting[request] = w
		t.recorder.pendingBytes.Add(waitingBytes)
	}
	if len(w.triggers) >= t.recorder.config.MaxTriggers {
		return false, false
	}
	q.size = queuedBytes
	trigger := q.event.trigger.Load()
	switch {
	case t.recorder.pendingBytes.Load()+q.size+trigger.sizeAlone() > t.recorder.maxPending:
		q.event = t.trim(q.event)
	case trigger == nil:
		unsettled = true
	default:
		q.size += trigger.sizeAlone()
	}
	t.recorder.pendingBytes.Add(q.size)
	w.triggers = append(w.triggers, q)
	return true, unsettled
}

func (t *Trigger) sizeAlone() int64 {
	if t == nil {
		return 0
	}
	return int64(t.bytes())
}

// settle works out what the event says, and counts the bytes of that if the request still waits.
func (t *TypedTap[R]) settle(request R, e *watchEvent) {
	size := e.describe().sizeAlone()
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.waiting[request]
	if w == nil {
		return
	}
	for i := len(w.triggers) - 1; i >= 0; i-- {
		if q := &w.triggers[i]; q.event == e && q.size == queuedBytes {
			q.size += size
			t.recorder.pendingBytes.Add(size)
			return
		}
	}
}

// trim returns an event that says no more than the kinds, shared by all requests.
func (t *TypedTap[R]) trim(e *watchEvent) *watchEvent {
	small := &Trigger{Kind: e.kind, Trimmed: true}
	key := trimmedKey{kind: e.kind}
	if full := e.trigger.Load(); full != nil && full.Object != nil {
		small.Object = &ObjectRef{APIVersion: full.Object.APIVersion, Kind: full.Object.Kind}
	} else if obj := e.objects.Load().newest(); obj != nil {
		ref := t.kinds.of(obj, t.scheme)
		small.Object = &ref
	}
	if small.Object != nil {
		key.apiVersion, key.name = small.Object.APIVersion, small.Object.Kind
	}
	if known := t.trimmed[key]; known != nil {
		return known
	}
	t.trimmed[key] = toldEvent(small)
	return t.trimmed[key]
}

// fold merges a trigger into the last one of the same kind for the same object.
func (t *TypedTap[R]) fold(request R, q queued) {
	trigger := q.event.describe()
	t.mu.Lock()
	defer t.mu.Unlock()
	if fits, _ := t.push(request, q); fits { // the others were taken meanwhile
		return
	}
	w := t.waiting[request]
	for i := len(w.triggers) - 1; i >= 0; i-- {
		mine := &w.triggers[i]
		kept := mine.event.describe()
		if kept.Kind != trigger.Kind || !sameObject(kept.Object, trigger.Object) {
			continue
		}
		if !mine.own {
			kept = kept.clone()
			mine.event, mine.own, mine.count = toldEvent(kept), true, 1
		}
		mine.count++
		kept.ResourceVersion = trigger.ResourceVersion
		kept.mergeChanges(trigger, t.recorder.config.MaxFields)
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

func sameObject(a, b *ObjectRef) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && *a == *b // the UID tells most apart at once
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
	for i := range t.Changes {
		mine := &t.Changes[i]
		if mine.Manager == c.Manager && mine.Operation == c.Operation && mine.Subresource == c.Subresource {
			return mine
		}
	}
	c.Fields = nil
	t.Changes = append(t.Changes, c)
	return &t.Changes[len(t.Changes)-1]
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
		if last, ok := t.recent[request]; ok {
			last.carried = true
			h.triggers = []queued{last}
		} else {
			h.triggers = []queued{{event: toldEvent(&Trigger{Kind: TriggerUnattributed}), at: now}}
		}
	}
	t.remember(request, h.triggers[len(h.triggers)-1])
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

func (t *TypedTap[R]) remember(request R, last queued) {
	if _, known := t.recent[request]; !known {
		if len(t.recentKeys) < keptRecent {
			t.recentKeys = append(t.recentKeys, request)
		} else {
			delete(t.recent, t.recentKeys[t.recentNext])
			t.recentKeys[t.recentNext] = request
		}
		t.recentNext = (t.recentNext + 1) % keptRecent
	}
	t.recent[request] = last
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

// kinds finds the kind of typed objects, which do not carry it. It asks the scheme once per type.
type kinds struct {
	known sync.Map // reflect.Type -> *ObjectRef
}

func (k *kinds) of(obj client.Object, scheme *runtime.Scheme) ObjectRef {
	if gvk := obj.GetObjectKind().GroupVersionKind(); gvk.Kind != "" {
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		return ObjectRef{APIVersion: apiVersion, Kind: kind}
	}
	typ := reflect.TypeOf(obj)
	if ref, ok := k.known.Load(typ); ok {
		return *ref.(*ObjectRef)
	}
	ref := &ObjectRef{Kind: typ.String()}
	if gvk, err := apiutil.GVKForObject(obj, scheme); err == nil {
		ref.APIVersion, ref.Kind = gvk.ToAPIVersionAndKind()
	}
	k.known.Store(typ, ref)
	return *ref
}

func (k *kinds) ref(obj client.Object, scheme *runtime.Scheme) *ObjectRef {
	ref := k.of(obj, scheme)
	ref.Namespace, ref.Name, ref.UID = obj.GetNamespace(), obj.GetName(), obj.GetUID()
	return &ref
}
