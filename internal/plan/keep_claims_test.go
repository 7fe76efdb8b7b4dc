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
	expectPlans(t, claimsOf, map[string]planned{
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
		"the claim of a failed pod's slot stays": {
			given: aFleet(1, ordinal(0).nodeGone()).claiming(appsv1.ClaimDelete, "data").claims(0),
			want:  []string{"DeletePod web-0 NodeGone"},
			blocked: []string{
				"CreatePod web-0 Terminating",
			},
		},
	})
}
