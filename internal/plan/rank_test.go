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
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// crowded is the zone, and full the node, where there is a pod already.
const crowded, full = "zone-crowded", "node-full"

// flaws are what makes a pod the one to go, the gravest first. It is the
// design's list, written down a second time.
var flaws = []struct {
	name  string
	spoil func(podBuilder) podBuilder
}{
	{"asked for by label", podBuilder.requested},
	{"not scheduled", func(b podBuilder) podBuilder { return b.on("") }},
	{"Pending", func(b podBuilder) podBuilder { return b.phase(corev1.PodPending) }},
	{"not ready", func(b podBuilder) podBuilder { b.p.Ready = false; return b }},
	{"on the old revision", func(b podBuilder) podBuilder { return b.revision(oldRev) }},
	{"of lower deletion cost", func(b podBuilder) podBuilder { return b.cost(-1) }},
	{"in a zone with more pods", func(b podBuilder) podBuilder { return b.zone(crowded) }},
	{"on a node with more pods", func(b podBuilder) podBuilder { return b.on(full) }},
	{"ready more recently", func(b podBuilder) podBuilder { b.p.ReadySince = ago(time.Minute); return b }},
	{"restarted more often", func(b podBuilder) podBuilder { return b.restarts(5) }},
	{"newer", func(b podBuilder) podBuilder { return b.created(time.Minute) }},
	{"of a higher ordinal", func(b podBuilder) podBuilder { return b.slot(9) }},
}

// The victim has one flaw, the survivor every lesser one: the first difference
// decides, and no sum of lesser ones outweighs it.
func TestTheFirstDifferenceDecidesWhoGoes(t *testing.T) {
	for i, flaw := range flaws {
		t.Run(flaw.name, func(t *testing.T) {
			// The names speak against the survivor as well.
			victim := flaw.spoil(aPod("a-victim").slot(1).on("node-1").zone("zone-1"))
			survivor := aPod("z-survivor").slot(1).on("node-2").zone("zone-2")
			for _, lesser := range flaws[i+1:] {
				survivor = lesser.spoil(survivor)
			}
			best := aPod("best").slot(0).on(full).zone(crowded)
			best.p.ReadySince = ago(24 * time.Hour)
			for _, order := range permutations(victim, survivor, best) {
				got := saidOf(aFleet(2, order...).random().paused().plan())
				if diff := cmp.Diff([]string{"DeletePod a-victim ScaleDown"}, got); diff != "" {
					t.Errorf("actions (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func permutations(a, b, c podBuilder) [][]podBuilder {
	return [][]podBuilder{{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}}
}

func TestWhatSetsTheVictimApart(t *testing.T) {
	same := aPod("pod-a")
	for name, test := range map[string]struct {
		pods []podBuilder
		want string // the victim and why
	}{
		"asked for":          {[]podBuilder{same, aPod("b").requested()}, "b: its deletion was asked for by label"},
		"not scheduled":      {[]podBuilder{same, aPod("b").on("")}, "b: it is not scheduled"},
		"Pending first":      {[]podBuilder{aPod("a").phase(corev1.PodUnknown), aPod("b").phase(corev1.PodPending)}, "b: its phase is the earlier one"},
		"then Unknown":       {[]podBuilder{aPod("a").phase(corev1.PodRunning), aPod("b").phase(corev1.PodUnknown)}, "b: its phase is the earlier one"},
		"no phase yet":       {[]podBuilder{aPod("a").phase(corev1.PodUnknown), aPod("b").phase("")}, "b: its phase is the earlier one"},
		"not ready":          {[]podBuilder{same, aPod("b").unready()}, "b: it is not ready"},
		"old revision":       {[]podBuilder{same, aPod("b").revision(oldRev)}, "b: the rollout has not reached it"},
		"deletion cost":      {[]podBuilder{aPod("a").cost(10), aPod("b").cost(9)}, "b: its deletion cost is lower"},
		"negative cost":      {[]podBuilder{same, aPod("b").cost(-1)}, "b: its deletion cost is lower"},
		"crowded zone":       {[]podBuilder{aPod("a").zone("x").on("1"), aPod("b").zone("y").on("2"), aPod("c").zone("x").on("3")}, "c: its zone has more pods of this owner"},
		"crowded node":       {[]podBuilder{aPod("a").on("x"), aPod("b").on("y"), aPod("c").on("x")}, "c: its node has more pods of this owner"},
		"a node of one zone": {[]podBuilder{aPod("a").zone("z").on("x"), aPod("b").zone("z").on("y"), aPod("c").zone("z").on("x")}, "c: its node has more pods of this owner"},
		"a node of equal zones": {
			[]podBuilder{
				aPod("a").zone("z").on("z1"), aPod("b").zone("z").on("z2"), aPod("c").zone("y").on("y1"), aPod("d").zone("y").on("y1"),
			}, "d: its node has more pods of this owner",
		},
		"a zone with more pods than the emptiest": {
			[]podBuilder{
				aPod("a").zone("x").on("1"), aPod("b").zone("y").on("2"), aPod("c").zone("y").on("3"),
				aPod("d").zone("z").on("4"), aPod("e").zone("z").on("5"),
			}, "e: its zone has more pods of this owner",
		},
		"one place for all":  {[]podBuilder{aPod("a").zone("z"), aPod("b").zone("z").restarts(1)}, "b: it restarted more often"},
		"ready recently":     {[]podBuilder{aPod("a").readyFor(2 * time.Hour).on("x"), aPod("b").on("y")}, "b: it became ready more recently"},
		"restarts":           {[]podBuilder{aPod("a").on("x"), aPod("b").restarts(1).on("y")}, "b: it restarted more often"},
		"newer":              {[]podBuilder{aPod("a").on("x"), aPod("b").created(time.Hour).on("y")}, "b: it is newer"},
		"higher ordinal":     {[]podBuilder{aPod("a").slot(3).on("x"), aPod("b").slot(4).on("y")}, "b: its ordinal is higher"},
		"nothing but a name": {[]podBuilder{aPod("a").on("x"), aPod("b").on("y")}, "b: its name comes last"},
	} {
		t.Run(name, func(t *testing.T) {
			got := aFleet(len(test.pods)-1, test.pods...).random().paused().plan()
			if len(got.Actions) != 1 {
				t.Fatalf("actions %v, want one", saidOf(got))
			}
			_, because, _ := strings.Cut(got.Actions[0].Why.Message, "chosen because ")
			if diff := cmp.Diff(test.want, got.Actions[0].Pod+": "+because); diff != "" {
				t.Errorf("victim (-want +got):\n%s", diff)
			}
		})
	}
}

// A zone, or within it a node, gives up pods only as long as it has the most:
// whatever lost a pod has, in the end, at most one less than the fullest.
func TestScaleDownKeepsZonesAndNodesEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "pods")
		zones := rapid.IntRange(1, 4).Draw(t, "zones")
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes per zone")
		f := aFleet(rapid.IntRange(0, n).Draw(t, "replicas")).random()
		before, after := map[string]map[string]int{}, map[string]map[string]int{}
		home := map[string]Pod{}
		pods := podsOf(n, func(i int) podBuilder {
			zone := fmt.Sprint("zone-", rapid.IntRange(0, zones-1).Draw(t, "zone"))
			node := fmt.Sprint(zone, "-node-", rapid.IntRange(0, nodes-1).Draw(t, "node"))
			return random(i).zone(zone).on(node).restarts(rapid.IntRange(0, 3).Draw(t, "restarts"))
		})
		for _, b := range pods {
			home[b.p.Name] = b.p
			for _, count := range []map[string]map[string]int{before, after} {
				if count[b.p.Zone] == nil {
					count[b.p.Zone] = map[string]int{}
				}
				count[b.p.Zone][b.p.Node]++
			}
		}
		got := f.with(pods...).plan()
		if len(got.Actions) != n-f.desired.Replicas {
			t.Fatalf("%d actions, want %d deletes", len(got.Actions), n-f.desired.Replicas)
		}
		for _, a := range got.Actions {
			after[home[a.Pod].Zone][home[a.Pod].Node]--
		}
		zonesBefore, zonesAfter := map[string]int{}, map[string]int{}
		for zone := range before {
			for node := range before[zone] {
				zonesBefore[zone] += before[zone][node]
				zonesAfter[zone] += after[zone][node]
			}
			checkEven(t, "nodes of "+zone, before[zone], after[zone])
		}
		checkEven(t, "zones", zonesBefore, zonesAfter)
	})
}

func checkEven(t *rapid.T, what string, before, after map[string]int) {
	t.Helper()
	fullest := 0
	for _, n := range after {
		fullest = max(fullest, n)
	}
	for place, n := range after {
		if n < before[place] && n < fullest-1 {
			t.Errorf("%s: %s gave up pods and has %d left, while another has %d\nbefore %v\nafter  %v",
				what, place, n, fullest, before, after)
		}
	}
}

// Ranking must not depend on the order in which the cache lists the pods.
func TestRankingIsTheSameInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.SliceOfNDistinct(podGenerator(), 0, 20, func(p Pod) string { return p.Name }).Draw(t, "pods")
		ranked := func(pods []Pod) []string {
			pointers := make([]*Pod, len(pods))
			for i := range pods {
				pointers[i] = &pods[i]
			}
			var names []string
			victims := rankVictims(pointers, func(p *Pod) bool { return p.Revision == newRev }, nil)
			for n := range victims {
				explain(victims[:n], victims[n:])
			}
			for i, v := range victims {
				names = append(names, v.pod.Name)
				if i < len(victims)-1 && v.because == "" {
					t.Errorf("%s is given up without a because", v.pod.Name)
				}
			}
			return names
		}
		want := ranked(slices.Clone(pods))
		got := ranked(rapid.Permutation(pods).Draw(t, "shuffled"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order (-sorted +shuffled):\n%s", diff)
		}
	})
}
