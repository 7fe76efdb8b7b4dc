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

// Package solution is a solution of exercise 16. The operator of this project goes
// further: internal/controller/collector.
package solution

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler counts the pods of its namespace that appeared and went away. The handler
// counts, because it is called for every event; the queue merges them. Reconcile writes
// totals, so that a write that is repeated or merged does no harm.
type Reconciler struct {
	client.Client
	mu     sync.Mutex
	counts map[string]collectorv1.EventCounts // by namespace
}

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler {
	return &Reconciler{Client: p.Client, counts: map[string]collectorv1.EventCounts{}}
}

// Watches count every event of a pod, and wake the Collector of the namespace.
func (r *Reconciler) Watches() []sim.Watch {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return []sim.Watch{
		sim.For(&collectorv1.Collector{}, predicate.GenerationChangedPredicate{}),
		sim.Watches(&corev1.Pod{}, handler.Funcs{
			CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
				q.Add(r.count(e.Object, func(c *collectorv1.EventCounts) { c.Added++ }))
			},
			DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
				q.Add(r.count(e.Object, func(c *collectorv1.EventCounts) { c.Deleted++ }))
			},
		}),
	}
}

func (r *Reconciler) count(pod client.Object, add func(*collectorv1.EventCounts)) reconcile.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts[pod.GetNamespace()]
	add(&counts)
	r.counts[pod.GetNamespace()] = counts
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: "pods"}}
}

// Reconcile writes the totals if they changed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var collector collectorv1.Collector
	if err := r.Get(ctx, req.NamespacedName, &collector); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.mu.Lock()
	counts := r.counts[req.Namespace]
	r.mu.Unlock()
	if collector.Status.Events == counts {
		return ctrl.Result{}, nil
	}
	collector.Status.Events = counts
	return ctrl.Result{}, r.Status().Update(ctx, &collector)
}
