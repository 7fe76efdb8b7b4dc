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
	corev1 "k8s.io/api/core/v1"
)

func TestCounts(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  Counts
	}{
		"every bucket of a mixed fleet": {
			given: aFleet(5,
				ordinal(0), ordinal(1).unready(), ordinal(2).pending(), ordinal(3).failed(time.Second), ordinal(4).nodeGone(),
				ordinal(5).terminating(), ordinal(6).drifted(),
			),
			want: Counts{Live: 3, Ready: 1, Available: 1, Updated: 3, Terminating: 1, Failed: 1, Lost: 1},
		},
		"a pod that is ready since a time to come is available, where no time is asked for": {
			given: aFleet(1, ordinal(0).readyFor(-time.Hour)),
			want:  Counts{Live: 1, Ready: 1, Available: 1, Updated: 1},
		},
		"an orphan that is taken in counts from the start": {
			given: aFleet(2, ordinal(0), ordinal(1).orphan()),
			want:  Counts{Live: 2, Ready: 2, Available: 2, Updated: 2},
		},
		"one that has no place, or terminates, is not counted": {
			given: aFleet(1, ordinal(0), aPod("stray").orphan(), ordinal(1).orphan().terminating()),
			want:  Counts{Live: 1, Ready: 1, Available: 1, Updated: 1},
		},
		"a pod of unknown state lives until its node is proved gone": {
			given: aFleet(1, ordinal(0).unready().phase(corev1.PodUnknown)),
			want:  Counts{Live: 1, Updated: 1},
		},
		"a failed pod on a node that is gone has failed": {
			given: aFleet(1, ordinal(0).failed(time.Second).nodeGone()),
			want:  Counts{Failed: 1},
		},
		"whatever terminates is terminating": {
			given: aFleet(1,
				ordinal(0).failed(time.Second).terminating(), ordinal(1).nodeGone().terminating(), ordinal(2).drifted().terminating(),
			),
			want: Counts{Terminating: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.given.plan().Counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAvailabilityAndTheNextLook(t *testing.T) {
	const minute = time.Minute
	for name, test := range map[string]struct {
		given     fleet
		available int
		want      time.Duration // 0: only an event can change anything
	}{
		"a fleet at its goal needs no look": {
			given: aFleet(1, ordinal(0)), available: 1,
		},
		"nor does an empty one": {
			given: aFleet(0),
		},
		"nor one that keeps a corpse": {
			given: aFleet(1, random(0), random(1).failed(time.Hour)).random(), available: 1,
		},
		"nor one whose pods have been ready for exactly long enough": {
			given: aFleet(1, ordinal(0).readyFor(minute)).minReady(minute), available: 1,
		},
		"a pod that is ready for less is looked at when its time has come": {
			given: aFleet(1, ordinal(0).readyFor(50*time.Second)).minReady(minute), want: 10 * time.Second,
		},
		"of several the first decides": {
			given:     aFleet(3, ordinal(0).readyFor(50*time.Second), ordinal(1).readyFor(55*time.Second), ordinal(2)).minReady(minute),
			available: 1, want: 5 * time.Second,
		},
		"the rest of a nanosecond is waited for": {
			given: aFleet(1, ordinal(0).readyFor(minute-1)).minReady(minute), want: soon,
		},
		"no wait is longer than the safety look": {
			given: aFleet(1, ordinal(0).readyFor(time.Second)).minReady(24 * time.Hour), want: safetyLook,
		},
		"a pod that is not ready may send an event that is missed": {
			given: aFleet(1, ordinal(0).unready()), want: safetyLook,
		},
		"so may one that terminates": {
			given: aFleet(1, ordinal(0), ordinal(1).terminating()), available: 1, want: safetyLook,
		},
		"and whichever pod has the name": {
			given: aFleet(1).held("web-0"), want: safetyLook,
		},
		"after an action the cache has something to show": {
			given: aFleet(1), want: safetyLook,
		},
		"an owner that goes is looked after until it is gone": {
			given: aFleet(0).deleting(DeletionDelete), want: safetyLook,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if got.NextLook != test.want || got.Counts.Available != test.available {
				t.Errorf("next look in %s with %d available, want %s with %d",
					got.NextLook, got.Counts.Available, test.want, test.available)
			}
		})
	}
}

// What Report has to know of the live pods, by name.
func TestLivePodsAreSortedByName(t *testing.T) {
	got := aFleet(3, aPod("c").unready(), aPod("a").readyFor(time.Second), aPod("b").revision(oldRev)).
		random().paused().minReady(time.Minute).plan()
	want := []LivePod{
		{Name: "a", Ready: true, Updated: true},
		{Name: "b", Ready: true, Available: true},
		{Name: "c", Updated: true},
	}
	if diff := cmp.Diff(want, got.Live); diff != "" {
		t.Errorf("live pods (-want +got):\n%s", diff)
	}
}
