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
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

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

func (s *tappedSource[R]) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[R]) error {
	bare, passes := bareQueue(q)
	return s.TypedSource.Start(ctx, &sourceQueue[R]{PriorityQueue: bare, tap: s.tap, name: s.String(), credit: passes})
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

// sourceQueue writes down the adds of a source. A wrapped handler inside the source goes past it.
type sourceQueue[R comparable] struct {
	priorityqueue.PriorityQueue[R]
	tap    *TypedTap[R]
	name   string
	credit bool // see knownQueue
}

func (q *sourceQueue[R]) note(request R, after time.Duration, rateLimited bool) {
	q.tap.add(request, toldEvent(&Trigger{Kind: TriggerGeneric, Reason: q.name}), after, rateLimited, q.credit)
}

func (q *sourceQueue[R]) Add(request R) {
	q.note(request, 0, false)
	q.PriorityQueue.Add(request)
}

func (q *sourceQueue[R]) AddAfter(request R, after time.Duration) {
	q.note(request, after, false)
	q.PriorityQueue.AddAfter(request, after)
}

func (q *sourceQueue[R]) AddRateLimited(request R) {
	q.note(request, 0, true)
	q.PriorityQueue.AddRateLimited(request)
}

func (q *sourceQueue[R]) AddWithOpts(o priorityqueue.AddOpts, requests ...R) {
	for _, request := range requests {
		q.note(request, o.After, o.RateLimited)
	}
	q.PriorityQueue.AddWithOpts(o, requests...)
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

func (m TypedManual[R]) trigger() *Trigger {
	return &Trigger{Kind: TriggerManual, User: cut(m.User), Reason: cut(m.Reason)}
}

func cut(s string) string {
	if len(s) > maxReason {
		return s[:maxReason]
	}
	return s
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
	t.add(m.Request, toldEvent(m.trigger()), 0, false, false)
	q.PriorityQueue.Add(m.Request)
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
			newKnownQueue(t, q, toldEvent(e.Object.trigger())).Add(e.Object.Request)
		},
	}
}
