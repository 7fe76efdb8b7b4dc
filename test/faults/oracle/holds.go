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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// checkHolds is G: "hold.apps.mycompany.com/delete, hold.apps.mycompany.com/update,
// with any value: do not delete the pod, or do not change it in place, until the
// label is removed", and "A finalizer of the same name holds a pod in the same
// way". It holds for every rule of the operator and for every pod, also one that
// failed, and also when the owner is being deleted.
//
// It is judged on the stored version that the write meets, not on what the writer
// had read: a delete has to be bound to what was read.
func (c *checker) checkHolds(r *Revision, before, after *corev1.Pod) {
	if r.Actor != Operator && r.Actor != Late || before == nil || before.DeletionTimestamp != nil || c.rules.Kind != Kind {
		return
	}
	switch {
	case r.Gone || after.DeletionTimestamp != nil:
		if Held(before, appsv1.LabelHoldDelete) {
			c.report(r, "G", "pod %s is deleted, and it is held back from that", after.Name)
		}
	case Held(before, appsv1.LabelHoldUpdate) && changedInPlace(before, after):
		c.report(r, "G", "pod %s is changed in place, and it is held back from that", after.Name)
	}
}

// changedInPlace: the pod runs something else, has another size, is taken out of
// service for that, or counts as one of another revision from now on. A pod that
// had no revision is adopted.
func changedInPlace(before, after *corev1.Pod) bool {
	revision := before.Labels[appsv1.LabelRevision]
	return !equality.Semantic.DeepEqual(before.Spec.Containers, after.Spec.Containers) ||
		!equality.Semantic.DeepEqual(before.Spec.InitContainers, after.Spec.InitContainers) ||
		revision != "" && after.Labels[appsv1.LabelRevision] != "" && revision != after.Labels[appsv1.LabelRevision] ||
		condition(before, appsv1.GateInService) != corev1.ConditionFalse && condition(after, appsv1.GateInService) == corev1.ConditionFalse
}
