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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestNoPodComesWhileOthersAreTooMany(t *testing.T) {
	old := func(slot int) podBuilder { return random(slot).revision(oldRev).unready() }
	expectPlans(t, saidOf, map[string]planned{
		"two go, and one of them is replaced": {
			aFleet(1, old(0), old(1)).random().rollingOut(),
			[]string{"DeletePod " + randomName(1) + " ScaleDown", "DeletePod " + randomName(0) + " RolloutRecreate"},
			[]string{"CreatePod Terminating"},
		},
	})
}

func TestScaleUpAnOrdinalFleet(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
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
		"so is an empty one with 0 replicas": {
			given: aFleet(0),
		},
		"an ordinal waits for its terminating pod": {
			given:   aFleet(2, ordinal(0), ordinal(1).terminating()),
			blocked: []string{"CreatePod web-1 Terminating"},
		},
		"a terminating pod above replicas is not waited for": {
			given: aFleet(1, ordinal(0), ordinal(1).terminating()),
		},
		"a name that a foreign pod has is not ours to take": {
			given:   aFleet(3, ordinal(0)).held("web-1"),
			want:    []string{"CreatePod web-2 Missing"},
			blocked: []string{"CreatePod web-1 NameTaken"},
		},
		"a name above replicas that a foreign pod has does not matter": {
			given: aFleet(1, ordinal(0)).held("web-1"),
		},
	})
}

func TestScaleUpARandomFleet(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
		"a new fleet takes the first slots": {
			given: aFleet(2).generation(2).random(),
			want:  []string{"CreatePod " + randomName(0) + " ScaleUp", "CreatePod " + randomName(1) + " ScaleUp"},
		},
		"a hole is filled": {
			given: aFleet(2, random(1)).random(),
			want:  []string{"CreatePod " + randomName(0) + " Missing"},
		},
		"a slot above replicas is as good as any": {
			given: aFleet(2, random(3), random(7)).random(),
		},
		"pods without a slot count": {
			given: aFleet(2, aPod("stray"), aPod("waif")).random(),
		},
		"a terminating pod keeps its name, so its successor takes another": {
			given: aFleet(2, random(0), random(1).terminating()).random(),
			want:  []string{"CreatePod " + randomName(2) + " Missing"},
		},
		"a name that a foreign pod has is passed over": {
			given: aFleet(2, random(0)).held(randomName(1), randomName(2)).random(),
			want:  []string{"CreatePod " + randomName(3) + " Missing"},
		},
		"so is the name of our own pod whose slot label was edited away": {
			given: aFleet(2, random(0).slot(NoSlot)).random(),
			want:  []string{"CreatePod " + randomName(1) + " Missing"},
		},
	})
}

func TestWhyAPodIsCreated(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  string
	}{
		"for a spec that was not reconciled yet it is a scale-up": {
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
		"in a rollout it takes the place of one that goes, also while the fleet grows": {
			given: aFleet(2, random(0), random(1).revision(oldRev).terminating()).random().rollingOut().progress(1, time.Minute).
				condition(appsv1.ConditionReconciling, appsv1.ReasonScalingUp, metav1.ConditionTrue),
			want: appsv1.WhyRolloutRecreate,
		},
		"unless it takes no place of another": {
			given: aFleet(2, random(0)).random().rollingOut().progress(1, time.Minute).
				condition(appsv1.ConditionReconciling, appsv1.ReasonScalingUp, metav1.ConditionTrue),
			want: appsv1.WhyScaleUp,
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

func TestTheRevisionOfANewPod(t *testing.T) {
	moved := func(f fleet, list string) fleet {
		f = f.progress(1, time.Minute)
		f.observed.Status.Rollout.Moved = list
		return f
	}
	revisions := func(d Decision) (lines []string) {
		for _, a := range d.Actions {
			lines = append(lines, a.Pod+" "+a.Revision)
		}
		return lines
	}
	expectPlans(t, revisions, map[string]planned{
		"with random names as many are old as the partition keeps": {
			given: aFleet(3).random().rollingOut().partition(2),
			want:  []string{randomName(0) + " web-old", randomName(1) + " web-old", randomName(2) + " web-new"},
		},
		"while the rollout is paused each pod has the revision that it had": {
			given: moved(aFleet(5, ordinal(0)).rollingOut().paused(), "0-1,3,x,7-"),
			want:  []string{"web-1 web-new", "web-2 web-old", "web-3 web-new", "web-4 web-old"},
		},
		"with random names as many are new as were before": {
			given: moved(aFleet(3, random(0)).random().rollingOut().paused(), "2"),
			want:  []string{randomName(1) + " web-new", randomName(2) + " web-old"},
		},
	})
}

// A pod whose ordinal was reserved has a successor of another name, which could
// come at once.
func TestASuccessorWaitsOnlyForAPlace(t *testing.T) {
	waits := func(d Decision) (lines []string) {
		for _, a := range d.Actions {
			lines = append(lines, strings.TrimSpace(string(a.Verb)+" "+a.Pod+" "+a.After))
		}
		return lines
	}
	moving := func(surge int) fleet {
		return aFleet(2, ordinal(0).unready(), ordinal(1)).budget(1, surge).reserving(0)
	}
	expectPlans(t, waits, map[string]planned{
		"where no pod may be too many it waits": {
			given: moving(0),
			want:  []string{"DeletePod web-0", "CreatePod web-2 web-0"},
		},
		"where one may be it does not": {
			given: moving(1),
			want:  []string{"DeletePod web-0", "CreatePod web-2"},
		},
		"a pod beyond the fleet that is lost with its node may yet stay": {
			given: aFleet(1, ordinal(1).outOfService()).budget(1, 0),
			want:  []string{"DeletePod web-1", "CreatePod web-0 web-1"},
		},
		"so where its successors have other names": {
			given:   aFleet(2, ordinal(0), ordinal(1).outOfService(), ordinal(2)).budget(1, 1).reserving(0, 1, 2),
			want:    []string{"DeletePod web-1", "DeletePod web-2", "CreatePod web-3 web-1", "CreatePod web-4 web-2"},
			blocked: []string{"DeletePod web-0 Budget"},
		},
		"pods that are adopted to go take the places of others": {
			given:   aFleet(2, ordinal(0).orphan(), ordinal(1).orphan()).budget(1, 1).reserving(0, 1),
			want:    []string{"AdoptPod web-0", "AdoptPod web-1", "CreatePod web-2"},
			blocked: []string{"CreatePod web-3 Budget"},
		},
		"where no pod may be too many all of them": {
			given:   aFleet(1, ordinal(3).orphan()).budget(1, 0),
			want:    []string{"AdoptPod web-3"},
			blocked: []string{"CreatePod web-0 Budget"},
		},
	})
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

// Evictions may be refused, so nothing counts on them; and WaitForDeletion
// begins with the deletion.
func TestSuccessorsThatWait(t *testing.T) {
	recreating := func(policy appsv1.TerminatingPolicy, evict bool) fleet {
		f := aFleet(2, random(0).revision(oldRev), random(1).revision(oldRev)).random().changing(Change{Recreate: "x"})
		f.desired.Terminating = Terminating{Policy: policy, Timeout: 30 * time.Second}
		f.desired.Update.UseEviction = evict
		return f
	}
	gone := random(1).revision(oldRev).terminating()
	gone.p.DeletedAt = ago(10 * time.Second)
	terminating := func(policy appsv1.TerminatingPolicy, timeout time.Duration) fleet {
		f := aFleet(2, random(0), gone).random()
		f.desired.Terminating = Terminating{Policy: policy, Timeout: timeout}
		return f
	}
	complete := terminating(appsv1.TerminatingWait, 0)
	complete.desired.Replicas = 1
	for name, test := range map[string]struct {
		given   fleet
		creates int
		blocked bool
		look    time.Duration
	}{
		"at once they do not":                      {recreating(appsv1.TerminatingReplaceAtOnce, false), 1, false, safetyLook},
		"unless the eviction may be refused":       {recreating(appsv1.TerminatingReplaceAtOnce, true), 0, true, safetyLook},
		"with WaitForDeletion from the first pass": {recreating(appsv1.TerminatingWait, false), 0, true, safetyLook},
		"with AfterTimeout too":                    {recreating(appsv1.TerminatingAfterTimeout, false), 0, true, safetyLook},
		"and while the pod terminates":             {terminating(appsv1.TerminatingWait, 0), 0, true, safetyLook},
		"with AfterTimeout until it is over":       {terminating(appsv1.TerminatingAfterTimeout, 15*time.Second), 0, true, 5 * time.Second},
		"and no longer":                            {terminating(appsv1.TerminatingAfterTimeout, 10*time.Second), 1, false, safetyLook},
		"a fleet that is complete waits for none":  {complete, 0, false, safetyLook},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.given.plan()
			creates := 0
			for _, a := range d.Actions {
				if a.Verb == CreatePod {
					creates++
				}
			}
			blocked := strings.Contains(strings.Join(heldBackOf(d), "\n"), "CreatePod Terminating")
			if creates != test.creates || blocked != test.blocked || d.NextLook != test.look {
				t.Errorf("%d creates, blocked: %t, next look after %s; want %d, %t, %s",
					creates, blocked, d.NextLook, test.creates, test.blocked, test.look)
			}
		})
	}
}

// TestASuccessorWaitsForADeletionThatMayFail: no kubelet keeps a pod of a lost node, so its
// successor waits for no end, but for the deletion, whatever the policy.
func TestASuccessorWaitsForADeletionThatMayFail(t *testing.T) {
	for _, policy := range []appsv1.TerminatingPolicy{appsv1.TerminatingReplaceAtOnce, appsv1.TerminatingWait, appsv1.TerminatingAfterTimeout} {
		f := aFleet(2, random(0), random(1).nodeGone()).random()
		f.desired.Terminating = Terminating{Policy: policy, Timeout: 30 * time.Second}
		d := f.plan()
		if len(d.Actions) != 2 || d.Actions[1].Verb != CreatePod || d.Actions[1].After != randomName(1) {
			t.Errorf("%s: %+v", policy, d.Actions)
		}
	}
}

func TestANewPodGetsItsClaimsFirst(t *testing.T) {
	ending := func(f fleet) fleet { f.observed.Claims[0].Terminating = true; return f }
	expectPlans(t, claimsOf, map[string]planned{
		"a new pod gets its claims first": {
			given: aFleet(1).claiming(appsv1.ClaimRetain, "data", "logs"),
			want:  []string{"CreateClaim data-web-0 ClaimMissing", "CreateClaim logs-web-0 ClaimMissing", "CreatePod web-0 Missing"},
		},
		"all claims come before the first pod": {
			given: aFleet(2).claiming(appsv1.ClaimRetain, "data"),
			want: []string{
				"CreateClaim data-web-0 ClaimMissing", "CreateClaim data-web-1 ClaimMissing",
				"CreatePod web-0 Missing", "CreatePod web-1 Missing",
			},
		},
		"a pod that comes back finds its claim again": {
			given: aFleet(1).claiming(appsv1.ClaimRetain, "data").claims(0),
			want:  []string{"CreatePod web-0 Missing"},
		},
		"a claim that terminates is waited for, or the pod would lose it": {
			given:   ending(aFleet(1).claiming(appsv1.ClaimRetain, "data").claims(0)),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
	})
}

// A pod that stands in for others becomes one of the fleet's when the fleet grows to
// its ordinal. Later it goes as the others do: in order, and with its claim.
func TestAStandInBecomesOneOfTheFleet(t *testing.T) {
	standIn := ordinal(1).standIn()
	expectPlans(t, claimsOf, map[string]planned{
		"it is kept": {
			given: aFleet(2, ordinal(0), standIn),
			want:  []string{"KeepPod web-1 ScaleUp"},
		},
		"and its claim": {
			given: aFleet(2, ordinal(0), standIn).claiming(appsv1.ClaimDelete, "data").claims(0, 1).forSurge(),
			want:  []string{"KeepPod web-1 ScaleUp", "AdoptClaim data-web-1 ClaimInUse"},
		},
		"beyond the fleet's ordinals it is what it was": {
			given: aFleet(1, ordinal(0), standIn).budget(0, 1),
			want:  []string{"DeletePod web-1 SurgeOver"},
		},
		"one that the rollout moves has time until it is back": {
			given:   aFleet(2, ordinal(0), standIn.revision(oldRev)).rollingOut().changing(Change{Recreate: "x"}),
			want:    []string{"DeletePod web-1 RolloutRecreate"},
			blocked: []string{"CreatePod web-1 Terminating"},
		},
	})
	m := newModel(aFleet(3, ordinal(0), ordinal(1), ordinal(2).standIn()).ordered().budget(0, 2).claiming(appsv1.ClaimDelete, "data").claims(0, 1, 2).forSurge())
	for range 3 {
		m.step(time.Second)
	}
	m.desired.Replicas = 1
	m.desired.Generation++
	for _, want := range []string{"web-2", "web-1"} {
		deleted := slices.DeleteFunc(m.step(time.Second).Actions, func(a Action) bool { return a.Verb != DeletePod })
		if len(deleted) != 1 || deleted[0].Pod != want || deleted[0].Why.Reason != appsv1.WhyScaleDown {
			t.Errorf("deleted %+v, want %s alone, for the scale-down", deleted, want)
		}
	}
	for range 3 {
		m.step(time.Second)
	}
	if len(m.claims) != 1 {
		t.Errorf("the claims are %v, want one", m.claims)
	}
}

// What is replaced while a rollout stands still comes back on the revision that it
// had, however long its place was empty, and whatever else is replaced meanwhile.
func TestAReplacedCanaryComesBackAsOne(t *testing.T) {
	begin := func(pod func(slot int) podBuilder, canaries ...int) fleet {
		return aFleet(4, podsOf(4, func(slot int) podBuilder {
			if slices.Contains(canaries, slot) {
				return pod(slot)
			}
			return pod(slot).revision(oldRev)
		})...).rollingOut().paused()
	}
	policy := func(f fleet, p appsv1.TerminatingPolicy) fleet { f.desired.Terminating.Policy = p; return f }
	scattered := begin(ordinal, 0, 3)
	for name, test := range map[string]struct {
		given fleet
		// go are the pods that go, and then nothing can be made for a while.
		goes []string
		want map[string]string
	}{
		"the canary": {begin(ordinal, 3), []string{"web-3"}, map[string]string{"web-3": newRev}},
		"the canary and another": {
			begin(ordinal, 3), []string{"web-0", "web-3"}, map[string]string{"web-0": oldRev, "web-3": newRev},
		},
		"a canary below another that goes": {
			scattered, []string{"web-0", "web-2"}, map[string]string{"web-0": newRev, "web-2": oldRev, "web-3": newRev},
		},
		"another alone": {begin(ordinal, 3), []string{"web-1"}, map[string]string{"web-1": oldRev, "web-3": newRev}},
		"the canary, with random names": {
			policy(begin(random, 1).random(), appsv1.TerminatingWait), []string{randomName(1)}, map[string]string{randomName(1): newRev},
		},
		"another, with random names": {
			policy(begin(random, 1).random(), appsv1.TerminatingWait), []string{randomName(2)}, map[string]string{randomName(1): newRev, randomName(2): oldRev},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(test.given)
			m.step(time.Second)
			for _, pod := range test.goes {
				p := m.pods[pod]
				p.Terminating, p.DeletedAt = true, m.now
				m.pods[pod] = p
			}
			m.pass() // sees them terminate
			for slot := range 8 {
				m.refused[refusal{CreatePod, slot}] = true
			}
			for range 3 {
				m.step(time.Minute)
			}
			clear(m.refused)
			for range 3 {
				m.step(time.Minute)
			}
			got := map[string]string{}
			for name, p := range m.pods {
				got[name] = p.Revision
			}
			want := map[string]string{}
			for _, p := range test.given.observed.Pods {
				want[p.Name] = p.Revision
			}
			for name, revision := range test.want {
				want[name] = revision
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("revisions (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a template that changes during the pause has no canaries", func(t *testing.T) {
		f := aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev)).rollingOut().paused()
		f.observed.Status.UpdateRevision, f.observed.Status.UpdatedReplicas = oldRev, 2
		m := newModel(f)
		delete(m.pods, "web-1")
		m.step(time.Second)
		if got := m.pods["web-1"].Revision; got != oldRev {
			t.Errorf("web-1 came back on %s, want %s", got, oldRev)
		}
	})
}
