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

package observe

import (
	"slices"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// share returns the copy of a string that other pods have, if there is one. A pod is
// decoded for itself, so that a thousand pods would hold a thousand copies of their
// owner's name, their node's and their labels'. It is best effort: Go forgets, at a
// garbage collection, which copies there are.
func share[S ~string](text S) S { return unique.Make(text).Value() }

// Slim is the transform of NewSlim for one object, which shares no sizes.
func Slim(obj any) (any, error) { return NewSlim()(obj) }

// NewSlim makes a transform of a cache. It drops from a pod what no planner reads:
// most of a pod's bytes are its spec, its managed fields and its annotations. Of
// what is left, pods share the strings and the sizes that recur.
func NewSlim() func(obj any) (any, error) {
	known := &sizeTable{}
	return func(obj any) (any, error) {
		if pod, ok := obj.(*corev1.Pod); ok {
			slimPod(pod, known)
		}
		return obj, nil
	}
}

// A tenant decides how large a pod is, and no node has to run it. What no pod that runs has
// so much of is cut: an empty container of 40 bytes takes 400 here.
const (
	maxContainers = 50      // and as many init containers
	maxImage      = 512     // the parts of a longer name are longer than any registry takes
	maxMeta       = 4 << 10 // bytes of labels, of finalizers and of owners each; beyond it, those that are read
)

func slimPod(pod *corev1.Pod, known *sizeTable) {
	slimMeta(pod)
	sizes := !allocated(pod) // what the node set aside for the others need not be kept
	pod.Spec = corev1.PodSpec{
		NodeName:       share(pod.Spec.NodeName),
		Containers:     slimContainers(pod.Spec.Containers, known),
		InitContainers: slimContainers(pod.Spec.InitContainers, known),
		ReadinessGates: slimGates(pod.Spec.ReadinessGates),
	}
	pod.Status = corev1.PodStatus{
		Phase: share(pod.Status.Phase), Reason: share(pod.Status.Reason),
		ObservedGeneration:    pod.Status.ObservedGeneration,
		Conditions:            slimConditions(pod),
		ContainerStatuses:     slimStatuses(pod, pod.Status.ContainerStatuses, sizes),
		InitContainerStatuses: slimStatuses(pod, pod.Status.InitContainerStatuses, sizes),
	}
}

func slimMeta(pod *corev1.Pod) {
	pod.ManagedFields = nil
	var annotations map[string]string
	for _, key := range []string{
		corev1.PodDeletionCost, appsv1.AnnotationInPlace, appsv1.AnnotationSurge, appsv1.AnnotationEvictionRequested, appsv1.AnnotationEvictionGrace,
		appsv1.AnnotationRebalancedTo, appsv1.AnnotationReplaces,
	} {
		if value, ok := pod.Annotations[key]; ok && len(value) <= Large {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
		}
	}
	pod.Annotations = annotations

	pod.Namespace = share(pod.Namespace)
	pod.GenerateName = share(pod.GenerateName)
	if bytesOf(pod.Labels) > maxMeta {
		pod.Labels = ourLabels(pod.Labels)
	}
	pod.Labels = slimLabels(pod)
	if bytesOfOwners(pod.OwnerReferences) > maxMeta {
		pod.OwnerReferences = controllers(pod.OwnerReferences)
	}
	pod.OwnerReferences = slimOwners(pod.OwnerReferences)
	if bytesOfList(pod.Finalizers) > maxMeta {
		pod.Finalizers = slimFinalizers(pod.Finalizers)
	}
}

// slimFinalizers keeps the first, which is named where the pod does not go, and the holds.
func slimFinalizers(all []string) []string {
	kept := []string{all[0]}
	for _, hold := range []string{appsv1.LabelHoldDelete, appsv1.LabelHoldUpdate} {
		if slices.Contains(all, hold) {
			kept = append(kept, hold)
		}
	}
	return kept
}

func slimOwners(list []metav1.OwnerReference) []metav1.OwnerReference {
	for i := range list {
		o := &list[i]
		o.APIVersion, o.Kind, o.Name, o.UID = share(o.APIVersion), share(o.Kind), share(o.Name), share(o.UID)
	}
	return list
}

// slimLabels also has a map that is no larger than it has to be.
func slimLabels(pod *corev1.Pod) map[string]string {
	if len(pod.Labels) == 0 {
		return nil
	}
	labels := make(map[string]string, len(pod.Labels))
	for key, value := range pod.Labels {
		labels[share(key)] = share(value)
	}
	return labels
}

// slimConditions keeps what describeConditions reads. Of a pod that has ended
// all are kept, because only the last of them may say when.
func slimConditions(pod *corev1.Pod) []corev1.PodCondition {
	all := ended(pod.Status.Phase)
	var slim []corev1.PodCondition
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if !all && !planned(c) {
			continue
		}
		message := ""
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			message = share(c.Message) // it says why
		}
		slim = append(slim, corev1.PodCondition{
			Message: message,
			Type:    share(c.Type), Status: share(c.Status),
			LastTransitionTime: c.LastTransitionTime, Reason: share(c.Reason),
		})
	}
	return slim
}

// planned conditions are those that a planner reads.
func planned(c *corev1.PodCondition) bool {
	switch c.Type {
	case corev1.PodReady, appsv1.GateInService, corev1.PodResizePending, corev1.PodResizeInProgress:
		return true
	case corev1.PodScheduled:
		return c.Status == corev1.ConditionFalse
	}
	return false
}

// slimGates keeps the operator's gate, the only one that describeConditions reads.
func slimGates(gates []corev1.PodReadinessGate) []corev1.PodReadinessGate {
	if slices.ContainsFunc(gates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == appsv1.GateInService }) {
		return []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}}
	}
	return nil
}

// slimContainers keeps what describeContainers and describeSizes read.
func slimContainers(list []corev1.Container, known *sizeTable) []corev1.Container {
	list = list[:min(len(list), maxContainers)]
	slim := make([]corev1.Container, len(list))
	for i := range list {
		slim[i] = corev1.Container{Name: share(list[i].Name), Image: share(imageOf(&list[i])), RestartPolicy: list[i].RestartPolicy}
		slim[i].Resources.Requests = known.share(list[i].Resources.Requests)
		slim[i].Resources.Limits = known.share(list[i].Resources.Limits)
	}
	return slim
}

// sizeTable lets pods share what they ask for: most pods of a fleet ask for the
// same, and a map of two quantities takes as much memory as half of a slim pod.
type sizeTable struct {
	mu    sync.Mutex
	lists map[sizeKey]corev1.ResourceList
}

// sizeKey is what a planner reads of a list, as it is written.
type sizeKey struct {
	cpu, memory       resource.Quantity
	hasCPU, hasMemory bool
}

// maxSizes bounds the table. Beyond it, all is forgotten: pods share less then.
const maxSizes = 10_000

func (t *sizeTable) share(list corev1.ResourceList) corev1.ResourceList {
	var key sizeKey
	key.cpu, key.hasCPU = list[corev1.ResourceCPU]
	key.memory, key.hasMemory = list[corev1.ResourceMemory]
	if !key.hasCPU && !key.hasMemory {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.lists[key]; ok {
		return known
	}
	if t.lists == nil || len(t.lists) >= maxSizes {
		t.lists = map[sizeKey]corev1.ResourceList{}
	}
	slim := corev1.ResourceList{}
	if key.hasCPU {
		slim[corev1.ResourceCPU] = key.cpu
	}
	if key.hasMemory {
		slim[corev1.ResourceMemory] = key.memory
	}
	t.lists[key] = slim
	return slim
}

// imageOf is a container's image, cut where no registry has one of that name.
func imageOf(c *corev1.Container) string { return c.Image[:min(len(c.Image), maxImage)] }

func slimStatuses(pod *corev1.Pod, list []corev1.ContainerStatus, sizes bool) []corev1.ContainerStatus {
	list = list[:min(len(list), maxContainers)]
	slim := make([]corev1.ContainerStatus, len(list))
	for i := range list {
		c := &list[i]
		slim[i] = corev1.ContainerStatus{
			Name: share(c.Name), RestartCount: c.RestartCount, Image: share(c.Image), ImageID: share(c.ImageID),
			ContainerID: c.ContainerID, Ready: c.Ready,
		}
		if sizes {
			slim[i].AllocatedResources = c.AllocatedResources
		}
		slim[i].State.Terminated = slimEnd(c.State.Terminated)
		// How an earlier run ended is read of a container that does not serve;
		// most do.
		if end := c.LastTerminationState.Terminated; end != nil && end.ExitCode != 0 && !c.Ready && c.State.Running != nil {
			slim[i].State.Running, slim[i].LastTerminationState.Terminated = c.State.Running, slimEnd(end)
		}
		// The start time of a container is read if it is after the pod became
		// ready, or if it is the only sign of a change in place; most started
		// before.
		if run := c.State.Running; run != nil && (readyBefore(pod, run.StartedAt) || settlesInTime(pod)) {
			slim[i].State.Running = run
		}
		if c.State.Waiting != nil {
			slim[i].State.Waiting = &corev1.ContainerStateWaiting{Reason: c.State.Waiting.Reason}
		}
	}
	return slim
}

// readyBefore: the pod is ready, and was already then.
func readyBefore(pod *corev1.Pod, then metav1.Time) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && c.LastTransitionTime.Before(&then)
		}
	}
	return false
}

func slimEnd(end *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if end == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{FinishedAt: end.FinishedAt, ExitCode: end.ExitCode, Reason: end.Reason, ContainerID: end.ContainerID}
}
