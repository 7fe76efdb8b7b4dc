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

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestDeleteRequested(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
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
		"a pod that a user asked for is replaced in the same pass": {
			given: aFleet(2, random(0), random(1).requested()).random(),
			want:  []string{"DeletePod " + randomName(1) + " RequestedByLabel", "CreatePod " + randomName(2) + " Missing"},
		},
		"a rollout waits for its successor": {
			given:   aFleet(2, random(0).revision(oldRev), random(1).requested()).random().rollingOut(),
			want:    []string{"DeletePod " + randomName(1) + " RequestedByLabel", "CreatePod " + randomName(2) + " RolloutRecreate"},
			blocked: []string{"UpdatePod " + randomName(0) + " Budget"},
		},
		"a scale-down takes it first and replaces nothing": {
			given: aFleet(2, random(0).pending(), random(1).requested(), random(2)).random(),
			want:  []string{"DeletePod " + randomName(1) + " ScaleDown"},
		},
		"two requests and a scale-down of one: the second waits for the next pass": {
			given: aFleet(2, random(0), random(1).requested(), random(2).requested()).random(),
			want:  []string{"DeletePod " + randomName(2) + " ScaleDown"},
		},
	})
}

// TestTheDeleteLabelIsObeyedBesideASurge: no pod is too many then, and a surge may stay
// for as long as a rollout is stuck.
func TestTheDeleteLabelIsObeyedBesideASurge(t *testing.T) {
	f := aFleet(3, random(0).revision(oldRev).requested(), random(1).revision(oldRev), random(2).revision(oldRev), random(3).unready()).
		random().rollingOut().budget(0, 1)
	f.desired.Update.Strategy = appsv1.UpdateRecreate
	d := f.plan()
	if !slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Verb == DeletePod && a.Pod == randomName(0) }) {
		t.Error("the pod stays:", saidOf(d), heldBackOf(d))
	}
}

// TestTheLabelIsObeyedByItsOwnRule: "why" names the rule, and a scale-down deleted
// nothing where as many pods live as are asked for.
func TestTheLabelIsObeyedByItsOwnRule(t *testing.T) {
	for rule, given := range map[string]fleet{
		"delete-requested": aFleet(2, random(0), random(1).requested()).random(),
		"scale-down":       aFleet(1, random(0), random(1).requested()).random(),
	} {
		d := given.plan()
		if len(d.Actions) == 0 || d.Actions[0].Pod != randomName(1) || d.Actions[0].Why.Rule != rule {
			t.Errorf("%s does not delete %s: %v", rule, randomName(1), saidOf(d))
		}
	}
}

// TestTheDeleteLabelIsObeyedBeyondTheOrdinals: also where the budget would keep a pod, or it stands in
// for others.
func TestTheDeleteLabelIsObeyedBeyondTheOrdinals(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
		"a pod that a scale-down keeps, while another is not ready": {
			given: aFleet(2, ordinal(0).unready(), ordinal(1), ordinal(2).requested()).budget(0, 1),
			want:  []string{"DeletePod web-2 ScaleDown"},
		},
		"a pod that stands in for one that is not back": {
			given: aFleet(2, ordinal(0).unready(), ordinal(1), ordinal(2).surge().requested()).surgeFirst(1),
			want:  []string{"DeletePod web-2 RequestedByLabel"},
		},
		"a pod that stands in for one that leaves": {
			given:   aFleet(2, ordinal(0).evicted(time.Minute), ordinal(1), ordinal(2).surge().requested().unready()).surgeFirst(1).nodes(2, 3),
			want:    []string{"DeletePod web-2 RequestedByLabel"},
			blocked: []string{"EvictPod web-0 Replacement", "CreatePod web-2 Terminating"},
		},
	})
}

// TestTheDeleteLabelIsObeyedOfAPodThatIsKept for inspection: its successor is there.
func TestTheDeleteLabelIsObeyedOfAPodThatIsKept(t *testing.T) {
	kept := random(1).failed(time.Hour)
	expectPlans(t, saidOf, map[string]planned{
		"a failed pod": {
			given: aFleet(1, random(0), kept.requested()).random(),
			want:  []string{"DeletePod " + randomName(1) + " RequestedByLabel"},
		},
		"without the label it stays": {given: aFleet(1, random(0), kept).random()},
		"and where it is held": {
			given:   aFleet(1, random(0), kept.requested().holdDelete()).random(),
			want:    []string{"TellHolder " + randomName(1) + " Held"},
			blocked: []string{"DeletePod " + randomName(1) + " Hold"},
		},
	})
}
