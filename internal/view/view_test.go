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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/plan"
)

func action(verb plan.Verb, pod, reason string) plan.Action {
	return plan.Action{Verb: verb, Pod: pod, Why: plan.Why{Reason: reason}}
}

func TestAPreviewShowsWhatHappensToEachPod(t *testing.T) {
	for name, c := range map[string]struct {
		forecast   forecast.Forecast
		summary    string
		disruptive bool
	}{
		"nothing":                  {forecast.Forecast{}, "Nothing would happen to any pod.", false},
		"one changed in place":     {forecast.Forecast{Actions: []plan.Action{action(plan.UpdatePod, "web-0", appsv1.WhyRolloutInPlace)}}, "1 pod will be changed in place.", false},
		"a scale-up":               {forecast.Forecast{Actions: []plan.Action{action(plan.CreatePod, "web-0", appsv1.WhyScaleUp), action(plan.CreatePod, "web-1", appsv1.WhyScaleUp)}}, "2 pods will be created.", false},
		"a scale-down":             {forecast.Forecast{Actions: []plan.Action{action(plan.DeletePod, "web-1", appsv1.WhyScaleDown)}}, "1 pod will be deleted.", true},
		"a pod and its successor":  {forecast.Forecast{Actions: []plan.Action{action(plan.DeletePod, "web-1", appsv1.WhyRequested), action(plan.CreatePod, "web-1", appsv1.WhyMissing)}}, "1 pod will be recreated.", true},
		"what no pod notices":      {forecast.Forecast{Actions: []plan.Action{{Verb: plan.CreateRevision}, {Verb: plan.AddFinalizer}}}, "Nothing would happen to any pod.", false},
		"pods that are held back":  {forecast.Forecast{Blocked: []plan.Blocked{{Pod: "web-0", Count: 3, By: appsv1.BlockedByPause}}}, "3 pods held back.", false},
		"an orphan and a lost one": {forecast.Forecast{Actions: []plan.Action{action(plan.AdoptPod, "web-0", appsv1.WhyMatchingOrphan), action(plan.ReleasePod, "web-1", appsv1.WhyLabelsEdited)}}, "1 pod will be adopted, 1 pod will be released.", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewPreview(forecast.Run{Forecast: c.forecast, Passes: [][]plan.Action{c.forecast.Actions}})
			if got.Summary != c.summary || got.Disruptive != c.disruptive {
				t.Errorf("%q, disruptive %t; want %q, %t", got.Summary, got.Disruptive, c.summary, c.disruptive)
			}
		})
	}
}

func TestAHoldSaysWhatByWhatHowLongAndWhatToDo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		blocked plan.Blocked
		about   Subject
		want    Hold
	}{
		"a pause in a namespace that was given": {
			plan.Blocked{Verb: plan.UpdatePod, Pod: "web-0", By: appsv1.BlockedByPause, Message: "spec.paused is true"},
			Subject{Name: "web", Flags: " -n shop"},
			Hold{What: "the update of web-0", By: "Paused", Why: "spec.paused is true", Advice: "kubectl podmanager rollout resume web -n shop"},
		},
		"a pause": {
			plan.Blocked{Verb: plan.UpdatePod, Pod: "web-0", Count: 3, By: appsv1.BlockedByPause, Message: "spec.paused is true"},
			Subject{Name: "web"},
			Hold{What: "the update of web-0 and 2 more", By: "Paused", Why: "spec.paused is true", Advice: "kubectl podmanager rollout resume web"},
		},
		"a backoff": {
			plan.Blocked{Verb: plan.CreatePod, Pod: "web-1", By: appsv1.BlockedByBackoff, Message: "failed 3 times", Until: now.Add(40 * time.Second)},
			Subject{Name: "web"},
			Hold{What: "the creation of web-1", By: "Backoff", Why: "failed 3 times", Until: "40s", Advice: "look at why the pods fail: kubectl logs, kubectl describe pod"},
		},
		"a backoff that is over": {
			plan.Blocked{Verb: plan.CreatePod, Pod: "web-1", By: appsv1.BlockedByTermination, Until: now.Add(-time.Second)},
			Subject{Name: "web"},
			Hold{What: "the creation of web-1", By: "Terminating"},
		},
		"an eviction that waits": {
			plan.Blocked{Verb: plan.EvictPod, Pod: "web-0", By: appsv1.BlockedByNodes, Until: now.Add(time.Minute)},
			Subject{Name: "web"},
			Hold{
				What: "the eviction of web-0", By: "NodesCordoned", Until: "60s", Advice: "uncordon a node or add one; after spec.disruption.deadlineSeconds, " +
					"or the operator's --max-eviction-hold where that is shorter, the eviction is let through",
			},
		},
		"a pod that is moved and has no deadline": {
			plan.Blocked{Verb: plan.EvictPod, Pod: "web-0", By: appsv1.BlockedByReplacement},
			Subject{Name: "web"},
			Hold{
				What: "the eviction of web-0", By: "Replacement",
				Advice: "wait for the replacement, or see what it waits for: kubectl podmanager status web",
			},
		},
		"pods without a name": {
			plan.Blocked{Verb: plan.CreatePod, Count: 2, By: appsv1.BlockedByTermination},
			Subject{Name: "web"},
			Hold{What: "the creation of 2 pods", By: "Terminating"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Text = c.want.What + " is held back by " + c.want.By + ": " + c.want.Why
			if diff := cmp.Diff(c.want, NewHold(c.blocked, c.about, now)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that a budget keeps does not terminate, and its successor waits for the budget.
func TestABudgetHoldsAnEvictionBack(t *testing.T) {
	status := &appsv1.PodManagerStatus{Conditions: []metav1.Condition{{
		Type: appsv1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: appsv1.ReasonMovingPods,
		Message: "1 pod has to leave the node; a PodDisruptionBudget refuses the eviction of web-0: The disruption budget web needs 2 healthy pods and has 2 currently; web-3 starts",
	}}}
	blocked := []plan.Blocked{
		{Verb: plan.CreatePod, Pod: "web-0", By: appsv1.BlockedByTermination, Message: "the old pod is not gone"},
		{Verb: plan.CreatePod, Pod: "web-1", By: appsv1.BlockedByTermination, Message: "the old pod is not gone"},
	}
	want := []Hold{
		{
			What: "the eviction of web-0", By: "DisruptionBudget", Why: "The disruption budget web needs 2 healthy pods and has 2 currently",
			Text:   "the eviction of web-0 is held back by DisruptionBudget: The disruption budget web needs 2 healthy pods and has 2 currently",
			Advice: "kubectl get pdb: a budget allows no disruption now",
		},
		{
			What: "the creation of web-1", By: "Terminating", Why: "the old pod is not gone",
			Text: "the creation of web-1 is held back by Terminating: the old pod is not gone",
		},
	}
	if diff := cmp.Diff(want, Holds(status, nil, blocked, Subject{Name: "web"}, time.Now())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheStateIsTheConditionThatSaysMost(t *testing.T) {
	for want, kinds := range map[string][]string{
		"Pinned": {"Ready=Pinned", "Pinned"}, "new": nil, "Ready": {"Ready"}, "Reconciling": {"Ready", "Reconciling"}, "Stalled": {"Ready", "Reconciling", "Stalled", "Paused"},
	} {
		pm := &appsv1.PodManager{}
		for _, kind := range kinds {
			kind, reason, given := strings.Cut(kind, "=")
			if !given {
				reason = kind + "Reason"
			}
			pm.Status.Conditions = append(pm.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason})
		}
		if got, _, _ := State(&pm.Status); got != want {
			t.Errorf("with %v it is %s, want %s", kinds, got, want)
		}
	}
	stopped := &appsv1.PodManager{}
	stopped.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: appsv1.ReasonPaused}}
	if got, reason, _ := State(&stopped.Status); got != NotReady || reason != appsv1.ReasonPaused {
		t.Errorf("a rollout that is paused is %s: %s", got, reason)
	}
}

func TestABarIsAsFullAsTheRolloutIsFar(t *testing.T) {
	for _, c := range []struct {
		done, total int
		want        string
	}{{0, 4, "----"}, {1, 4, "#---"}, {4, 4, "####"}, {9, 4, "####"}, {0, 0, "----"}} {
		if got := Bar(c.done, c.total, 4); got != c.want {
			t.Errorf("%d of %d: %s", c.done, c.total, got)
		}
	}
}

func TestTheHistoryIsNewestFirst(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	got := History([]appsv1.Decision{
		{Time: at, Action: "Created", Count: 12, Pods: []string{"web-0"}, Reason: "ScaleUp", Message: "too few"},
		{Time: metav1.NewTime(at.Add(time.Minute)), Action: "RolledBack", Message: "it failed"},
	})
	if diff := cmp.Diff([]string{"RolledBack: it failed", "Created 12 pods: web-0 and 11 more (too few) [ScaleUp]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
