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
	// made are the claims that the operator made, and for which owner; extra are
	// those of them that were made for an ordinal beyond the base, which has not
	// belonged to it since; ended those whose deletion was asked for.
	made  map[types.UID]types.UID
	extra map[types.UID]string
	ended map[types.UID]bool
	// bare are the claims on which no PodManager's label is, and found those of them
	// that the operator itself put its label on.
	bare, found map[types.UID]bool
}

// claimPolicy is what an owner asked for from a version on.
type claimPolicy struct {
	version int64
	want    *Spec
}

func newClaimChecker() *claimChecker {
	return &claimChecker{
		owners: map[types.UID][]claimPolicy{}, gone: map[types.UID]int64{}, condemned: map[types.UID]map[string]bool{},
		pods: map[types.UID]*corev1.Pod{}, made: map[types.UID]types.UID{}, extra: map[types.UID]string{}, ended: map[types.UID]bool{},
		bare: map[types.UID]bool{}, found: map[types.UID]bool{},
	}
}

func (c *claimChecker) seeOwner(r *Revision, pm *appsv1.PodManager) {
	if r.Gone {
		c.gone[pm.UID] = r.Version
		return
	}
	c.owners[pm.UID] = append(c.owners[pm.UID], claimPolicy{r.Version, SpecOf(pm)})
	for _, pod := range c.pods {
		c.judge(pod)
	}
	for uid, name := range c.extra {
		if c.made[uid] == pm.UID && !c.beyond(pm.UID, name) {
			delete(c.extra, uid)
		}
	}
}

// beyond: the claim is that of an ordinal that is not in the base now.
func (c *claimChecker) beyond(owner types.UID, claim string) bool {
	versions := c.owners[owner]
	want := versions[len(versions)-1].want
	slot, ok := want.ClaimOrdinal(claim)
	return ok && !want.InBase(slot)
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
	want := versions[len(versions)-1].want
	slot, ok := want.SlotOf(pod)
	c.condemned[ref.UID][pod.Name] = want.WhenScaled == appsv1.ClaimDelete && (!ok || !want.InBase(slot))
}

// seeClaim judges the operator's deletions: "the operator deletes a claim only if
// this PodManager, identified by its UID, scaled down the claim's pod or reserved
// its ordinal while the policy was Delete", and "deletes the claim when the pod is
// gone". "A claim that a rollout created for a surge pod is deleted with that pod; a
// claim that already existed is kept." And "it deletes only claims that the operator
// made, and those that migrate handed over".
func (c *checker) seeClaim(r *Revision, claim *corev1.PersistentVolumeClaim) {
	c.claims.seeMade(r, claim)
	c.claims.seeFound(r, claim)
	c.checkClaimTakeOver(r, claim)
	if !r.Gone && claim.DeletionTimestamp == nil || c.claims.ended[claim.UID] {
		return
	}
	c.claims.ended[claim.UID] = true
	if r.Actor != Operator && r.Actor != Late {
		return
	}
	for _, pod := range c.pods {
		if slices.Contains(ClaimsOf(pod), claim.Name) && !c.claims.goes(pod) {
			c.report(r, "D", "claim %s is deleted, and pod %s uses it", claim.Name, pod.Name)
		}
	}
	if c.claims.found[claim.UID] {
		c.report(r, "D", "claim %s is deleted, and the operator found it: neither did it make the claim, nor was it handed over", claim.Name)
		return
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
	return versions[len(versions)-1].want.condemnsAll()
}

// seeMade notes for which owner the operator made a claim.
func (c *claimChecker) seeMade(r *Revision, claim *corev1.PersistentVolumeClaim) {
	if _, known := c.made[claim.UID]; known {
		return
	}
	c.made[claim.UID] = ""
	for uid, versions := range c.owners {
		if wrote(r) && c.gone[uid] == 0 && versions[0].want.Name == claim.Labels[appsv1.LabelName] {
			c.made[claim.UID] = uid
			if c.beyond(uid, claim.Name) {
				c.extra[claim.UID] = claim.Name
			}
		}
	}
}

// seeFound notes who put the first label of a PodManager on a claim: the operator, or
// one who hands it over.
func (c *claimChecker) seeFound(r *Revision, claim *corev1.PersistentVolumeClaim) {
	switch labelled := claim.Labels[appsv1.LabelName] != ""; {
	case !labelled:
		c.bare[claim.UID] = true
	case c.bare[claim.UID]:
		delete(c.bare, claim.UID)
		c.found[claim.UID] = r.Actor == Operator || r.Actor == Late
	}
}

// mayDelete: in a version of the owner that the writer may have acted on, the
// claim was to go, and the owner had a pod that used it.
func (c *claimChecker) mayDelete(r *Revision, owner types.UID, claim *corev1.PersistentVolumeClaim) bool {
	versions := c.owners[owner]
	for i := range versions {
		if i+1 < len(versions) && versions[i+1].version <= r.Floor {
			continue
		}
		want := versions[i].want
		slot, ok := want.ClaimOrdinal(claim.Name)
		if !ok || want.Name != claim.Labels[appsv1.LabelName] {
			continue
		}
		condemned, had := c.condemned[owner][want.PodName(slot)]
		_, extra := c.extra[claim.UID]
		switch {
		case extra && c.made[claim.UID] == owner:
			return true
		case want.condemnsAll() && (had || c.made[claim.UID] == owner):
			return true
		case want.WhenScaled == appsv1.ClaimDelete && !want.InBase(slot) && condemned:
			return true
		}
	}
	return false
}

// condemnsAll: the owner is being deleted, and pods and claims with it.
func (s *Spec) condemnsAll() bool {
	return s.Deleted && !s.Orphans && s.WhenDeleted == appsv1.ClaimDelete
}
