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

package dashboard

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// TestSeverityIsWhatUsersLose judges fleets that wanted 10 pods, of which a rollout has
// to leave 8.
func TestSeverityIsWhatUsersLose(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	const reconciling, stalled, ready = appsv1.ConditionReconciling, appsv1.ConditionStalled, appsv1.ConditionReady
	for name, c := range map[string]struct {
		available      int32
		state, reason  string
		age, lastMoved time.Duration
		minReady       int32
		waits          bool
		want           Severity
	}{
		"all pods are available":                              {available: 10, state: ready, age: time.Hour, lastMoved: time.Hour, want: Fine},
		"the operator has not seen it":                        {age: time.Second, want: ""},
		"a rollout within its budget moves":                   {available: 8, state: reconciling, reason: "RollingOut", age: time.Hour, lastMoved: time.Second, want: Moving},
		"a rollout within its budget has stopped moving":      {available: 8, state: reconciling, reason: "RollingOut", age: time.Hour, lastMoved: 3 * time.Minute, want: Stuck},
		"a rollout waits as its user wants":                   {available: 8, state: reconciling, reason: "RollingOut", age: time.Hour, lastMoved: time.Hour, waits: true, want: Moving},
		"a rollout waits for minReadySeconds":                 {available: 8, state: reconciling, reason: "RollingOut", age: time.Hour, lastMoved: 3 * time.Minute, minReady: 120, want: Moving},
		"fewer than the budget allows, and it moves":          {available: 3, state: reconciling, reason: "WaitingForPods", age: time.Hour, lastMoved: time.Second, want: Short},
		"most pods cannot be scheduled, and nothing moves":    {available: 3, state: reconciling, reason: "ScalingUp", age: time.Hour, lastMoved: 3 * time.Minute, want: Stuck},
		"none is available, though the operator tries":        {available: 0, state: reconciling, reason: "WaitingForPods", age: time.Hour, lastMoved: time.Second, want: Stuck},
		"the first pods start":                                {available: 0, state: reconciling, reason: "WaitingForPods", age: time.Minute, lastMoved: time.Second, want: Moving},
		"the first pods never started":                        {available: 0, state: reconciling, reason: "WaitingForPods", age: time.Hour, lastMoved: time.Hour, want: Stuck},
		"it was scaled up a moment ago":                       {available: 3, state: reconciling, reason: "ScalingUp", age: time.Hour, lastMoved: time.Second, want: Moving},
		"it needs help":                                       {available: 10, state: stalled, reason: "QuotaExceeded", age: time.Hour, lastMoved: time.Second, want: Stuck},
		"a user paused it and enough pods serve":              {available: 9, state: "Not ready", reason: "Paused", age: time.Hour, lastMoved: time.Hour, want: Held},
		"a user paused it and too few pods serve":             {available: 5, state: "Not ready", reason: "Paused", age: time.Hour, lastMoved: time.Hour, want: Short},
		"a pin keeps it from its template and all pods serve": {available: 10, state: "Pinned", reason: "Pinned", age: time.Hour, lastMoved: time.Hour, want: Held},
	} {
		t.Run(name, func(t *testing.T) {
			pm := &appsv1.PodManager{
				ObjectMeta: metav1.ObjectMeta{Name: "web", CreationTimestamp: metav1.NewTime(now.Add(-c.age))},
				Spec:       appsv1.PodManagerSpec{Replicas: ptr.To[int32](10), MinReadySeconds: c.minReady},
			}
			pm.Status = appsv1.PodManagerStatus{ReadyReplicas: c.available, AvailableReplicas: c.available, Rollout: &appsv1.RolloutRecord{Waits: c.waits}}
			if c.state != "" {
				pm.Status.History = []appsv1.Decision{{Time: metav1.NewTime(now.Add(-c.lastMoved))}}
				pm.Status.Conditions = conditionsOf(c.state, c.reason, c.available >= 8, metav1.NewTime(now.Add(-c.age)))
			}
			f := fleetOf(pm, &pm.Status)
			f.judge(now)
			if f.Severity != c.want {
				t.Errorf("%s fleet is %q, want %q", f.State, f.Severity, c.want)
			}
		})
	}
}

// conditionsOf are those with which a status is in a state.
func conditionsOf(state, reason string, enough bool, since metav1.Time) []metav1.Condition {
	condition := func(kind, reason string, is bool) metav1.Condition {
		status := metav1.ConditionFalse
		if is {
			status = metav1.ConditionTrue
		}
		return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: since}
	}
	list := []metav1.Condition{condition(appsv1.ConditionAvailable, "", enough), condition(appsv1.ConditionReady, reason, state == appsv1.ConditionReady)}
	if state == appsv1.ConditionReconciling || state == appsv1.ConditionStalled {
		list = append(list, condition(state, reason, true))
	}
	return list
}
