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

func TestClaims(t *testing.T) {
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"a pod whose labels were edited away is let go, and its ordinal waits for the name": {
			given:   aFleet(2, ordinal(0), ordinal(1).drifted()),
			want:    []string{"ReleasePod web-1 LabelsEdited"},
			blocked: []string{"CreatePod web-1 NameTaken"},
		},
		"with random names its successor comes at once, under another name": {
			given: aFleet(1, random(0).drifted()).random(),
			want: []string{
				"ReleasePod " + randomName(0) + " LabelsEdited",
				"CreatePod " + randomName(1) + " Missing",
			},
		},
		"one that is not needed is let go all the same": {
			given: aFleet(1, ordinal(0), ordinal(4).drifted()),
			want:  []string{"ReleasePod web-4 LabelsEdited"},
		},
		"even when it failed, or its node is gone": {
			given: aFleet(0, ordinal(0).drifted().failed(time.Second), ordinal(1).drifted().nodeGone()),
			want:  []string{"ReleasePod web-0 LabelsEdited", "ReleasePod web-1 LabelsEdited"},
		},
		"one that terminates is not let go any more, and its ordinal waits for its end": {
			given:   aFleet(1, ordinal(0).drifted().terminating()),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"an orphan in one of our slots is taken in instead of creating": {
			given: aFleet(2, ordinal(0), ordinal(1).orphan()),
			want:  []string{"AdoptPod web-1 MatchingOrphan"},
		},
		"with ordinals an orphan of another name has no place and is left alone": {
			given: aFleet(1, aPod("stray").orphan()),
			want:  []string{"CreatePod web-0 Missing"},
		},
		"with random names any orphan that matches is taken in": {
			given: aFleet(1, aPod("stray").orphan()).random(),
			want:  []string{"AdoptPod stray MatchingOrphan"},
		},
		"an orphan above replicas is taken in first": {
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
		"a terminating orphan is nobody's, but its name is not free": {
			given:   aFleet(1, ordinal(0).orphan().terminating()),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"with random names another slot is taken instead": {
			given: aFleet(1, random(0).orphan().terminating()).random(),
			want:  []string{"CreatePod " + randomName(1) + " Missing"},
		},
		"a user's request for an orphan is heard once it is ours": {
			given: aFleet(1, ordinal(0).orphan().requested()),
			want:  []string{"AdoptPod web-0 MatchingOrphan"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
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
func TestClaimsCarryPreconditions(t *testing.T) {
	got := aFleet(2, ordinal(0).orphan(), ordinal(1).drifted()).plan()
	want := []Action{
		{
			Verb: ReleasePod, Pod: "web-1", UID: "uid-web-1", Slot: 1, ResourceVersion: "7",
			Why: Why{Rule: "release", Reason: appsv1.WhyLabelsEdited, Message: "the pod's labels no longer match podmanager=web"},
		},
		{
			Verb: AdoptPod, Pod: "web-0", UID: "uid-web-0", Slot: 0, Revision: newRev, ResourceVersion: "7",
			Why: Why{Rule: "adopt", Reason: appsv1.WhyMatchingOrphan, Message: "the pod has no owner and matches podmanager=web"},
		},
	}
	if diff := cmp.Diff(want, got.Actions); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}
