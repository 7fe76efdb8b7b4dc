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

package report

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// A rollout is one line, however many passes it takes; what takes it back, with
// the same spec, is another; and no line counts a pod twice.
func TestHistoryMergesWhatOneDecisionDid(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	entry := func(second int, revision string, pods ...string) appsv1.Decision {
		return appsv1.Decision{
			Time: metav1.NewTime(noon.Add(time.Duration(second) * time.Second)), Generation: 1, Revision: revision,
			Action: appsv1.ReasonUpdated, Reason: appsv1.WhyRolloutInPlace, Count: int32(len(pods)), Pods: pods,
		}
	}
	for name, test := range map[string]struct {
		entries []appsv1.Decision // oldest first
		want    []string          // newest first
	}{
		"the passes of one rollout":       {[]appsv1.Decision{entry(0, "web-new", "a"), entry(1, "web-new", "b", "c")}, []string{"web-new 3 [a b c]"}},
		"an undo is the opposite":         {[]appsv1.Decision{entry(0, "web-new", "a", "b"), entry(1, "web-old", "a"), entry(2, "web-old", "b")}, []string{"web-old 2 [a b]", "web-new 2 [a b]"}},
		"of other pods, too":              {[]appsv1.Decision{entry(0, "web-new", "a"), entry(1, "web-old", "b")}, []string{"web-old 1 [b]", "web-new 1 [a]"}},
		"and so is the way forth again":   {[]appsv1.Decision{entry(0, "web-new", "a"), entry(1, "web-old", "a"), entry(2, "web-new", "a")}, []string{"web-new 1 [a]", "web-old 1 [a]", "web-new 1 [a]"}},
		"a pod that is touched twice":     {[]appsv1.Decision{entry(0, "web-new", "a", "b"), entry(1, "web-new", "a"), entry(2, "web-new", "b")}, []string{"web-new 2 [a b]", "web-new 2 [a b]"}},
		"what comes at the end of it":     {[]appsv1.Decision{entry(0, "web-new", "a"), entry(10, "web-new", "b")}, []string{"web-new 2 [a b]"}},
		"what comes long after is not it": {[]appsv1.Decision{entry(0, "web-new", "a"), entry(11, "web-new", "b")}, []string{"web-new 1 [b]", "web-new 1 [a]"}},
		"ten pods are named and the rest is counted": {
			[]appsv1.Decision{entry(0, "web-new", "a", "b", "c", "d", "e", "f", "g", "h", "i"), entry(1, "web-new", "j", "k", "l")},
			[]string{"web-new 12 [a b c d e f g h i j]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reporter{}
			for _, d := range test.entries {
				r.remember(d)
			}
			var got []string
			for _, e := range r.status.History {
				got = append(got, fmt.Sprint(e.Revision, " ", e.Count, " ", e.Pods))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

// A line names ten pods and counts the others. Whether it counts a pod already that it
// does not name, the ages of the pods show.
func TestHistoryCountsNoPodTwiceThatItDoesNotName(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const first = 12 // so many pods are in the first line
	names := func(from, to int) (list []string) {
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprintf("web-%d", i))
		}
		return list
	}
	for name, test := range map[string]struct {
		verb plan.Verb
		// then are the pods of the second pass, five seconds later, and made how long
		// after noon each pod that is there then was created.
		then []string
		made func(pod int) time.Duration
		want []string
	}{
		"others are created":            {plan.CreatePod, names(12, 14), func(int) time.Duration { return 0 }, []string{"Created 14"}},
		"by a clock that is behind":     {plan.CreatePod, names(12, 14), func(int) time.Duration { return -time.Minute }, []string{"Created 14"}},
		"one is gone and created again": {plan.CreatePod, names(11, 12), func(int) time.Duration { return 0 }, []string{"Created 1", "Created 12"}},
		"others are deleted":            {plan.DeletePod, names(12, 14), func(int) time.Duration { return -time.Hour }, []string{"Deleted 14"}},
		"a successor is deleted": {
			plan.DeletePod, names(11, 12), func(int) time.Duration { return 2 * time.Second }, []string{"Deleted 1", "Deleted 12"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pass := func(at time.Time, status appsv1.PodManagerStatus, pods []plan.Pod, touched []string) appsv1.PodManagerStatus {
				var outcomes []plan.Outcome
				for _, pod := range touched {
					outcomes = append(outcomes, plan.Outcome{Result: plan.Done, Action: plan.Action{
						Verb: test.verb, Pod: pod, Why: plan.Why{Reason: appsv1.WhyMissing},
					}})
				}
				return Report(plan.Desired{Replicas: 20}, plan.Observed{Pods: pods, Status: status}, plan.Decision{}, outcomes, at).Status
			}
			var old, now []plan.Pod
			for i := range 14 {
				old = append(old, plan.Pod{Name: fmt.Sprintf("web-%d", i), Created: noon.Add(-time.Hour)})
				if test.verb == plan.DeletePod || i < 12 && !slices.Contains(test.then, old[i].Name) {
					now = append(now, plan.Pod{Name: old[i].Name, Created: noon.Add(test.made(i))})
				}
			}
			if test.verb == plan.CreatePod {
				old = nil
			}
			status := pass(noon, appsv1.PodManagerStatus{}, old, names(0, first))
			status = pass(noon.Add(5*time.Second), status, now, test.then)
			var got []string
			for _, e := range status.History {
				got = append(got, fmt.Sprint(e.Action, " ", e.Count))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnePodHasAndTwoPodsHave(t *testing.T) {
	if one, two := podsHave(1), podsHave(2); one != "1 pod has" || two != "2 pods have" {
		t.Errorf("got %q and %q", one, two)
	}
}
