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

// Package solution is a solution of exercise 13. The operator of this project goes
// further: internal/controller/fleet.
package solution

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// Watches wake the reconciler: an ImoocPod that changes, and a pod that it owns.
func (r *Reconciler) Watches() []sim.Watch {
	return []sim.Watch{sim.For(&batchv1alpha1.ImoocPod{}), sim.Owns(&batchv1alpha1.ImoocPod{}, &corev1.Pod{})}
}

// Reconcile creates the missing pods and deletes those that are too many. Events of the
// pods start the next one.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var imooc batchv1alpha1.ImoocPod
	if err := r.Get(ctx, req.NamespacedName, &imooc); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	own, err := r.own(ctx, &imooc)
	if err != nil {
		return ctrl.Result{}, err
	}
	wanted, names := map[string]bool{}, []string(nil)
	for i := range *imooc.Spec.Replicas {
		// The name follows from the slot: a second create meets AlreadyExists.
		name := fmt.Sprintf("%s-pod-%d", imooc.Name, i)
		wanted[name] = true
		if own[name] != nil {
			names = append(names, name)
		} else if err := r.create(ctx, &imooc, name); err != nil {
			return ctrl.Result{}, err
		}
	}
	for name, pod := range own {
		if !wanted[name] {
			if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
				return ctrl.Result{}, err
			}
		}
	}
	status := batchv1alpha1.ImoocPodStatus{PodNames: names, Replicas: int32(len(names))}
	if equality.Semantic.DeepEqual(status, imooc.Status) {
		return ctrl.Result{}, nil
	}
	imooc.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, &imooc)
}

// own are the pods that this ImoocPod controls, by UID: a label alone can be on any pod.
func (r *Reconciler) own(ctx context.Context, imooc *batchv1alpha1.ImoocPod) (map[string]*corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(imooc.Namespace), client.MatchingLabels{"app": imooc.Name}); err != nil {
		return nil, err
	}
	own := map[string]*corev1.Pod{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; metav1.IsControlledBy(pod, imooc) && pod.DeletionTimestamp == nil {
			own[pod.Name] = pod
		}
	}
	return own, nil
}

func (r *Reconciler) create(ctx context.Context, imooc *batchv1alpha1.ImoocPod, name string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: imooc.Namespace, Labels: map[string]string{"app": imooc.Name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "busybox", Image: "busybox:1.37", Command: []string{"sleep", "3600"}}}},
	}
	if err := ctrl.SetControllerReference(imooc, pod, r.Scheme()); err != nil {
		return err
	}
	if err := r.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
