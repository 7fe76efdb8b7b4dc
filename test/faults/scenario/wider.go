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

package scenario

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Nodes of the simulator. FirstNode is there from the beginning.
const (
	FirstNode  = "node-1"
	secondNode = "node-2"
)

// Wider are scenarios of a larger world, for the simulator: nodes that come and
// go, finalizers on pods, foreign pods on names, claims, evictions.
func Wider() []Scenario {
	return []Scenario{
		{Name: "a node goes", Steps: []Step{create(fleet(2)), addNode(), removeNode()}},
		{
			Name: "a node goes and the pods have random names", Anonymous: true,
			Steps: []Step{create(fleet(2, random)), addNode(), removeNode()},
		},
		{Name: "the only node goes and another comes", Steps: []Step{create(fleet(2)), unready(removeNode()), addNode()}},
		{Name: "a node goes in the middle of a rollout", Uncounted: true, Steps: []Step{
			create(fleet(2, recreate)), addNode(), unready(image(Broken)), unready(removeNode()), image(New),
		}},
		{Name: "a finalizer keeps a pod that is scaled away", Steps: []Step{
			create(fleet(2)), finalizePod(Name + "-1"), unready(scale(1)), unfinalizePod(Name + "-1"),
		}},
		{Name: "a finalizer keeps a pod that is replaced", Steps: []Step{
			create(fleet(2)), finalizePod(Name + "-0"), unready(deletePod(Name + "-0")), unready(scale(3)), unfinalizePod(Name + "-0"),
		}},
		{Name: "a finalizer keeps a pod of an owner that goes", Steps: []Step{
			create(fleet(2)), finalizePod(Name + "-0"), unready(remove()), unfinalizePod(Name + "-0"),
		}},
		{Name: "a foreign pod takes a name that gets free", Steps: []Step{
			create(fleet(2)), scale(1), stray(Name+"-1", false), unready(scale(4)), deletePod(Name + "-1"),
		}},
		{Name: "claims", Steps: []Step{create(fleet(1, claims)), scale(3), scale(1), scale(2)}},
		{Name: "rollout by evictions", Steps: []Step{create(fleet(2, recreate, surge(0), evictions)), image(New)}},
	}
}

func evictions(pm *appsv1.PodManager) { pm.Spec.Update.UseEviction = true }

func addNode() Step {
	return Step{Name: "add node " + secondNode, Do: func(ctx context.Context, w World) error {
		return w.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: secondNode}})
	}}
}

func removeNode() Step {
	return Step{Name: "remove node " + FirstNode, Do: func(ctx context.Context, w World) error {
		return w.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: FirstNode}})
	}}
}

// keeper is a finalizer that no controller of ours knows.
const keeper = "example.com/keep"

func finalizePod(name string) Step {
	return changePod("put a finalizer on pod "+name, name, func(pod *corev1.Pod) { pod.Finalizers = append(pod.Finalizers, keeper) })
}

func unfinalizePod(name string) Step {
	return changePod("take the finalizer off pod "+name, name, func(pod *corev1.Pod) {
		pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == keeper })
	})
}

func changePod(step, name string, change func(pod *corev1.Pod)) Step {
	return Step{Name: step, Do: func(ctx context.Context, w World) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			pod := &corev1.Pod{}
			if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, pod); err != nil {
				return err
			}
			change(pod)
			return w.Update(ctx, pod)
		})
	}}
}
