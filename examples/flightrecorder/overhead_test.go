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

package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// lane is a controller that reads a ConfigMap from the cache and patches it on the server. Events are fed to it by hand, so that two lanes can take turns.
type lane struct {
	client client.Client
	orders []*corev1.ConfigMap
	turn   int

	events handler.EventHandler
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	done   chan time.Time
	err    error
}

func (l *lane) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var cm corev1.ConfigMap
	err := l.client.Get(ctx, request.NamespacedName, &cm)
	if err == nil {
		before := cm.DeepCopy()
		cm.Annotations = map[string]string{"turn": fmt.Sprint(l.turn)}
		err = l.client.Patch(ctx, &cm, client.MergeFrom(before))
	}
	flightrecorder.SetPayload(ctx, struct{ Turn int }{l.turn})
	l.err = err
	return reconcile.Result{}, nil
}

func newLane(b *testing.B, mgr ctrl.Manager, name string, rec *flightrecorder.Recorder) *lane {
	b.Helper()
	l := &lane{client: mgr.GetClient(), events: &handler.EnqueueRequestForObject{}, done: make(chan time.Time)}
	options := controller.Options{
		Reconciler: l, SkipNameValidation: ptr.To(true),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return &hookedQueue{done: l.done, PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })}
		},
	}
	if rec != nil {
		tap, err := flightrecorder.NewTap(rec, mgr, name, &corev1.ConfigMap{})
		if err != nil {
			b.Fatal(err)
		}
		l.client = rec.Client(l.client)
		l.events = tap.Handler(l.events)
		options = tap.Options(options)
		options.Reconciler = tap.Reconciler(l)
	}
	c, err := controller.New(name, mgr, options)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		l.queue = q
		l.done <- time.Now()
		return nil
	})); err != nil {
		b.Fatal(err)
	}
	for i := range 20 {
		cm := order(fmt.Sprintf("%s-%d", name, i))
		if err := mgr.GetAPIReader().Get(context.Background(), client.ObjectKeyFromObject(cm), cm); err != nil {
			if err := newUser(b, mgr.GetConfig()).Create(context.Background(), cm); err != nil {
				b.Fatal(err)
			}
		}
		l.orders = append(l.orders, cm)
	}
	return l
}

// reconcile sends an event of one order and waits until the worker is done with all that follows from it.
func (l *lane) reconcile(b *testing.B) time.Duration {
	b.Helper()
	l.turn++
	cm := l.orders[l.turn%len(l.orders)]
	after := cm.DeepCopy()
	after.ResourceVersion = fmt.Sprint(l.turn)
	after.Data = map[string]string{"name": fmt.Sprint(l.turn)}
	start := time.Now()
	l.events.Update(context.Background(), event.UpdateEvent{ObjectOld: cm, ObjectNew: after}, l.queue)
	end := <-l.done
	if l.err != nil {
		b.Fatal(l.err)
	}
	return end.Sub(start)
}

// hookedQueue is the controller's queue; its Done is the last thing that a worker calls for a request.
type hookedQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	done chan<- time.Time
}

func (q *hookedQueue) Done(request reconcile.Request) {
	q.PriorityQueue.Done(request)
	q.done <- time.Now()
}

// BenchmarkReconcileOnARealServer measures the same controller with and without the recorder, in turns
// within one run on a real API server: the time from an event to when the worker is done with the reconcile
// it leads to, which makes one write. It prints the median without the recorder, and what the median with it
// is more.
func BenchmarkReconcileOnARealServer(b *testing.B) {
	cluster := kubetest.Start(b, localkube.Options{Components: localkube.APIOnly()})
	rec, err := flightrecorder.New(flightrecorder.Config{})
	if err != nil {
		b.Fatal(err)
	}
	mgr, err := ctrl.NewManager(cluster.RESTConfig(), ctrl.Options{Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		b.Fatal(err)
	}
	plain, recorded := newLane(b, mgr, "plain", nil), newLane(b, mgr, "recorded", rec)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	<-plain.done
	<-recorded.done
	for range 100 {
		plain.reconcile(b)
		recorded.reconcile(b)
	}
	var bare, more []time.Duration
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			bare = append(bare, plain.reconcile(b))
			more = append(more, recorded.reconcile(b))
		} else {
			more = append(more, recorded.reconcile(b))
			bare = append(bare, plain.reconcile(b))
		}
	}
	cancel()
	if err := <-stopped; err != nil {
		b.Error(err)
	}
	slices.Sort(bare)
	slices.Sort(more)
	p, r := bare[len(bare)/2], more[len(more)/2]
	b.ReportMetric(float64(p.Microseconds()), "bare-µs/reconcile")
	b.ReportMetric(100*(float64(r)/float64(p)-1), "overhead-%")
	b.ReportMetric(0, "ns/op")
	if s := rec.Stats(); s.Records == 0 || s.Faults != 0 {
		b.Errorf("%+v", s)
	}
}
