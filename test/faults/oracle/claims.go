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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// claimChecker is D: it knows of every owner what it asked for when, and which of
// its pods it scaled away.
type claimChecker struct {
	owners map[types.UID][]claimPolicy
	// gone is since which version an owner is gone.
	gone map[types.UID]int64
	// condemned are the names of the pods of each owner there ever were, and
	// whether their slots were to go, and the claims with them, when the last of
	// that name was there.
	condemned map[types.UID]map[string]bool
	pods      map[types.UID]*corev1.Pod
	// made are the claims that the operator made, and for which owner; ended
	// those whose deletion was asked for.
	made  map[types.UID]types.UID
	ended map[types.UID]bool
}

// claimPolicy is what an owner asked for from a version on.
type claimPolicy struct {
	version int64
	want    plan.Desired
}

func newClaimChecker() *claimChecker {
	return &claimChecker{
		owners: map[types.UID][]claimPolicy{}, gone: map[types.UID]int64{}, condemned: map[types.UID]map[string]bool{},
		pods: map[types.UID]*corev1.Pod{}, made: map[types.UID]types.UID{}, ended: map[types.UID]bool{},
	}
}

func (c *claimChecker) seeOwner(r *Revision, pm *appsv1.PodManager) {
	if r.Gone {
		c.gone[pm.UID] = r.Version
		return
	}
	c.owners[pm.UID] = append(c.owners[pm.UID], claimPolicy{r.Version, desired.PodManager(pm).Desired})
	for _, pod := range c.pods {
		c.judge(pod)
	}
}

func (c *claimChecker) seePod(r *Revision, pod *corev1.Pod) {
	if r.Gone {
		delete(c.pods, pod.UID)
		return
	}
	c.pods[pod.UID] = pod
	c.judge(pod)
}

// judge reports whether a pod that is there is to go, by what its owner asks for
// now.
func (c *claimChecker) judge(pod *corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || len(c.owners[ref.UID]) == 0 {
		return
	}
	if c.condemned[ref.UID] == nil {
		c.condemned[ref.UID] = map[string]bool{}
	}
	versions := c.owners[ref.UID]
	want := &versions[len(versions)-1].want
	slot := plan.SlotOf(want, pod.Name, pod.Labels[appsv1.LabelSlot])
	c.condemned[ref.UID][pod.Name] = want.Claims.WhenScaled == appsv1.ClaimDelete && !inRange(want, slot)
}

// seeClaim judges the operator's deletions.
func (c *checker) seeClaim(r *Revision, claim *corev1.PersistentVolumeClaim) {
	c.claims.seeMade(r, claim)
	c.checkClaimTakeOver(r, claim)
	if !r.Gone && claim.DeletionTimestamp == nil || c.claims.ended[claim.UID] {
		return
	}
	c.claims.ended[claim.UID] = true
	if r.Actor != Operator && r.Actor != Late {
		return
	}
	for _, pod := range c.pods {
		if pod.DeletionTimestamp == nil && slices.Contains(claimNames(pod), claim.Name) && !c.claims.goes(pod) {
			c.report(r, "D", "claim %s is deleted, and pod %s uses it", claim.Name, pod.Name)
		}
	}
	for uid := range c.claims.owners {
		// A write that arrives late was right when it was sent, and so was one of a
		// second operator that has not seen yet that the first let the owner go.
		unseen := r.Floor > 0 && c.claims.gone[uid] > r.Floor
		if (c.claims.gone[uid] == 0 || unseen || r.Actor == Late) && c.claims.mayDelete(r, uid, claim) {
			return
		}
	}
	c.report(r, "D", "claim %s is deleted, and its owner did not condemn its pod", claim.Name)
}

// goes: the pod's owner is being deleted, and pods and claims with it. Which of
// them is deleted first makes no difference.
func (c *claimChecker) goes(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || len(c.owners[ref.UID]) == 0 {
		return false
	}
	versions := c.owners[ref.UID]
	want := &versions[len(versions)-1].want
	return want.Deletion == plan.DeletionDelete && want.Claims.WhenDeleted == appsv1.ClaimDelete
}

// seeMade notes for which owner the operator made a claim.
func (c *claimChecker) seeMade(r *Revision, claim *corev1.PersistentVolumeClaim) {
	if _, known := c.made[claim.UID]; known {
		return
	}
	c.made[claim.UID] = ""
	for uid, versions := range c.owners {
		if r.Actor == Operator && c.gone[uid] == 0 && versions[0].want.Name == claim.Labels[appsv1.LabelName] {
			c.made[claim.UID] = uid
		}
	}
}

func claimNames(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
	}
	return names
}

// mayDelete: in a version of the owner that the writer may have acted on, the
// claim was to go, and the owner had a pod that used it.
func (c *claimChecker) mayDelete(r *Revision, owner types.UID, claim *corev1.PersistentVolumeClaim) bool {
	versions := c.owners[owner]
	for i := range versions {
		if i+1 < len(versions) && versions[i+1].version <= r.Floor {
			continue
		}
		want := &versions[i].want
		slot := plan.ClaimSlot(want, claim.Name)
		if slot == plan.NoSlot || want.Name != claim.Labels[appsv1.LabelName] {
			continue
		}
		condemned, had := c.condemned[owner][plan.SlotName(want, slot)]
		switch {
		case want.Deletion == plan.DeletionDelete && want.Claims.WhenDeleted == appsv1.ClaimDelete && (had || c.made[claim.UID] == owner):
			return true
		case want.Claims.WhenScaled == appsv1.ClaimDelete && !inRange(want, slot) && condemned:
			return true
		}
	}
	return false
}

// inRange: the ordinal is among the first replicas that are not reserved.
func inRange(want *plan.Desired, slot int) bool {
	if slices.Contains(want.Reserved, slot) {
		return false
	}
	below := slot
	for _, ordinal := range want.Reserved {
		if ordinal < slot {
			below--
		}
	}
	return below < want.Replicas
}
