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

// Package imoocpod is exercise 13: ImoocPod, from the first listing of the tutorials to an
// operator for production.
//
// This is the file to edit.
package imoocpod

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler keeps as many busybox pods as an ImoocPod asks for.
type Reconciler struct{ client.Client }

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler.
func (r *Reconciler) Watches() []sim.Watch { return []sim.Watch{sim.For(&batchv1alpha1.ImoocPod{})} }

// Reconcile creates or deletes one pod at a time.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var imooc batchv1alpha1.ImoocPod
	if err := r.Get(ctx, req.NamespacedName, &imooc); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(req.Namespace), client.MatchingLabels{"app": imooc.Name}); err != nil {
		return ctrl.Result{}, err
	}
	var names []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp == nil && (pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending) {
			names = append(names, pod.Name)
		}
	}
	if status := (batchv1alpha1.ImoocPodStatus{PodNames: names, Replicas: int32(len(names))}); !reflect.DeepEqual(status, imooc.Status) {
		imooc.Status = status
		if err := r.Status().Update(ctx, &imooc); err != nil {
			return ctrl.Result{}, err
		}
	}
	want := int(*imooc.Spec.Replicas)
	if len(names) > want {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: names[0]}}
		return ctrl.Result{Requeue: true}, r.Delete(ctx, pod)
	}
	if len(names) < want {
		pod := newPod(&imooc)
		if err := ctrl.SetControllerReference(&imooc, pod, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{Requeue: true}, r.Create(ctx, pod)
	}
	return ctrl.Result{}, nil
}

func newPod(imooc *batchv1alpha1.ImoocPod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: imooc.Name + "-pod", Namespace: imooc.Namespace, Labels: map[string]string{"app": imooc.Name},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "busybox", Image: "busybox:1.37", Command: []string{"sleep", "3600"}}}},
	}
}
