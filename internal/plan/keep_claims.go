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
	"slices"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// keepClaims settles whose the claims are and which of them go. A claim goes
// only after this owner, by UID, has condemned its pod: whatever else carries
// its name was left by an earlier owner, and may be all that is left of its
// data. So a claim is marked before its pod is deleted, and deleted only when it
// carries the mark and the pod is gone. What was made for a pod that stands in for
// others carries a mark from the start: it goes with that pod, also where a user deletes it.
func keepClaims(s *scene) bool {
	if len(s.desired.Claims.Templates) == 0 && len(s.observed.Claims) == 0 {
		return false
	}
	s.condemnClaims()
	var users map[int]bool
	var occupied map[string]*Pod
	for i := range s.observed.Claims {
		c := &s.observed.Claims[i]
		if c.Terminating || c.Slot == NoSlot || s.owns(c) {
			continue
		}
		if users == nil {
			users, occupied = s.claimUsers(), s.occupied()
		}
		name := SlotName(&s.desired, c.Slot)
		switch {
		case s.inBase(c.Slot):
			if users[c.Slot] {
				s.adoptClaim(c, appsv1.WhyClaimInUse, "the pod "+name+" uses it")
			}
		case s.outlived(c, occupied[name]):
			s.adoptClaim(c, appsv1.WhyClaimRetention, "the pod "+name+" no longer stands in for others")
		case c.CondemnedBy != s.desired.UID && !c.Surge:
		case s.desired.Claims.WhenScaled != appsv1.ClaimDelete && !c.Surge:
			s.adoptClaim(c, appsv1.WhyClaimRetention, "whenScaled is no longer Delete")
		case len(s.extras) < s.surge && s.mayStandIn(c.Slot) || occupied[name] != nil: // another stand-in may need it
		default:
			s.deleteClaim(*c, name, goneWhy(c)) // the pod may have been released since, and use it still
		}
	}
	return false
}

// owns: the claim is this owner's and stays.
func (s *scene) owns(c *Claim) bool {
	return c.Owner == s.desired.UID && c.CondemnedBy == "" && !c.Surge
}

// claimUsers are the slots of this owner's pods that stay.
func (s *scene) claimUsers() map[int]bool {
	slots := map[int]bool{}
	for _, b := range s.staying() {
		if b.pod.Membership == Member {
			slots[b.slot] = true
		}
	}
	return slots
}

// outlived: the claim was made for a stand-in that became one of the fleet's, and is
// kept when that is scaled away.
func (s *scene) outlived(c *Claim, user *Pod) bool {
	return c.Surge && c.Owner == s.desired.UID && c.CondemnedBy == "" && s.desired.Claims.WhenScaled != appsv1.ClaimDelete &&
		user != nil && user.Membership == Member && !user.Surge
}

// goneWhy says why a claim goes after its pod.
func goneWhy(c *Claim) string {
	if c.Surge {
		return "it was made for a pod that stood in for others"
	}
	return "its pod was scaled away and whenScaled is Delete"
}

// goesWithPod: the claim goes when this pod does. What was made for a pod that stands
// in for others goes with it, whatever the policy; what such a pod found was not its
// own. A claim that the cache does not show is looked for before its pod is deleted: it
// was there before the pod was, and the cache may be behind.
func (s *scene) goesWithPod(c *Claim, p *Pod) bool {
	if c == nil {
		return !p.Surge && !p.Terminating && s.desired.Claims.WhenScaled == appsv1.ClaimDelete
	}
	if c.Terminating || !s.mayGo(c) || c.CondemnedBy == s.desired.UID {
		return false
	}
	if p.Surge {
		return c.Surge
	}
	return s.desired.Claims.WhenScaled == appsv1.ClaimDelete
}

// condemnClaims marks the claims of the pods that are scaled away, ahead of the
// first deletion. A pod that goes already is looked at, too: its mark may have
// failed.
func (s *scene) condemnClaims() {
	first := len(s.decision.Actions)
	for i, a := range s.decision.Actions {
		if a.Verb == DeletePod {
			first = min(first, i)
		}
	}
	var marks []Action
	for _, p := range s.departing() {
		if p.Slot == NoSlot || s.inBase(p.Slot) {
			continue
		}
		for _, template := range s.desired.Claims.Templates {
			name := ClaimName(template, p.Name)
			c := s.claim(name)
			if !s.goesWithPod(c, p) {
				continue
			}
			if c == nil {
				c = &Claim{} // without a UID it is looked for
			}
			message := "the pod " + p.Name + " is scaled away and whenScaled is Delete"
			if p.Surge {
				message = "the pod " + p.Name + " stood in for others and goes"
			}
			marks = append(marks, Action{
				Verb: CondemnClaim, Slot: p.Slot, Claim: name, UsedBy: p.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
				Why: Why{Rule: s.rule, Reason: appsv1.WhyClaimRetention, Message: message},
			})
		}
	}
	s.decision.Actions = slices.Insert(s.decision.Actions, first, marks...)
}

// departing are this owner's pods that go or are about to, in the order in
// which they were condemned. Evicted are only pods that have a successor in their
// slot.
func (s *scene) departing() []*Pod {
	if len(s.gone) == 0 {
		return s.terminating
	}
	byName := make(map[string]*Pod, len(s.gone))
	for p := range s.gone {
		byName[p.Name] = p
	}
	pods := slices.Clone(s.terminating)
	for i := range s.decision.Actions {
		if a := &s.decision.Actions[i]; a.Verb == DeletePod && byName[a.Pod] != nil && !byName[a.Pod].Terminating {
			pods = append(pods, byName[a.Pod])
		}
	}
	return pods
}

func (s *scene) adoptClaim(c *Claim, reason, message string) {
	s.act(Action{Verb: AdoptClaim, Slot: c.Slot, Claim: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}, reason, message, nil)
}

// deleteClaim deletes the very claim that was read: its mark may have been taken
// off since. It stays if the pod that may use it exists.
func (s *scene) deleteClaim(c Claim, unlessUsedBy, message string) {
	if !s.mayGo(&c) {
		return
	}
	s.act(Action{Verb: DeleteClaim, Slot: c.Slot, Claim: c.Name, UsedBy: unlessUsedBy, UID: c.UID, ResourceVersion: c.ResourceVersion},
		appsv1.WhyClaimRetention, message, nil)
}
