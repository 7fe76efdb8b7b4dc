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
)

// surge: a rollout made the pod to stand in for others.
func (b podBuilder) surge() podBuilder { b.p.Surge = true; return b }

func TestTheBudgetOfARollout(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"one may be missing: one goes, the highest": {
			given:   aFleet(3, old(0), old(1), old(2)).budget(1, 0),
			want:    []string{"DeletePod web-2 RolloutRecreate"},
			blocked: []string{"UpdatePod web-1 Budget", "CreatePod web-2 Terminating"},
		},
		"nothing may be missing and nothing too many: one goes all the same": {
			given:   aFleet(2, old(0), old(1)).budget(0, 0),
			want:    []string{"DeletePod web-1 RolloutRecreate"},
			blocked: []string{"UpdatePod web-0 Budget", "CreatePod web-1 Terminating"},
		},
		"while its successor is not available none goes": {
			given:   aFleet(3, old(0), old(1), ordinal(2).pending()).budget(1, 0),
			blocked: []string{"UpdatePod web-1 Budget"},
		},
		"what does not serve goes first and costs nothing": {
			given:   aFleet(3, old(0).unready(), old(1), old(2)).budget(1, 0),
			want:    []string{"DeletePod web-0 RolloutRecreate"},
			blocked: []string{"UpdatePod web-2 Budget", "CreatePod web-0 Terminating"},
		},
		"also when more pods are broken than may be missing: they never block their own fix": {
			given:   aFleet(3, old(0).unready(), old(1).unready(), old(2)).budget(1, 0),
			want:    []string{"DeletePod web-1 RolloutRecreate", "DeletePod web-0 RolloutRecreate"},
			blocked: []string{"UpdatePod web-2 Budget", "CreatePod web-0 Terminating", "CreatePod web-1 Terminating"},
		},
		"when all are broken all go, and nothing stands in for what did not serve": {
			given:   aFleet(2, old(0).unready(), old(1).pending()).budget(0, 1),
			want:    []string{"DeletePod web-1 RolloutRecreate", "DeletePod web-0 RolloutRecreate"},
			blocked: []string{"CreatePod web-0 Terminating", "CreatePod web-1 Terminating"},
		},
		"with a surge the new pod comes first, above replicas": {
			given:   aFleet(2, old(0), old(1)).budget(0, 1),
			want:    []string{"CreatePod web-2 RolloutSurge"},
			blocked: []string{"UpdatePod web-1 Budget"},
		},
		"where pods may be unavailable no ordinal is made to be deleted in the end": {
			given:   aFleet(2, old(0), old(1)).budget(1, 1),
			want:    []string{"DeletePod web-1 RolloutRecreate"},
			blocked: []string{"UpdatePod web-0 Budget", "CreatePod web-1 Terminating"},
		},
		"and when it is available an old one goes": {
			given:   aFleet(2, old(0), old(1), ordinal(2)).budget(0, 1),
			want:    []string{"DeletePod web-1 RolloutRecreate"},
			blocked: []string{"UpdatePod web-0 Budget", "CreatePod web-1 Terminating"},
		},
		"pods that are ready and not available yet make up for no available one": {
			given: aFleet(4, old(0).readyFor(time.Second), old(1), old(2), old(3)).minReady(time.Minute).budget(2, 0),
			// Of the three that are available two have to stay.
			want:    []string{"DeletePod web-0 RolloutRecreate", "DeletePod web-3 RolloutRecreate"},
			blocked: []string{"UpdatePod web-2 Budget", "CreatePod web-0 Terminating", "CreatePod web-3 Terminating"},
		},
		"a pod above replicas that only its holder keeps does not add to the budget": {
			given: aFleet(2, old(0), old(1), func() podBuilder { b := old(2); b.p.HoldDelete = new("backup"); return b }()).
				budget(1, 0).generation(2),
			want:    []string{"TellHolder web-2 Held", "DeletePod web-1 RolloutRecreate"},
			blocked: []string{"DeletePod web-2 Hold", "UpdatePod web-0 Budget", "CreatePod web-1 Terminating"},
		},
		"a scale-down at the same time does not add to the budget": {
			given: aFleet(3, old(0), old(1), old(2), old(3), old(4)).budget(1, 0).generation(2),
			want: []string{
				"DeletePod web-4 ScaleDown", "DeletePod web-3 ScaleDown", "DeletePod web-2 RolloutRecreate",
			},
			blocked: []string{"UpdatePod web-1 Budget", "CreatePod web-2 Terminating"},
		},
		"of the pods that it takes, one may stay to stand in": {
			given:   aFleet(3, old(0), old(1), old(2), old(3), old(4)).budget(0, 1).generation(2),
			want:    []string{"DeletePod web-4 ScaleDown", "DeletePod web-2 RolloutRecreate"},
			blocked: []string{"UpdatePod web-1 Budget", "CreatePod web-2 Terminating"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.rollingOut().plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

// A restart leaves the revision as it is, and yet its surge pods stand in until
// the last pod is back.
func TestASurgePodStandsInDuringARestart(t *testing.T) {
	before, after := 2*time.Hour, time.Minute // the request, which was an hour ago
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"for the only pod": {
			given:   aFleet(1, ordinal(0).created(before), ordinal(1).created(after).surge()),
			want:    []string{"DeletePod web-0 Restart"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"while that terminates": {
			given:   aFleet(1, ordinal(0).created(before).terminating(), ordinal(1).created(after).surge()),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"until its successor is available": {
			given: aFleet(1, ordinal(0).created(after).pending(), ordinal(1).created(after).surge()),
		},
		"and no longer": {
			given: aFleet(1, ordinal(0).created(after), ordinal(1).created(after).surge()),
			want:  []string{"DeletePod web-1 SurgeOver"},
		},
		"a scale-down meanwhile leaves the one that stands in": {
			given: aFleet(1, ordinal(0).created(after).pending(), ordinal(1).created(after).surge(), ordinal(2).created(after)).generation(2),
			want:  []string{"DeletePod web-2 ScaleDown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.given.budget(0, 1).progress(0, time.Minute)
			f.desired.Restart = ago(time.Hour)
			got := f.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that goes is not changed first.
func TestAScaleDownComesBeforeTheRollout(t *testing.T) {
	f := aFleet(1, random(0).revision(oldRev), random(1).revision(oldRev).pending()).random().budget(1, 0).rollingOut()
	f.observed.Changes = []Change{{From: oldRev, To: newRev, Metadata: true}}
	want := []string{"DeletePod " + randomName(1) + " ScaleDown", "UpdatePod " + randomName(0) + " RolloutInPlace"}
	if diff := cmp.Diff(want, saidOf(f.plan())); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

// A surge pod stands in for a pod that is not back yet, also while the rollout
// is paused.
func TestAPauseKeepsWhoStandsIn(t *testing.T) {
	f := aFleet(2, ordinal(0).revision(oldRev), ordinal(1).pending(), ordinal(2).surge()).budget(0, 1).rollingOut().paused()
	if got := saidOf(f.plan()); len(got) > 0 {
		t.Errorf("actions %v, want none: web-2 stands in for web-1", got)
	}
	f = aFleet(2, ordinal(0).revision(oldRev), ordinal(1), ordinal(2).surge()).budget(0, 1).rollingOut().paused()
	if diff := cmp.Diff([]string{"DeletePod web-2 SurgeOver"}, saidOf(f.plan())); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

// A user who writes that no pod may be unavailable means it, also where a change
// could be made in place; a percentage that rounds down to none does not say so.
func TestNothingMayBeUnavailable(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	image := Change{From: oldRev, To: newRev, Images: []string{"app"}, Restarts: true}
	label := Change{From: oldRev, To: newRev, Metadata: true}
	none := func(f fleet) fleet { f.desired.Update.NoneUnavailable = true; return f }
	for name, test := range map[string]struct {
		given   fleet
		change  Change
		want    []string
		blocked []string
	}{
		"the only pod waits for one that stands in": {
			given: none(aFleet(1, old(0)).budget(0, 1)), change: image,
			want:    []string{"CreatePod web-1 RolloutSurge"},
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"until that is available": {
			given: none(aFleet(1, old(0), ordinal(1).surge().unready()).budget(0, 1)), change: image,
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"then it is changed in place": {
			given: none(aFleet(1, old(0), ordinal(1).surge()).budget(0, 1)), change: image,
			want: []string{"UpdatePod web-0 RolloutInPlace"},
		},
		"and the other stays until it is back": {
			given: none(aFleet(1, ordinal(0).changing(), ordinal(1).surge()).budget(0, 1)), change: image,
		},
		"with random names, too": {
			given: none(aFleet(1, random(0).revision(oldRev)).budget(0, 1)).random(), change: image,
			want:    []string{"CreatePod " + randomName(1) + " RolloutSurge"},
			blocked: []string{"UpdatePod " + randomName(0) + " Budget"},
		},
		"and the pod that is changed is not given up for being unready": {
			given: none(aFleet(1, random(0).changing(), random(1)).budget(0, 1)).random(), change: image,
		},
		"what restarts nothing needs none": {
			given: none(aFleet(1, old(0)).budget(0, 1)), change: label,
			want: []string{"UpdatePod web-0 RolloutInPlace"},
		},
		"where nothing may be too many either, one goes all the same": {
			given: none(aFleet(2, old(0), old(1)).budget(0, 0)), change: image,
			want:    []string{"UpdatePod web-1 RolloutInPlace"},
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"a percentage that rounds down to none: one at a time, and none is surged over": {
			given: aFleet(2, old(0), old(1)).budget(0, 1), change: image,
			want:    []string{"UpdatePod web-1 RolloutInPlace"},
			blocked: []string{"UpdatePod web-0 Budget"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.given.rollingOut().progress(0, time.Minute)
			f.observed.Changes = []Change{test.change}
			got := f.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

// changing: a container does not run yet what the spec says.
// Apply changes pods in place before it deletes others: what is deleted must not be
// the only pod that serves meanwhile.
func TestAChangeInPlaceWaitsForAScaleDown(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	restart := Change{Images: []string{"app"}, Restarts: true}
	expectPlans(t, saidOf, map[string]planned{
		"a percentage rounds down to none, and a pod is too many": {
			given:   aFleet(1, old(0), old(1)).budget(0, 1).rollingOut().changing(restart),
			want:    []string{"DeletePod web-1 ScaleDown"},
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"none is too many": {
			given: aFleet(1, old(0)).budget(0, 1).rollingOut().changing(restart),
			want:  []string{"UpdatePod web-0 RolloutInPlace"},
		},
		"the one that is too many does not serve": {
			given: aFleet(1, old(0), old(1).unready()).budget(0, 1).rollingOut().changing(restart),
			want:  []string{"DeletePod web-1 ScaleDown", "UpdatePod web-0 RolloutInPlace"},
		},
	})
}

func (b podBuilder) changing() podBuilder { b = b.unready(); b.p.Changing = true; return b }

// From the first pod to the last, the model never has fewer available than asked
// for, and in the end no more pods than that.
func TestARolloutInPlaceWithNothingUnavailable(t *testing.T) {
	for name, begin := range map[string]fleet{
		"ordinal": aFleet(3, podsOf(3, ordinal)...).budget(0, 1),
		"random":  aFleet(3, podsOf(3, random)...).random().budget(0, 1),
	} {
		t.Run(name, func(t *testing.T) {
			f := begin.rollingOut()
			f.desired.Update.NoneUnavailable = true
			f.observed.Changes = []Change{{From: oldRev, To: newRev, Images: []string{"app"}, Restarts: true}}
			for i := range f.observed.Pods {
				f.observed.Pods[i].Revision = oldRev
				f.observed.Pods[i].Containers = []ContainerMark{{Name: "app", ContainerID: "c"}}
			}
			m := newModel(f)
			for range 20 {
				d := m.step(time.Second)
				if status := m.status; status.AvailableReplicas < 3 {
					t.Errorf("%d pods are available after %v", status.AvailableReplicas, saidOf(d))
				}
			}
			if got := [3]int{m.total[UpdatePod], m.total[CreatePod], m.total[DeletePod]}; got != [3]int{3, 1, 1} || m.live() != 3 {
				t.Errorf("%d live, after %d changes in place, %d creates and %d deletes; want 3, 3, 1 and 1", m.live(), got[0], got[1], got[2])
			}
		})
	}
}
