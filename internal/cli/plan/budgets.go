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
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/view"
)

// budgets are PodDisruptionBudgets, which the API server asks about evictions.
type budgets []policyv1.PodDisruptionBudget

// budgetsIn are the PodDisruptionBudgets that the person may read.
func budgetsIn(ctx context.Context, c client.Client, namespace string) (budgets, error) {
	var list policyv1.PodDisruptionBudgetList
	err := c.List(ctx, &list, client.InNamespace(namespace))
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list the PodDisruptionBudgets in %s: %w", namespace, err)
	}
	return list.Items, nil
}

// refuse is why an eviction of the pod is refused when so many more pods are ready
// than now; empty where it is not.
func (b budgets) refuse(pod *corev1.Pod, more int) string {
	var of budgets
	for i := range b {
		if selector, err := metav1.LabelSelectorAsSelector(b[i].Spec.Selector); err == nil && selector.Matches(labels.Set(pod.Labels)) {
			of = append(of, b[i])
		}
	}
	switch phase := pod.Status.Phase; {
	case len(of) == 0 || phase == corev1.PodPending || phase == corev1.PodSucceeded || phase == corev1.PodFailed:
		return ""
	case len(of) > 1:
		return fmt.Sprintf("PodDisruptionBudgets %s and %s select it, and the API server evicts no pod that more than one selects", of[0].Name, of[1].Name)
	}
	spec, status := &of[0].Spec, &of[0].Status
	if !observe.Ready(pod) && (spec.UnhealthyPodEvictionPolicy != nil && *spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow ||
		status.DesiredHealthy > 0 && status.CurrentHealthy >= status.DesiredHealthy) {
		return ""
	}
	switch {
	case more == 0 && status.DisruptionsAllowed == 0:
		return "PodDisruptionBudget " + of[0].Name + " allows no disruption now"
	case more > 0 && int(status.CurrentHealthy)+more <= int(status.DesiredHealthy):
		return fmt.Sprintf("PodDisruptionBudget %s needs %d healthy pods, and has %d beside the replacement", of[0].Name, status.DesiredHealthy, status.CurrentHealthy)
	}
	return ""
}

// hold says of the moves that a budget refuses that they are held back, and leaves
// out what comes after the first of them. So many pods are replaced at once.
func (b budgets) hold(p view.Preview, asked []corev1.Pod, maxSurge int) view.Preview {
	held := []view.Step{}
	ends := 0
	for _, step := range p.Steps {
		at := slices.IndexFunc(asked, func(pod corev1.Pod) bool { return pod.Name == step.Pod })
		if step.What != view.Move || at < 0 {
			continue
		}
		if why := b.refuse(&asked[at], min(maxSurge, len(asked))); why != "" {
			if ends == 0 {
				ends = step.Wave
			}
			step.What, step.Wave, step.Reason, step.Why = view.Held, 0, appsv1.BlockedByDisruptionBudget, why
			held = append(held, step)
		}
	}
	if len(held) == 0 {
		return p
	}
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s view.Step) bool { return s.Wave >= ends })
	p.Waves, p.Estimate = 0, nil
	return p.After(held)
}
