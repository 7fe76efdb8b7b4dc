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
	"strings"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// ClaimName is the name of a pod's claim, as StatefulSets form it.
func ClaimName(template, pod string) string { return template + "-" + pod }

// ClaimSlot is the slot whose claim has this name, or NoSlot.
func ClaimSlot(d *Desired, name string) int {
	for _, template := range d.Claims.Templates {
		if pod, ok := strings.CutPrefix(name, template+"-"); ok {
			if slot := SlotOf(d, pod, ""); slot != NoSlot {
				return slot
			}
		}
	}
	return NoSlot
}

// claimsFor are the creations of the claims that a new pod needs. A claim that
// is still terminating is waited for: the pod would bind to it and lose it.
func (s *scene) claimsFor(pod string, slot int) (creates []Action, blocked bool) {
	for _, template := range s.desired.Claims.Templates {
		name := ClaimName(template, pod)
		switch claim := s.claim(name); {
		case claim == nil:
			creates = append(creates, Action{
				Verb: CreateClaim, Slot: slot, Claim: name, Template: template, Surge: s.ordinal() && !s.inBase(slot),
			})
		case claim.Terminating:
			s.block(Blocked{
				Verb: CreatePod, Pod: pod, Slot: slot, By: appsv1.BlockedByTermination, Count: 1,
				Message: "the volume claim " + name + " still terminates",
			})
			return nil, true
		}
	}
	return creates, false
}

func (s *scene) claim(name string) *Claim {
	if s.claims == nil {
		s.claims = make(map[string]*Claim, len(s.observed.Claims))
		for i := range s.observed.Claims {
			s.claims[s.observed.Claims[i].Name] = &s.observed.Claims[i]
		}
	}
	return s.claims[name]
}

// restoreClaims makes the claims of pending pods again that were deleted: the
// pods cannot run without them. A running pod keeps its claims from going.
func restoreClaims(s *scene) bool {
	if len(s.desired.Claims.Templates) == 0 {
		return false
	}
	for _, b := range s.staying() {
		if b.pod.Phase != corev1.PodPending || b.pod.Membership != Member || !b.is(inFleet) && !s.extras[b.pod] {
			continue
		}
		for _, template := range s.desired.Claims.Templates {
			if name := ClaimName(template, b.pod.Name); s.claim(name) == nil {
				s.act(Action{Verb: CreateClaim, Slot: b.slot, Claim: name, Template: template, Surge: !b.is(inFleet)},
					appsv1.WhyClaimMissing, "the pod "+b.pod.Name+" waits for it", nil)
			}
		}
	}
	return false
}

// keepClaims settles whose the claims are and which of them go. A claim goes
// only after this owner, by UID, has condemned its pod: whatever else carries
// its name was left by an earlier owner, and may be all that is left of its
// data. So a claim is marked before its pod is deleted, and deleted only when it
// carries the mark and the pod is gone.
func keepClaims(s *scene) bool {
	if len(s.observed.Claims) == 0 {
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
		case c.CondemnedBy != s.desired.UID:
		case s.desired.Claims.WhenScaled != appsv1.ClaimDelete:
			s.adoptClaim(c, appsv1.WhyClaimRetention, "whenScaled is no longer Delete")
		case s.surge > 0 && s.mayStandIn(c.Slot) || occupied[name] != nil || c.Owner != s.desired.UID:
		default:
			s.deleteClaim(*c, "its pod was scaled away and whenScaled is Delete")
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

// condemnClaims marks the claims of the pods that are scaled away, ahead of the
// first deletion. A pod that goes already is looked at, too: its mark may have
// failed.
func (s *scene) condemnClaims() {
	if s.desired.Claims.WhenScaled != appsv1.ClaimDelete {
		return
	}
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
			c := s.claim(ClaimName(template, p.Name))
			// What a pod that stood in for others found there was not its own.
			if c == nil || c.Terminating || c.Owner != s.desired.UID || c.CondemnedBy == s.desired.UID || p.Surge && !c.Surge {
				continue
			}
			marks = append(marks, Action{
				Verb: CondemnClaim, Slot: c.Slot, Claim: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
				Why: Why{
					Rule: s.rule, Reason: appsv1.WhyClaimRetention,
					Message: "the pod " + p.Name + " is scaled away and whenScaled is Delete",
				},
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
// off since.
func (s *scene) deleteClaim(c Claim, message string) {
	s.act(Action{Verb: DeleteClaim, Slot: c.Slot, Claim: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion},
		appsv1.WhyClaimRetention, message, nil)
}
