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

// Package predicates is exercise 06: a predicate that drops what matters.
//
// This is the file to edit.
package predicates

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler keeps the pod NAME-0 for each Web, and counts the running pods in the status.
type Reconciler struct{ client.Client }

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler. Most events are of no interest, so that only those pass
// which change the generation.
func (r *Reconciler) Watches() []sim.Watch {
	return []sim.Watch{
		sim.For(&labv1.Web{}, predicate.GenerationChangedPredicate{}),
		sim.Owns(&labv1.Web{}, &corev1.Pod{}, predicate.GenerationChangedPredicate{}),
	}
}

// Reconcile creates the pod and reports whether it runs.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var web labv1.Web
	if err := r.Get(ctx, req.NamespacedName, &web); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	pod := labv1.NewPod(&web)
	pod.Name = web.Name + "-0"
	if err := r.Get(ctx, client.ObjectKeyFromObject(pod), pod); apierrors.IsNotFound(err) {
		if err := ctrl.SetControllerReference(&web, pod, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
	} else if err != nil {
		return ctrl.Result{}, err
	}
	ready := int32(0)
	if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
		ready = 1
	}
	if web.Status.Ready == ready {
		return ctrl.Result{}, nil
	}
	web.Status.Ready = ready
	return ctrl.Result{}, r.Status().Update(ctx, &web)
}
