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

// Package solution is a solution of exercise 15. The operator of this project goes
// further: internal/controller/fleet.
package solution

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
	live     client.Reader
	recorder events.EventRecorder
}

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client, p.APIReader, p.Recorder} }

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
	if pm.DeletionTimestamp != nil {
		return ctrl.Result{}, r.finalize(ctx, &pm)
	}
	if controllerutil.AddFinalizer(&pm, appsv1.Finalizer) {
		return ctrl.Result{}, r.Update(ctx, &pm)
	}
	pods, err := own(ctx, r.Client, &pm)
	if err != nil {
		return ctrl.Result{}, err
	}
	live := int32(0)
	for i := range int(*pm.Spec.Replicas) {
		pod := newPod(&pm, i)
		switch old := pods[pod.Name]; {
		case old == nil:
			if err := r.create(ctx, &pm, pod); err != nil {
				return ctrl.Result{}, err
			}
		case old.DeletionTimestamp == nil:
			live++
		}
	}
	if pm.Status.Replicas == live {
		return ctrl.Result{}, nil
	}
	pm.Status.Replicas = live
	return ctrl.Result{}, r.Status().Update(ctx, &pm)
}

// create records the event when the pod exists, and only for a pod that this call made.
func (r *Reconciler) create(ctx context.Context, pm *appsv1.PodManager, pod *corev1.Pod) error {
	if err := ctrl.SetControllerReference(pm, pod, r.Scheme()); err != nil {
		return err
	}
	err := r.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		return nil // the cache lags behind, or the pod is still terminating: its event comes
	}
	if err == nil {
		r.recorder.Eventf(pm, nil, corev1.EventTypeNormal, "PodCreated", "Create", "%s", pod.Name)
	}
	return err
}

// finalize deletes the pods and waits until they are gone. A cache may not have seen the
// last pod that was created, so that the question goes to the API server; it is asked
// only for objects that are being deleted.
func (r *Reconciler) finalize(ctx context.Context, pm *appsv1.PodManager) error {
	pods, err := own(ctx, r.live, pm)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if len(pods) > 0 || !controllerutil.RemoveFinalizer(pm, appsv1.Finalizer) {
		return nil // the event of the last pod starts the next reconcile
	}
	return client.IgnoreNotFound(r.Update(ctx, pm))
}

// own are the pods that this PodManager controls, by UID.
func own(ctx context.Context, reader client.Reader, pm *appsv1.PodManager) (map[string]*corev1.Pod, error) {
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(pm.Namespace), client.MatchingLabels{"podmanager": pm.Name}); err != nil {
		return nil, err
	}
	own := map[string]*corev1.Pod{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; metav1.IsControlledBy(pod, pm) {
			own[pod.Name] = pod
		}
	}
	return own, nil
}

func newPod(pm *appsv1.PodManager, slot int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", pm.Name, slot), Namespace: pm.Namespace, Labels: map[string]string{"podmanager": pm.Name},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: pm.Spec.Image}}},
	}
}
