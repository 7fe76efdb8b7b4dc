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

package plan

import (
	"fmt"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// finalize settles the pods of an owner that is being deleted. Deletes carry
// the resourceVersion, as all do: the garbage collector may be letting the pods
// go at this moment (--cascade=orphan), and a pod that has just lost its owner
// reference must not be deleted on the word of an old cache.
func finalize(s *scene) bool {
	switch s.desired.Deletion {
	case DeletionNone:
		return false
	case DeletionDelete:
		s.deleteAll()
	case DeletionOrphan:
		s.orphanAll()
	case DeletionCascadeOrphan:
		s.stepAside()
	}
	return true
}

func (s *scene) deleteAll() {
	if s.desired.Finalizer != FinalizerPresent {
		return
	}
	const message = "the owner is being deleted"
	waiting := len(s.terminating)
	for _, bucket := range [][]*Pod{s.live, s.failed, s.drifted, s.lost} {
		for _, p := range bucket {
			waiting++
			if s.held(p, wantDelete) || !s.room(DeletePod, p) {
				continue
			}
			s.act(Action{
				Verb: DeletePod, Pod: p.Name, UID: p.UID, Slot: p.Slot, Revision: p.Revision,
				ResourceVersion: p.ResourceVersion, Force: p.NodeState != NodePresent,
			}, appsv1.WhyOwnerDeleted, message, nil)
		}
	}
	s.forceLostTerminating()
	if waiting == 0 {
		s.deleteClaims()
		s.removeFinalizer("all pods are gone")
		return
	}
	s.block(Blocked{
		Verb: RemoveFinalizer, Slot: NoSlot, By: appsv1.BlockedByTermination,
		Message: fmt.Sprintf("waiting for %s to be gone", NumberOf(waiting, "pod")),
	})
}

// deleteClaims deletes the fleet's claims where the retention policy says so.
// What an earlier owner of the same name left and no pod of this one used stays, and so
// does what was found.
// So does the claim of a pod that is there still: the garbage collector may have
// let it go with --cascade=orphan, and be done before we looked. A cache that is
// behind does not show such a pod, so apply looks again before it deletes a claim.
func (s *scene) deleteClaims() {
	retained := s.desired.Claims.WhenDeleted != appsv1.ClaimDelete
	users := make(map[string]bool, len(s.observed.Pods))
	for i := range s.observed.Pods {
		users[s.observed.Pods[i].Name] = true
	}
	for _, c := range s.observed.Claims {
		user := SlotName(&s.desired, c.Slot)
		switch {
		case c.Terminating || users[user]:
		case !retained:
			s.deleteClaim(c, user, "the owner is being deleted and whenDeleted is Delete")
		case s.goesAnyway(&c):
			s.deleteClaim(c, user, goneWhy(&c))
		}
	}
}

// goesAnyway: the claim goes with its pod, which the end of the owner overtook: it stood
// in for others, or was scaled away.
func (s *scene) goesAnyway(c *Claim) bool {
	scaledAway := c.CondemnedBy == s.desired.UID && s.desired.Claims.WhenScaled == appsv1.ClaimDelete
	return !s.inBase(c.Slot) && (scaledAway || c.Surge && c.Owner == s.desired.UID)
}

func (s *scene) orphanAll() {
	if s.desired.Finalizer != FinalizerPresent {
		return
	}
	waiting := 0
	for _, bucket := range [][]*Pod{s.live, s.failed, s.drifted, s.lost} {
		for _, p := range bucket {
			waiting++
			if !s.room(OrphanPod, p) {
				continue
			}
			s.act(Action{
				Verb: OrphanPod, Pod: p.Name, UID: p.UID, Slot: p.Slot, ResourceVersion: p.ResourceVersion,
			}, appsv1.WhyOwnerDeleted, "the owner is being deleted and its deletion policy is Orphan", nil)
		}
	}
	if waiting == 0 {
		s.removeFinalizer("all pods are released")
		return
	}
	s.block(Blocked{
		Verb: RemoveFinalizer, Slot: NoSlot, By: appsv1.BlockedByTermination,
		Message: fmt.Sprintf("releasing %s", NumberOf(waiting, "pod")),
	})
}

// stepAside leaves the pods to the garbage collector. The revisions would be
// left behind without an owner and of no use to anyone, so they go.
func (s *scene) stepAside() {
	for _, r := range s.observed.Revisions {
		s.act(Action{Verb: DeleteRevision, Slot: NoSlot, Revision: r.Name, UID: r.UID},
			appsv1.WhyOwnerDeleted, "the owner is being deleted with --cascade=orphan", nil)
	}
	if s.desired.Finalizer == FinalizerPresent {
		s.removeFinalizer("the garbage collector lets the pods go")
	}
}

func (s *scene) removeFinalizer(message string) {
	s.act(Action{Verb: RemoveFinalizer, Slot: NoSlot}, appsv1.WhyPodsGone, message, nil)
}
