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

func (f fleet) foresee() Forecast { return Foresee(f.desired, f.observed, noon()) }

func TestForesee(t *testing.T) {
	stale := func(pods ...podBuilder) fleet {
		for i := range pods {
			pods[i] = pods[i].revision(oldRev)
		}
		return aFleet(len(pods), pods...)
	}
	gated := ordinal(0)
	gated.p.Gate = GateOpen
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"a fleet at rest stays as it is": {
			given: aFleet(2, ordinal(0), ordinal(1)),
		},
		"a scale-down takes the highest ordinals": {
			given: aFleet(1, ordinal(0), ordinal(1), ordinal(2)),
			want:  []string{"DeletePod web-2 ScaleDown", "DeletePod web-1 ScaleDown"},
		},
		"what is missing comes": {
			given: aFleet(2, ordinal(0)),
			want:  []string{"CreatePod web-1 Missing"},
		},
		"a change in place, one after the other": {
			given: stale(ordinal(0), ordinal(1)).changing(images()),
			want:  []string{"UpdatePod web-1 RolloutInPlace", "UpdatePod web-0 RolloutInPlace"},
		},
		"a recreate with a pod more": {
			given: stale(ordinal(0)).changing(Change{Recreate: "env changed"}).budget(0, 1),
			want: []string{
				"CreatePod web-1 RolloutSurge", "DeletePod web-0 RolloutRecreate", "CreatePod web-0 RolloutRecreate",
				"DeletePod web-1 SurgeOver",
			},
		},
		"with the gate a pod leaves its service and comes back": {
			given: stale(gated).changing(images()),
			want: []string{
				"ShutGate web-0 OutOfService", "UpdatePod web-0 RolloutInPlace", "OpenGate web-0 InService",
			},
		},
		"what the partition keeps is told, and the rest moves": {
			given: func() fleet {
				f := stale(ordinal(0), ordinal(1)).changing(images())
				f.desired.Update.Partition = 1
				return f
			}(),
			want:    []string{"UpdatePod web-1 RolloutInPlace"},
			blocked: []string{"UpdatePod web-0 Partition"},
		},
		"a held pod is asked for, and that is the end of what can be foreseen": {
			given:   aFleet(0, ordinal(0).holdDelete()),
			want:    []string{"TellHolder web-0 Held"},
			blocked: []string{"DeletePod web-0 Hold"},
		},
		"an owner that goes takes its pods along": {
			given: aFleet(1, ordinal(0)).deleting(DeletionDelete),
			want:  []string{"DeletePod web-0 OwnerDeleted", "RemoveFinalizer PodsGone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(test.given.observed.Pods)
			got := test.given.foresee()
			if !got.Complete {
				t.Errorf("cut off after %d passes", got.Passes)
			}
			if diff := cmp.Diff(test.want, saidOf(Decision{Actions: got.Actions})); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(Decision{Blocked: got.Blocked})); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
			if len(test.given.observed.Pods) != before {
				t.Error("it changed what it was given")
			}
		})
	}
}

// The forecast begins with what the controller would do now.
func TestTheForecastBeginsWithThePlan(t *testing.T) {
	f := aFleet(4, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev).pending(), ordinal(2), ordinal(5)).changing(Change{Recreate: "x"})
	got := f.foresee()
	if diff := cmp.Diff(f.plan(), got.First); diff != "" {
		t.Errorf("the first decision (-plan +forecast):\n%s", diff)
	}
	if n := len(got.First.Actions); n == 0 || !cmp.Equal(got.First.Actions, got.Actions[:n]) {
		t.Errorf("all actions do not begin with the first %d", n)
	}
}

// Volume claims and revisions come and go in it, too.
func TestForeseeClaimsAndRevisions(t *testing.T) {
	f := aFleet(2, ordinal(0)).revisions(0, Revision{Name: "web-older", Number: 1}, Revision{Name: newRev, Number: 2, Equal: true})
	f.desired.Claims = Claims{Templates: []string{"data"}, WhenScaled: appsv1.ClaimDelete}
	f.observed.Claims = []Claim{
		{Name: "data-web-0", UID: "a", Slot: 0, Owner: f.desired.UID},
		{Name: "data-web-7", UID: "b", Slot: 7, Owner: f.desired.UID, CondemnedBy: f.desired.UID},
	}
	got := f.foresee()
	count := map[Verb]int{}
	for _, a := range got.Actions {
		count[a.Verb]++
	}
	want := map[Verb]int{CreateClaim: 1, CreatePod: 1, DeleteClaim: 1, DeleteRevision: 1}
	if diff := cmp.Diff(want, count); diff != "" || !got.Complete {
		t.Errorf("complete %t, actions (-want +got):\n%s", got.Complete, diff)
	}
}

// What no pass of ours can move is not waited for.
func TestForeseeEndsWhenNothingMoves(t *testing.T) {
	f := aFleet(3, podsOf(3, func(slot int) podBuilder { return ordinal(slot).failed(time.Second) })...).failures(9, time.Second, time.Hour)
	if got := f.foresee(); !got.Complete || len(got.Actions) > 0 || len(got.Blocked) == 0 {
		t.Errorf("complete %t after %d passes, actions %v, blocked %v", got.Complete, got.Passes, got.Actions, got.Blocked)
	}
}

// A rollout one by one takes many passes, also with a gate and a time to be ready for.
func TestForeseeALongRollout(t *testing.T) {
	for name, change := range map[string]func(podBuilder) podBuilder{
		"plain": func(b podBuilder) podBuilder { return b },
		"gated": func(b podBuilder) podBuilder { b.p.Gate = GateOpen; return b },
	} {
		f := aFleet(12, podsOf(12, func(slot int) podBuilder { return change(ordinal(slot).revision(oldRev)) })...).
			rollingOut().changing(images()).budget(1, 0).minReady(10 * time.Second)
		got := f.foresee()
		updated := 0
		for _, a := range got.Actions {
			if a.Verb == UpdatePod {
				updated++
			}
		}
		if !got.Complete || updated != 12 || got.Passes < 12 || len(got.Blocked) > 0 {
			t.Errorf("%s: complete %t after %d passes, %d updated, blocked %v", name, got.Complete, got.Passes, updated, got.Blocked)
		}
	}
}

// Claims and revisions of other names are left alone.
func TestForeseeTouchesOnlyWhatIsNamed(t *testing.T) {
	f := aFleet(1, ordinal(0), ordinal(1)).claiming(appsv1.ClaimDelete, "data").claims(0, 1, 5)
	var said []string
	for _, a := range f.foresee().Actions {
		said = append(said, string(a.Verb)+" "+a.Object())
	}
	want := []string{"CondemnClaim data-web-1", "DeletePod web-1", "DeleteClaim data-web-1"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
