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
	"fmt"
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Nodes of the simulator. FirstNode is there from the beginning.
const (
	FirstNode  = "node-1"
	secondNode = "node-2"
)

// Wider are scenarios of a larger world, for the simulator: nodes that come and
// go, finalizers on pods, foreign pods on names, claims, pins, evictions.
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
		{Name: "a broken image is undone", Steps: []Step{
			create(fleet(2, surge(0))), unready(image(Broken)), unready(undo()), image(New),
		}},
		{Name: "a pin by number stays", Steps: []Step{
			create(fleet(2)), image(New), unready(pin("1")), unready(image("nginx:1.29")), unready(scale(3)), pin(""),
		}},
		{Name: "a pin of no revision", Steps: []Step{create(fleet(2)), unready(pin("web-gone")), unready(scale(1)), pin("")}},
		{Name: "a pin without history", Steps: []Step{
			create(fleet(1, forgetful)), unready(pin("1")), unready(image(New)), pin(""),
		}},
		{Name: "a resize is taken back", Steps: []Step{create(fleet(2, sized("1", "1"))), size("2", "1"), size("1", "1")}},
		{Name: "a resize gives way to another", Steps: []Step{create(fleet(2, sized("1", "1"))), size("2", "1"), size("1", "2")}},
		{Name: "a resize is taken back without history", Steps: []Step{
			create(fleet(1, sized("1", "1"), forgetful)), size("2", "2"), size("1", "1"), size("3", "1"),
		}},
		{Name: "another one resizes a pod", Steps: []Step{
			create(fleet(2, sized("1", "1"))), size("2", "1"), resizePod(Name+"-0", "1"), scale(3),
		}},
		{Name: "rollout by evictions", Steps: []Step{create(fleet(2, recreate, surge(0), evictions)), image(New)}},
	}
}

// sized gives the fleet two containers, with so many cpus.
func sized(app, log string) option {
	cpus := func(n string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}}
	}
	return func(pm *appsv1.PodManager) {
		pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: appsv1.AppContainer, Image: Old, Resources: cpus(app)}, {Name: "log", Image: Old, Resources: cpus(log)},
		}}}
	}
}

func size(app, log string) Step {
	return edit(fmt.Sprintf("size %s and %s", app, log), sized(app, log))
}

// resizePod is what an autoscaler does, or a person.
func resizePod(name, cpus string) Step {
	return Step{Name: "resize pod " + name, Do: func(ctx context.Context, w World) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		body := fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"resources":{"requests":{"cpu":%q}}}]}}`, appsv1.AppContainer, cpus)
		return w.SubResource("resize").Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(body)))
	}}
}

// pin sets the annotation that keeps the pods on a revision; "" takes it off.
func pin(revision string) Step {
	return edit(fmt.Sprintf("pin %q", revision), func(pm *appsv1.PodManager) {
		delete(pm.Annotations, appsv1.AnnotationPin)
		if revision != "" {
			metav1.SetMetaDataAnnotation(&pm.ObjectMeta, appsv1.AnnotationPin, revision)
		}
	})
}

// undo does what kubectl podmanager rollout undo does: it pins the revision before
// the newest, for as long as that is the newest.
func undo() Step {
	return Step{Name: "undo", Do: func(ctx context.Context, w World) error {
		var pm appsv1.PodManager
		var revisions kappsv1.ControllerRevisionList
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: Name}, &pm); err != nil {
			return err
		}
		if err := w.List(ctx, &revisions, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		if pm.Status.ObservedGeneration != pm.Generation || len(revisions.Items) < 2 {
			return apierrors.NewNotFound(kappsv1.Resource("controllerrevisions"), "of the spec")
		}
		var newest int64
		for i := range revisions.Items {
			newest = max(newest, revisions.Items[i].Revision)
		}
		return pin(fmt.Sprintf("%d while %d", newest-1, newest)).Do(ctx, w)
	}}
}

// forgetful keeps no revision that no pod has.
func forgetful(pm *appsv1.PodManager) { pm.Spec.RevisionHistoryLimit = ptr.To[int32](0) }

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
