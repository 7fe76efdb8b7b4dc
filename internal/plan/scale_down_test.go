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
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestScaleDownAnOrdinalFleet(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
		"ordinals from replicas upward go, highest first": {
			given: aFleet(1, ordinal(0), ordinal(1), ordinal(10), ordinal(9), ordinal(2)),
			want: []string{
				"DeletePod web-10 ScaleDown", "DeletePod web-9 ScaleDown", "DeletePod web-2 ScaleDown", "DeletePod web-1 ScaleDown",
			},
		},
		"however useful they are": {
			given: aFleet(1, ordinal(0).pending().cost(-100), ordinal(1).cost(100)),
			want:  []string{"DeletePod web-1 ScaleDown"},
		},
		"to 0 all go": {
			given: aFleet(0, ordinal(0), ordinal(1)),
			want:  []string{"DeletePod web-1 ScaleDown", "DeletePod web-0 ScaleDown"},
		},
		"a pod of ours whose name is no ordinal goes last": {
			given: aFleet(1, ordinal(0), ordinal(1), aPod("stray")),
			want:  []string{"DeletePod web-1 ScaleDown", "DeletePod stray ScaleDown"},
		},
		"and takes no ordinal's place": {
			given: aFleet(1, aPod("stray")),
			want:  []string{"DeletePod stray ScaleDown", "CreatePod web-0 Missing"},
		},
		"a pod above replicas takes no ordinal's place either": {
			given: aFleet(2, ordinal(0), ordinal(2)),
			want:  []string{"DeletePod web-2 ScaleDown", "CreatePod web-1 Missing"},
		},
	})
}

func TestScaleDownARandomFleet(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
		"too many: the least useful go": {
			given: aFleet(1, random(0).pending(), random(1), random(2).unscheduled()).random(),
			want:  []string{"DeletePod " + randomName(2) + " ScaleDown", "DeletePod " + randomName(0) + " ScaleDown"},
		},
		"to 0 all go": {
			given: aFleet(0, random(0), random(1).pending()).random(),
			want:  []string{"DeletePod " + randomName(1) + " ScaleDown", "DeletePod " + randomName(0) + " ScaleDown"},
		},
	})
}

// Pods of the goal that are not available yet are worth less than their order
// says: what serves meanwhile are the old ones.
func TestAScaleDownDuringARolloutSparesWhatTheBudgetNeeds(t *testing.T) {
	old := func(slot int) podBuilder { return random(slot).revision(oldRev) }
	fresh := func(slot int) podBuilder { return random(slot).readyFor(time.Second) }
	rolling := func(unavailable int, pods ...podBuilder) fleet {
		return aFleet(2, pods...).random().budget(unavailable, 1).minReady(time.Minute).rollingOut().paused()
	}
	expectPlans(t, saidOf, map[string]planned{
		"none may be unavailable: the new pod goes": {
			given:   rolling(0, old(0), old(1), fresh(2)),
			want:    []string{"DeletePod " + randomName(2) + " ScaleDown"},
			blocked: []string{"UpdatePod " + randomName(1) + " Paused"},
		},
		"an old one goes only once there are more than have to be available": {
			given:   rolling(0, old(0), old(1), old(2), fresh(3)),
			want:    []string{"DeletePod " + randomName(2) + " ScaleDown", "DeletePod " + randomName(3) + " ScaleDown"},
			blocked: []string{"UpdatePod " + randomName(1) + " Paused"},
		},
		"one may be unavailable: an old one goes": {
			given:   rolling(1, old(0), old(1), fresh(2)),
			want:    []string{"DeletePod " + randomName(1) + " ScaleDown"},
			blocked: []string{"UpdatePod " + randomName(0) + " Paused"},
		},
		"without a rollout the order decides": {
			given: aFleet(2, random(0).cost(-1), random(1), fresh(2)).random().budget(0, 1).minReady(time.Minute),
			want:  []string{"DeletePod " + randomName(0) + " ScaleDown"},
		},
	})
}

func TestWhyAPodBeyondReplicasGoes(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	expectPlans(t, saidOf, map[string]planned{
		"the rollout needs one more pod, and an old one that does not serve is none": {
			given:   aFleet(2, old(0), old(1), old(2).unready()).budget(0, 1).rollingOut(),
			want:    []string{"DeletePod web-2 RolloutRecreate"},
			blocked: []string{"UpdatePod web-1 Budget", "CreatePod web-2 Terminating"},
		},
		"the rollout needs none": {
			given:   aFleet(2, old(0), old(1), old(2).unready()).budget(0, 1).rollingOut().paused(),
			want:    []string{"DeletePod web-2 ScaleDown"},
			blocked: []string{"UpdatePod web-1 Paused"},
		},
	})
}

func TestADeleteSaysWhatAndWhy(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  Action
	}{
		"an ordinal above replicas": {
			given: aFleet(1, ordinal(0), ordinal(1)),
			want: Action{
				Verb: DeletePod, Pod: "web-1", UID: "uid-web-1", Slot: 1, Revision: newRev,
				Why: Why{
					Rule: "scale-down", Reason: appsv1.WhyScaleDown, Message: "ordinal 1 is not below replicas 1",
					Numbers: map[string]int64{"condemned": 1, "replicas": 1},
				},
			},
		},
		"a name that is no ordinal": {
			given: aFleet(1, ordinal(0), aPod("stray")),
			want: Action{
				Verb: DeletePod, Pod: "stray", UID: "uid-stray", Slot: NoSlot, Revision: newRev,
				Why: Why{
					Rule: "scale-down", Reason: appsv1.WhyScaleDown, Message: "the pod's name is none of this fleet's ordinals",
					Numbers: map[string]int64{"condemned": 1, "replicas": 1},
				},
			},
		},
		"the least useful of a random fleet": {
			given: aFleet(1, aPod("a"), aPod("b").pending()).random(),
			want: Action{
				Verb: DeletePod, Pod: "b", UID: "uid-b", Slot: NoSlot, Revision: newRev,
				Why: Why{
					Rule: "scale-down", Reason: appsv1.WhyScaleDown,
					Message: "2 live pods, 1 asked for; chosen because its phase is the earlier one",
					Numbers: map[string]int64{"live": 2, "replicas": 1},
				},
			},
		},
		"one that a user asked for": {
			given: aFleet(1, ordinal(0).requested()),
			want: Action{
				Verb: DeletePod, Pod: "web-0", UID: "uid-web-0", Slot: 0, Revision: newRev,
				Why: Why{
					Rule: "delete-requested", Reason: appsv1.WhyRequested,
					Message: "the pod carries the label apps.mycompany.com/delete=true",
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]Action{test.want}, test.given.plan().Actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// 1,100 pods exactly: the highest 1,000 in the first pass, the rest in the second.
func TestABatchTakesTheHighestOrdinalsFirst(t *testing.T) {
	m := newModel(aFleet(0, podsOf(1100, ordinal)...))
	var order []int
	for range 2 {
		for _, a := range m.step(time.Second).Actions {
			order = append(order, a.Slot)
		}
	}
	if len(order) != 1100 || !slices.IsSortedFunc(order, func(a, b int) int { return b - a }) {
		t.Errorf("%d pods went in the order %v, want 1,100 from the highest down", len(order), order)
	}
}

func TestPodsMoveToOtherOrdinalsWithinTheBudget(t *testing.T) {
	fresh := func(slot int) podBuilder { return ordinal(slot).created(time.Minute) }
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"one may be missing: one of them moves": {
			given:   aFleet(3, ordinal(0), ordinal(1), ordinal(2)).budget(1, 0).reserving(0, 1, 2),
			want:    []string{"DeletePod web-2 OrdinalReserved", "CreatePod web-3 Missing"},
			blocked: []string{"DeletePod web-1 Budget", "CreatePod web-4 Budget", "CreatePod web-5 Budget"},
		},
		"none may be missing and one too many: its successor comes first": {
			given:   aFleet(3, ordinal(0), ordinal(1), ordinal(2)).budget(0, 1).reserving(0, 1, 2),
			want:    []string{"CreatePod web-3 Missing"},
			blocked: []string{"DeletePod web-2 Budget", "CreatePod web-4 Budget", "CreatePod web-5 Budget"},
		},
		"while that is not available none goes": {
			given:   aFleet(3, ordinal(0), ordinal(1), ordinal(2), fresh(3).unready()).budget(0, 1).reserving(0, 1, 2),
			blocked: []string{"DeletePod web-2 Budget", "CreatePod web-4 Budget", "CreatePod web-5 Budget"},
		},
		"then one does": {
			given:   aFleet(3, ordinal(0), ordinal(1), ordinal(2), fresh(3)).budget(0, 1).reserving(0, 1, 2),
			want:    []string{"DeletePod web-2 OrdinalReserved", "CreatePod web-4 Missing"},
			blocked: []string{"DeletePod web-1 Budget", "CreatePod web-5 Budget"},
		},
		"none may be missing and none too many: one goes all the same": {
			given:   aFleet(2, ordinal(0), ordinal(1)).budget(0, 0).reserving(0, 1),
			want:    []string{"DeletePod web-1 OrdinalReserved", "CreatePod web-2 Missing"},
			blocked: []string{"DeletePod web-0 Budget", "CreatePod web-3 Budget"},
		},
		"what does not serve costs nothing": {
			given:   aFleet(2, ordinal(0).unready(), ordinal(1)).budget(0, 1).reserving(0, 1),
			want:    []string{"DeletePod web-0 OrdinalReserved", "CreatePod web-2 Missing", "CreatePod web-3 Missing"},
			blocked: []string{"DeletePod web-1 Budget"},
		},
		"a pod that is held is no reason to take another, nor keeps its successor out": {
			given:   aFleet(1, func() podBuilder { b := ordinal(0); b.p.HoldDelete = new("backup"); return b }()).budget(0, 1).reserving(0),
			want:    []string{"TellHolder web-0 Held", "CreatePod web-1 Missing"},
			blocked: []string{"DeletePod web-0 Hold"},
		},
		"a scale-down at the same time takes what is too many at once": {
			given: aFleet(1, ordinal(0), ordinal(1), ordinal(2)).budget(0, 1).reserving(0).generation(2),
			want:  []string{"DeletePod web-2 ScaleDown", "DeletePod web-0 OrdinalReserved"},
		},
		"a scale-down does not wait for pods that have been broken for long": {
			given: aFleet(2, ordinal(0), ordinal(1).unready(), ordinal(2), ordinal(3)).budget(0, 1).generation(2),
			want:  []string{"DeletePod web-3 ScaleDown", "DeletePod web-2 ScaleDown"},
		},
		"no more of them stay than there may be pods in all": {
			given: aFleet(3, ordinal(0), ordinal(1), ordinal(2), fresh(3).unready(), fresh(4).unready(), fresh(5).unready()).
				budget(0, 1).reserving(0, 1, 2),
			want:    []string{"DeletePod web-2 OrdinalReserved", "DeletePod web-1 OrdinalReserved"},
			blocked: []string{"DeletePod web-0 Budget"},
		},
		"a pod whose successor is available stays as long as another is not: it is the one that is missing": {
			given:   aFleet(3, ordinal(0), ordinal(1).unready(), ordinal(2), fresh(3)).budget(0, 1).reserving(0),
			blocked: []string{"DeletePod web-0 Budget"},
		},
		"unless one may be missing": {
			given: aFleet(3, ordinal(0), ordinal(1).unready(), ordinal(2), fresh(3)).budget(1, 1).reserving(0),
			want:  []string{"DeletePod web-0 OrdinalReserved"},
		},
		"replicas 0: all go": {
			given: aFleet(0, ordinal(0), ordinal(1)).budget(0, 1).reserving(0).generation(2),
			want:  []string{"DeletePod web-1 ScaleDown", "DeletePod web-0 OrdinalReserved"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.given
			if f.desired.Generation > 1 {
				f.observed.Status.ObservedGeneration = f.desired.Generation
			}
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

// All ordinals of a fleet are reserved: never are fewer pods available than the
// budget says, nor more there, and none is made in vain.
func TestAllOrdinalsAreReserved(t *testing.T) {
	for name, begin := range map[string]fleet{
		"one missing":  aFleet(5, podsOf(5, ordinal)...).budget(1, 0),
		"one too many": aFleet(5, podsOf(5, ordinal)...).budget(0, 1),
		"two of each":  aFleet(5, podsOf(5, ordinal)...).budget(2, 2),
		"nothing":      aFleet(5, podsOf(5, ordinal)...).budget(0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(begin)
			least := 5 - begin.desired.Update.MaxUnavailable
			if name == "nothing" {
				least = 4
			}
			m.desired.Reserved = []int{0, 1, 2, 3, 4}
			m.desired.Generation++
			for range 40 {
				d := m.step(time.Second)
				if got := int(m.status.AvailableReplicas); got < least || m.live() > 5+begin.desired.Update.MaxSurge {
					t.Fatalf("%d pods are available and %d live after %v", got, m.live(), saidOf(d))
				}
			}
			for _, p := range m.pods {
				if p.Slot < 5 {
					t.Errorf("%s is left", p.Name)
				}
			}
			if m.total[CreatePod] != 5 || m.total[DeletePod] != 5 {
				t.Errorf("%d creates and %d deletes, want 5 of each", m.total[CreatePod], m.total[DeletePod])
			}
			if !meta.IsStatusConditionTrue(m.status.Conditions, appsv1.ConditionReady) {
				t.Errorf("at rest with %v", m.status.Conditions)
			}
		})
	}
}
