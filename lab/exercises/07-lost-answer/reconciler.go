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

// Package lostanswer is exercise 07: generateName and a lost answer.
//
// This is the file to edit.
package lostanswer

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler keeps one pod for each Web. It remembers the pod that it created until the
// cache shows it, so that a stale read does no harm.
type Reconciler struct {
	client.Client
	created map[client.ObjectKey]string
}

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler {
	return &Reconciler{p.Client, map[client.ObjectKey]string{}}
}

// Watches wake the reconciler: a Web that changes, and a pod that a Web owns.
func (r *Reconciler) Watches() []sim.Watch {
	return []sim.Watch{sim.For(&labv1.Web{}), sim.Owns(&labv1.Web{}, &corev1.Pod{})}
}

// Reconcile creates the pod, unless the cache or the memory has it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var web labv1.Web
	if err := r.Get(ctx, req.NamespacedName, &web); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(web.Namespace), client.MatchingLabels{labv1.LabelWeb: web.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if len(pods.Items) > 0 {
		delete(r.created, req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if r.created[req.NamespacedName] != "" {
		return ctrl.Result{}, nil // the event of the new pod comes later
	}
	pod := labv1.NewPod(&web)
	pod.GenerateName = web.Name + "-"
	if err := ctrl.SetControllerReference(&web, pod, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Create(ctx, pod); err != nil {
		return ctrl.Result{}, err
	}
	r.created[req.NamespacedName] = pod.Name
	return ctrl.Result{}, nil
}
