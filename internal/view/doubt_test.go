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
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/plan"
)

// noRoom is what the scheduler says of a pod that fits on no node.
const noRoom = "0/3 nodes are available: 3 Insufficient cpu"

// stuck is a rollout to web-b that ended at web-3, the first of four pods. Three serve on web-a.
func stuck(now time.Time, as func(*plan.Pod)) (plan.Desired, plan.Observed) {
	desired := plan.Desired{
		Namespace: "shop", Name: "web", UID: "u", Generation: 2, NamePrefix: "web", Identity: appsv1.IdentityOrdinal, Replicas: 4,
		Finalizer: plan.FinalizerPresent, RevisionHistoryLimit: 10, Update: plan.Update{Strategy: appsv1.UpdateInPlace, MaxUnavailable: 1},
	}
	observed := plan.Observed{
		Revisions: []plan.Revision{{Name: "web-a", Number: 1}, {Name: "web-b", Number: 2, Equal: true}}, NewRevision: "web-b",
		Status: appsv1.PodManagerStatus{ObservedGeneration: 2, CurrentRevision: "web-a", UpdateRevision: "web-b"},
	}
	for i := range 4 {
		p := plan.Pod{
			Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint("p", i)), Membership: plan.Member, Slot: i, Revision: "web-a",
			Created: now.Add(-time.Minute), Phase: corev1.PodRunning, Ready: true, ReadySince: now.Add(-time.Minute), Node: "n1",
		}
		if i == 3 {
			p.Revision, p.Ready, p.ReadySince = "web-b", false, time.Time{}
			as(&p)
		}
		observed.Pods = append(observed.Pods, p)
	}
	return desired, observed
}

func TestAPlanPromisesNothingThatThePodsOfNowSpeakAgainst(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	unschedulable := func(p *plan.Pod) {
		p.Phase, p.Waiting, p.Scheduler, p.Node = corev1.PodPending, corev1.PodReasonUnschedulable, noRoom, ""
	}
	for name, c := range map[string]struct {
		as       func(*plan.Pod)
		change   func(*plan.Desired, *plan.Observed)
		warnings []string
		text     string
	}{
		"a pod that serves is deleted while the rollout is stuck": {
			as:       unschedulable,
			change:   func(_ *plan.Desired, o *plan.Observed) { o.Pods[0].DeleteRequested = true },
			warnings: []string{"web-0 serves now, and may not afterwards: web-3 is not available (cannot be scheduled: " + noRoom + "), and is of the same revision"},
			text:     "1 wave, duration unknown: web-3 is not available (cannot be scheduled: " + noRoom + ").",
		},
		"its image cannot be pulled": {
			as:       func(p *plan.Pod) { p.Phase, p.Waiting = corev1.PodPending, "ErrImagePull" },
			change:   func(_ *plan.Desired, o *plan.Observed) { o.Pods[0].DeleteRequested = true },
			warnings: []string{"web-0 serves now, and may not afterwards: web-3 is not available (cannot pull an image: ErrImagePull), and is of the same revision"},
			text:     "1 wave, duration unknown: web-3 is not available (cannot pull an image: ErrImagePull).",
		},
		"more pods, while one finds no room": {
			as: unschedulable, change: func(d *plan.Desired, _ *plan.Observed) { d.Replicas = 5 },
			text: "1 wave, duration unknown: web-3 is not available (cannot be scheduled: " + noRoom + ").",
		},
		"a deletion needs no room": {
			as: unschedulable, change: func(d *plan.Desired, _ *plan.Observed) { d.Replicas, d.Paused = 3, true },
			text: "1 wave, at once.",
		},
		"a pod that only starts": {
			as:     func(p *plan.Pod) { p.Phase = corev1.PodPending },
			change: func(_ *plan.Desired, o *plan.Observed) { o.Pods[0].DeleteRequested = true },
			text:   "1 wave, in about 4s: pods were ready 4s after they were created.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired, observed := stuck(now, c.as)
			c.change(&desired, &observed)
			preview := NewPreview(forecast.Within(2, desired, observed, now))
			unknown := preview.Doubt(observed.Pods, 0, now)
			if diff := cmp.Diff(c.warnings, preview.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s\nsteps: %+v", diff, preview.Steps)
			}
			estimate := NewEstimate(preview, forecast.Pace{Start: 4 * time.Second, Started: 3}, unknown, 0, 0)
			if estimate == nil || estimate.Text != c.text {
				t.Errorf("the estimate is %+v, want %q; steps: %+v", estimate, c.text, preview.Steps)
			}
		})
	}
}

func TestAStepKnowsWhatComesAfterIt(t *testing.T) {
	remove := action(plan.DeletePod, "web-x", appsv1.WhyRequested)
	create := func(pod string) plan.Action {
		a := action(plan.CreatePod, pod, appsv1.WhyMissing)
		a.Revision = "web-b"
		return a
	}
	update := action(plan.UpdatePod, "web-z", appsv1.WhyRolloutInPlace)
	update.Why.Message, update.Replaced = "in place: image of app, proxy", []plan.ContainerMark{{Name: "app"}, {Name: "proxy"}}
	for name, test := range map[string]struct {
		passes [][]plan.Action
		want   []Step
	}{
		"a successor of the same name":  {[][]plan.Action{{remove}, {create("web-x")}}, []Step{{What: Recreate, Pod: "web-x", goal: "web-b"}}},
		"a successor of another name":   {[][]plan.Action{{remove}, {create("web-y")}}, []Step{{What: Recreate, Pod: "web-x", goal: "web-b"}, {What: Create, Pod: "web-y", Revision: "web-b", goal: "web-b"}}},
		"containers restart in place":   {[][]plan.Action{{update}}, []Step{{What: InPlace, Pod: "web-z", Why: "in place: image of app, proxy; containers app, proxy restart", restarts: true}}},
		"labels change without restart": {[][]plan.Action{{action(plan.UpdatePod, "web-z", "")}}, []Step{{What: InPlace, Pod: "web-z"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewPreview(forecast.Run{Passes: test.passes}).Steps
			for i := range got {
				got[i].Wave, got[i].Reason = 0, ""
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Step{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
