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
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// evictionRefused begins what a condition says of a PodDisruptionBudget. Only the
// operator knows of the refusal: those who look at the status later read it there.
const evictionRefused = "; a PodDisruptionBudget refuses the eviction of "

// RefusedEviction is the pod whose eviction a PodDisruptionBudget refuses, as the
// conditions say, and what the budget needs; empty where none does.
func RefusedEviction(conditions []metav1.Condition) (pod, why string) {
	going := meta.FindStatusCondition(conditions, appsv1.ConditionReconciling)
	if going == nil {
		return "", ""
	}
	_, refused, _ := strings.Cut(going.Message, evictionRefused)
	refused, _, _ = strings.Cut(refused, "; ")
	pod, why, _ = strings.Cut(refused, ": ")
	return pod, why
}

// refusedEviction is the first eviction that a PodDisruptionBudget refuses. One who
// only looks sees it while the pod is still to be evicted.
func (r *reporter) refusedEviction() (pod, why string) {
	for i := range r.outcomes {
		if o := &r.outcomes[i]; o.Cause == appsv1.BlockedByDisruptionBudget {
			return o.Action.Pod, strings.ReplaceAll(o.Message, "; ", ", ")
		}
	}
	if pod, why = RefusedEviction(r.previous.Conditions); !r.looking || !r.evicts(pod) {
		return "", ""
	}
	return pod, why
}

func (r *reporter) evicts(pod string) bool {
	for i := range r.decision.Actions {
		if a := &r.decision.Actions[i]; a.Verb == plan.EvictPod && a.Pod == pod {
			return true
		}
	}
	return false
}

// notAllowedToLeave counts the pods that have to leave their nodes and were to be
// evicted, had a PodDisruptionBudget allowed it.
func (r *reporter) notAllowedToLeave() int {
	n := 0
	for i := range r.outcomes {
		if o := &r.outcomes[i]; o.Cause == appsv1.BlockedByDisruptionBudget && leaves(&o.Action) {
			n++
		}
	}
	if pod, _ := r.refusedEviction(); n == 0 && pod != "" {
		for i := range r.decision.Actions {
			if a := &r.decision.Actions[i]; a.Pod == pod && leaves(a) {
				n++
			}
		}
	}
	return n
}

// leaves: the pod is evicted because it has to leave its node.
func leaves(a *plan.Action) bool {
	return a.Verb == plan.EvictPod && a.Goal == "" // a rollout has one
}
