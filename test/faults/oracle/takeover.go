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

// checkTakeOver is O, for pods. The first write to an orphan that makes it the
// owner's is its adoption.
func (c *checker) checkTakeOver(r *Revision, before, after *corev1.Pod) {
	ref := metav1.GetControllerOf(after)
	if ref == nil || !c.takesOver(r, ref.UID) {
		return
	}
	if before == nil {
		c.report(r, "O", "pod %s is created in the middle of a take-over", after.Name)
		return
	}
	adopts := metav1.GetControllerOf(before) == nil && !r.Gone && after.DeletionTimestamp == nil
	if !adopts || before.Labels[appsv1.LabelRevision] != after.Labels[appsv1.LabelRevision] {
		c.report(r, "O", "the operator wrote pod %s in the middle of a take-over", after.Name)
	}
}

// checkClaimTakeOver is O, for claims.
func (c *checker) checkClaimTakeOver(r *Revision, claim *corev1.PersistentVolumeClaim) {
	if c.takesOver(r, types.UID(claim.Labels[appsv1.LabelUID])) {
		c.report(r, "O", "the operator wrote claim %s in the middle of a take-over", claim.Name)
	}
}

// takesOver: the operator wrote, and whichever version of the owner it acted on,
// the owner was taking pods over.
func (c *checker) takesOver(r *Revision, owner types.UID) bool {
	versions := c.owners[owner]
	if r.Actor != Operator && r.Actor != Late || len(versions) == 0 {
		return false
	}
	for i, v := range versions {
		if i+1 < len(versions) && versions[i+1].version <= r.Floor {
			continue
		}
		if !v.TakesOver || v.Deleted {
			return false
		}
	}
	return true
}
