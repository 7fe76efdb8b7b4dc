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

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestScaleAnOrdinalFleet(t *testing.T) {
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"a new fleet is filled from 0 upward": {
			given: aFleet(3).generation(2),
			want:  []string{"CreatePod web-0 ScaleUp", "CreatePod web-1 ScaleUp", "CreatePod web-2 ScaleUp"},
		},
		"holes are filled, lowest first": {
			given: aFleet(4, ordinal(1), ordinal(3)),
			want:  []string{"CreatePod web-0 Missing", "CreatePod web-2 Missing"},
		},
		"a full fleet is left alone": {
			given: aFleet(2, ordinal(0), ordinal(1)),
		},
		"so is an empty one of which nobody asked for a pod": {
			given: aFleet(0),
		},
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
		"an ordinal waits for its terminating pod": {
			given:   aFleet(2, ordinal(0), ordinal(1).terminating()),
			blocked: []string{"CreatePod web-1 Terminating"},
		},
		"a terminating pod above replicas is waited for by nobody": {
			given: aFleet(1, ordinal(0), ordinal(1).terminating()),
		},
		"a name that somebody else's pod has is not ours to take": {
			given:   aFleet(3, ordinal(0)).held("web-1"),
			want:    []string{"CreatePod web-2 Missing"},
			blocked: []string{"CreatePod web-1 NameTaken"},
		},
		"a name above replicas that somebody else has does not matter": {
			given: aFleet(1, ordinal(0)).held("web-1"),
		},
		"a pod that a user asked for goes and its ordinal waits for the name": {
			given:   aFleet(2, ordinal(0).requested(), ordinal(1)),
			want:    []string{"DeletePod web-0 RequestedByLabel"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"the request stands beside a scale-down, which is bound to the highest": {
			given:   aFleet(2, ordinal(0).requested(), ordinal(1), ordinal(2)),
			want:    []string{"DeletePod web-0 RequestedByLabel", "DeletePod web-2 ScaleDown"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a request for a pod above replicas is left to the scale-down": {
			given: aFleet(1, ordinal(0), ordinal(1).requested()),
			want:  []string{"DeletePod web-1 ScaleDown"},
		},
		"a request for a terminating pod asks for nothing more": {
			given:   aFleet(1, ordinal(0).requested().terminating()),
			blocked: []string{"CreatePod web-0 Terminating"},
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

func TestScaleARandomFleet(t *testing.T) {
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"a new fleet takes the first slots": {
			given: aFleet(2).generation(2),
			want:  []string{"CreatePod " + randomName(0) + " ScaleUp", "CreatePod " + randomName(1) + " ScaleUp"},
		},
		"a hole is filled": {
			given: aFleet(2, random(1)),
			want:  []string{"CreatePod " + randomName(0) + " Missing"},
		},
		"a slot above replicas is as good as any": {
			given: aFleet(2, random(3), random(7)),
		},
		"pods without a slot count": {
			given: aFleet(2, aPod("stray"), aPod("waif")),
		},
		"a terminating pod keeps its name, so its successor takes another": {
			given: aFleet(2, random(0), random(1).terminating()),
			want:  []string{"CreatePod " + randomName(2) + " Missing"},
		},
		"a name that somebody else's pod has is passed over": {
			given: aFleet(2, random(0)).held(randomName(1), randomName(2)),
			want:  []string{"CreatePod " + randomName(3) + " Missing"},
		},
		"so is the name of our own pod whose slot label was edited away": {
			given: aFleet(2, random(0).slot(NoSlot)),
			want:  []string{"CreatePod " + randomName(1) + " Missing"},
		},
		"too many: the least useful go": {
			given: aFleet(1, random(0).pending(), random(1), random(2).unscheduled()),
			want:  []string{"DeletePod " + randomName(2) + " ScaleDown", "DeletePod " + randomName(0) + " ScaleDown"},
		},
		"to 0 all go": {
			given: aFleet(0, random(0), random(1).pending()),
			want:  []string{"DeletePod " + randomName(1) + " ScaleDown", "DeletePod " + randomName(0) + " ScaleDown"},
		},
		"a pod that a user asked for is replaced in the same pass": {
			given: aFleet(2, random(0), random(1).requested()),
			want:  []string{"DeletePod " + randomName(1) + " RequestedByLabel", "CreatePod " + randomName(2) + " Missing"},
		},
		"a scale-down takes it first and replaces nothing": {
			given: aFleet(2, random(0).pending(), random(1).requested(), random(2)),
			want:  []string{"DeletePod " + randomName(1) + " ScaleDown"},
		},
		"two requests and a scale-down of one: the second waits for the next pass": {
			given: aFleet(2, random(0), random(1).requested(), random(2).requested()),
			want:  []string{"DeletePod " + randomName(2) + " ScaleDown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.random().plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhyAPodIsCreated(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  string
	}{
		"for a spec that nobody has looked at yet it is a scale-up": {
			given: aFleet(1).generation(2),
			want:  appsv1.WhyScaleUp,
		},
		"while the scale-up goes on it stays one": {
			given: aFleet(1).condition(appsv1.ConditionReconciling, appsv1.ReasonScalingUp, metav1.ConditionTrue),
			want:  appsv1.WhyScaleUp,
		},
		"in a fleet that was complete it is a repair": {
			given: aFleet(1).condition(appsv1.ConditionReady, appsv1.ReasonAvailable, metav1.ConditionTrue),
			want:  appsv1.WhyMissing,
		},
		"during a repair it is one, too": {
			given: aFleet(1).condition(appsv1.ConditionReconciling, appsv1.ReasonReplacing, metav1.ConditionTrue),
			want:  appsv1.WhyMissing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if len(got.Actions) != 1 || got.Actions[0].Why.Reason != test.want {
				t.Errorf("actions %v, want one create because of %s", saidOf(got), test.want)
			}
		})
	}
}

// A create says everything that apply needs, and the numbers that decided.
func TestACreateSaysWhatAndWhy(t *testing.T) {
	got := aFleet(2, ordinal(0)).plan()
	want := []Action{{
		Verb: CreatePod, Pod: "web-1", Slot: 1, Revision: newRev,
		Why: Why{
			Rule: "scale-up", Reason: appsv1.WhyMissing, Message: "1 live pod, 2 asked for",
			Numbers: map[string]int64{"live": 1, "replicas": 2},
		},
	}}
	if diff := cmp.Diff(want, got.Actions); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
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

// At a hundred thousand pods one owner in fifty has two slots with the same
// suffix. Creating the second again and again would never end.
func TestTwoSlotsOfOneNameAreOnePod(t *testing.T) {
	const one, other = 13, 29_495 // found by trying
	f := aFleet(other + 1).random()
	f.desired.UID = "owner-196"
	if SlotName(&f.desired, one) != SlotName(&f.desired, other) {
		t.Fatalf("slots %d and %d have different names; look for another pair", one, other)
	}
	var pods []podBuilder
	for slot := range other {
		if slot != one {
			pods = append(pods, aPod(SlotName(&f.desired, slot)).slot(slot))
		}
	}
	var slots []int
	for _, a := range f.with(pods...).plan().Actions {
		slots = append(slots, a.Slot)
	}
	if diff := cmp.Diff([]int{one, other + 1}, slots); diff != "" {
		t.Errorf("created slots (-want +got):\n%s", diff)
	}
}

func TestOnePassTouchesABoundedNumberOfPods(t *testing.T) {
	many := func(pod func(int) podBuilder) []podBuilder { return podsOf(maxDeletesPerPass+100, pod) }
	most := func(verb Verb) int {
		if verb == DeletePod {
			return maxDeletesPerPass
		}
		return MaxPodsPerPass
	}
	for name, test := range map[string]struct {
		given fleet
		verb  Verb
	}{
		"creates of ordinals":            {aFleet(100_000), CreatePod},
		"creates of random names":        {aFleet(100_000).random(), CreatePod},
		"a scale-down of ordinals":       {aFleet(0, many(ordinal)...), DeletePod},
		"a scale-down of random names":   {aFleet(0, many(random)...).random(), DeletePod},
		"pods on nodes that are gone":    {aFleet(1100, many(func(i int) podBuilder { return ordinal(i).nodeGone() })...), DeletePod},
		"failed pods of ordinals":        {aFleet(1100, many(func(i int) podBuilder { return ordinal(i).failed(0) })...), DeletePod},
		"corpses of random names":        {aFleet(0, many(func(i int) podBuilder { return random(i).failed(0) })...).random().keeping(0), DeletePod},
		"users' requests":                {aFleet(1100, many(func(i int) podBuilder { return ordinal(i).requested() })...), DeletePod},
		"orphans that are taken in":      {aFleet(1100, many(func(i int) podBuilder { return ordinal(i).orphan() })...), AdoptPod},
		"pods whose labels were edited":  {aFleet(0, many(func(i int) podBuilder { return ordinal(i).drifted() })...), ReleasePod},
		"the pods of an owner that goes": {aFleet(1100, many(ordinal)...).deleting(DeletionDelete), DeletePod},
		"the pods it lets go":            {aFleet(1100, many(ordinal)...).deleting(DeletionOrphan), OrphanPod},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			counts := map[Verb]int{}
			for _, a := range got.Actions {
				counts[a.Verb]++
			}
			if diff := cmp.Diff(map[Verb]int{test.verb: most(test.verb)}, counts); diff != "" {
				t.Errorf("actions by verb (-want +got):\n%s", diff)
			}
			batches := 0
			for _, b := range got.Blocked {
				if b.By == appsv1.BlockedByBatch {
					batches++
				}
			}
			if batches != 1 || got.NextLook > time.Second {
				t.Errorf("%d blockers by batch and a next look in %s, want 1 and a look at once", batches, got.NextLook)
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
