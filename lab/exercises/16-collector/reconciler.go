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

// Package collector is exercise 16: Collector, from a first listing to an operator for
// production.
//
// This is the file to edit.
package collector

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler counts the pods of its namespace that appeared and went away.
type Reconciler struct{ client.Client }

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler: each event of a pod wakes the Collector of the namespace.
func (r *Reconciler) Watches() []sim.Watch {
	return []sim.Watch{
		sim.For(&collectorv1.Collector{}, predicate.GenerationChangedPredicate{}),
		sim.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: "pods"}}}
		})),
	}
}

// Reconcile compares the number of pods with that of the last time.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var collector collectorv1.Collector
	if err := r.Get(ctx, req.NamespacedName, &collector); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(req.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	status := &collector.Status
	more := int64(len(pods.Items)) - int64(status.Pods)
	switch {
	case more > 0:
		status.Events.Added += more
	case more < 0:
		status.Events.Deleted -= more
	default:
		return ctrl.Result{}, nil
	}
	status.Pods = int32(len(pods.Items))
	return ctrl.Result{}, r.Status().Update(ctx, &collector)
}
