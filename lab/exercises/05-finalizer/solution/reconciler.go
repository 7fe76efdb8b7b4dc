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

// Package solution is a solution of exercise 05: a cleanup that can be repeated.
package solution

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler registers each Web in DNS, and removes the entry when the Web is deleted.
// The entry is a ConfigMap here; think of a service outside of the cluster, which no
// owner reference cleans up.
type Reconciler struct{ client.Client }

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler.
func (r *Reconciler) Watches() []sim.Watch { return []sim.Watch{sim.For(&labv1.Web{})} }

// Reconcile adds the finalizer before it creates the entry, and removes the finalizer
// after it has removed the entry.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var web labv1.Web
	if err := r.Get(ctx, req.NamespacedName, &web); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	entry := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name + "-dns"}}
	if web.DeletionTimestamp != nil {
		return ctrl.Result{}, r.cleanUp(ctx, &web, entry)
	}
	if controllerutil.AddFinalizer(&web, labv1.Finalizer) {
		if err := r.Update(ctx, &web); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.Create(ctx, entry); err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) cleanUp(ctx context.Context, web *labv1.Web, entry *corev1.ConfigMap) error {
	// An entry that is gone is a success: an earlier attempt may have come this far.
	if err := r.Delete(ctx, entry); client.IgnoreNotFound(err) != nil {
		return err
	}
	controllerutil.RemoveFinalizer(web, labv1.Finalizer)
	return client.IgnoreNotFound(r.Update(ctx, web))
}
