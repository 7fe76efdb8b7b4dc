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

package native

import (
	"slices"
	"strconv"
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ended: the pod will not run again.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// active pods are those that a controller counts.
func active(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !ended(pod) }

// readySince is when the pod became ready; zero where it is not.
func readySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// settled: the pod is available, or is so by the time that passes alone.
func settled(pod *corev1.Pod) bool { return active(pod) && ready(pod) }

// available: ready for minReadySeconds.
func available(pod *corev1.Pod, minReady int32, now time.Time) bool {
	if !settled(pod) {
		return false
	}
	since := readySince(pod)
	return minReady == 0 || !since.IsZero() && !since.Add(time.Duration(minReady)*time.Second).After(now)
}

// owned are the pods that one of the owners controls, by name.
func owned(pods []corev1.Pod, owners ...types.UID) []*corev1.Pod {
	var own []*corev1.Pod
	for i := range pods {
		if ref := metav1.GetControllerOfNoCopy(&pods[i]); ref != nil && slices.Contains(owners, ref.UID) {
			own = append(own, &pods[i])
		}
	}
	slices.SortFunc(own, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return own
}

// sameTemplate compares templates by meaning, without the hash that a Deployment
// adds.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, kappsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, kappsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(a, b)
}

// deletionCost is what the annotation says; 0 where it is no number.
func deletionCost(pod *corev1.Pod) int32 {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int32(cost)
}

// restarts are the most restarts of a container and of a sidecar.
func restarts(pod *corev1.Pod) (containers, sidecars int32) {
	for _, c := range pod.Status.ContainerStatuses {
		containers = max(containers, c.RestartCount)
	}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		for _, s := range pod.Status.InitContainerStatuses {
			if s.Name == c.Name {
				sidecars = max(sidecars, s.RestartCount)
			}
		}
	}
	return containers, sidecars
}

// StartTime is the median time that pods took from their creation until they were
// ready, and how many pods show it. A pod that restarted does not.
func StartTime(pods []corev1.Pod) (time.Duration, int) {
	var times []time.Duration
	for i := range pods {
		containers, sidecars := restarts(&pods[i])
		since := readySince(&pods[i])
		if took := since.Sub(pods[i].CreationTimestamp.Time); !since.IsZero() && took >= 0 && containers+sidecars == 0 {
			times = append(times, took)
		}
	}
	if len(times) == 0 {
		return 0, 0
	}
	slices.Sort(times)
	return max(time.Second, times[len(times)/2]), len(times)
}
