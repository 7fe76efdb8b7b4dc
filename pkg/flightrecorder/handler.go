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
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Handler wraps an event handler, for the builder's Watches.
func (t *TypedTap[R]) Handler(inner handler.TypedEventHandler[client.Object, R]) handler.TypedEventHandler[client.Object, R] {
	return WrapHandler(t, inner)
}

// WrapHandler wraps an event handler for objects of any type, for source.TypedKind and
// source.TypedChannel. The handler decides as before which requests to add.
func WrapHandler[O any, R comparable](tap *TypedTap[R], inner handler.TypedEventHandler[O, R]) handler.TypedEventHandler[O, R] {
	return &eventHandler[O, R]{tap: tap, inner: inner}
}

type eventHandler[O any, R comparable] struct {
	tap   *TypedTap[R]
	inner handler.TypedEventHandler[O, R]
}

func (h *eventHandler[O, R]) Create(ctx context.Context, e event.TypedCreateEvent[O], q workqueue.TypedRateLimitingInterface[R]) {
	h.inner.Create(ctx, e, h.tap.noting(q, h.tap.newEvent(createOrStartup(e.IsInInitialList), nil, objectOf(e.Object))))
}

func (h *eventHandler[O, R]) Update(ctx context.Context, e event.TypedUpdateEvent[O], q workqueue.TypedRateLimitingInterface[R]) {
	h.inner.Update(ctx, e, h.tap.noting(q, h.tap.newEvent(TriggerUpdate, objectOf(e.ObjectOld), objectOf(e.ObjectNew))))
}

func (h *eventHandler[O, R]) Delete(ctx context.Context, e event.TypedDeleteEvent[O], q workqueue.TypedRateLimitingInterface[R]) {
	h.inner.Delete(ctx, e, h.tap.noting(q, h.tap.newEvent(TriggerDelete, nil, objectOf(e.Object))))
}

func (h *eventHandler[O, R]) Generic(ctx context.Context, e event.TypedGenericEvent[O], q workqueue.TypedRateLimitingInterface[R]) {
	h.inner.Generic(ctx, e, h.tap.noting(q, h.tap.newEvent(TriggerGeneric, nil, objectOf(e.Object))))
}

func createOrStartup(isInInitialList bool) TriggerKind {
	if isInInitialList {
		return TriggerStartup
	}
	return TriggerCreate
}

// objectOf returns nil for what is not an object, or is a nil pointer to one.
func objectOf(o any) client.Object {
	obj, ok := o.(client.Object)
	if !ok {
		return nil
	}
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return obj
}

// ForPredicate records the events of the builder's For, whose handler cannot be wrapped:
//
//	For(&v1.PodManager{}, builder.WithPredicates(yours, tap.ForPredicate()))
//
// It lets every event pass. Put it last, so that it sees what the others let pass. It works together
// with Options, and belongs to one watch only.
func (t *TypedTap[R]) ForPredicate() predicate.Predicate {
	return t.announces(func(obj client.Object, key types.NamespacedName) bool {
		return key.Name == obj.GetName() && key.Namespace == obj.GetNamespace()
	})
}

// OwnsPredicate records the events of the builder's Owns, whose handler cannot be wrapped:
//
//	Owns(&corev1.Pod{}, builder.WithPredicates(yours, tap.OwnsPredicate()))
//
// Put it last; see ForPredicate.
func (t *TypedTap[R]) OwnsPredicate() predicate.Predicate {
	return t.announces(func(obj client.Object, key types.NamespacedName) bool {
		for _, ref := range obj.GetOwnerReferences() {
			gv, err := schema.ParseGroupVersion(ref.APIVersion)
			if err == nil && ref.Name == key.Name && ref.Kind == t.groupKind.Kind && gv.Group == t.groupKind.Group &&
				(key.Namespace == "" || key.Namespace == obj.GetNamespace()) {
				return true
			}
		}
		return false
	})
}

// announcement holds the one event that a watch is working on. The informer calls the predicates of a watch,
// then its handler, then the predicates again for the next event, all from one goroutine: so between
// two calls of this predicate, an add for a request that the event leads to is that event's. An event
// that led to no add leaves with the next one.
type announcement[R comparable] struct {
	leadsTo func(obj client.Object, key types.NamespacedName) bool

	// Guarded by the tap's lock.
	event   *watchEvent
	objects [2]client.Object
	claimed []R
}

func (t *TypedTap[R]) announces(leadsTo func(client.Object, types.NamespacedName) bool) predicate.Predicate {
	a := &announcement[R]{leadsTo: leadsTo}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.announced = append(t.announced, a)
	announce := func(kind TriggerKind, before, after client.Object) bool {
		objects := [2]client.Object{objectOf(before), objectOf(after)}
		e := t.newEvent(kind, objects[0], objects[1])
		t.mu.Lock()
		defer t.mu.Unlock()
		a.event, a.objects, a.claimed = e, objects, a.claimed[:0]
		return true
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return announce(createOrStartup(e.IsInInitialList), nil, e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return announce(TriggerUpdate, e.ObjectOld, e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return announce(TriggerDelete, nil, e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return announce(TriggerGeneric, nil, e.Object) },
	}
}

// claim takes the announced events that lead to the request. It is called with the lock held.
func (t *TypedTap[R]) claim(request R) (events []*watchEvent) {
	key := t.keyOf(request)
	for _, a := range t.announced {
		if a.event == nil || slices.Contains(a.claimed, request) {
			continue
		}
		if slices.ContainsFunc(a.objects[:], func(obj client.Object) bool { return obj != nil && a.leadsTo(obj, key) }) {
			a.claimed = append(a.claimed, request)
			events = append(events, a.event)
		}
	}
	return events
}

// Source wraps a raw source whose handler is not wrapped, or that has none: what it adds is recorded
// as TriggerGeneric with the source's name. A handler wrapped with WrapHandler tells more.
func (t *TypedTap[R]) Source(inner source.TypedSource[R]) source.TypedSource[R] {
	s := &tappedSource[R]{TypedSource: inner, tap: t}
	if syncing, ok := inner.(source.TypedSyncingSource[R]); ok {
		return &tappedSyncingSource[R]{tappedSource: s, syncing: syncing}
	}
	return s
}

type tappedSource[R comparable] struct {
	source.TypedSource[R]
	tap *TypedTap[R]
}

// Start implements source.Source. A wrapped handler inside the source goes past this queue.
func (s *tappedSource[R]) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[R]) error {
	return s.TypedSource.Start(ctx, s.tap.noting(q, toldEvent(&Trigger{Kind: TriggerGeneric, Reason: s.String()})))
}

func (s *tappedSource[R]) String() string {
	if named, ok := s.TypedSource.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", s.TypedSource)
}

type tappedSyncingSource[R comparable] struct {
	*tappedSource[R]
	syncing source.TypedSyncingSource[R]
}

func (s *tappedSyncingSource[R]) WaitForSync(ctx context.Context) error {
	return s.syncing.WaitForSync(ctx)
}

// Manual is a user's request to reconcile an object now.
type Manual = TypedManual[reconcile.Request]

// TypedManual is Manual for requests of any type.
type TypedManual[R comparable] struct {
	Request R
	// User is who asks, as authenticated; Reason is what they say.
	User   string
	Reason string
}

// maxReason is where free text from outside is cut.
const maxReason = 256

func (m TypedManual[R]) event() *watchEvent {
	return toldEvent(&Trigger{
		Kind: TriggerManual, User: m.User[:min(len(m.User), maxReason)], Reason: m.Reason[:min(len(m.Reason), maxReason)],
	})
}

// ErrNotStarted is returned by Enqueue while the controller has no queue: before it starts, or while
// another replica is the leader.
var ErrNotStarted = errors.New("flightrecorder: the controller is not running here")

// Enqueue adds a request by hand. It does not wait for the reconcile.
func (t *TypedTap[R]) Enqueue(m TypedManual[R]) error {
	q := t.queue.Load()
	if q == nil || q.ShuttingDown() {
		return ErrNotStarted
	}
	t.noting(q, m.event()).Add(m.Request)
	return nil
}

// ManualHandler handles manual requests that come through a channel:
//
//	WatchesRawSource(source.Channel(requests, tap.ManualHandler()))
//
// where requests is a chan event.TypedGenericEvent[flightrecorder.Manual]. Enqueue does the same
// without a channel.
func (t *TypedTap[R]) ManualHandler() handler.TypedEventHandler[TypedManual[R], R] {
	return handler.TypedFuncs[TypedManual[R], R]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[TypedManual[R]], q workqueue.TypedRateLimitingInterface[R]) {
			t.noting(q, e.Object.event()).Add(e.Object.Request)
		},
	}
}

// watchEvent is an event that may become a trigger, of one request or of many. Its trigger is worked out
// when it is first needed; for events that lead to no request, that is never.
type watchEvent struct {
	kind   TriggerKind
	object *ObjectRef
	// describe may be called by the informer's goroutine and by workers at the same time.
	describe func() *Trigger
}

func (t *TypedTap[R]) newEvent(kind TriggerKind, before, after client.Object) *watchEvent {
	if kind == TriggerUpdate && before != nil && after != nil && before.GetResourceVersion() == after.GetResourceVersion() {
		kind = TriggerResync
	}
	newest := after
	if newest == nil {
		newest = before
	}
	if newest == nil {
		return toldEvent(&Trigger{Kind: kind})
	}
	object := refOf(newest, t.scheme)
	return &watchEvent{kind: kind, object: object, describe: sync.OnceValue(func() *Trigger {
		trigger := &Trigger{Kind: kind, Object: object, ResourceVersion: newest.GetResourceVersion()}
		t.recorder.explain(trigger, before, newest)
		return trigger
	})}
}

// toldEvent is an event that has been worked out.
func toldEvent(trigger *Trigger) *watchEvent {
	return &watchEvent{kind: trigger.Kind, object: trigger.Object, describe: func() *Trigger { return trigger }}
}

// explain runs on the informer's goroutine, where a panic would end the operator. An object that the
// differ cannot cope with costs its details.
func (r *Recorder) explain(t *Trigger, before, after client.Object) {
	defer func() {
		if recover() != nil {
			r.faults.Add(1)
		}
	}()
	t.TraceParent = r.tracing.traceparent(after)
	switch {
	case t.Kind == TriggerCreate:
		t.Changes = r.creatorsOf(after)
	case t.Kind == TriggerUpdate && before != nil:
		var fields []string
		fields, t.MoreFields = r.differ.diff(before, after)
		writers, inferred := r.writersOf(before, after)
		t.Changes = groupByManager(fields, writers, inferred)
	}
}
