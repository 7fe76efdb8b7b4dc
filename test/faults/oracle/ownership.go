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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// checkOwnership is S3: the operator writes only pods that it controls, and orphans
// that match. "A pod that carries the UID of another PodManager in its label
// podmanager-uid is not adopted; to hand over such a pod, remove that label and set
// podmanager." Only a PodManager that is gone may have left a pod to one of its own
// name: "a PodManager of the same name adopts them again".
func (c *checker) checkOwnership(r *Revision, before, after *corev1.Pod) {
	if r.Actor != Operator && r.Actor != Late {
		return
	}
	if before == nil {
		before = after
	}
	ref := metav1.GetControllerOf(before)
	switch {
	case ref != nil && ref.Kind != c.rules.Kind:
		c.report(r, "S3", "the operator wrote pod %s, which %s %s controls", after.Name, ref.Kind, ref.Name)
	case ref == nil && before.Labels[appsv1.LabelName] == "":
		c.report(r, "S3", "the operator wrote pod %s, which has no owner and matches nothing", after.Name)
	case ref == nil && c.carriesAnother(r, before, after):
		c.report(r, "S3", "the operator wrote pod %s, which carries the UID of PodManager %s", after.Name,
			c.names[types.UID(before.Labels[appsv1.LabelUID])])
	}
}

// carriesAnother: the pod has no owner and was made by another one than adopts it
// or than its label names, which is still there or had another name. What the
// writer had not seen of owners does not bind it.
func (c *checker) carriesAnother(r *Revision, before, after *corev1.Pod) bool {
	carried := types.UID(before.Labels[appsv1.LabelUID])
	name, known := c.names[carried]
	if !known {
		return false
	}
	adopter, adopts := owned(after)
	there := c.claims.gone[carried] == 0 && c.owners[carried][0].version <= r.Floor
	return name != before.Labels[appsv1.LabelName] || adopts && adopter != carried && there
}
