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
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/pod-operator/internal/plan"
)

// PodChanged reports whether a change of a pod can change a plan: whether its
// owner has to be reconciled. It asks describePod, so that what the planner reads
// is said once.
func PodChanged(before, after *corev1.Pod) bool {
	return !maps.Equal(before.Labels, after.Labels) ||
		!slices.EqualFunc(before.OwnerReferences, after.OwnerReferences, sameReference) ||
		!sameSizes(before.Spec.Containers, after.Spec.Containers) || !sameSizes(before.Spec.InitContainers, after.Spec.InitContainers) ||
		!reflect.DeepEqual(plannedOf(before), plannedOf(after))
}

// sameSizes compares what describeSizes reads.
func sameSizes(before, after []corev1.Container) bool {
	same := func(a, b corev1.ResourceList) bool {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			x, had := a[name]
			y, has := b[name]
			if had != has || x.Cmp(y) != 0 {
				return false
			}
		}
		return true
	}
	return slices.EqualFunc(before, after, func(a, b corev1.Container) bool {
		return a.Name == b.Name && same(a.Resources.Requests, b.Resources.Requests) && same(a.Resources.Limits, b.Resources.Limits)
	})
}

// plannedOf is the pod as the planner reads it, without what no plan waits for:
// its node, its restarts and its deletion cost are read when a scale-down
// chooses, and since when it has not been ready when another leaves its node,
// whenever that is.
func plannedOf(pod *corev1.Pod) plan.Pod {
	p := describePod(&plan.Desired{}, pod, plan.Member)
	p.ResourceVersion, p.Node, p.Restarts, p.DeletionCost, p.UnreadySince = "", "", 0, 0, time.Time{}
	return p
}

func sameReference(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && a.Name == b.Name && a.Kind == b.Kind && a.APIVersion == b.APIVersion &&
		ptr.Equal(a.Controller, b.Controller) && ptr.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}
