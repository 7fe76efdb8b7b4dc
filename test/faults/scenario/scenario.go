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

// Package scenario tells what users and nodes do in the tests under faults. A
// scenario is a list of steps, each taken when the cluster has come to rest
// from the one before. The simulator and the tests on a real API server play
// the same scenarios.
package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Name is the name of the PodManager in every scenario.
const Name = "web"

// Images that scenarios use. Nothing can run Broken.
const (
	Old    = "nginx:1.27"
	New    = "nginx:1.28"
	Broken = "broken.invalid/app:1"
)

// World is where a step is taken.
type World struct {
	client.Client
	Namespace string
	Now       time.Time
	// Cluster is nil on a real API server.
	Cluster Cluster
}

// Step is something that a user or a node does.
type Step struct {
	Name string
	Do   func(ctx context.Context, w World) error
	// Unready: the fleet is not ready when it comes to rest after the step.
	Unready bool
	// After is how many choices after the step before it is taken, and Wait how long
	// after it; without them the cluster comes to rest first.
	After int
	Wait  time.Duration
	// Counts are the names under which the step counts as carried out.
	Counts []string
}

// unready marks a step.
func unready(s Step) Step {
	s.Unready = true
	return s
}

// Scenario is a list of steps.
type Scenario struct {
	Name  string
	Steps []Step
	// Anonymous: which of the possible names the pods have at the end depends
	// on the order of events.
	Anonymous bool
	// Uncounted: how many pods are made on the way depends on the order of
	// events, within the limits of S1.
	Uncounted bool
	// Stripped: the user takes the finalizer off.
	Stripped bool
	// Drawn: steps may find nothing to do or be refused, and the world is the large one.
	Drawn bool
}

// All are the scenarios.
func All() []Scenario {
	return slices.Concat(scaling(), rollouts(), endings(), repairs(), drains())
}

// Simulated are the scenarios of the simulator: besides All those that need what
// only a simulated node has, volumes for every claim.
func Simulated() []Scenario { return slices.Concat(All(), claimed(), strangers(), takeOvers()) }

// Failing is one pod that fails n times, each time as soon as it runs.
func Failing(n int) Scenario {
	s := Scenario{Name: "failing", Steps: []Step{create(fleet(1))}}
	for range n {
		s.Steps = append(s.Steps, failPod(Name+"-0"))
	}
	return s
}

// Patient is a rollout whose pods are available only when they were ready for
// some seconds.
func Patient(seconds int32) Scenario {
	wait := func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = seconds }
	return Scenario{Name: "patient", Steps: []Step{create(fleet(2, recreate, surge(0), wait)), image(New)}}
}

// Many is a fleet of n pods.
func Many(n int32) Scenario { return Scenario{Name: "many", Steps: []Step{create(fleet(n))}} }

// The stories below are of users who meet refusals; see the simulator.

// Claims is a fleet of n pods with a volume claim each.
func Claims(n int32) Scenario {
	return Scenario{Name: "claims", Steps: []Step{unready(create(fleet(n, claims)))}}
}

// ScaleDownAndFail scales from three to two, and then the first pod fails. One may be
// missing, so that the third is to go all the same.
func ScaleDownAndFail() Scenario {
	return Scenario{Name: "scale down and fail", Steps: []Step{create(fleet(3, unavailable(1))), unready(scale(2)), unready(failPod(Name + "-0"))}}
}

// AdoptAndGrow makes a fleet around a pod that is there, and scales it up.
func AdoptAndGrow() Scenario {
	return Scenario{Name: "adopt and grow", Steps: []Step{stray(Name+"-0", true), unready(create(fleet(2))), unready(scale(4))}}
}

// ReleaseAndGrow takes a pod out of the fleet, and scales it up.
func ReleaseAndGrow() Scenario {
	return Scenario{Name: "release and grow", Steps: []Step{create(fleet(2)), unready(relabel(Name+"-0", "other")), unready(scale(4))}}
}

// HoldAndGrow holds a pod that has to go, and then the first one fails.
func HoldAndGrow() Scenario {
	return Scenario{Name: "hold and grow", Steps: []Step{
		create(fleet(3)), hold(Name+"-2", appsv1.LabelHoldDelete), unready(scale(2)), unready(failPod(Name + "-0")),
	}}
}

// ChangeAndGrow changes the image and then the size.
func ChangeAndGrow() Scenario {
	return Scenario{Name: "change and grow", Steps: []Step{create(fleet(2)), unready(image(New)), unready(scale(4))}}
}

func scaling() []Scenario {
	return []Scenario{
		{Name: "scale up", Steps: []Step{create(fleet(1)), scale(3)}},
		{Name: "scale down", Steps: []Step{create(fleet(3)), scale(1)}},
		{Name: "scale in order", Steps: []Step{create(fleet(1, inOrder)), scale(3), scale(0), scale(2)}},
		{Name: "scale to 0 and back", Steps: []Step{create(fleet(2)), scale(0), scale(1)}},
		{
			Name: "scale with random names", Anonymous: true,
			Steps: []Step{create(fleet(1, random)), scale(3), scale(1)},
		},
	}
}

func rollouts() []Scenario {
	return []Scenario{
		{Name: "rollout in place", Steps: []Step{create(fleet(2)), image(New)}},
		{Name: "rollout by recreating", Steps: []Step{create(fleet(2, recreate, surge(0))), image(New)}},
		{Name: "rollout in order", Steps: []Step{create(fleet(3, inOrder, recreate, surge(0))), image(New)}},
		{Name: "a broken image is fixed in order", Steps: []Step{
			unready(create(fleet(2, inOrder, func(pm *appsv1.PodManager) { pm.Spec.Image = Broken }))), image(Old),
		}},
		{Name: "rollout with surge", Uncounted: true, Steps: []Step{create(fleet(2, recreate, surge(1), unavailable(0))), image(New)}},
		{
			Name: "rollout with random names", Anonymous: true, Uncounted: true,
			Steps: []Step{create(fleet(2, random, recreate, surge(1))), image(New)},
		},
		{Name: "rollback of a broken image", Steps: []Step{create(fleet(2, surge(0))), unready(image(Broken)), image(Old)}},
		{Name: "scale and rollout at once", Steps: []Step{create(fleet(2)), edit("scale to 3 and change the image", func(pm *appsv1.PodManager) {
			pm.Spec.Replicas, pm.Spec.Image = ptr.To[int32](3), New
		})}},
	}
}

func endings() []Scenario {
	return []Scenario{
		{Name: "delete", Steps: []Step{create(fleet(2)), remove()}},
		{Name: "delete and orphan", Steps: []Step{create(fleet(2, orphan)), remove()}},
		{Name: "delete with cascade orphan", Steps: []Step{
			create(fleet(2)), remove(client.PropagationPolicy(metav1.DeletePropagationOrphan)),
		}},
		{Name: "owner recreated under the same name", Steps: []Step{create(fleet(2)), remove(), create(fleet(1))}},
		{Name: "owner recreated among its orphans", Steps: []Step{
			create(fleet(2)), remove(client.PropagationPolicy(metav1.DeletePropagationOrphan)), create(fleet(2)),
		}},
	}
}

func repairs() []Scenario {
	return []Scenario{
		{Name: "adopt", Steps: []Step{stray(Name+"-0", true), stray(Name+"-5", true), create(fleet(2))}},
		{Name: "a foreign pod has the name", Steps: []Step{stray(Name+"-1", false), unready(create(fleet(2))), deletePod(Name + "-1")}},
		{Name: "user deletes pods", Steps: []Step{create(fleet(2)), deletePod(Name + "-0"), deletePod(Name + "-1")}},
		{Name: "user edits labels", Steps: []Step{create(fleet(2)), unready(relabel(Name+"-0", "other")), relabel(Name+"-0", Name)}},
		{Name: "failed pods", Steps: []Step{create(fleet(2)), failPod(Name + "-0"), failPod(Name + "-1")}},
		{
			Name: "failed pods with random names", Anonymous: true,
			Steps: []Step{create(fleet(2, random)), failAny(), failAny()},
		},
		{
			Name: "pods with random names deleted", Anonymous: true,
			Steps: []Step{create(fleet(2, random)), deleteAny(), deleteAny()},
		},
	}
}

type option func(*appsv1.PodManager)

func fleet(replicas int32, options ...option) *appsv1.PodManager {
	pm := &appsv1.PodManager{}
	pm.Name = Name
	pm.Spec.Replicas, pm.Spec.Image = &replicas, Old
	for _, o := range options {
		o(pm)
	}
	return pm
}

func claims(pm *appsv1.PodManager) {
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}
}

func inOrder(pm *appsv1.PodManager)  { pm.Spec.PodManagementPolicy = appsv1.OrderedReadyPods }
func random(pm *appsv1.PodManager)   { pm.Spec.Identity = appsv1.IdentityRandom }
func orphan(pm *appsv1.PodManager)   { pm.Spec.Deletion.Policy = appsv1.DeletionOrphan }
func recreate(pm *appsv1.PodManager) { pm.Spec.Update.Strategy = appsv1.UpdateRecreate }

func surge(n int32) option {
	return func(pm *appsv1.PodManager) { pm.Spec.Update.MaxSurge = ptr.To(intstr.FromInt32(n)) }
}

func unavailable(n int32) option {
	return func(pm *appsv1.PodManager) { pm.Spec.Update.MaxUnavailable = ptr.To(intstr.FromInt32(n)) }
}

func create(pm *appsv1.PodManager) Step {
	return Step{Name: "create", Do: func(ctx context.Context, w World) error {
		pm := pm.DeepCopy()
		pm.Namespace = w.Namespace
		return w.Create(ctx, pm)
	}}
}

func edit(name string, change func(*appsv1.PodManager)) Step {
	return Step{Name: name, Do: func(ctx context.Context, w World) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			pm := &appsv1.PodManager{}
			if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: Name}, pm); err != nil {
				return err
			}
			change(pm)
			return w.Update(ctx, pm)
		})
	}}
}

func scale(n int32) Step {
	return edit(fmt.Sprintf("scale to %d", n), func(pm *appsv1.PodManager) { pm.Spec.Replicas = &n })
}

func image(name string) Step {
	return edit("set image "+name, func(pm *appsv1.PodManager) { pm.Spec.Image = name })
}

func remove(options ...client.DeleteOption) Step {
	return Step{Name: "delete", Do: func(ctx context.Context, w World) error {
		pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Name}}
		return w.Delete(ctx, pm, options...)
	}}
}

// stray makes a pod without an owner, with or without the fleet's label.
func stray(name string, matching bool) Step {
	return Step{Name: "make pod " + name, Do: func(ctx context.Context, w World) error {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: Old}}},
		}
		if matching {
			pod.Labels = map[string]string{appsv1.LabelName: Name}
		}
		return w.Create(ctx, pod)
	}}
}

func deletePod(name string) Step {
	return Step{Name: "delete pod " + name, Do: func(ctx context.Context, w World) error {
		return w.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}})
	}}
}

func relabel(name, owner string) Step {
	return Step{Name: "label pod " + name + " " + owner, Do: func(ctx context.Context, w World) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		body := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, appsv1.LabelName, owner)
		return w.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(body)))
	}}
}

// hold puts a hold label on a pod.
func hold(name, label string) Step {
	return Step{Name: "hold pod " + name, Do: func(ctx context.Context, w World) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		body := fmt.Sprintf(`{"metadata":{"labels":{%q:"test"}}}`, label)
		return w.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(body)))
	}}
}

func failPod(name string) Step {
	return Step{Name: "pod " + name + " fails", Do: func(ctx context.Context, w World) error {
		return fail(ctx, w, client.ObjectKey{Namespace: w.Namespace, Name: name})
	}}
}

// failAny fails the first pod that lives.
func failAny() Step {
	return Step{Name: "a pod fails", Do: func(ctx context.Context, w World) error {
		name, err := firstLive(ctx, w)
		if err != nil {
			return err
		}
		return fail(ctx, w, client.ObjectKey{Namespace: w.Namespace, Name: name})
	}}
}

func deleteAny() Step {
	return Step{Name: "delete a pod", Do: func(ctx context.Context, w World) error {
		name, err := firstLive(ctx, w)
		if err != nil {
			return err
		}
		return w.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}})
	}}
}

func firstLive(ctx context.Context, w World) (string, error) {
	var list corev1.PodList
	if err := w.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
		return "", err
	}
	for i := range list.Items {
		if p := &list.Items[i]; p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			return p.Name, nil
		}
	}
	return "", apierrors.NewNotFound(corev1.Resource("pods"), "any")
}

// fail ends a pod as its kubelet would.
func fail(ctx context.Context, w World, key client.ObjectKey) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod := &corev1.Pod{}
		if err := w.Get(ctx, key, pod); err != nil {
			return err
		}
		pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
		for i := range pod.Status.Conditions {
			if t := pod.Status.Conditions[i].Type; t == corev1.PodReady || t == corev1.ContainersReady {
				pod.Status.Conditions[i].Status = corev1.ConditionFalse
				pod.Status.Conditions[i].LastTransitionTime = metav1.NewTime(w.Now.Truncate(time.Second))
			}
		}
		return w.Status().Update(ctx, pod)
	})
}
