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

// Package helloworld is exercise 14: HelloWorld, from the first listing of the tutorials to
// an operator for production.
//
// This is the file to edit.
package helloworld

import (
	"context"
	"reflect"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Reconciler keeps an nginx Deployment at a size, and lists its pods in the status.
type Reconciler struct{ client.Client }

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler.
func (r *Reconciler) Watches() []sim.Watch { return []sim.Watch{sim.For(&testv1alpha1.HelloWorld{})} }

// Reconcile creates or scales the Deployment, and then reports its pods.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var hello testv1alpha1.HelloWorld
	if err := r.Get(ctx, req.NamespacedName, &hello); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var deployment kappsv1.Deployment
	if err := r.Get(ctx, req.NamespacedName, &deployment); apierrors.IsNotFound(err) {
		created := newDeployment(&hello)
		if err := ctrl.SetControllerReference(&hello, created, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{Requeue: true}, r.Create(ctx, created)
	} else if err != nil {
		return ctrl.Result{}, err
	}
	if *deployment.Spec.Replicas != *hello.Spec.Size {
		deployment.Spec.Replicas = hello.Spec.Size
		return ctrl.Result{Requeue: true}, r.Update(ctx, &deployment)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(req.Namespace), client.MatchingLabels{"hello_name": hello.Name}); err != nil {
		return ctrl.Result{}, err
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	if reflect.DeepEqual(names, hello.Status.Nodes) {
		return ctrl.Result{}, nil
	}
	hello.Status.Nodes = names
	return ctrl.Result{}, r.Status().Update(ctx, &hello)
}

func newDeployment(hello *testv1alpha1.HelloWorld) *kappsv1.Deployment {
	labels := map[string]string{"hello_name": hello.Name}
	return &kappsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: hello.Name, Namespace: hello.Namespace},
		Spec: kappsv1.DeploymentSpec{
			Replicas: hello.Spec.Size, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "nginx", Image: "nginx:1.27", Ports: []corev1.ContainerPort{{Name: "nginx", ContainerPort: 80}},
				}}},
			},
		},
	}
}
