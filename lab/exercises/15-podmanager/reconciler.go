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

// Package podmanager is exercise 15: PodManager, from a first listing to an operator for
// production.
//
// This is the file to edit.
package podmanager

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler keeps the pods of a PodManager, with a finalizer, a status and events.
type Reconciler struct {
	client.Client
	recorder events.EventRecorder
}

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client, p.Recorder} }

// Watches wake the reconciler: a PodManager that changes, and a pod that it owns.
func (r *Reconciler) Watches() []sim.Watch {
	return []sim.Watch{sim.For(&appsv1.PodManager{}), sim.Owns(&appsv1.PodManager{}, &corev1.Pod{})}
}

// Reconcile creates the pods NAME-0, NAME-1 and so on, and reports them.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pm appsv1.PodManager
	if err := r.Get(ctx, req.NamespacedName, &pm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(pm.Namespace), client.MatchingLabels{"podmanager": pm.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if pm.DeletionTimestamp != nil {
		return ctrl.Result{}, r.finalize(ctx, &pm, &pods)
	}
	if controllerutil.AddFinalizer(&pm, appsv1.Finalizer) {
		return ctrl.Result{}, r.Update(ctx, &pm)
	}
	for i := len(pods.Items); i < int(*pm.Spec.Replicas); i++ {
		pod := newPod(&pm, i)
		if err := ctrl.SetControllerReference(&pm, pod, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		r.recorder.Eventf(&pm, nil, corev1.EventTypeNormal, "PodCreated", "Create", "%s", pod.Name)
		if err := r.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
	}
	if int(pm.Status.Replicas) == len(pods.Items) {
		return ctrl.Result{}, nil
	}
	pm.Status.Replicas = int32(len(pods.Items))
	return ctrl.Result{}, r.Status().Update(ctx, &pm)
}

// finalize deletes the pods and lets the PodManager go.
func (r *Reconciler) finalize(ctx context.Context, pm *appsv1.PodManager, pods *corev1.PodList) error {
	for i := range pods.Items {
		if err := r.Delete(ctx, &pods.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if !controllerutil.RemoveFinalizer(pm, appsv1.Finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.Update(ctx, pm))
}

func newPod(pm *appsv1.PodManager, slot int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", pm.Name, slot), Namespace: pm.Namespace, Labels: map[string]string{"podmanager": pm.Name},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: pm.Spec.Image}}},
	}
}
