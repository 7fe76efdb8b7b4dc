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

// Package solution is a solution of exercise 01: the name of a pod follows from its Web
// and its position, so that a second create meets AlreadyExists.
package solution

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler keeps as many pods as a Web asks for.
type Reconciler struct{ client.Client }

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler: a Web that changes, and a pod that a Web owns.
func (r *Reconciler) Watches() []sim.Watch {
	return []sim.Watch{sim.For(&labv1.Web{}), sim.Owns(&labv1.Web{}, &corev1.Pod{})}
}

// Reconcile creates the pods web-0, web-1 and so on, unless the cache shows them. A cache
// that lags behind costs a request, but no pod.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var web labv1.Web
	if err := r.Get(ctx, req.NamespacedName, &web); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(web.Namespace), client.MatchingLabels{labv1.LabelWeb: web.Name}); err != nil {
		return ctrl.Result{}, err
	}
	known := map[string]bool{}
	for i := range pods.Items {
		known[pods.Items[i].Name] = true
	}
	for i := range web.Spec.Replicas {
		pod := labv1.NewPod(&web)
		if pod.Name = fmt.Sprintf("%s-%d", web.Name, i); known[pod.Name] {
			continue
		}
		if err := ctrl.SetControllerReference(&web, pod, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}
