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
	"context"
	"strconv"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// Names of the cache's indexes.
const (
	// IndexPods finds a pod by its controller's UID or, where it has no
	// controller, by OrphanKey.
	IndexPods = "fleet"
	// IndexPodsByNode finds pods by the node they are bound to.
	IndexPodsByNode = "node"
	// IndexRevisions finds a revision by its controller's UID.
	IndexRevisions = "controller"
)

// OrphanKey is the index key of pods without a controller that carry a fleet's
// label.
func OrphanKey(label, value string) string { return "orphan/" + label + "=" + value }

// AddIndexes registers the indexes that Observe reads. orphanLabels are the
// labels by which kinds recognise their orphans.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer, orphanLabels ...string) error {
	pods := func(obj client.Object) []string {
		if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
			return []string{string(ref.UID)}
		}
		var keys []string
		for _, label := range orphanLabels {
			if value, ok := obj.GetLabels()[label]; ok {
				keys = append(keys, OrphanKey(label, value))
			}
		}
		return keys
	}
	if err := indexer.IndexField(ctx, &corev1.Pod{}, IndexPods, pods); err != nil {
		return err
	}
	byNode := func(obj client.Object) []string {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			return []string{pod.Spec.NodeName}
		}
		return nil
	}
	if err := indexer.IndexField(ctx, &corev1.Pod{}, IndexPodsByNode, byNode); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &kappsv1.ControllerRevision{}, IndexRevisions, func(obj client.Object) []string {
		if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
			return []string{string(ref.UID)}
		}
		return nil
	})
}

// describePod takes from a pod what the planner reads, and nothing else.
func describePod(desired *plan.Desired, pod *corev1.Pod, membership plan.Membership) plan.Pod {
	p := plan.Pod{
		Name:            pod.Name,
		UID:             pod.UID,
		ResourceVersion: pod.ResourceVersion,
		Membership:      membership,
		Slot:            plan.SlotOf(desired, pod.Name, pod.Labels[appsv1.LabelSlot]),
		Revision:        pod.Labels[appsv1.LabelRevision],
		Created:         pod.CreationTimestamp.Time,
		Phase:           pod.Status.Phase,
		Reason:          pod.Status.Reason,
		Terminating:     pod.DeletionTimestamp != nil,
		Node:            pod.Spec.NodeName,
		DeleteRequested: pod.Labels[appsv1.LabelDelete] == "true",
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			p.Ready, p.ReadySince = true, c.LastTransitionTime.Time
		}
	}
	for i := range pod.Status.ContainerStatuses {
		p.Restarts += int(pod.Status.ContainerStatuses[i].RestartCount)
	}
	// The scheduler and the ReplicaSet controller read a bad cost as 0, too.
	if cost, err := strconv.Atoi(pod.Annotations[corev1.PodDeletionCost]); err == nil {
		p.DeletionCost = cost
	}
	if p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded {
		p.FailedAt = endedAt(pod)
	}
	return p
}

// endedAt is when a pod ended, as well as its status tells: the last container
// that finished, else the last change of a condition (an evicted or rejected
// pod has no containers), else its creation.
func endedAt(pod *corev1.Pod) time.Time {
	latest := pod.CreationTimestamp.Time
	for i := range pod.Status.Conditions {
		if t := pod.Status.Conditions[i].LastTransitionTime.Time; t.After(latest) {
			latest = t
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil && end.FinishedAt.After(latest) {
			latest = end.FinishedAt.Time
		}
	}
	return latest
}

// Slim drops from a pod, before the cache stores it, what no planner reads.
// Most of a pod's bytes are its spec, its managed fields and its annotations.
func Slim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	pod.ManagedFields = nil
	if cost, ok := pod.Annotations[corev1.PodDeletionCost]; ok {
		pod.Annotations = map[string]string{corev1.PodDeletionCost: cost}
	} else {
		pod.Annotations = nil
	}
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	status := corev1.PodStatus{Phase: pod.Status.Phase, Reason: pod.Status.Reason}
	for _, c := range pod.Status.Conditions {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime,
		})
	}
	for _, c := range pod.Status.ContainerStatuses {
		slim := corev1.ContainerStatus{Name: c.Name, RestartCount: c.RestartCount}
		if end := c.State.Terminated; end != nil {
			slim.State.Terminated = &corev1.ContainerStateTerminated{FinishedAt: end.FinishedAt}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, slim)
	}
	pod.Status = status
	return pod, nil
}
