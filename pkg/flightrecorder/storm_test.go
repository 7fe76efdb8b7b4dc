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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A real controller with four workers gets events from five watches at once, two of them recorded by
// predicates and three by handlers, while runs fail, ask to be run again, and events pile up. Every event has
// to turn up in exactly one run, and every run has to have a reason.
func TestNoTriggerIsLostAndNoneIsInvented(t *testing.T) {
	for name, options := range map[string]controller.Options{
		"priority queue":    {},
		"client-go's queue": {UsePriorityQueue: ptr.To(false)},
	} {
		t.Run(name, func(t *testing.T) { storm(t, options) })
	}
}

const stormObjects, stormEvents = 20, 1000

func storm(t *testing.T, options controller.Options) {
	rec := newRecorder(t, Config{RecordsPerObject: 100_000, MaxBytes: 1 << 30, MaxTriggers: 100_000})
	tap := newTestTap(t, rec)
	var runs atomic.Int64
	options.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, 10*time.Millisecond)
	options = tap.Options(options)
	options.MaxConcurrentReconciles, options.SkipNameValidation, options.Logger = 4, ptr.To(true), logr.Discard()
	options.Reconciler = tap.Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		switch runs.Add(1) % 7 {
		case 0:
			return reconcile.Result{}, errors.New("boom")
		case 1:
			return reconcile.Result{RequeueAfter: time.Millisecond}, nil
		}
		return reconcile.Result{}, nil
	}))
	c, err := controller.NewUnmanaged(t.Name(), options)
	if err != nil {
		t.Fatal(err)
	}
	queue := make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1)
	if err := c.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue <- q
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- c.Start(ctx) }()
	q := <-queue

	watches := fiveWatches(tap)
	var wg sync.WaitGroup
	for w, watch := range watches {
		wg.Go(func() {
			for i := range stormEvents {
				watch(w, i, q)
			}
		})
	}
	wg.Wait()
	seen := func() map[string]int {
		times := map[string]int{}
		for _, r := range rec.Query(Query{Limit: -1}) {
			for _, trigger := range r.Triggers {
				if trigger.Object != nil && !trigger.Carried {
					times[trigger.Object.Kind+" "+trigger.ResourceVersion]++
				}
			}
		}
		return times
	}
	defer func() {
		if t.Failed() {
			t.Logf("%d events seen, %d in the queue, %d requests wait with %d bytes", len(seen()), q.Len(), len(tap.waiting), rec.pendingBytes.Load())
		}
	}()
	// With client-go's queue a retry may stay behind until the next run: see take.
	merges := tap.queue.Load().merges
	eventually(t, "every event is in a record", func() bool {
		return len(seen()) == len(watches)*stormEvents && (!merges || rec.pendingBytes.Load() == 0)
	})
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	for event, times := range seen() {
		if times != 1 {
			t.Errorf("%s is in %d runs", event, times)
		}
	}
	judge(t, rec)
}

// judge looks for runs without a reason.
func judge(t *testing.T, rec *Recorder) {
	t.Helper()
	kinds := map[TriggerKind]int{}
	carried := 0
	for _, r := range rec.Query(Query{Limit: -1}) {
		if len(r.Triggers) == 0 || r.QueueWait < 0 {
			t.Errorf("record %s: %d triggers, waited %s", r.ID, len(r.Triggers), r.QueueWait)
		}
		for _, trigger := range r.Triggers {
			kinds[trigger.Kind]++
			if trigger.Carried {
				carried++
			}
		}
	}
	t.Logf("%d records, %d triggers carried, by kind: %v", rec.Stats().Records, carried, kinds)
	if kinds[TriggerUnattributed] > 0 || kinds[TriggerRetry] == 0 || kinds[TriggerRequeueAfter] == 0 {
		t.Errorf("kinds: %v", kinds)
	}
}

// fiveWatches are functions that do what an informer does with one event: predicates, then handler.
func fiveWatches(tap *Tap) []func(watch, i int, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	type q = workqueue.TypedRateLimitingInterface[reconcile.Request]
	rc := func(watch, i int) (before, after *corev1.ReplicationController) {
		before, after = controllerFor("0"), controllerFor(fmt.Sprintf("%d-%d", watch, i))
		before.Name = fmt.Sprintf("web-%d", i%stormObjects)
		after.Name = before.Name
		after.Spec.MinReadySeconds = int32(i + 1)
		return before, after
	}
	pod := func(watch, i int) (before, after *corev1.Pod) {
		before, after = owned(testPod()), owned(testPod())
		for _, p := range []*corev1.Pod{before, after} {
			p.OwnerReferences[0].Name = fmt.Sprintf("web-%d", i%stormObjects)
		}
		after.ResourceVersion, after.Status.Message = fmt.Sprintf("%d-%d", watch, i), fmt.Sprint(i)
		return before, after
	}
	forObject := &handler.EnqueueRequestForObject{}
	forOwner := handler.EnqueueRequestForOwner(scheme.Scheme, testMapper(), &corev1.ReplicationController{}, handler.OnlyControllerOwner())
	forP, ownsP := tap.ForPredicate(), tap.OwnsPredicate()
	forH, ownsH := tap.Handler(forObject), tap.Handler(forOwner)
	ctx := context.Background()
	return []func(int, int, q){
		func(w, i int, q q) {
			before, after := rc(w, i)
			e := event.UpdateEvent{ObjectOld: before, ObjectNew: after}
			forP.Update(e)
			forObject.Update(ctx, e, q)
		},
		func(w, i int, q q) {
			before, after := pod(w, i)
			e := event.UpdateEvent{ObjectOld: before, ObjectNew: after}
			ownsP.Update(e)
			forOwner.Update(ctx, e, q)
		},
		func(w, i int, q q) {
			before, after := rc(w, i)
			forH.Update(ctx, event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		},
		func(w, i int, q q) {
			before, after := pod(w, i)
			ownsH.Update(ctx, event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		},
		func(w, i int, q q) { // a wrapper around ours, whose queue hides the Tap's
			before, after := rc(w, i)
			handler.WithLowPriorityWhenUnchanged(forH).Update(ctx, event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		},
	}
}
