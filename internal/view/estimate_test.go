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

package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/plan"
)

func TestWavesFollowThePassesInWhichPodsChange(t *testing.T) {
	update := func(pod string) plan.Action { return action(plan.UpdatePod, pod, appsv1.WhyRolloutInPlace) }
	remove := func(pod string) plan.Action { return action(plan.DeletePod, pod, appsv1.WhyRolloutRecreate) }
	create := func(pod string) plan.Action { return action(plan.CreatePod, pod, appsv1.WhyMissing) }
	for name, c := range map[string]struct {
		passes [][]plan.Action
		want   map[string]int
	}{
		"two at a time":                                     {[][]plan.Action{{{Verb: plan.CreateRevision}}, {update("c"), update("b")}, {update("a")}}, map[string]int{"c": 1, "b": 1, "a": 2}},
		"a recreated pod is one wave":                       {[][]plan.Action{{remove("b")}, {create("b")}, {remove("a")}, {create("a")}}, map[string]int{"b": 1, "a": 2}},
		"a pass in which no pod changes counts for nothing": {[][]plan.Action{{update("b")}, {{Verb: plan.DeleteRevision}}, {update("a")}}, map[string]int{"b": 1, "a": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			preview := NewPreview(forecast.Run{Passes: c.passes, Forecast: forecast.Forecast{Blocked: []plan.Blocked{{Pod: "x", By: appsv1.BlockedByPause}}}})
			got := map[string]int{}
			for _, step := range preview.Steps {
				if step.What != Held {
					got[step.Pod] = step.Wave
				} else if step.Wave != 0 {
					t.Errorf("what is held back is in wave %d", step.Wave)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || preview.Waves != 2 && len(c.want) > 1 {
				t.Errorf("%d waves (-want +got):\n%s", preview.Waves, diff)
			}
		})
	}
}

func TestAnEstimateIsTheSumOfTheWaves(t *testing.T) {
	step := func(wave int, what string) Step { return Step{Wave: wave, What: what, restarts: what == InPlace} }
	pace := forecast.Pace{Start: 20 * time.Second, Started: 3, InPlace: 4 * time.Second, Changed: 2}
	const grace = 30 * time.Second
	for name, c := range map[string]struct {
		steps    []Step
		pace     forecast.Pace
		minReady time.Duration
		want     *Estimate
	}{
		"nothing happens": {nil, pace, 0, nil},
		"pods change in place, one after the other": {
			[]Step{step(1, InPlace), step(2, InPlace)},
			pace, 0,
			&Estimate{Seconds: ptr.To[int64](8), Text: "2 waves, in about 8s: pods were ready 4s after their last change in place."},
		},
		"pods of one wave take no longer than one": {
			[]Step{step(1, InPlace), step(1, InPlace)},
			pace, 0,
			&Estimate{Seconds: ptr.To[int64](4), Text: "1 wave, in about 4s: pods were ready 4s after their last change in place."},
		},
		"each wave has to prove itself": {
			[]Step{step(1, InPlace), step(2, InPlace)},
			pace, 10 * time.Second,
			&Estimate{Seconds: ptr.To[int64](28), MinReadySeconds: 20, Text: "2 waves, in about 28s: pods were ready 4s after their last change in place; minReadySeconds takes 10s in each wave."},
		},
		"recreated pods stop and start": {
			[]Step{step(1, Create), step(2, Recreate), step(3, Delete)},
			pace, 0,
			&Estimate{Seconds: ptr.To[int64](40), StopSeconds: 30, Text: "3 waves, in about 40s: pods were ready 20s after they were created; recreated pods may take up to 30s to stop, which is not counted."},
		},
		"no pod was changed in place before": {
			[]Step{step(1, InPlace)},
			forecast.Pace{Start: 20 * time.Second, Started: 3},
			0,
			&Estimate{Seconds: ptr.To[int64](20), Text: "1 wave, in about 20s: pods were ready 20s after they were created."},
		},
		"the slower of a wave counts": {
			[]Step{step(1, InPlace), step(1, Create)},
			pace, 0,
			&Estimate{Seconds: ptr.To[int64](20), Text: "1 wave, in about 20s: pods were ready 20s after they were created."},
		},
		"labels are changed at once": {[]Step{{Wave: 1, What: InPlace}}, pace, 10 * time.Second, &Estimate{Seconds: ptr.To[int64](0), Text: "1 wave, at once."}},
		"a fleet without pods": {
			[]Step{step(1, Create)},
			forecast.Pace{},
			10 * time.Second,
			&Estimate{MinReadySeconds: 10, Text: "1 wave, duration unknown: no ready pod shows how long a pod takes to become ready; minReadySeconds takes 10s in each wave."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			preview := Preview{Steps: c.steps, Counts: map[string]int{}}
			preview.sum()
			if diff := cmp.Diff(c.want, NewEstimate(preview, c.pace, "", c.minReady, grace)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
