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

// Command watches reconciles one object when another, which it does not own,
// changes: a ConfigMap names a Deployment, and is told about its updates and
// its deletion.
//
// Look at the map function: it gets the Deployment of an event and returns the
// requests that follow from it, none, one or many. It finds them through an
// index of the cache, because going through all ConfigMaps at every event of
// any Deployment is what makes operators slow.
package main

import (
	"context"
	"fmt"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

const follows = "follows" // both the key in the data and the name of the index

func main() { demo.Main(run) }

type follower struct {
	client.Client
	saw chan string
}

// Reconcile tells how many replicas the Deployment has that it follows.
func (f *follower) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object corev1.ConfigMap
	if err := f.Get(ctx, request.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var deployment kappsv1.Deployment
	err := f.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Data[follows]}, &deployment)
	switch {
	case apierrors.IsNotFound(err):
		f.saw <- fmt.Sprintf("%s: there is no Deployment %s", object.Name, object.Data[follows])
	case err != nil:
		return ctrl.Result{}, err
	default:
		f.saw <- fmt.Sprintf("%s: Deployment %s wants %d replicas", object.Name, deployment.Name, *deployment.Spec.Replicas)
	}
	return ctrl.Result{}, nil
}

// followers are the requests that an event of a Deployment leads to.
func (f *follower) followers(ctx context.Context, deployment client.Object) []ctrl.Request {
	var list corev1.ConfigMapList
	if err := f.List(ctx, &list, client.InNamespace(deployment.GetNamespace()), client.MatchingFields{follows: deployment.GetName()}); err != nil {
		return nil
	}
	var requests []ctrl.Request
	for _, object := range list.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&object)})
	}
	return requests
}

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	mgr, err := demo.NewManager(cfg, namespace)
	if err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, follows, func(o client.Object) []string {
		return []string{o.(*corev1.ConfigMap).Data[follows]}
	}); err != nil {
		return err
	}
	f := &follower{mgr.GetClient(), make(chan string, 10)}
	if err := ctrl.NewControllerManagedBy(mgr).Named("follower").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.(*corev1.ConfigMap).Data[follows] != "" }))).
		Watches(&kappsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(f.followers), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(f); err != nil {
		return err
	}
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		user := mgr.GetClient()
		labels := map[string]string{"app": "web"}
		web := &kappsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec: kappsv1.DeploymentSpec{
				Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
				},
			},
		}
		scale := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`))
		for _, step := range []func() error{
			func() error {
				return user.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "note"}, Data: map[string]string{follows: "web"}})
			},
			func() error { return user.Create(ctx, web) },
			func() error { return user.Patch(ctx, web, scale) },
			func() error { return user.Delete(ctx, web) },
		} {
			if err := step(); err != nil {
				return err
			}
			fmt.Println(<-f.saw)
		}
		return nil
	})
}
