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

package fleet

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
)

// podChanged passes what moves a pod from one of the planner's buckets to
// another. Being bound to a node, restarts and deletion cost do not: they are
// read when a scale-down needs them.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		if !ok || !ok2 {
			return true
		}
		return before.UID != after.UID ||
			before.Status.Phase != after.Status.Phase ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!slices.Equal(before.Finalizers, after.Finalizers) ||
			!maps.Equal(before.Labels, after.Labels) ||
			!slices.EqualFunc(before.OwnerReferences, after.OwnerReferences, sameReference) ||
			observe.Followed(before) != observe.Followed(after) ||
			observe.Allocated(before) != observe.Allocated(after) ||
			!sameConditions(before.Status.Conditions, after.Status.Conditions) ||
			!slices.EqualFunc(before.Status.ContainerStatuses, after.Status.ContainerStatuses, sameRun) ||
			!slices.EqualFunc(before.Status.InitContainerStatuses, after.Status.InitContainerStatuses, sameRun)
	}}
}

func sameReference(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && a.Name == b.Name && a.Kind == b.Kind && a.APIVersion == b.APIVersion &&
		ptr.Equal(a.Controller, b.Controller) && ptr.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}

// readCondition is a condition as far as the planner reads it.
type readCondition struct {
	kind   corev1.PodConditionType
	status corev1.ConditionStatus
	reason string
	since  int64
}

// read extracts what the planner reads of a condition: of readiness, of our
// gate, of what the node says of a resize, and why a pod cannot be scheduled. Of
// others it reads nothing.
func read(c *corev1.PodCondition) (readCondition, bool) {
	switch c.Type {
	case corev1.PodReady:
		return readCondition{kind: c.Type, status: c.Status, since: c.LastTransitionTime.Unix()}, true
	case appsv1.GateInService, corev1.PodResizePending, corev1.PodResizeInProgress:
		return readCondition{kind: c.Type, status: c.Status, reason: c.Reason}, true
	case corev1.PodScheduled:
		return readCondition{kind: c.Type, reason: c.Message}, c.Status == corev1.ConditionFalse
	}
	return readCondition{}, false
}

// sameConditions compares without a list of its own: every event of every pod
// comes by here.
func sameConditions(before, after []corev1.PodCondition) bool {
	next := func(list []corev1.PodCondition) (readCondition, []corev1.PodCondition) {
		for i := range list {
			if c, ok := read(&list[i]); ok {
				return c, list[i+1:]
			}
		}
		return readCondition{}, nil
	}
	for len(before) > 0 || len(after) > 0 {
		var was, is readCondition
		was, before = next(before)
		is, after = next(after)
		if was != is {
			return false
		}
	}
	return true
}

// sameRun: the container runs the same and since the same time, or does not run
// for the same reason.
func sameRun(a, b corev1.ContainerStatus) bool {
	return a.ContainerID == b.ContainerID && waitingFor(&a) == waitingFor(&b) && runningSince(&a) == runningSince(&b)
}

func runningSince(status *corev1.ContainerStatus) int64 {
	if status.State.Running == nil {
		return 0
	}
	return status.State.Running.StartedAt.Unix()
}

func waitingFor(status *corev1.ContainerStatus) string {
	if status.State.Waiting == nil {
		return ""
	}
	return status.State.Waiting.Reason
}
