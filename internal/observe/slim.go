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
	"hash/maphash"
	"math/bits"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Slimmer drops from a pod, before the cache stores it, what no planner reads:
// most of a pod's bytes are its spec, its managed fields and its annotations.
// Of what is left, pods share the strings that recur. A pod is decoded for
// itself, so that a thousand pods hold a thousand copies of their owner's name,
// their node's and their labels'.
type Slimmer struct {
	strings    sharedStrings
	containers shared[[]corev1.Container]
	owners     shared[[]metav1.OwnerReference]
}

// NewSlimmer makes one; it may be used by several caches at once.
func NewSlimmer() *Slimmer {
	return &Slimmer{
		strings:    sharedStrings{newShared[string](1 << 14)},
		containers: newShared[[]corev1.Container](1 << 12),
		owners:     newShared[[]metav1.OwnerReference](1 << 13),
	}
}

// Slim is a transform of a cache.
func (s *Slimmer) Slim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	s.slimMeta(pod)
	sizes := !Allocated(pod) // the sizes of the others need not be kept
	pod.Spec = corev1.PodSpec{
		NodeName:       s.strings.share(pod.Spec.NodeName),
		Containers:     s.slimContainers(pod.Spec.Containers, sizes),
		InitContainers: s.slimContainers(pod.Spec.InitContainers, sizes),
		ReadinessGates: pod.Spec.ReadinessGates,
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodPhase(s.strings.share(string(pod.Status.Phase))), Reason: s.strings.share(pod.Status.Reason),
		ObservedGeneration:    pod.Status.ObservedGeneration,
		Conditions:            s.slimConditions(pod),
		ContainerStatuses:     s.slimStatuses(pod, pod.Status.ContainerStatuses, sizes),
		InitContainerStatuses: s.slimStatuses(pod, pod.Status.InitContainerStatuses, sizes),
	}
	return pod, nil
}

func (s *Slimmer) slimMeta(pod *corev1.Pod) {
	pod.ManagedFields = nil
	var annotations map[string]string
	for _, key := range []string{corev1.PodDeletionCost, appsv1.AnnotationInPlace, appsv1.AnnotationSurge} {
		if value, ok := pod.Annotations[key]; ok {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
		}
	}
	pod.Annotations = annotations

	pod.Namespace = s.strings.share(pod.Namespace)
	pod.GenerateName = s.strings.share(pod.GenerateName)
	pod.Labels = s.slimLabels(pod)
	pod.OwnerReferences = s.slimOwners(pod.OwnerReferences)
}

// slimOwners: pods of one owner share the list.
func (s *Slimmer) slimOwners(list []metav1.OwnerReference) []metav1.OwnerReference {
	if len(list) == 0 {
		return nil
	}
	var hash uint64
	for i := range list {
		hash = s.owners.hash(hash, string(list[i].UID))
	}
	place := s.owners.place(hash)
	if kept := place.Load(); kept != nil && slices.EqualFunc(*kept, list, sameOwner) {
		return *kept
	}
	fresh := list // the argument stays where it is unless it is stored
	place.Store(&fresh)
	return fresh
}

func sameOwner(a, b metav1.OwnerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID &&
		ptr.Equal(a.Controller, b.Controller) && ptr.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}

// slimLabels also has a map that is no larger than it has to be.
func (s *Slimmer) slimLabels(pod *corev1.Pod) map[string]string {
	if len(pod.Labels) == 0 {
		return nil
	}
	labels := make(map[string]string, len(pod.Labels))
	for key, value := range pod.Labels {
		if value == pod.Name {
			value = pod.Name // mostly its slot, which no other pod has
		} else {
			value = s.strings.share(value)
		}
		labels[s.strings.share(key)] = value
	}
	return labels
}

// slimConditions keeps what describeConditions reads. Of a pod that has ended
// all are kept, because only the last of them may say when.
func (s *Slimmer) slimConditions(pod *corev1.Pod) []corev1.PodCondition {
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	kept := 0
	for i := range pod.Status.Conditions {
		if ended || planned(&pod.Status.Conditions[i]) {
			kept++
		}
	}
	if kept == 0 {
		return nil
	}
	slim := make([]corev1.PodCondition, 0, kept)
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if !ended && !planned(c) {
			continue
		}
		message := ""
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			message = s.strings.share(c.Message) // it says why
		}
		slim = append(slim, corev1.PodCondition{
			Message: message,
			Type:    corev1.PodConditionType(s.strings.share(string(c.Type))), Status: corev1.ConditionStatus(s.strings.share(string(c.Status))),
			LastTransitionTime: c.LastTransitionTime, Reason: s.strings.share(c.Reason),
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

// slimContainers keeps what describeContainers reads. Pods of one template have
// the same, so that they share the list; what is in a cache is read only.
func (s *Slimmer) slimContainers(list []corev1.Container, sizes bool) []corev1.Container {
	if len(list) == 0 {
		return nil
	}
	var hash uint64
	for i := range list {
		hash = s.containers.hash(s.containers.hash(hash, list[i].Name), list[i].Image)
	}
	place := s.containers.place(hash)
	if kept := place.Load(); !sizes && kept != nil && slices.EqualFunc(*kept, list, sameContainer) {
		return *kept
	}
	slim := make([]corev1.Container, len(list))
	for i := range list {
		slim[i] = corev1.Container{Name: s.strings.share(list[i].Name), Image: s.strings.share(list[i].Image), RestartPolicy: list[i].RestartPolicy}
		if sizes {
			slim[i].Resources.Requests = list[i].Resources.Requests
		}
	}
	if !sizes {
		place.Store(&slim)
	}
	return slim
}

func sameContainer(a, b corev1.Container) bool {
	return a.Name == b.Name && a.Image == b.Image && ptr.Equal(a.RestartPolicy, b.RestartPolicy)
}

func (s *Slimmer) slimStatuses(pod *corev1.Pod, list []corev1.ContainerStatus, sizes bool) []corev1.ContainerStatus {
	slim := make([]corev1.ContainerStatus, len(list))
	for i := range list {
		c := &list[i]
		slim[i] = corev1.ContainerStatus{
			Name: s.strings.share(c.Name), RestartCount: c.RestartCount, Image: s.strings.share(c.Image), ImageID: s.strings.share(c.ImageID),
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

// shared keeps one copy of each value that recurs. The hash of a value is its
// place, and the last value stored there stays: rare values are forgotten,
// frequent ones come back, and it never grows.
type shared[T any] struct {
	seed   maphash.Seed
	places []atomic.Pointer[T]
}

func newShared[T any](places int) shared[T] {
	return shared[T]{seed: maphash.MakeSeed(), places: make([]atomic.Pointer[T], places)}
}

// hash goes on from the hash of what came before.
func (s *shared[T]) hash(before uint64, text string) uint64 {
	return bits.RotateLeft64(before, 1) ^ maphash.String(s.seed, text)
}

func (s *shared[T]) place(hash uint64) *atomic.Pointer[T] {
	return &s.places[hash%uint64(len(s.places))]
}

// sharedStrings are those of names, labels and the like.
type sharedStrings struct{ shared[string] }

// share is a string with the same bytes, most often the one that others have.
func (s *sharedStrings) share(text string) string {
	if text == "" {
		return ""
	}
	place := s.place(s.hash(0, text))
	if kept := place.Load(); kept != nil && *kept == text {
		return *kept
	}
	fresh := text // the argument stays where it is unless it is stored
	place.Store(&fresh)
	return fresh
}
