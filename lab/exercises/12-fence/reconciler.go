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

// Package fence is exercise 12: leader election without a fence.
//
// This is the file to edit.
package fence

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler rolls out the image of a Web, and keeps in the status which image and which
// generation it has rolled out. Other programs read that, to know what runs.
type Reconciler struct{ client.Client }

// New makes the reconciler. Leader election makes sure that only one process reconciles.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler.
func (r *Reconciler) Watches() []sim.Watch { return []sim.Watch{sim.For(&labv1.Web{})} }

// Reconcile writes the status if it changes.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var web labv1.Web
	if err := r.Get(ctx, req.NamespacedName, &web); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if web.Status.ObservedGeneration == web.Generation {
		return ctrl.Result{}, nil
	}
	before := web.DeepCopy()
	web.Status.Image, web.Status.ObservedGeneration = web.Spec.Image, web.Generation
	return ctrl.Result{}, r.Status().Patch(ctx, &web, client.MergeFrom(before))
}
