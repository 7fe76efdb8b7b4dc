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
	"testing"

	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// claiming gives every pod a claim of each template.
func (f fleet) claiming(retention appsv1.ClaimPolicy, templates ...string) fleet {
	f.desired.Claims = Claims{Templates: templates, WhenScaled: retention, WhenDeleted: retention}
	return f
}

// claims puts claims of the template data into the world, which this owner
// made.
func (f fleet) claims(slots ...int) fleet {
	for _, slot := range slots {
		name := ClaimName("data", SlotName(&f.desired, slot))
		f.observed.Claims = append(f.observed.Claims, Claim{
			Name: name, UID: types.UID("uid-" + name), ResourceVersion: "5", Slot: slot, Owner: f.desired.UID,
		})
	}
	return f
}

// lastClaim changes the claim that was added last.
func (f fleet) lastClaim(change func(*Claim)) fleet {
	f.observed.Claims = slices.Clone(f.observed.Claims)
	change(&f.observed.Claims[len(f.observed.Claims)-1])
	return f
}

// condemned: this owner scaled the pod of the last claim away.
func (f fleet) condemned() fleet {
	return f.lastClaim(func(c *Claim) { c.CondemnedBy = f.desired.UID })
}

// ofAnother: an earlier owner of the same name left the last claim.
func (f fleet) ofAnother() fleet { return f.lastClaim(func(c *Claim) { c.Owner = "owner-0" }) }

// forSurge: the last claim was made for a pod that stood in for others.
func (f fleet) forSurge() fleet { return f.lastClaim(func(c *Claim) { c.Surge = true }) }

// standIn: a rollout made the pod to stand in for others.
func (b podBuilder) standIn() podBuilder { b.p.Surge = true; return b }

func (f fleet) reserving(ordinals ...int) fleet { f.desired.Reserved = ordinals; return f }

// claimsOf writes what happens to claims and pods, in order.
func claimsOf(d Decision) []string {
	var lines []string
	for _, a := range d.Actions {
		lines = append(lines, strings.Join([]string{string(a.Verb), a.Claim + a.Pod, a.Why.Reason}, " "))
	}
	return lines
}

func TestClaimSlot(t *testing.T) {
	d := aFleet(1).claiming(appsv1.ClaimRetain, "data", "data-web").desired
	for name, want := range map[string]int{
		"data-web-3":     3,
		"data-web-web-3": 3,
		"data-web-03":    NoSlot,
		"data-web":       NoSlot,
		"logs-web-3":     NoSlot,
		"data-api-3":     NoSlot,
	} {
		if got := ClaimSlot(&d, name); got != want {
			t.Errorf("ClaimSlot(%q) = %d, want %d", name, got, want)
		}
	}
}
