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
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestFinalize(t *testing.T) {
	allKinds := []podBuilder{
		ordinal(0), ordinal(1).failed(time.Hour), ordinal(2).drifted(), ordinal(3).nodeGone(),
		ordinal(4).orphan(), ordinal(5).terminating(),
	}
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"Delete deletes every pod of ours, those of a node that is gone by force, and waits": {
			given: aFleet(6, allKinds...).deleting(DeletionDelete),
			want: []string{
				"DeletePod web-0 OwnerDeleted", "DeletePod web-1 OwnerDeleted", "DeletePod web-2 OwnerDeleted",
				"DeletePod web-3 OwnerDeleted by force",
			},
			blocked: []string{"RemoveFinalizer Terminating"},
		},
		"Delete waits for terminating pods": {
			given:   aFleet(1, ordinal(0).terminating()).deleting(DeletionDelete),
			blocked: []string{"RemoveFinalizer Terminating"},
		},
		"also for those that were taken out of the fleet before": {
			given:   aFleet(1, ordinal(0).drifted().terminating()).deleting(DeletionDelete),
			blocked: []string{"RemoveFinalizer Terminating"},
		},
		"Delete does not wait for a kubelet that is gone": {
			given:   aFleet(1, ordinal(0).terminating().outOfService()).deleting(DeletionDelete),
			want:    []string{"DeletePod web-0 NodeOutOfService by force"},
			blocked: []string{"RemoveFinalizer Terminating"},
		},
		"Delete lets the owner go when the last pod is gone": {
			given: aFleet(3).deleting(DeletionDelete),
			want:  []string{"RemoveFinalizer PodsGone"},
		},
		"orphans belong to no owner and hold nothing up": {
			given: aFleet(3, ordinal(0).orphan(), ordinal(1).orphan().terminating()).deleting(DeletionDelete),
			want:  []string{"RemoveFinalizer PodsGone"},
		},
		"without our finalizer Delete leaves all to the garbage collector": {
			given: aFleet(1, ordinal(0)).deleting(DeletionDelete).finalizer(FinalizerMissing),
		},
		"so does a kind that has none": {
			given: aFleet(1, ordinal(0)).deleting(DeletionDelete).finalizer(FinalizerUnused),
		},
		"Orphan lets every pod of ours go, dead or alive": {
			given: aFleet(6, allKinds...).deleting(DeletionOrphan),
			want: []string{
				"OrphanPod web-0 OwnerDeleted", "OrphanPod web-1 OwnerDeleted", "OrphanPod web-2 OwnerDeleted",
				"OrphanPod web-3 OwnerDeleted",
			},
			blocked: []string{"RemoveFinalizer Terminating"},
		},
		"Orphan does not wait for terminating pods": {
			given: aFleet(1, ordinal(0).terminating()).deleting(DeletionOrphan),
			want:  []string{"RemoveFinalizer PodsGone"},
		},
		"without our finalizer Orphan does nothing": {
			given: aFleet(1, ordinal(0)).deleting(DeletionOrphan).finalizer(FinalizerMissing),
		},
		"--cascade=orphan leaves the pods to the garbage collector and takes the revisions along": {
			given: aFleet(1, allKinds...).deleting(DeletionCascadeOrphan),
			want:  []string{"DeleteRevision web-new#0 OwnerDeleted", "RemoveFinalizer PodsGone"},
		},
		"also where our finalizer is missing": {
			given: aFleet(1, ordinal(0)).deleting(DeletionCascadeOrphan).finalizer(FinalizerMissing),
			want:  []string{"DeleteRevision web-new#0 OwnerDeleted"},
		},
		"an owner that goes gets no finalizer, no revision and no pod": {
			given: aFleet(3).deleting(DeletionDelete).finalizer(FinalizerMissing).revisions(0),
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
			if got.NextLook == 0 {
				t.Error("no next look: a missed event would leave the owner for ever")
			}
		})
	}
}

// The garbage collector may be letting the pods go at this moment, so a delete
// holds only for the very pod that was read.
func TestFinalDeletesCarryTheResourceVersion(t *testing.T) {
	for _, how := range []Deletion{DeletionDelete, DeletionOrphan} {
		got := aFleet(1, ordinal(0)).deleting(how).plan()
		if len(got.Actions) != 1 || got.Actions[0].ResourceVersion != "7" || got.Actions[0].UID != "uid-web-0" {
			t.Errorf("%s: actions %+v, want one with UID and resourceVersion", how, got.Actions)
		}
	}
}

func TestTheOwnerGoesAfterItsPods(t *testing.T) {
	for name, test := range map[string]struct {
		how  Deletion
		left int // pods that are there when the finalizer is gone
	}{
		"Delete":  {how: DeletionDelete},
		"Orphan":  {how: DeletionOrphan},
		"Cascade": {how: DeletionCascadeOrphan, left: 1200},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(aFleet(2000, podsOf(1200, ordinal)...).deleting(test.how))
			for passes := 0; !m.finalized && passes < 5; passes++ {
				m.step(time.Second)
			}
			if !m.finalized || len(m.pods) != test.left || m.total[CreatePod] > 0 {
				t.Errorf("finalized: %t, %d pods left, %d created; want true, %d, 0",
					m.finalized, len(m.pods), m.total[CreatePod], test.left)
			}
		})
	}
}

func TestClaimsOfAnOwnerThatGoes(t *testing.T) {
	expectPlans(t, claimsOf, map[string]planned{
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
		"but for those that go with their pods": {
			given: func() fleet {
				f := aFleet(1).claiming(appsv1.ClaimRetain, "data").claims(0).claims(1).forSurge().claims(2).condemned().deleting(DeletionDelete)
				f.desired.Claims.WhenScaled = appsv1.ClaimDelete
				return f
			}(),
			want: []string{"DeleteClaim data-web-1 ClaimRetention", "DeleteClaim data-web-2 ClaimRetention", "RemoveFinalizer  PodsGone"},
		},
		"an owner that leaves its pods leaves their claims": {
			given:   aFleet(1, ordinal(0)).claiming(appsv1.ClaimDelete, "data").claims(0).deleting(DeletionOrphan),
			want:    []string{"OrphanPod web-0 OwnerDeleted"},
			blocked: []string{"RemoveFinalizer Terminating"},
		},
	})
}

// The cache may not show a pod that the garbage collector let go: apply asks for it.
func TestAClaimOfAnOwnerThatGoesNamesItsPod(t *testing.T) {
	d := aFleet(1).claiming(appsv1.ClaimDelete, "data").claims(0).deleting(DeletionDelete).plan()
	if got := d.Actions[0]; got.Verb != DeleteClaim || got.UsedBy != "web-0" {
		t.Errorf("the first action is %+v", got)
	}
}

// What the owner waits for is said with a number, in the blocker and in the condition.
func TestWhatTheOwnersEndWaitsFor(t *testing.T) {
	for deletion, want := range map[Deletion]string{
		DeletionDelete: "waiting for 3 pods to be gone",
		DeletionOrphan: "releasing 2 pods",
	} {
		f := aFleet(3, ordinal(0), ordinal(1), ordinal(2).terminating()).deleting(deletion)
		d := f.plan()
		if len(d.Blocked) != 1 || d.Blocked[0].Message != want {
			t.Errorf("%s: blocked by %+v, want %s", deletion, d.Blocked, want)
		}
		c := meta.FindStatusCondition(f.done(d).Status.Conditions, appsv1.ConditionReconciling)
		if c == nil || c.Message != want {
			t.Errorf("%s: the condition is %+v, want %s", deletion, c, want)
		}
	}
}
