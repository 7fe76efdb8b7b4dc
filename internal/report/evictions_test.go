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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// TestAConditionNamesTheBudgetThatKeepsAPod: with ordinals and with random names, for
// the operator that was refused, and for those who look at its status afterwards.
func TestAConditionNamesTheBudgetThatKeepsAPod(t *testing.T) {
	const needs = "The disruption budget web needs 2 healthy pods and has 2 currently"
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, identity := range []appsv1.Identity{appsv1.IdentityOrdinal, appsv1.IdentityRandom} {
		t.Run(string(identity), func(t *testing.T) {
			desired := plan.Desired{Name: "web", Generation: 1, Replicas: 1, Identity: identity, Disruption: plan.Disruption{SurgeFirst: true, MaxSurge: 1}}
			evict := plan.Action{Verb: plan.EvictPod, Pod: "web-0", Why: plan.Why{Reason: appsv1.WhyEvictionRequested}}
			decision := plan.Decision{
				Actions: []plan.Action{evict}, UpdateRevision: "web-1", CurrentRevision: "web-1",
				Live: []plan.LivePod{{Name: "web-0", Ready: true, Available: true, Updated: true}, {
					Name: "web-1", Ready: true, Available: true, Updated: true, Extra: identity == appsv1.IdentityOrdinal,
				}},
			}
			decision.Counts = plan.CountLive(decision.Live)
			refused := []plan.Outcome{{Action: evict, Result: plan.Refused, Cause: appsv1.BlockedByDisruptionBudget, Message: needs}}
			said := Report(desired, plan.Observed{}, decision, refused, now).Status
			const want = "1 pod has to leave the node; a PodDisruptionBudget refuses the eviction of web-0: " + needs
			expect := func(whose string, conditions []metav1.Condition, want string) {
				t.Helper()
				got := ""
				if c := meta.FindStatusCondition(conditions, appsv1.ConditionReconciling); c != nil {
					got = c.Message
				}
				if got != want {
					t.Errorf("%s: %q, want %q", whose, got, want)
				}
			}
			expect("the operator", said.Conditions, want)
			if pod, why := RefusedEviction(said.Conditions); pod != "web-0" || why != needs {
				t.Errorf("the conditions name %q, %q", pod, why)
			}
			looked := Look(desired, plan.Observed{Status: said}, decision, now).Status
			expect("one who looks", looked.Conditions, want)
			decision.Actions, decision.Live = nil, decision.Live[:1]
			decision.Counts = plan.CountLive(decision.Live)
			expect("one who looks when it is over", Look(desired, plan.Observed{Status: said}, decision, now).Status.Conditions, "")
		})
	}
	if pod, why := RefusedEviction(nil); pod != "" || why != "" {
		t.Errorf("no condition names %q, %q", pod, why)
	}
}
