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
func TestAScaleDownSparesWhatTheBudgetNeeds(t *testing.T) {
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
		"without a rollout, too": {
			given: aFleet(2, random(0).cost(-1), random(1), fresh(2)).random().budget(0, 1).minReady(time.Minute),
			want:  []string{"DeletePod " + randomName(2) + " ScaleDown"},
		},
		"a pod that is changed in place does not serve, whatever its kubelet still says": {
			given: aFleet(2, random(0).cost(-1), random(1), func() podBuilder { b := random(2); b.p.Changing = true; return b }()).random().budget(0, 1),
			want:  []string{"DeletePod " + randomName(2) + " ScaleDown"},
		},
		"where enough are available the order decides": {
			given: aFleet(2, random(0).cost(-1), random(1), random(2)).random().budget(0, 1),
			want:  []string{"DeletePod " + randomName(0) + " ScaleDown"},
		},
	})
}

// When fewer pods may stand in than do, a pod that serves is worth more than one that
// does not, also where it has to leave its node.
func TestASurgeThatShrinksTakesNoPodThatServes(t *testing.T) {
	goes := func(slot int) []string { return []string{"DeletePod " + randomName(slot) + " ScaleDown"} }
	waits := func(slots ...int) []string {
		var lines []string
		for _, slot := range slots {
			lines = append(lines, "EvictPod "+randomName(slot)+" Replacement")
		}
		return lines
	}
	starting := func(slot int) podBuilder { return random(slot).pending().created(0) }
	expectPlans(t, saidOf, map[string]planned{
		"the last open node is cordoned, and the replacement has none": {
			aFleet(1, random(0).evicted(0), starting(1).on("")).random().surgeFirst(1).nodes(0, 2),
			goes(1),
			[]string{"EvictPod " + randomName(0) + " NodesCordoned"},
		},
		"one of two requests is over": {
			aFleet(2, random(0).evicted(time.Hour), random(1).evicted(0), starting(2), starting(3)).random().surgeFirst(2), goes(3), waits(1),
		},
		"the notice is withdrawn":         {aFleet(1, random(0), starting(1)).random().surgeFirst(1), goes(1), nil},
		"maxSurge is lowered":             {aFleet(2, random(0).evicted(0), random(1).evicted(0), starting(2), starting(3)).random().surgeFirst(1), goes(3), waits(1, 0)},
		"the policy is switched to Allow": {aFleet(1, random(0).evicted(0), starting(1)).random(), goes(1), nil},
		"one that serves for too short a time counts as little": {
			aFleet(2, random(0).evicted(time.Second), random(1).evicted(0), random(2).readyFor(time.Second), random(3).readyFor(time.Second)).
				random().minReady(time.Minute).surgeFirst(1),
			goes(3),
			waits(0, 1),
		},
	})
}

// In the middle of a drain a pod that serves stays as long as the base is short, also
// when the fleet is scaled down or its policy is switched.
func TestADrainThatIsCutShort(t *testing.T) {
	standIn := ordinal(2).surge()
	back := []string{"CreatePod web-0 Terminating"}
	drained := func(replicas int, pods ...podBuilder) fleet {
		return aFleet(replicas, pods...).budget(0, 1).surgeFirst(1).generation(2)
	}
	allow := func(f fleet) fleet { f.desired.Disruption = Disruption{}; return f }
	expectPlans(t, saidOf, map[string]planned{
		"a scale-down takes one of two that serve while the pod that moved is not back": {
			drained(1, ordinal(0).terminating(), ordinal(1), standIn), []string{"DeletePod web-2 ScaleDown"}, back,
		},
		"or starts":                         {drained(1, ordinal(0).pending(), ordinal(1), standIn), []string{"DeletePod web-2 ScaleDown"}, nil},
		"and the other one when it is back": {drained(1, ordinal(0), ordinal(1)), []string{"DeletePod web-1 ScaleDown"}, nil},
		"a pod that leaves and is too many goes within the budget, too": {
			drained(1, ordinal(0).unready(), ordinal(1).evicted(0)).budget(1, 0), nil, nil,
		},
		"with policy Allow the stand-in stays while the pod is not back": {
			allow(drained(1, ordinal(0).terminating(), ordinal(1).surge())), nil, append([]string{"DeletePod web-1 Budget"}, back...),
		},
		"and while it starts":    {allow(drained(1, ordinal(0).pending(), ordinal(1).surge())), nil, []string{"DeletePod web-1 Budget"}},
		"then it goes":           {allow(drained(1, ordinal(0), ordinal(1).surge())), []string{"DeletePod web-1 SurgeOver"}, nil},
		"one that starts goes":   {allow(drained(1, ordinal(0), ordinal(1).surge().pending())), []string{"DeletePod web-1 SurgeOver"}, nil},
		"switched back it stays": {drained(1, ordinal(0).pending(), ordinal(1).surge()), nil, nil},
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
		"it needs one, and has it": {
			given:   aFleet(2, old(0), ordinal(1), ordinal(2).surge(), old(3).surge().unready()).budget(0, 2).rollingOut(),
			want:    []string{"DeletePod web-3 SurgeOver", "DeletePod web-0 RolloutRecreate"},
			blocked: []string{"CreatePod web-0 Terminating"},
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
				Verb: DeletePod, Pod: "web-1", UID: "uid-web-1", Slot: 1, Revision: newRev, ResourceVersion: "7",
				Why: Why{
					Rule: "scale-down", Reason: appsv1.WhyScaleDown, Message: "only ordinal 0 remains at 1 replica",
					Numbers: map[string]int64{"condemned": 1, "replicas": 1},
				},
			},
		},
		"a name that is no ordinal": {
			given: aFleet(1, ordinal(0), aPod("stray")),
			want: Action{
				Verb: DeletePod, Pod: "stray", UID: "uid-stray", Slot: NoSlot, Revision: newRev, ResourceVersion: "7",
				Why: Why{
					Rule: "scale-down", Reason: appsv1.WhyScaleDown, Message: "the pod's name is none of this fleet's ordinals",
					Numbers: map[string]int64{"condemned": 1, "replicas": 1},
				},
			},
		},
		"the least useful of a random fleet": {
			given: aFleet(1, aPod("a"), aPod("b").pending()).random(),
			want: Action{
				Verb: DeletePod, Pod: "b", UID: "uid-b", Slot: NoSlot, Revision: newRev, ResourceVersion: "7",
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
				Verb: DeletePod, Pod: "web-0", UID: "uid-web-0", Slot: 0, Revision: newRev, ResourceVersion: "7",
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
		"a scale-down keeps a pod for each of those that stay and do not serve": {
			given:   aFleet(2, ordinal(0), ordinal(1).unready(), ordinal(2), ordinal(3)).budget(0, 1).generation(2),
			want:    []string{"DeletePod web-3 ScaleDown"},
			blocked: []string{"DeletePod web-2 Budget"},
		},
		"unless it may be missing": {
			given: aFleet(2, ordinal(0), ordinal(1).unready(), ordinal(2), ordinal(3)).budget(1, 0).generation(2),
			want:  []string{"DeletePod web-3 ScaleDown", "DeletePod web-2 ScaleDown"},
		},
		"they stay also where maxSurge was lowered meanwhile": {
			given: aFleet(3, ordinal(0), ordinal(1), ordinal(2), fresh(3).unready(), fresh(4).unready(), fresh(5).unready()).
				budget(0, 1).reserving(0, 1, 2),
			blocked: []string{"DeletePod web-2 Budget"},
		},
		"reserved ordinals are free again, one may be missing: one of the pods moves": {
			given:   aFleet(3, ordinal(3), ordinal(4), ordinal(5)).budget(1, 0),
			want:    []string{"DeletePod web-5 ScaleDown", "CreatePod web-0 Missing"},
			blocked: []string{"DeletePod web-4 Budget", "CreatePod web-1 Budget", "CreatePod web-2 Budget"},
		},
		"reserved ordinals are free again, none may be missing: the first successor comes first": {
			given:   aFleet(3, ordinal(3), ordinal(4), ordinal(5)).budget(0, 1),
			want:    []string{"CreatePod web-0 Missing"},
			blocked: []string{"DeletePod web-5 Budget", "CreatePod web-1 Budget", "CreatePod web-2 Budget"},
		},
		"a pod of the fleet whose node is gone has its place until it is gone": {
			given:   aFleet(2, fresh(0).pending().nodeGone(), ordinal(2), ordinal(3)).budget(0, 1),
			want:    []string{"DeletePod web-0 NodeGone by force"},
			blocked: []string{"DeletePod web-3 Budget", "CreatePod web-0 Terminating", "CreatePod web-1 Budget"},
		},
		"and a scale-down at the same time takes what is too many": {
			given:   aFleet(2, ordinal(3), ordinal(4), ordinal(5)).budget(0, 1).generation(2),
			want:    []string{"DeletePod web-5 ScaleDown", "CreatePod web-0 Missing"},
			blocked: []string{"DeletePod web-4 Budget", "CreatePod web-1 Budget"},
		},
		"in order, the pods that leave wait for all that come": {
			given:   aFleet(2, ordinal(2), ordinal(3)).budget(1, 0).ordered(),
			want:    []string{"CreatePod web-0 Missing"},
			blocked: []string{"DeletePod web-3 OrderedReady", "CreatePod web-1 OrderedReady"},
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

// A pod that is kept only because another has to leave its node goes when that one's
// eviction is forgotten: the wait says so. One for a node that goes has no such end.
func TestPodsThatAreKeptForADrainWaitUntilItIsForgotten(t *testing.T) {
	over := noon().Add(4*time.Minute + LetThrough + time.Minute)
	for name, c := range map[string]struct {
		leaves podBuilder
		until  time.Time
	}{
		"an eviction":               {ordinal(3).evicted(time.Minute), over},
		"the last of two evictions": {ordinal(3).evicted(time.Hour / 6), over},
		"a node that goes":          {ordinal(3).nodeLeaving(), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := aFleet(3, ordinal(0), ordinal(1), c.leaves).reserving(0).held("web-2").budget(1, 0).surgeFirst(1)
			if c.leaves.p.EvictionRequested != ago(time.Minute) {
				f.observed.Pods[1].EvictionRequested = ago(time.Minute)
			}
			d := f.plan()
			i := slices.IndexFunc(d.Blocked, func(b Blocked) bool { return b.Verb == DeletePod })
			if i < 0 || d.Blocked[i].Pod != "web-0" || !d.Blocked[i].Until.Equal(c.until) {
				t.Errorf("%v, held back %+v, want web-0 to wait until %s", saidOf(d), d.Blocked, c.until)
			}
		})
	}
}

// All ordinals of a fleet are reserved, and later free again: never are fewer pods
// available than the budget says, nor more there, and none is made in vain.
func TestAllOrdinalsAreReservedAndFreeAgain(t *testing.T) {
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
			for turn, reserved := range [][]int{{0, 1, 2, 3, 4}, nil} {
				m.desired.Reserved = reserved
				m.desired.Generation++
				for range 40 {
					d := m.step(time.Second)
					if got := int(m.status.AvailableReplicas); got < least || m.live() > 5+begin.desired.Update.MaxSurge {
						t.Fatalf("%d pods are available and %d live after %v", got, m.live(), saidOf(d))
					}
				}
				for _, p := range m.pods {
					if p.Slot < 5 != (turn == 1) {
						t.Errorf("%s is left", p.Name)
					}
				}
				if n := 5 * (turn + 1); m.total[CreatePod] != n || m.total[DeletePod] != n {
					t.Errorf("%d creates and %d deletes, want %d of each", m.total[CreatePod], m.total[DeletePod], n)
				}
				if !meta.IsStatusConditionTrue(m.status.Conditions, appsv1.ConditionReady) {
					t.Errorf("at rest with %v", m.status.Conditions)
				}
			}
		})
	}
}

// TestAScaleDownKeepsThePartition: an autoscaler promotes no canary.
func TestAScaleDownKeepsThePartition(t *testing.T) {
	pods := []podBuilder{random(0), random(1)}
	for i := range 8 {
		pods = append(pods, random(2+i).revision(oldRev))
	}
	for _, c := range []struct{ replicas, partition, old int }{{2, 2, 2}, {2, 1, 1}, {5, 4, 4}, {9, 8, 8}} {
		f := aFleet(c.replicas, pods...).random().rollingOut().budget(1, 1)
		f.desired.Update.Partition = c.partition
		d := f.plan()
		old := 8
		for _, a := range d.Actions {
			if a.Verb == DeletePod && a.Revision == oldRev {
				old--
			}
			if a.Verb == DeletePod && a.Revision == newRev && !strings.Contains(a.Why.Message, "others stay on the old revision") {
				t.Errorf("%+v: pod %s goes, %s", c, a.Pod, a.Why.Message)
			}
		}
		if old != c.old || d.CurrentRevision != oldRev {
			t.Errorf("%+v: %d pods are left on the old revision, and the current one is %s", c, old, d.CurrentRevision)
		}
	}
}
