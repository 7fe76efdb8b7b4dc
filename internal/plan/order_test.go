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
	"testing"
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestOrderedReady(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
		"the first pod comes alone": {aFleet(3).ordered(), []string{"CreatePod web-0 Missing"}, []string{"CreatePod web-1 OrderedReady"}},
		"the next waits until it is available": {
			aFleet(3, ordinal(0).pending()).ordered(), nil, []string{"CreatePod web-1 OrderedReady"},
		},
		"and for as long as minReadySeconds say": {
			aFleet(2, ordinal(0).readyFor(time.Second)).minReady(time.Minute).ordered(), nil, []string{"CreatePod web-1 OrderedReady"},
		},
		"then it comes": {
			aFleet(3, ordinal(0)).ordered(), []string{"CreatePod web-1 Missing"}, []string{"CreatePod web-2 OrderedReady"},
		},
		"a lower ordinal comes before a higher one": {
			aFleet(3, ordinal(1)).ordered(), []string{"CreatePod web-0 Missing"}, []string{"CreatePod web-2 OrderedReady"},
		},
		"a pod that terminates is waited for": {
			aFleet(3, ordinal(0).terminating()).ordered(), nil, []string{"CreatePod web-0 Terminating", "CreatePod web-1 OrderedReady"},
		},
		"a name that is taken is reported, and waited for": {
			aFleet(2).held("web-0").ordered(), nil, []string{"CreatePod web-0 NameTaken", "CreatePod web-1 OrderedReady"},
		},
		"reserved ordinals are passed over": {
			func() fleet { f := aFleet(2, ordinal(1)).ordered(); f.desired.Reserved = []int{0}; return f }(),
			[]string{"CreatePod web-2 Missing"},
			nil,
		},
		"the highest goes alone": {
			aFleet(1, ordinal(0), ordinal(1), ordinal(2)).ordered(),
			[]string{"DeletePod web-2 ScaleDown"},
			[]string{"DeletePod web-1 OrderedReady"},
		},
		"the next waits until it is gone": {
			aFleet(1, ordinal(0), ordinal(1), ordinal(2).terminating()).ordered(), nil, []string{"DeletePod web-1 OrderedReady"},
		},
		"also where it has failed": {
			aFleet(1, ordinal(0), ordinal(1), ordinal(2).failed(time.Hour)).ordered(),
			[]string{"DeletePod web-2 PodFailed"},
			[]string{"DeletePod web-1 OrderedReady"},
		},
		"and is held": {
			aFleet(1, ordinal(0), ordinal(1), ordinal(2).failed(time.Hour).holdDelete()).ordered(),
			[]string{"TellHolder web-2 Held"},
			[]string{"DeletePod web-1 OrderedReady", "DeletePod web-2 Hold"},
		},
		"and where it is held and its node is gone": {
			aFleet(1, ordinal(0), ordinal(1), ordinal(2).nodeGone().holdDelete()).ordered(),
			[]string{"TellHolder web-2 Held"},
			[]string{"DeletePod web-2 Hold", "DeletePod web-1 OrderedReady"},
		},
		"and for the pods that stay": {
			aFleet(1, ordinal(0).unready(), ordinal(1)).ordered(), nil, []string{"DeletePod web-1 OrderedReady"},
		},
		"a broken pod that is to go keeps no other from going": {
			aFleet(1, ordinal(0), ordinal(1).unready(), ordinal(2)).ordered(),
			[]string{"DeletePod web-2 ScaleDown"},
			[]string{"DeletePod web-1 OrderedReady"},
		},
		"one that does not serve waits for a higher one that stands in": {
			aFleet(2, ordinal(0).evicted(0), ordinal(1), ordinal(2).pending(), ordinal(3)).surgeFirst(2).ordered(),
			[]string{"EvictPod web-0 EvictionRequested"},
			[]string{"DeletePod web-2 OrderedReady", "CreatePod web-0 Terminating"},
		},
		"a change that takes no pod goes on beside it": {
			aFleet(1, ordinal(0).revision(oldRev), ordinal(1)).changing(Change{Metadata: true}).ordered(),
			[]string{"DeletePod web-1 ScaleDown", "UpdatePod web-0 RolloutInPlace"},
			nil,
		},
		"all go, one by one": {
			aFleet(0, ordinal(0), ordinal(1).pending()).ordered(),
			[]string{"DeletePod web-1 ScaleDown"},
			[]string{"DeletePod web-0 OrderedReady"},
		},
		"a broken revision does not keep its fix back": {
			aFleet(3, ordinal(0).revision(oldRev).unready()).rollingOut().ordered(),
			[]string{"DeletePod web-0 RolloutRecreate"},
			[]string{"CreatePod web-0 Terminating", "CreatePod web-1 OrderedReady"},
		},
		"a rollout keeps its own budget": {
			aFleet(3, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev), ordinal(2).revision(oldRev)).rollingOut().budget(2, 0).ordered(),
			[]string{"DeletePod web-2 RolloutRecreate", "DeletePod web-1 RolloutRecreate"},
			[]string{"UpdatePod web-0 Budget", "CreatePod web-1 Terminating", "CreatePod web-2 Terminating"},
		},
		"a pod that the rollout restarts in this pass is waited for": {
			aFleet(3, ordinal(0), ordinal(1).revision(oldRev)).changing(images()).budget(2, 0).ordered(),
			[]string{"UpdatePod web-1 RolloutInPlace"},
			[]string{"CreatePod web-2 OrderedReady"},
		},
		"but not one whose change restarts nothing": {
			aFleet(3, ordinal(0), ordinal(1).revision(oldRev)).changing(Change{Metadata: true}).budget(2, 0).ordered(),
			[]string{"UpdatePod web-1 RolloutInPlace", "CreatePod web-2 RolloutRecreate"},
			nil,
		},
		"a failed pod makes room for its successor": {
			aFleet(2, ordinal(0).failed(time.Hour), ordinal(1)).ordered(),
			[]string{"DeletePod web-0 PodFailed"},
			[]string{"CreatePod web-0 Terminating"},
		},
	})
}

func TestOrderedReadySaysWhatItWaitsFor(t *testing.T) {
	for name, tc := range map[string]struct {
		given fleet
		want  string
		count int
	}{
		"to start":   {aFleet(4, ordinal(0), ordinal(1).pending()).ordered(), "waiting for web-1 to become available: pods start in order", 2},
		"to be gone": {aFleet(0, ordinal(0), ordinal(1), ordinal(2).terminating()).ordered(), "waiting until web-2 is gone: pods are removed in order", 2},
	} {
		t.Run(name, func(t *testing.T) {
			blocked := tc.given.plan().Blocked
			if len(blocked) != 1 || blocked[0].Message != tc.want || blocked[0].Count != tc.count {
				t.Errorf("held back %+v, want %d: %s", blocked, tc.count, tc.want)
			}
		})
	}
}

// outOfOrder are the actions of a plan that break the order of an OrderedReady
// fleet.
func outOfOrder(f fleet, d Decision) []string {
	available, base := map[string]bool{}, ordinalsOf(f.desired, f.desired.Replicas)
	for _, p := range d.Live {
		available[p.Name] = p.Available
	}
	for _, a := range d.Actions {
		if a.Verb == DeletePod || a.Verb == EvictPod {
			available[a.Pod] = available[a.Pod] && !slices.Contains(base, a.Slot)
		}
	}
	var broken []string
	removed := 0
	for _, a := range d.Actions {
		switch {
		case a.Verb == CreatePod && slices.Contains(base, a.Slot):
			for _, slot := range base {
				if name := SlotName(&f.desired, slot); slot < a.Slot && !available[name] {
					broken = append(broken, fmt.Sprintf("%s is created, and %s is not available", a.Pod, name))
				}
			}
		case a.Verb == DeletePod && a.Why.Reason == appsv1.WhyScaleDown && a.Slot != NoSlot:
			removed++
			broken = append(broken, f.removedTooEarly(a)...)
		}
	}
	if removed > 1 {
		broken = append(broken, fmt.Sprintf("%d pods are removed at once: %v", removed, saidOf(d)))
	}
	return broken
}

// removedTooEarly: a pod with a higher ordinal is still there. What ended, and what
// stands in for others during a rollout, is not waited for.
func (f fleet) removedTooEarly(a Action) (broken []string) {
	for _, p := range f.observed.Pods {
		if p.Slot > a.Slot && p.Membership == Member && !p.dead() && !p.Surge && !slices.Contains(f.desired.Reserved, p.Slot) {
			broken = append(broken, fmt.Sprintf("%s is removed, and %s is there", a.Pod, p.Name))
		}
	}
	return broken
}
