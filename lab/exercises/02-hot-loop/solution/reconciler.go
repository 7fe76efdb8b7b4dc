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

// Package solution is a solution of exercise 02: the status says nothing about the
// reconciles themselves, and is written only if it changes.
package solution

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler reports in the status of a Web which image it asks for.
type Reconciler struct{ client.Client }

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler.
func (r *Reconciler) Watches() []sim.Watch { return []sim.Watch{sim.For(&labv1.Web{})} }

// Reconcile writes the status if it differs. How often a reconcile ran is a metric:
// controller_runtime_reconcile_total.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var web labv1.Web
	if err := r.Get(ctx, req.NamespacedName, &web); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	status := labv1.WebStatus{Image: web.Spec.Image, ObservedGeneration: web.Generation}
	if equality.Semantic.DeepEqual(web.Status, status) {
		return ctrl.Result{}, nil
	}
	web.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, &web)
}
