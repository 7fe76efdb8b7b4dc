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

// Package solution is a solution of exercise 14. The operator of this project goes
// further: internal/controller/helloworld.
package solution

import (
	"context"
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// labelName is on the pods and has the name of the HelloWorld.
const labelName = "hello_name"

// Reconciler keeps an nginx Deployment at a size, and lists its pods in the status.
type Reconciler struct{ client.Client }

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client} }

// Watches wake the reconciler: the HelloWorld, its Deployment, and the pods, which belong
// to a ReplicaSet and are found by their label.
func (r *Reconciler) Watches() []sim.Watch {
	return []sim.Watch{
		sim.For(&testv1alpha1.HelloWorld{}),
		sim.Owns(&testv1alpha1.HelloWorld{}, &kappsv1.Deployment{}),
		sim.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
			name := pod.GetLabels()[labelName]
			if name == "" {
				return nil
			}
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
		})),
	}
}

// Reconcile keeps the Deployment and reports its pods.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var hello testv1alpha1.HelloWorld
	if err := r.Get(ctx, req.NamespacedName, &hello); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var deployment kappsv1.Deployment
	switch err := r.Get(ctx, req.NamespacedName, &deployment); {
	case apierrors.IsNotFound(err):
		created := newDeployment(&hello)
		if err := ctrl.SetControllerReference(&hello, created, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, created); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
	case err != nil:
		return ctrl.Result{}, err
	case !metav1.IsControlledBy(&deployment, &hello):
		// The name is taken. Scaling a Deployment of others could stop what they run.
		return ctrl.Result{}, nil
	case *deployment.Spec.Replicas != *hello.Spec.Size:
		deployment.Spec.Replicas = hello.Spec.Size
		if err := r.Update(ctx, &deployment); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.report(ctx, &hello)
}

// report lists the pods in a fixed order, without those that are going.
func (r *Reconciler) report(ctx context.Context, hello *testv1alpha1.HelloWorld) error {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(hello.Namespace), client.MatchingLabels{labelName: hello.Name}); err != nil {
		return err
	}
	var names []string
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			names = append(names, pods.Items[i].Name)
		}
	}
	slices.Sort(names)
	if slices.Equal(names, hello.Status.Nodes) {
		return nil
	}
	hello.Status.Nodes = names
	return r.Status().Update(ctx, hello)
}

func newDeployment(hello *testv1alpha1.HelloWorld) *kappsv1.Deployment {
	labels := map[string]string{labelName: hello.Name}
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
