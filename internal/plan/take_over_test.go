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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// One entry says how many pods wait.
func TestATakeOverCountsWhatItHoldsBack(t *testing.T) {
	blocked := aFleet(3).random().takingOver().plan().Blocked
	if len(blocked) != 1 || blocked[0].Count != 3 {
		t.Errorf("blocked %+v, want one entry for 3 pods", blocked)
	}
}

func TestTakeOver(t *testing.T) {
	left := func(name string) podBuilder { return aPod(name).orphan() }
	expectPlans(t, saidOf, map[string]planned{
		"a fleet whose pods are still the other workload's waits for them": {
			aFleet(3).random().takingOver(), nil, []string{"CreatePod " + randomName(0) + " TakeOver"},
		},
		"orphans are adopted, and no other pod is created beside them": {
			aFleet(3, left("web-a"), left("web-b")).random().takingOver(),
			[]string{"AdoptPod web-a MatchingOrphan", "AdoptPod web-b MatchingOrphan"},
			[]string{"CreatePod " + randomName(0) + " TakeOver"},
		},
		"with ordinals pods are recognised by their names": {
			aFleet(2, left("web-0").slot(0), left("web-1").slot(1)).takingOver(),
			[]string{"AdoptPod web-0 MatchingOrphan", "AdoptPod web-1 MatchingOrphan"},
			nil,
		},
		"a fleet that is whole waits for the end of the annotation": {
			aFleet(2, aPod("web-a"), aPod("web-b")).random().takingOver(), nil, nil,
		},
		"a scale-down waits": {
			aFleet(1, ordinal(0), ordinal(1), ordinal(2)).takingOver(), nil, []string{"DeletePod web-2 TakeOver"},
		},
		"a rollout waits": {
			aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev)).rollingOut().budget(2, 0).takingOver(),
			nil,
			[]string{"DeletePod web-1 TakeOver"},
		},
		"failed and lost pods stay": {
			aFleet(2, ordinal(0).failed(time.Hour), ordinal(1).nodeGone()).takingOver(), nil, []string{"DeletePod web-1 TakeOver"},
		},
		"a pod whose labels were edited away stays": {
			aFleet(0, ordinal(0).drifted()).takingOver(), nil, nil,
		},
		"a pod that a user wants deleted stays": {
			aFleet(1, ordinal(0).requested()).takingOver(), nil, []string{"DeletePod web-0 TakeOver"},
		},
		"the finalizer and the template's revision come first": {
			aFleet(1, left("web-0").slot(0)).finalizer(FinalizerMissing).revisions(10).takingOver(),
			[]string{"AddFinalizer FinalizerMissing", "CreateRevision web-next#1 NewTemplate", "AdoptPod web-0 MatchingOrphan"},
			nil,
		},
		"revisions beyond the limit go": {
			aFleet(0).revisions(1, Revision{Name: "a", Number: 1}, Revision{Name: "b", Number: 2}, Revision{Name: newRev, Number: 3, Equal: true}).takingOver(),
			[]string{"DeleteRevision a#1 RevisionHistoryLimit"},
			nil,
		},
		"an owner that is deleted settles its pods": {
			aFleet(1, ordinal(0)).deleting(DeletionDelete).takingOver(),
			[]string{"DeletePod web-0 OwnerDeleted"},
			[]string{"RemoveFinalizer Terminating"},
		},
	})
}

// A pod that fails during a take-over counts for the backoff of the next one.
func TestATakeOverCountsFailures(t *testing.T) {
	if got := aFleet(2, ordinal(0).failed(time.Second), ordinal(1)).takingOver().plan().Failures; got == nil || got.Count != 1 {
		t.Errorf("the record is %+v, want one failure", got)
	}
}

// The pods of the other workload carry the label of the revision that they mean.
// When the annotation is taken off, nothing happens to them.
func TestAfterATakeOverNothingIsTouched(t *testing.T) {
	for name, f := range map[string]fleet{
		"random":  aFleet(3, aPod("web-7d9-abcde"), aPod("web-7d9-fghij"), aPod("web-7d9-klmno")).random(),
		"ordinal": aFleet(3, ordinal(0), ordinal(1), ordinal(2)),
	} {
		t.Run(name, func(t *testing.T) {
			f.observed.Status = appsv1.PodManagerStatus{ObservedGeneration: 1, UpdateRevision: newRev}
			got := f.plan()
			if len(got.Actions) > 0 || len(got.Blocked) > 0 || got.NextLook != 0 {
				t.Errorf("actions %v, held back %v, next look %s, want none", saidOf(got), heldBackOf(got), got.NextLook)
			}
			if got.CurrentRevision != newRev {
				t.Errorf("current revision %q, want %s", got.CurrentRevision, newRev)
			}
		})
	}
}

// A pod that carries a foreign name is a full member of a Random fleet.
func TestAForeignNameIsAFullMember(t *testing.T) {
	foreign := func(name string) podBuilder { return aPod("web-7d9-" + name) }
	inPlace := func(f fleet) fleet {
		f = f.random().rollingOut().budget(1, 0)
		f.observed.Changes = []Change{{From: oldRev, To: newRev, Images: []string{"app"}, Restarts: true}}
		return f
	}
	expectPlans(t, saidOf, map[string]planned{
		"it counts":                       {aFleet(2, foreign("a"), foreign("b")).random(), nil, nil},
		"beside it only what is missing":  {aFleet(2, foreign("a")).random(), []string{"CreatePod " + randomName(0) + " Missing"}, nil},
		"it is a victim like every other": {aFleet(1, foreign("a").created(time.Minute), random(0)).random(), []string{"DeletePod web-7d9-a ScaleDown"}, nil},
		"it goes when it failed, and its successor has one of our names": {
			aFleet(1, foreign("a").failed(time.Hour)).random().keeping(0),
			[]string{"DeletePod web-7d9-a FailedPodsLimit", "CreatePod " + randomName(0) + " Missing"},
			nil,
		},
		"it is replaced when its node is gone": {
			aFleet(1, foreign("a").nodeGone()).random(),
			[]string{"DeletePod web-7d9-a NodeGone by force", "CreatePod " + randomName(0) + " Missing"},
			nil,
		},
		"it is changed in place": {
			inPlace(aFleet(1, foreign("a").revision(oldRev))), []string{"UpdatePod web-7d9-a RolloutInPlace"}, nil,
		},
		"it is recreated under one of our names": {
			aFleet(1, foreign("a").revision(oldRev)).random().rollingOut().budget(1, 0),
			[]string{"DeletePod web-7d9-a RolloutRecreate", "CreatePod " + randomName(0) + " RolloutRecreate"},
			nil,
		},
	})
}

// The time of a take-over is not held against the rollout that it interrupts.
func TestATakeOverStopsTheClockOfARollout(t *testing.T) {
	f := aFleet(1, ordinal(0).unready()).rollingOut().takingOver()
	since := metav1.NewTime(ago(time.Minute))
	f.observed.Status.Rollout = &appsv1.RolloutRecord{Revision: newRev, ProgressTime: since, StuckSeconds: 590, StuckTime: &since}
	got := f.plan()
	want := &appsv1.RolloutRecord{Revision: newRev, ProgressTime: since, Waits: true}
	if diff := cmp.Diff(want, got.Rollout); diff != "" {
		t.Errorf("rollout (-want +got):\n%s", diff)
	}
}

// What the status tells during a take-over is how many pods are adopted: a pod
// whose adoption failed, or that did not fit into the pass, is not.
func TestATakeOverCountsAdoptedPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, orphans := rapid.IntRange(0, 3).Draw(t, "members"), oneOf(t, "orphans", 0, 1, 2, 3, MaxPodsPerPass, MaxPodsPerPass+2)
		f := aFleet(members + orphans).random().takingOver()
		for i := range members + orphans {
			p := random(i)
			if i >= members {
				p = p.orphan()
			}
			f = f.with(p)
		}
		d := f.plan()
		outcomes, adopted := outcomesOf(d, Done), members
		for i := range outcomes {
			if i < 3 && oneIn(t, 3, "fails") {
				outcomes[i].Result = Failed
			} else {
				adopted++
			}
		}
		got := Report(f.desired, f.observed, d, outcomes, noon()).Status
		if int(got.CurrentReplicas) != adopted || int(got.AvailableReplicas) != adopted {
			t.Errorf("status counts %d pods, %d available; %d are adopted", got.CurrentReplicas, got.AvailableReplicas, adopted)
		}
		reconciling := slices.IndexFunc(got.Conditions, func(c metav1.Condition) bool { return c.Type == appsv1.ConditionReconciling })
		if reconciling < 0 || got.Conditions[reconciling].Reason != appsv1.ReasonTakingOver {
			t.Errorf("conditions %v, want Reconciling for %s", conditionsOf(got), appsv1.ReasonTakingOver)
		}
	})
}
