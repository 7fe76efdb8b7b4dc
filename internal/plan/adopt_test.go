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
	"time"

	"github.com/google/go-cmp/cmp"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestAdopt(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
		"an orphan in one of our slots is adopted instead of creating": {
			given: aFleet(2, ordinal(0), ordinal(1).orphan()),
			want:  []string{"AdoptPod web-1 MatchingOrphan"},
		},
		"with ordinals an orphan of another name has no place and is left alone": {
			given: aFleet(1, aPod("stray").orphan()),
			want:  []string{"CreatePod web-0 Missing"},
		},
		"with random names any orphan that matches is adopted": {
			given: aFleet(1, aPod("stray").orphan()).random(),
			want:  []string{"AdoptPod stray MatchingOrphan"},
		},
		"an orphan above replicas is adopted first": {
			given: aFleet(1, ordinal(0), ordinal(3).orphan()),
			want:  []string{"AdoptPod web-3 MatchingOrphan"},
		},
		"and deleted as a member": {
			given: aFleet(1, ordinal(0), ordinal(3)),
			want:  []string{"DeletePod web-3 ScaleDown"},
		},
		"orphans beside a full random fleet cost no member its life before they are ours": {
			given: aFleet(1, random(0).pending(), aPod("stray").orphan()).random(),
			want:  []string{"AdoptPod stray MatchingOrphan"},
		},
		"but members that are too many anyway go in the same pass": {
			given: aFleet(1, random(0), random(1).pending(), aPod("stray").orphan()).random(),
			want: []string{
				"AdoptPod stray MatchingOrphan",
				"DeletePod " + randomName(1) + " ScaleDown",
			},
		},
		"a terminating orphan is not adopted, and its name is not free": {
			given:   aFleet(1, ordinal(0).orphan().terminating()),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"with random names another slot is adoptedstead": {
			given: aFleet(1, random(0).orphan().terminating()).random(),
			want:  []string{"CreatePod " + randomName(1) + " Missing"},
		},
		"an orphan above replicas takes the place of the surge until it is gone": {
			given: aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev), ordinal(4).orphan()).rollingOut().budget(0, 1),
			want:  []string{"AdoptPod web-4 MatchingOrphan"}, blocked: []string{"UpdatePod web-1 Budget"},
		},
		"a user's request to delete an orphan counts once it is ours": {
			given: aFleet(1, ordinal(0).orphan().requested()),
			want:  []string{"AdoptPod web-0 MatchingOrphan"},
		},
	})
}

// An orphan above replicas is adopted to be deleted, and at no time counted.
func TestAnOrphanAboveReplicasIsNeverCounted(t *testing.T) {
	m := newModel(aFleet(1, ordinal(0), ordinal(3).orphan()))
	for range 3 {
		m.step(time.Second)
		if n := m.status.CurrentReplicas; n != 1 {
			t.Errorf("the status counts %d live pods, want 1", n)
		}
	}
	if len(m.pods) != 1 {
		t.Errorf("%d pods are left, want 1", len(m.pods))
	}
}

// What is adopted or released may have changed since it was read, so the writes
// hold only for the very pod that was seen.
func TestAdoptionAndReleaseCarryPreconditions(t *testing.T) {
	got := aFleet(2, ordinal(0).orphan(), ordinal(1).drifted()).plan()
	want := []Action{
		{
			Verb: AdoptPod, Pod: "web-0", UID: "uid-web-0", Slot: 0, Revision: newRev, ResourceVersion: "7",
			Why: Why{Rule: "adopt", Reason: appsv1.WhyMatchingOrphan, Message: "the pod has no owner and matches podmanager=web"},
		},
		{
			Verb: ReleasePod, Pod: "web-1", UID: "uid-web-1", Slot: 1, ResourceVersion: "7",
			Why: Why{Rule: "release", Reason: appsv1.WhyLabelsEdited, Message: "the pod's labels no longer match podmanager=web"},
		},
	}
	if diff := cmp.Diff(want, got.Actions); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}
