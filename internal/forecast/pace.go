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

package forecast

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Pace is how long the pods of a fleet took last time, each the median of the
// pods that show it. A pod shows only its last time: the one it took to start, or
// to be ready again after a change in place.
type Pace struct {
	// Start is from a pod's creation until it was ready.
	Start time.Duration
	// InPlace is from a change in place until the pod was ready again.
	InPlace time.Duration
	// Started and Changed are how many pods show it.
	Started, Changed int
}

// PaceOf measures live pods. The manager is the field manager that
// changes them in place: managedFields say when it did.
func PaceOf(pods []corev1.Pod, manager string) Pace {
	var started, changed []time.Duration
	for i := range pods {
		pod := &pods[i]
		ready := readySince(pod)
		if ready.IsZero() || pod.DeletionTimestamp != nil || restarted(pod) {
			continue
		}
		if _, inPlace := pod.Annotations[appsv1.AnnotationInPlace]; inPlace {
			if written := lastWrite(pod, manager); !written.IsZero() && !ready.Before(written) {
				changed = append(changed, ready.Sub(written))
			}
			continue
		}
		started = append(started, ready.Sub(pod.CreationTimestamp.Time))
	}
	return Pace{Start: median(started), InPlace: median(changed), Started: len(started), Changed: len(changed)}
}

// readySince is when the pod became ready with the containers that it runs now,
// or zero.
func readySince(pod *corev1.Pod) time.Time {
	var since time.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			since = c.LastTransitionTime.Time
		}
	}
	if since.IsZero() {
		return since
	}
	for _, c := range pod.Status.ContainerStatuses {
		if run := c.State.Running; run != nil && run.StartedAt.After(since) {
			since = run.StartedAt.Time
		}
	}
	return since
}

// restarted: a container came back after it had failed, so that the pod's
// readiness is not about its start. A change in place restarts containers, too.
func restarted(pod *corev1.Pod) bool {
	_, inPlace := pod.Annotations[appsv1.AnnotationInPlace]
	return !inPlace && slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 })
}

// lastWrite is when a field manager last wrote the pod itself.
func lastWrite(pod *corev1.Pod, manager string) time.Time {
	var last time.Time
	for _, entry := range pod.ManagedFields {
		if entry.Manager == manager && entry.Subresource == "" && entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// median is at least a second, because the times have no more precision; it is 0
// without times.
func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return max(time.Second, times[len(times)/2])
}
