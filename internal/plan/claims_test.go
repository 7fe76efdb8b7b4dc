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

	"github.com/google/go-cmp/cmp"
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

func TestClaimsOfAFleet(t *testing.T) {
	ending := func(f fleet) fleet { f.observed.Claims[0].Terminating = true; return f }
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"a new pod gets its claims first": {
			given: aFleet(1).claiming(appsv1.ClaimRetain, "data", "logs"),
			want:  []string{"CreateClaim data-web-0 ClaimMissing", "CreateClaim logs-web-0 ClaimMissing", "CreatePod web-0 Missing"},
		},
		"all claims come before the first pod": {
			given: aFleet(2).claiming(appsv1.ClaimRetain, "data"),
			want: []string{
				"CreateClaim data-web-0 ClaimMissing", "CreateClaim data-web-1 ClaimMissing",
				"CreatePod web-0 Missing", "CreatePod web-1 Missing",
			},
		},
		"a pod that comes back finds its claim again": {
			given: aFleet(1).claiming(appsv1.ClaimRetain, "data").claims(0),
			want:  []string{"CreatePod web-0 Missing"},
		},
		"a claim that terminates is waited for, or the pod would lose it": {
			given:   ending(aFleet(1).claiming(appsv1.ClaimRetain, "data").claims(0)),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"Retain keeps the claims of pods that were scaled away": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimRetain, "data").claims(0, 1),
		},
		"the claim of an ordinal that a rollout needs for a while stays": {
			given: aFleet(1, ordinal(0).revision(oldRev)).rollingOut().budget(0, 1).changing(Change{Recreate: "x"}).
				claiming(appsv1.ClaimDelete, "data").claims(0, 1).condemned(),
			want:    []string{"CreatePod web-1 RolloutSurge"},
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"and goes when none does": {
			given: aFleet(1, ordinal(0)).budget(0, 1).claiming(appsv1.ClaimDelete, "data").claims(0, 1).condemned(),
			want:  []string{"DeleteClaim data-web-1 ClaimRetention"},
		},
		"Delete condemns a claim before its pod": {
			given: aFleet(1, ordinal(0), ordinal(1), ordinal(2)).claiming(appsv1.ClaimDelete, "data").claims(0, 1, 2),
			want: []string{
				"CondemnClaim data-web-2 ClaimRetention", "CondemnClaim data-web-1 ClaimRetention",
				"DeletePod web-2 ScaleDown", "DeletePod web-1 ScaleDown",
			},
		},
		"and deletes it once the pod is gone": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0, 1).condemned(),
			want:  []string{"DeleteClaim data-web-1 ClaimRetention"},
		},
		"but not while the pod is there": {
			given: aFleet(1, ordinal(0), ordinal(1).terminating()).claiming(appsv1.ClaimDelete, "data").claims(0, 1).condemned(),
		},
		"nor twice": {
			given: ending(aFleet(0).claiming(appsv1.ClaimDelete, "data").claims(1).condemned()),
		},
		"a pod that terminates beyond replicas condemns its claim, should that have failed before": {
			given: aFleet(1, ordinal(0), ordinal(1).terminating()).claiming(appsv1.ClaimDelete, "data").claims(0, 1),
			want:  []string{"CondemnClaim data-web-1 ClaimRetention"},
		},
		"a claim whose pod this owner never condemned stays": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0, 1),
		},
		"so does one that an earlier owner of the same name left": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0, 1).ofAnother(),
		},
		"even if that one condemned it": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0, 1).ofAnother().
				lastClaim(func(c *Claim) { c.CondemnedBy = "owner-0" }),
		},
		"and when its pod is an orphan that is taken in and goes again": {
			given: aFleet(1, ordinal(0), ordinal(1)).claiming(appsv1.ClaimDelete, "data").claims(0, 1).ofAnother(),
			want:  []string{"DeletePod web-1 ScaleDown"},
		},
		"a reserved ordinal keeps a claim that this owner never had": {
			given: aFleet(1, ordinal(0)).reserving(1).claiming(appsv1.ClaimDelete, "data").claims(0, 1).ofAnother(),
		},
		"and condemns that of the pod it takes away": {
			given: aFleet(1, ordinal(0), ordinal(1)).reserving(1).claiming(appsv1.ClaimDelete, "data").claims(0, 1),
			want:  []string{"CondemnClaim data-web-1 ClaimRetention", "DeletePod web-1 OrdinalReserved"},
		},
		"a claim of an earlier owner is adopted once its slot is filled": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimRetain, "data").claims(0).ofAnother(),
			want:  []string{"AdoptClaim data-web-0 ClaimInUse"},
		},
		"and not before": {
			given: aFleet(1).claiming(appsv1.ClaimRetain, "data").claims(0).ofAnother(),
			want:  []string{"CreatePod web-0 Missing"},
		},
		"nor by an orphan that is not adopted yet": {
			given: aFleet(1, ordinal(0).orphan()).claiming(appsv1.ClaimRetain, "data").claims(0).ofAnother(),
			want:  []string{"AdoptPod web-0 MatchingOrphan"},
		},
		"a slot that is used again lifts the mark": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0).condemned(),
			want:  []string{"AdoptClaim data-web-0 ClaimInUse"},
		},
		"so does a policy that became Retain": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimRetain, "data").claims(0, 1).condemned(),
			want:  []string{"AdoptClaim data-web-1 ClaimRetention"},
		},
		"the claim of a stand-in goes with it": {
			given: aFleet(1, ordinal(0), ordinal(1).standIn()).budget(1, 1).claiming(appsv1.ClaimDelete, "data").claims(0, 1).forSurge(),
			want:  []string{"CondemnClaim data-web-1 ClaimRetention", "DeletePod web-1 SurgeOver"},
		},
		"but not a claim that it found": {
			given: aFleet(1, ordinal(0), ordinal(1).standIn()).budget(1, 1).claiming(appsv1.ClaimDelete, "data").claims(0, 1),
			want:  []string{"DeletePod web-1 SurgeOver"},
		},
		"a pending pod whose claim vanished gets it again": {
			given: aFleet(2, ordinal(0), ordinal(1).pending()).claiming(appsv1.ClaimRetain, "data").claims(0),
			want:  []string{"CreateClaim data-web-1 ClaimMissing"},
		},
		"one that runs has what it needs": {
			given: aFleet(2, ordinal(0), ordinal(1)).claiming(appsv1.ClaimRetain, "data").claims(0),
		},
		"and one that goes needs none": {
			given: aFleet(0, ordinal(1).pending()).claiming(appsv1.ClaimRetain, "data"),
			want:  []string{"DeletePod web-1 ScaleDown"},
		},
		"the claim of a failed pod's slot stays": {
			given: aFleet(1, ordinal(0).nodeGone()).claiming(appsv1.ClaimDelete, "data").claims(0),
			want:  []string{"DeletePod web-0 NodeGone"},
			blocked: []string{
				"CreatePod web-0 Terminating",
			},
		},
		"an owner that goes takes its claims along, after the last pod": {
			given:   aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0).deleting(DeletionDelete),
			want:    []string{"DeletePod web-0 OwnerDeleted"},
			blocked: []string{"RemoveFinalizer Terminating"},
		},
		"and then lets go": {
			given: aFleet(1).claiming(appsv1.ClaimDelete, "data").claims(0, 1).deleting(DeletionDelete),
			want: []string{
				"DeleteClaim data-web-0 ClaimRetention", "DeleteClaim data-web-1 ClaimRetention", "RemoveFinalizer  PodsGone",
			},
		},
		"and leaves those that it never had": {
			given: aFleet(1).claiming(appsv1.ClaimDelete, "data").claims(0, 1).ofAnother().deleting(DeletionDelete),
			want:  []string{"DeleteClaim data-web-0 ClaimRetention", "RemoveFinalizer  PodsGone"},
		},
		"and those of pods that the garbage collector let go": {
			given: aFleet(1, ordinal(0).orphan()).claiming(appsv1.ClaimDelete, "data").claims(0, 1).deleting(DeletionDelete),
			want:  []string{"DeleteClaim data-web-1 ClaimRetention", "RemoveFinalizer  PodsGone"},
		},
		"unless they are retained": {
			given: aFleet(1).claiming(appsv1.ClaimRetain, "data").claims(0).deleting(DeletionDelete),
			want:  []string{"RemoveFinalizer  PodsGone"},
		},
		"an owner that leaves its pods leaves their claims": {
			given:   aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0).deleting(DeletionOrphan),
			want:    []string{"OrphanPod web-0 OwnerDeleted"},
			blocked: []string{"RemoveFinalizer Terminating"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if diff := cmp.Diff(test.want, claimsOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
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
