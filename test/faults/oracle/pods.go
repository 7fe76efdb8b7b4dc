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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Live reports whether a pod counts: it runs, or will.
func Live(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !ended(pod) }

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// Serves reports whether a pod carries load: it lives, is ready, and no change in
// place is under way, for "the pod counts as unavailable until its status shows
// the new image". With a readiness gate, a pod that was taken out of service
// does not serve, whatever the kubelet still says.
func Serves(pod *corev1.Pod) bool { return inService(pod) && !InChange(pod) }

// inService is the same for the containers that run, whatever they are asked to become.
func inService(pod *corev1.Pod) bool {
	return Live(pod) && Ready(pod) && condition(pod, appsv1.GateInService) != corev1.ConditionFalse
}

// Ready is the pod's condition of that name.
func Ready(pod *corev1.Pod) bool { return condition(pod, corev1.PodReady) == corev1.ConditionTrue }

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return pod.Status.Conditions[i].Status
		}
	}
	return corev1.ConditionUnknown
}

// InChange reports whether a container of the pod is asked to run another image than
// its status shows. A container without a status has not started.
func InChange(pod *corev1.Pod) bool {
	shown := map[string]string{}
	for i := range pod.Status.ContainerStatuses {
		shown[pod.Status.ContainerStatuses[i].Name] = pod.Status.ContainerStatuses[i].Image
	}
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		image, started := shown[c.Name]
		return started && image != c.Image
	})
}

// AvailableAt is when a pod that serves has been ready for minReadySeconds: "for a
// container that a change in place restarted, the time counts from its start".
func (s *Spec) AvailableAt(pod *corev1.Pod) time.Time {
	var since time.Time
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			since = c.LastTransitionTime.Time
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if running := pod.Status.ContainerStatuses[i].State.Running; running != nil && running.StartedAt.After(since) {
			since = running.StartedAt.Time
		}
	}
	return since.Add(s.MinReady)
}

// owned is the owner that controls a pod.
func owned(pod *corev1.Pod) (types.UID, bool) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return "", false
	}
	return ref.UID, true
}

// SlotOf is a pod's place in the fleet: with ordinals what its name says, and with
// random names its label.
func (s *Spec) SlotOf(pod *corev1.Pod) (slot int, ok bool) {
	if !s.Random {
		return s.Ordinal(pod.Name)
	}
	slot, err := strconv.Atoi(pod.Labels[appsv1.LabelSlot])
	return slot, err == nil && slot >= 0
}

// Held reports whether a pod is held back from being deleted, or from being
// changed in place: by the label, with any value, or by a finalizer of the same
// name.
func Held(pod *corev1.Pod, from string) bool {
	_, labelled := pod.Labels[from]
	return labelled || slices.Contains(pod.Finalizers, from)
}

// DeleteRequested reports whether a user asked for this very pod to go.
func DeleteRequested(pod *corev1.Pod) bool { return pod.Labels[appsv1.LabelDelete] == "true" }

// ClaimsOf are the names of the claims that a pod uses.
func ClaimsOf(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
	}
	return names
}
