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
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/pod-operator/internal/view"
)

func budget(name string, healthy, needed int32) policyv1.PodDisruptionBudget {
	b := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	b.Status = policyv1.PodDisruptionBudgetStatus{
		CurrentHealthy: healthy, DesiredHealthy: needed, DisruptionsAllowed: max(0, healthy-needed),
	}
	return b
}

func podNamed(name string, phase corev1.PodPhase, ready corev1.ConditionStatus) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}}
	p.Status = corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}
	return p
}

// TestWhatBudgetsRefuse: what the API server would say of an eviction.
func TestWhatBudgetsRefuse(t *testing.T) {
	serving := podNamed("web-0", corev1.PodRunning, corev1.ConditionTrue)
	broken := podNamed("web-0", corev1.PodRunning, corev1.ConditionFalse)
	other := podNamed("db-0", corev1.PodRunning, corev1.ConditionTrue)
	other.Labels["app"] = "db"
	always := budget("web", 1, 2)
	always.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	const none = "PodDisruptionBudget web allows no disruption now"
	for name, test := range map[string]struct {
		budgets budgets
		pod     corev1.Pod
		more    int
		want    string
	}{
		"without a budget":                          {nil, serving, 0, ""},
		"with room":                                 {budgets{budget("web", 2, 1)}, serving, 0, ""},
		"without room":                              {budgets{budget("web", 2, 2)}, serving, 0, none},
		"without room, of another's pod":            {budgets{budget("web", 2, 2)}, other, 0, ""},
		"with the replacement there is room":        {budgets{budget("web", 2, 2)}, serving, 1, ""},
		"even with the replacement there is none":   {budgets{budget("web", 2, 3)}, serving, 1, "PodDisruptionBudget web needs 3 healthy pods, and has 2 beside the replacement"},
		"with two replacements there is room":       {budgets{budget("web", 2, 3)}, serving, 2, ""},
		"two budgets":                               {budgets{budget("web", 9, 1), budget("all", 9, 1)}, serving, 1, "PodDisruptionBudgets web and all select it, and the API server evicts no pod that more than one selects"},
		"a pod that does not start":                 {budgets{budget("web", 1, 2)}, podNamed("web-0", corev1.PodPending, corev1.ConditionFalse), 0, ""},
		"a broken pod, where enough others serve":   {budgets{budget("web", 2, 2)}, broken, 0, ""},
		"a broken pod, where too few do":            {budgets{budget("web", 1, 2)}, broken, 0, none},
		"a broken pod of a budget that always lets": {budgets{always}, broken, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.budgets.refuse(&test.pod, test.more); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestMovesThatABudgetRefuses are held back, and what would come after them does not.
func TestMovesThatABudgetRefuses(t *testing.T) {
	preview := view.Preview{}.After([]view.Step{
		{What: view.Create, Pod: "web-2", Wave: 1}, {What: view.Move, Pod: "web-0", Wave: 2}, {What: view.Delete, Pod: "web-2", Wave: 3},
	})
	asked := []corev1.Pod{podNamed("web-0", corev1.PodRunning, corev1.ConditionTrue)}
	said := func(p view.Preview) (list []string) {
		for _, s := range p.Steps {
			list = append(list, fmt.Sprint(s.Wave, " ", s.What, " ", s.Pod, " ", s.Reason))
		}
		return append(list, fmt.Sprint(p.Waves, " waves, ", p.Counts[view.Held], " held"))
	}
	for name, test := range map[string]struct {
		budgets budgets
		want    []string
	}{
		"allowed": {budgets{budget("web", 2, 2)}, []string{"1 create web-2 ", "2 move web-0 ", "3 delete web-2 ", "3 waves, 0 held"}},
		"refused": {budgets{budget("web", 2, 3)}, []string{"1 create web-2 ", "0 held back web-0 DisruptionBudget", "1 waves, 1 held"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, said(test.budgets.hold(preview, asked, 1))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
