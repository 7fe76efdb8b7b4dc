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
	"testing"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestKeepClaims(t *testing.T) {
	ending := func(f fleet) fleet { f.observed.Claims[0].Terminating = true; return f }
	found := func(f fleet) fleet {
		for i := range f.observed.Claims {
			f.observed.Claims[i].Found = true
		}
		return f
	}
	expectPlans(t, claimsOf, map[string]planned{
		"Retain keeps the claims of pods that were scaled away": {
			given: aFleet(1, ordinal(0)).claiming(appsv1.ClaimRetain, "data").claims(0, 1),
		},
		"a claim that was found is not condemned": {
			given: found(aFleet(1, ordinal(0), ordinal(1)).claiming(appsv1.ClaimDelete, "data").claims(0, 1)),
			want:  []string{"DeletePod web-1 ScaleDown"},
		},
		"and does not go, whatever mark it carries": {
			given: found(aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0, 1).condemned()),
		},
		"nor with its owner": {
			given: found(aFleet(1).claiming(appsv1.ClaimDelete, "data").claims(0).deleting(DeletionDelete)),
			want:  []string{"RemoveFinalizer  PodsGone"},
		},
		"the claim of an ordinal that a rollout needs for a while stays": {
			given: aFleet(1, ordinal(0).revision(oldRev)).rollingOut().budget(0, 1).changing(Change{Recreate: "x"}).
				claiming(appsv1.ClaimDelete, "data").claims(0, 1).condemned(),
			want:    []string{"CreatePod web-1 RolloutSurge"},
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"also where there are no templates any more": {
			given: func() fleet {
				f := aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0, 1).condemned()
				f.desired.Claims.Templates = nil
				return f
			}(),
			want: []string{"DeleteClaim data-web-1 ClaimRetention"},
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
		"also one that the cache does not show, whose pod had it": {
			given: aFleet(1, ordinal(0), ordinal(1)).claiming(appsv1.ClaimDelete, "data", "log").claims(0, 1),
			want: []string{
				"CondemnClaim data-web-1 ClaimRetention", "CondemnClaim log-web-1 ClaimRetention", "DeletePod web-1 ScaleDown",
			},
		},
		"and where it shows none at all": {
			given: aFleet(0, ordinal(0)).claiming(appsv1.ClaimDelete, "data"),
			want:  []string{"CondemnClaim data-web-0 ClaimRetention", "DeletePod web-0 ScaleDown"},
		},
		"but with Retain none is looked for": {
			given: aFleet(0, ordinal(0)).claiming(appsv1.ClaimRetain, "data"),
			want:  []string{"DeletePod web-0 ScaleDown"},
		},
		"nor for a stand-in: what was made for it carries a mark": {
			given: aFleet(1, ordinal(0), ordinal(1).standIn()).budget(1, 1).claiming(appsv1.ClaimDelete, "data").claims(0),
			want:  []string{"DeletePod web-1 SurgeOver"},
		},
		"nor again while the pod terminates": {
			given: aFleet(1, ordinal(0), ordinal(1).terminating()).claiming(appsv1.ClaimDelete, "data").claims(0),
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
		"also where claims of pods that are scaled away are kept: it was never one of the fleet": {
			given: aFleet(1, ordinal(0), ordinal(1).standIn()).budget(1, 1).claiming(appsv1.ClaimRetain, "data").claims(0, 1).forSurge(),
			want:  []string{"CondemnClaim data-web-1 ClaimRetention", "DeletePod web-1 SurgeOver"},
		},
		"and is deleted once the stand-in is gone": {
			given: aFleet(1, ordinal(0)).budget(1, 1).claiming(appsv1.ClaimRetain, "data").claims(0, 1).forSurge().condemned(),
			want:  []string{"DeleteClaim data-web-1 ClaimRetention"},
		},
		"also where a user deleted the stand-in, and it was gone before a look": {
			given: aFleet(1, ordinal(0)).budget(1, 1).claiming(appsv1.ClaimRetain, "data").claims(0, 1).forSurge(),
			want:  []string{"DeleteClaim data-web-1 ClaimRetention"},
		},
		"but not while another stand-in is on its way": {
			given: aFleet(1, ordinal(0).revision(oldRev)).rollingOut().budget(0, 1).changing(Change{Recreate: "x"}).
				claiming(appsv1.ClaimRetain, "data").claims(0, 1).forSurge(),
			want:    []string{"CreatePod web-1 RolloutSurge"},
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"one that no further stand-in needs goes, though the rollout goes on": {
			given: aFleet(2, ordinal(0).revision(oldRev), ordinal(1), ordinal(2).standIn().unready()).rollingOut().budget(0, 2).changing(Change{Recreate: "x"}).
				claiming(appsv1.ClaimRetain, "data").claims(3).forSurge().condemned(),
			want:    []string{"DeleteClaim data-web-3 ClaimRetention"},
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"nor one that an earlier owner of the same name made": {
			given: aFleet(1, ordinal(0)).budget(1, 1).claiming(appsv1.ClaimRetain, "data").claims(0, 1).forSurge().ofAnother(),
		},
		"but not if the ordinal has become one of the fleet": {
			given: aFleet(2, ordinal(0), ordinal(1)).claiming(appsv1.ClaimRetain, "data").claims(0, 1).forSurge().condemned(),
			want:  []string{"AdoptClaim data-web-1 ClaimInUse"},
		},
		"a pod that is scaled away keeps its claim, though a stand-in had it first": {
			given: aFleet(1, ordinal(0), ordinal(1)).budget(1, 1).claiming(appsv1.ClaimRetain, "data").claims(0, 1).forSurge(),
			want:  []string{"DeletePod web-1 ScaleDown", "AdoptClaim data-web-1 ClaimRetention"},
		},
		"but not a claim that it found": {
			given: aFleet(1, ordinal(0), ordinal(1).standIn()).budget(1, 1).claiming(appsv1.ClaimDelete, "data").claims(0, 1),
			want:  []string{"DeletePod web-1 SurgeOver"},
		},
		"the claim of a failed pod's slot stays": {
			given: aFleet(1, ordinal(0).nodeGone()).claiming(appsv1.ClaimDelete, "data").claims(0),
			want:  []string{"DeletePod web-0 NodeGone"},
			blocked: []string{
				"CreatePod web-0 Terminating",
			},
		},
	})
}

// TestAReleasedPodKeepsItsClaim: a user may take a pod out of the fleet after its claim was
// condemned and before it was deleted. Whether it uses the claim is looked up last.
func TestAReleasedPodKeepsItsClaim(t *testing.T) {
	d := aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0, 1).condemned().held("web-1").plan()
	if len(d.Actions) != 1 || d.Actions[0].Verb != DeleteClaim || d.Actions[0].UsedBy != "web-1" {
		t.Errorf("actions are %+v, want the deletion of data-web-1 unless web-1 uses it", d.Actions)
	}
}
