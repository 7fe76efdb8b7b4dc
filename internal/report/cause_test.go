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
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// TestAConditionSaysItAfterTheNextLook: a pod that hangs in a step that every pod takes sends
// no event, so that the report has to ask for a second look.
func TestAConditionSaysItAfterTheNextLook(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	desired := plan.Desired{
		Namespace: "shop", Name: "web", UID: "u", Generation: 1, NamePrefix: "web", Identity: appsv1.IdentityOrdinal, Replicas: 1,
		Finalizer: plan.FinalizerPresent, Update: plan.Update{Strategy: appsv1.UpdateInPlace, MaxUnavailable: 1},
	}
	pod := func(age time.Duration, as func(*plan.Pod)) []plan.Pod {
		p := plan.Pod{Name: "web-0", UID: "p", Membership: plan.Member, Revision: "web-a", Created: noon.Add(-age), Phase: corev1.PodPending}
		if as != nil {
			as(&p)
		}
		return []plan.Pod{p}
	}
	for name, test := range map[string]struct {
		pods  []plan.Pod
		after time.Duration
		want  string
	}{
		"it is made now":                  {nil, 10 * time.Second, "0 of 1 pods are available"},
		"it has no node yet":              {pod(4*time.Second, nil), 6 * time.Second, "0 of 1 pods are available"},
		"it has no node for long":         {pod(10*time.Second, nil), 0, "1 of 1 pods is waiting for a node"},
		"it starts for long":              {pod(time.Minute, func(p *plan.Pod) { p.Node = "n1" }), 0, "1 of 1 pods is starting: images are pulled, volumes mounted or init containers run"},
		"what needs help is said at once": {pod(time.Second, func(p *plan.Pod) { p.Waiting = "CrashLoopBackOff" }), 0, "1 of 1 pods is crashing: CrashLoopBackOff"},
		"it is available":                 {pod(time.Second, func(p *plan.Pod) { p.Ready, p.ReadySince, p.Phase = true, noon, corev1.PodRunning }), 0, "1 of 1 pods are available"},
	} {
		t.Run(name, func(t *testing.T) {
			observed := plan.Observed{
				Pods: test.pods, Revisions: []plan.Revision{{Name: "web-a", Number: 1, Equal: true}}, NewRevision: "web-a",
				Status: appsv1.PodManagerStatus{ObservedGeneration: 1, CurrentRevision: "web-a", UpdateRevision: "web-a"},
			}
			decision := plan.Plan(desired, observed, noon)
			var outcomes []plan.Outcome
			for _, a := range decision.Actions {
				outcomes = append(outcomes, plan.Outcome{Action: a, Result: plan.Done})
			}
			got := Report(desired, observed, decision, outcomes, noon)
			if got.LookAgain != test.after {
				t.Errorf("it asks for another look after %s, want %s", got.LookAgain, test.after)
			}
			if ready := meta.FindStatusCondition(got.Status.Conditions, appsv1.ConditionReady); ready.Message != test.want {
				t.Errorf("Ready says %q, want %q", ready.Message, test.want)
			}
		})
	}
}
