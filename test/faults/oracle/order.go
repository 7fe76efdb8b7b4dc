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

package oracle

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// orderOf is what Q judges by, or nil: an owner that asked for order in every
// version that the writer may have acted on, and for the same ordinals.
func (c *checker) orderOf(r *Revision, pod *corev1.Pod) *ownerVersion {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || r.Actor != Operator || r.Seen == 0 || c.rules.Split {
		return nil
	}
	versions := c.owners[ref.UID]
	if len(versions) == 0 {
		return nil
	}
	last := &versions[len(versions)-1]
	for i := range versions {
		if i+1 < len(versions) && versions[i+1].version <= r.Floor {
			continue
		}
		if v := &versions[i]; !v.ordered || v.replicas != last.replicas || !slices.Equal(v.reserved, last.reserved) {
			return nil
		}
	}
	return last
}

// checkStart is Q: a pod of the base is created when all lower ordinals have a pod
// that was ready when the writer looked, or since.
func (c *checker) checkStart(r *Revision, pod *corev1.Pod) {
	want := c.orderOf(r, pod)
	slot, ok := slotOf(pod)
	if want == nil || !ok || slices.Index(want.base(), slot) < 0 {
		return
	}
	owner := metav1.GetControllerOf(pod).UID
	for _, lower := range want.base() {
		if lower >= slot {
			break
		}
		ready := false
		for _, t := range c.traces {
			ready = ready || t.owner == owner && t.slot == strconv.Itoa(lower) && (t.ready || t.unreadyAt > r.Seen)
		}
		if !ready {
			c.report(r, "Q", "pod %s is created, and the pod of ordinal %d is not ready", pod.Name, lower)
		}
	}
}

// checkRemoval is Q: a pod beyond the base goes when no higher one is there.
func (c *checker) checkRemoval(r *Revision, before, pod *corev1.Pod) {
	want := c.orderOf(r, pod)
	slot, ok := slotOf(pod)
	if want == nil || !ok || before == nil || before.DeletionTimestamp != nil || !r.Gone && pod.DeletionTimestamp == nil ||
		!c.waitsForTurn(want, before, slot) {
		return
	}
	for _, other := range c.pods {
		higher, ok := slotOf(other)
		ref := metav1.GetControllerOf(other)
		if ok && higher > slot && ref != nil && ref.UID == metav1.GetControllerOf(pod).UID && c.waitsForTurn(want, other, higher) {
			c.report(r, "Q", "pod %s is removed, and pod %s is there", pod.Name, other.Name)
		}
	}
}

// waitsForTurn: a pod beyond the base that lives or terminates, is none of the
// rollout's, and whose node is there.
func (c *checker) waitsForTurn(want *ownerVersion, pod *corev1.Pod, slot int) bool {
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	gone := pod.Spec.NodeName != "" && !c.nodes[pod.Spec.NodeName]
	return !ended && !gone && !slices.Contains(want.base(), slot) && !slices.Contains(want.reserved, slot) &&
		pod.Annotations[appsv1.AnnotationSurge] == ""
}

func slotOf(pod *corev1.Pod) (slot int, ok bool) {
	slot, err := strconv.Atoi(pod.Labels[appsv1.LabelSlot])
	return slot, err == nil
}

// base are the ordinals that always have a pod.
func (v *ownerVersion) base() []int {
	var slots []int
	for slot := 0; len(slots) < v.replicas; slot++ {
		if !slices.Contains(v.reserved, slot) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// beyond: with OrderedReady a pod beyond the base waits for its turn to go, and does
// not keep another one from coming.
func (v *ownerVersion) beyond(pod *corev1.Pod) bool {
	slot, ok := slotOf(pod)
	ref := metav1.GetControllerOf(pod)
	return v.ordered && ok && ref != nil && ref.Kind == desired.PodManagerGVK.Kind && !slices.Contains(v.base(), slot)
}
