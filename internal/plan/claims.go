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
	"strings"

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

// mayGo is the one rule that says which claims are ever deleted: those that the
// operator made for this owner, those that this owner took over from an earlier
// PodManager, and those that a user handed over with the labels. A claim that was found
// may be all that is left of the data of another workload, and the user who wrote this
// owner need not have the right to delete it.
func (s *scene) mayGo(c *Claim) bool { return c.Owner == s.desired.UID && !c.Found }

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
