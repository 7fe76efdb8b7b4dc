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

	"k8s.io/utils/ptr"
)

func TestFindLeaving(t *testing.T) {
	surge := []string{"CreatePod web-2 DisruptionSurge"}
	waits := []string{"EvictPod web-0 Replacement"}
	letThrough := 5*time.Minute + LetThrough + time.Minute
	expectPlans(t, saidOf, map[string]planned{
		"an eviction waits for a pod that stands in": {aFleet(2, ordinal(0).evicted(0), ordinal(1)).surgeFirst(1), surge, waits},
		"so does a notice of the node":               {aFleet(2, ordinal(0).nodeLeaving(), ordinal(1)).surgeFirst(1), surge, waits},
		"with policy Allow nothing waits":            {aFleet(2, ordinal(0).evicted(0), ordinal(1).nodeLeaving()), nil, nil},
		"until the deadline":                         {aFleet(2, ordinal(0).evicted(5*time.Minute-1), ordinal(1)).surgeFirst(1), surge, waits},
		"then no replacement is made any more":       {aFleet(2, ordinal(0).evicted(5*time.Minute), ordinal(1)).surgeFirst(1), nil, nil},
		"and not after that":                         {aFleet(2, ordinal(0).evicted(letThrough), ordinal(1)).surgeFirst(1), nil, nil},
		"the stand-in stays while the eviction is let through, until its client has asked anew": {
			aFleet(2, ordinal(0).evicted(letThrough-1), ordinal(1), ordinal(2).surge().pending()).surgeFirst(1), nil, waits,
		},
		"nor is a replacement made for one of those that were let through while another waits": {
			aFleet(3, ordinal(0).evicted(5*time.Minute), ordinal(1).evicted(0), ordinal(2), ordinal(3).surge().pending()).surgeFirst(2),
			nil,
			[]string{"EvictPod web-0 Replacement", "EvictPod web-1 Replacement"},
		},
		"a node that goes has no deadline": {
			aFleet(2, ordinal(0).evicted(5*time.Minute).nodeLeaving(), ordinal(1)).surgeFirst(1), surge, waits,
		},
		"with random names a replacement that starts stays, too": {
			aFleet(1, random(0).evicted(5*time.Minute), random(1).unscheduled()).random().surgeFirst(1),
			nil,
			[]string{"EvictPod " + randomName(0) + " Replacement"},
		},
		"and none is made": {aFleet(1, random(0).evicted(5*time.Minute)).random().surgeFirst(1), nil, nil},
		"also one that waits for minReadySeconds": {
			aFleet(1, ordinal(0).evicted(5*time.Minute), ordinal(1).surge().readyFor(time.Second)).surgeFirst(1).minReady(time.Minute), nil, waits,
		},
		"and the pod goes when it is available": {
			aFleet(1, ordinal(0).evicted(letThrough-1), ordinal(1).surge()).surgeFirst(1),
			[]string{"EvictPod web-0 EvictionRequested"},
			[]string{"CreatePod web-0 Terminating"},
		},
		"a replacement that starts on a node that is cordoned meanwhile stays": {
			aFleet(2, ordinal(0).evicted(0), ordinal(1), ordinal(2).surge().pending()).surgeFirst(1).nodes(0, 3), nil, waits,
		},
		"a request that a fast clock wrote counts": {
			aFleet(2, ordinal(0).evicted(-time.Minute), ordinal(1)).surgeFirst(1), surge, waits,
		},
		"a pod that does not serve needs no replacement": {aFleet(2, ordinal(0).evicted(0).unready(), ordinal(1)).surgeFirst(1), nil, nil},
		"no more stand in at once than may": {
			aFleet(4, ordinal(0).evicted(0), ordinal(1).evicted(0), ordinal(2).evicted(0), ordinal(3)).surgeFirst(2),
			[]string{"CreatePod web-4 DisruptionSurge", "CreatePod web-5 DisruptionSurge"},
			[]string{"EvictPod web-0 Replacement", "EvictPod web-1 Replacement", "EvictPod web-2 Replacement"},
		},
		"none is made where no node takes it": {
			aFleet(2, ordinal(0).evicted(0), ordinal(1)).surgeFirst(1).nodes(0, 3), nil, []string{"EvictPod web-0 NodesCordoned"},
		},
		"one open node is enough": {aFleet(2, ordinal(0).evicted(0), ordinal(1)).surgeFirst(1).nodes(1, 3), surge, waits},
		"with random names any new pod is the replacement": {
			aFleet(2, random(0).evicted(0), random(1)).random().surgeFirst(1),
			[]string{"CreatePod " + randomName(2) + " DisruptionSurge"},
			[]string{"EvictPod " + randomName(0) + " Replacement"},
		},
		"a scale-down takes the pods that leave first": {
			aFleet(1, random(0), random(1).evicted(0)).random().surgeFirst(1).budget(1, 0),
			[]string{"EvictPod " + randomName(1) + " EvictionRequested"},
			nil,
		},
		"a rollout and a drain share the surge": {
			aFleet(2, ordinal(0).evicted(0).revision(oldRev), ordinal(1).revision(oldRev)).rollingOut().budget(0, 1).surgeFirst(1),
			surge,
			[]string{"EvictPod web-0 Replacement", "UpdatePod web-1 Budget"},
		},
		"a stand-in follows no rollout that stands still": {
			aFleet(2, ordinal(0).evicted(0).revision(oldRev), ordinal(1).revision(oldRev)).rollingOut().paused().surgeFirst(1),
			surge,
			[]string{"EvictPod web-0 Replacement", "UpdatePod web-1 Paused"},
		},
	})
}

func TestAStandInOfAPausedRolloutIsOnTheOldRevision(t *testing.T) {
	f := aFleet(2, ordinal(0).evicted(0).revision(oldRev), ordinal(1).revision(oldRev)).rollingOut().paused().surgeFirst(1)
	actions := f.plan().Actions
	if len(actions) != 1 || actions[0].Revision != oldRev {
		t.Fatalf("actions %+v, want a pod of revision %s", actions, oldRev)
	}
	// And it stays while it starts.
	if d := f.with(ordinal(2).surge().revision(oldRev).pending()).plan(); len(d.Actions) > 0 {
		t.Errorf("actions %v, want none while the stand-in starts", saidOf(d))
	}
}

func TestWhatIsSaidOfPodsThatLeave(t *testing.T) {
	by := ordinal(0).evicted(0)
	by.p.EvictionBy = "example.com/drain"
	for name, c := range map[string]struct {
		given    fleet
		surge    string
		why      string
		leaving  int
		standIns int
	}{
		"one": {
			aFleet(2, ordinal(0).evicted(0), ordinal(1)).surgeFirst(1),
			"carries the load while web-0 leaves its node; disruption.maxSurge is 1",
			"an eviction from node node-a was requested; it stays until a replacement is available", 1, 0,
		},
		"two": {
			aFleet(2, by, ordinal(1).evicted(0)).surgeFirst(1),
			"carries the load while web-0, web-1 leave their nodes; disruption.maxSurge is 1",
			"an eviction from node node-a was requested by example.com/drain; it stays until a replacement is available", 2, 0,
		},
		"three, for a node that goes": {
			aFleet(3, podsOf(3, func(slot int) podBuilder { return ordinal(slot).nodeLeaving() })...).surgeFirst(1),
			"carries the load while web-0, web-1, web-2 leave their nodes; disruption.maxSurge is 1",
			"node node-a goes: taint example.com/spot; it stays until a replacement is available", 3, 0,
		},
		"many": {
			aFleet(4, podsOf(4, func(slot int) podBuilder { return ordinal(slot).nodeLeaving() })...).surgeFirst(1),
			"carries the load while 4 pods leave their nodes; disruption.maxSurge is 1",
			"node node-a goes: taint example.com/spot; it stays until a replacement is available", 4, 0,
		},
		"one whose stand-in starts": {
			aFleet(1, ordinal(0).evicted(0), ordinal(1).surge().pending()).surgeFirst(1),
			"", "an eviction from node node-a was requested; it stays until a replacement is available", 1, 1,
		},
		"one with a random name whose replacement starts": {
			aFleet(1, random(0).evicted(0), random(1).pending()).random().surgeFirst(1),
			"", "an eviction from node node-a was requested; it stays until a replacement is available", 1, 1,
		},
		"one with a random name whose replacement is not there yet": {
			aFleet(1, random(0).evicted(0)).random().surgeFirst(1),
			"carries the load while " + randomName(0) + " leaves its node; disruption.maxSurge is 1",
			"an eviction from node node-a was requested; it stays until a replacement is available", 1, 0,
		},
		"none in a rollout": {aFleet(1, ordinal(0).revision(oldRev)).rollingOut().surgeFirst(1), "", "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.given.plan()
			surge, why := "", ""
			for _, a := range d.Actions {
				if a.Verb == CreatePod {
					surge = a.Why.Message
				}
			}
			if len(d.Blocked) > 0 && d.Blocked[0].Verb == EvictPod {
				why = d.Blocked[0].Message
			}
			if surge != c.surge || why != c.why || d.Counts.Leaving != c.leaving || d.Counts.StandIns != c.standIns {
				t.Errorf("%q, %q, %+v", surge, why, d.Counts)
			}
		})
	}
}

// An eviction that waited ends as it was asked for, and no other does.
func TestTheGracePeriodOfAnEviction(t *testing.T) {
	asked := ordinal(0).evicted(0)
	asked.p.EvictionGrace = ptr.To[int64](5)
	late := ordinal(0).evicted(time.Hour).nodeLeaving()
	late.p.EvictionGrace = ptr.To[int64](5)
	for name, c := range map[string]struct {
		leaver podBuilder
		want   *int64
	}{
		"as it was asked for":          {asked, ptr.To[int64](5)},
		"where none was asked for":     {ordinal(0).evicted(0), nil},
		"for another reason, later on": {late, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := aFleet(1, c.leaver, ordinal(1).surge()).surgeFirst(1).plan()
			if len(d.Actions) != 1 || d.Actions[0].Verb != EvictPod || !ptr.Equal(d.Actions[0].Grace, c.want) {
				t.Errorf("%+v", d.Actions)
			}
		})
	}
}

// A pod that was not made for a scale-up may have the name of another that a client
// still tries to evict. Where no eviction waits, that does not matter.
func TestNewPodsThatReplaceOthers(t *testing.T) {
	grown := aFleet(2, ordinal(0)).surgeFirst(1)
	grown.desired.Generation++
	drained := aFleet(3, ordinal(0), ordinal(2)).surgeFirst(1)
	drained.desired.Generation++
	left := aFleet(3, random(1), random(2)).random().surgeFirst(1)
	left.desired.Generation++
	more := aFleet(3, random(0), random(1)).random().surgeFirst(1)
	more.desired.Generation++
	for name, c := range map[string]struct {
		given fleet
		want  bool
	}{
		"one that is missing":      {aFleet(2, ordinal(0)).surgeFirst(1), true},
		"one of a scale-up":        {grown, false},
		"one below, in a scale-up": {drained, true},
		"with random names one whose name is free again, in a scale-up": {left, true},
		"and not one with a new name":                                   {more, false},
		"one that stands in":                                            {aFleet(1, ordinal(0).evicted(0)).surgeFirst(1), true},
		"one where evictions wait not":                                  {aFleet(2, ordinal(0)), false},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.given.plan()
			if len(d.Actions) != 1 || d.Actions[0].Verb != CreatePod || d.Actions[0].Replaces != c.want {
				t.Errorf("%+v", d.Actions)
			}
		})
	}
}

// TestAPauseKeepsThePodThatStandsIn: nothing is recreated while a rollout is paused, not
// even a pod that does not serve yet.
func TestAPauseKeepsThePodThatStandsIn(t *testing.T) {
	f := aFleet(3, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev).evicted(0), ordinal(2).revision(oldRev).pending(),
		ordinal(3).revision(oldRev).surge().pending()).rollingOut().surgeFirst(1).paused()
	f.observed.Status.CurrentRevision = "" // the fleet was never complete
	if d := f.plan(); len(d.Actions) > 0 {
		t.Error("a paused rollout writes", saidOf(d))
	}
}
