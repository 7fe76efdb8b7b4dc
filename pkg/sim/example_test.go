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

package sim_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/pkg/sim"
)

// onePod wants one pod for each ConfigMap.
type onePod struct{ client.Client }

func (r *onePod) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var owner corev1.ConfigMap
	var pods corev1.PodList
	if err := r.Get(ctx, req.NamespacedName, &owner); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.List(ctx, &pods, client.InNamespace(req.Namespace)); err != nil || len(pods.Items) > 0 {
		return ctrl.Result{}, err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: req.Name + "-", Namespace: req.Namespace}}
	if err := ctrl.SetControllerReference(&owner, pod, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Create(ctx, pod)
}

func Example() {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	result, err := sim.Explore(sim.World{
		Scheme:  scheme.Scheme,
		Objects: []client.Object{owner},
		New:     func(p sim.Process) reconcile.Reconciler { return &onePod{p.Client} },
		Watches: []sim.Watch{sim.For(&corev1.ConfigMap{}), sim.Owns(&corev1.ConfigMap{}, &corev1.Pod{})},
		Actions: []sim.Action{{Name: "label the owner", Do: func(ctx context.Context, c client.Client) error {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"a"}}}`))
			return c.Patch(ctx, owner.DeepCopy(), patch)
		}}},
		Invariants: []sim.Promise{{Name: "one pod", Check: func(s *sim.State) error {
			if n := len(sim.All[*corev1.Pod](s)); n > 1 {
				return fmt.Errorf("there are %d pods", n)
			}
			return nil
		}}},
	}, sim.Options{})
	fmt.Println(err)
	fmt.Print(result.Failure)
	// Output:
	// <nil>
	// one pod: there are 2 pods
	//   1. a: reconcile of default/web; asks for create Pod default/web-…
	//   2. user: label the owner
	//   3. a: create Pod default/web-kqdjp; the reconcile ends
	//   4. a: event MODIFIED ConfigMap default/web, wakes default/web
	//   5. a: reconcile of default/web; asks for create Pod default/web-…
	//   6. a: create Pod default/web-g7sw9; the reconcile ends
}
