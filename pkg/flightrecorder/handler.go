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
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
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
	kind := TriggerCreate
	if e.IsInInitialList {
		kind = TriggerStartup
	}
	h.inner.Create(ctx, e, h.known(q, kind, nil, objectOf(e.Object)))
}

func (h *eventHandler[O, R]) Update(ctx context.Context, e event.TypedUpdateEvent[O], q workqueue.TypedRateLimitingInterface[R]) {
	h.inner.Update(ctx, e, h.known(q, TriggerUpdate, objectOf(e.ObjectOld), objectOf(e.ObjectNew)))
}

func (h *eventHandler[O, R]) Delete(ctx context.Context, e event.TypedDeleteEvent[O], q workqueue.TypedRateLimitingInterface[R]) {
	h.inner.Delete(ctx, e, h.known(q, TriggerDelete, nil, objectOf(e.Object)))
}

func (h *eventHandler[O, R]) Generic(ctx context.Context, e event.TypedGenericEvent[O], q workqueue.TypedRateLimitingInterface[R]) {
	h.inner.Generic(ctx, e, h.known(q, TriggerGeneric, nil, objectOf(e.Object)))
}

func (h *eventHandler[O, R]) known(q workqueue.TypedRateLimitingInterface[R], kind TriggerKind, before, after client.Object) *knownQueue[R] {
	return newKnownQueue(h.tap, q, h.tap.newEvent(kind, objectPair{before, after}))
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

// watchEvent is an event that may become a trigger, of one request or of many. Its trigger is computed
// when it is first needed; for events that lead to no request, it is never computed.
type watchEvent struct {
	recorder *Recorder
	kinds    *kinds
	scheme   *runtime.Scheme
	kind     TriggerKind

	// objects are there until trigger is.
	objects atomic.Pointer[objectPair]
	trigger atomic.Pointer[Trigger]
}

type objectPair struct{ before, after client.Object }

// newest is the object of the event, or nil.
func (p *objectPair) newest() client.Object {
	switch {
	case p == nil:
		return nil
	case p.after != nil:
		return p.after
	}
	return p.before
}

func (t *TypedTap[R]) newEvent(kind TriggerKind, objects objectPair) *watchEvent {
	if kind == TriggerUpdate && objects.before != nil && objects.after != nil &&
		objects.before.GetResourceVersion() == objects.after.GetResourceVersion() {
		kind = TriggerResync
	}
	e := &watchEvent{recorder: t.recorder, kinds: &t.kinds, scheme: t.scheme, kind: kind}
	e.objects.Store(&objects)
	return e
}

// toldEvent is an event that has been worked out.
func toldEvent(trigger *Trigger) *watchEvent {
	e := &watchEvent{kind: trigger.Kind}
	e.trigger.Store(trigger)
	return e
}

// object names what the event is of, without working out the rest.
func (e *watchEvent) object() *ObjectRef {
	if objects := e.objects.Load(); objects != nil {
		if obj := objects.newest(); obj != nil {
			return e.kinds.ref(obj, e.scheme)
		}
		return nil
	}
	return e.trigger.Load().Object
}

// describe may be called by the informer's goroutine and by workers at the same time. None waits for
// another: at worst two of them work out the same.
func (e *watchEvent) describe() *Trigger {
	if t := e.trigger.Load(); t != nil {
		return t
	}
	objects := e.objects.Load()
	if objects == nil {
		return e.trigger.Load()
	}
	t := &Trigger{Kind: e.kind}
	e.fill(t, objects)
	e.trigger.CompareAndSwap(nil, t)
	e.objects.Store(nil)
	return e.trigger.Load()
}

// fill runs on the informer's goroutine, where a panic would end the operator. An object that the
// differ cannot cope with costs its details.
func (e *watchEvent) fill(t *Trigger, objects *objectPair) {
	defer func() {
		if recover() != nil {
			e.recorder.faults.Add(1)
		}
	}()
	obj := objects.newest()
	if obj == nil {
		return
	}
	t.Object = e.kinds.ref(obj, e.scheme)
	t.ResourceVersion = obj.GetResourceVersion()
	t.TraceParent = e.recorder.tracing.traceparent(obj)
	switch {
	case e.kind == TriggerCreate:
		t.Changes = e.recorder.creatorsOf(obj)
	case e.kind == TriggerUpdate && objects.before != nil && objects.after != nil:
		var fields []string
		fields, t.MoreFields = e.recorder.differ.diff(objects.before, objects.after)
		writers, inferred := e.recorder.writersOf(objects.before, objects.after)
		t.Changes = groupByManager(fields, writers, inferred)
	}
}
