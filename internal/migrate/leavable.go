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

package migrate

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// leavable fails where the PodManager would stay or come back, or where others find its pods by
// labels that these lose.
func (r *run) leavable(ctx context.Context, pm *appsv1.PodManager) error {
	if ref := metav1.GetControllerOfNoCopy(pm); ref != nil {
		return fmt.Errorf("PodManager %s belongs to %s %s, which would make it again: take its owner reference off first", pm.Name, ref.Kind, ref.Name)
	}
	own := []string{appsv1.Finalizer, metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	for _, finalizer := range pm.Finalizers {
		if !slices.Contains(own, finalizer) {
			return fmt.Errorf("PodManager %s has the finalizer %s, whose program would keep it, and its pods would have no owner until then: take it off first",
				pm.Name, finalizer)
		}
	}
	if tool := appliedBy(pm); tool != nil && !r.Suspended {
		return fmt.Errorf("PodManager %s is managed by %s (%s), which would make it again: %s; then add --suspended to this command",
			pm.Name, tool.Name, tool.Owner, tool.Suspend)
	}
	return r.unfound(ctx, pm)
}

// unfound fails where a Service, a PodDisruptionBudget or a NetworkPolicy selects the pods by a
// label that they lose: it would find none of them any more.
func (r *run) unfound(ctx context.Context, pm *appsv1.PodManager) error {
	pod := labels.Set(podLabels(pm, pm.Status.UpdateRevision))
	if pm.Spec.Template != nil {
		pod = merged(pm.Spec.Template.Labels, pod)
	}
	finders, err := r.finders(ctx)
	if err != nil {
		return err
	}
	for _, f := range finders {
		requirements, _ := f.selector.Requirements()
		for _, requirement := range requirements {
			if slices.Contains(appsv1.ReservedLabels(), requirement.Key()) && f.selector.Matches(pod) {
				return fmt.Errorf("%s selects by the label %s, which the pods lose: change its selector first", f.name, requirement.Key())
			}
		}
	}
	return nil
}

// finder is an object that finds pods by their labels.
type finder struct {
	name     string
	selector labels.Selector
}

func (r *run) finders(ctx context.Context) (found []finder, err error) {
	var services corev1.ServiceList
	var budgets policyv1.PodDisruptionBudgetList
	var policies networkingv1.NetworkPolicyList
	for _, list := range []client.ObjectList{&services, &budgets, &policies} {
		if err := r.Client.List(ctx, list, client.InNamespace(r.Namespace)); err != nil && !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("look for what selects the pods: %w", err)
		}
	}
	for i := range services.Items {
		if s := &services.Items[i]; len(s.Spec.Selector) > 0 {
			found = append(found, finder{"Service " + s.Name, labels.SelectorFromSet(s.Spec.Selector)})
		}
	}
	add := func(name string, selector *metav1.LabelSelector) {
		if s, err := metav1.LabelSelectorAsSelector(selector); err == nil {
			found = append(found, finder{name, s})
		}
	}
	for i := range budgets.Items {
		if b := &budgets.Items[i]; b.Name != r.barrierName() {
			add("PodDisruptionBudget "+b.Name, b.Spec.Selector)
		}
	}
	for i := range policies.Items {
		add("NetworkPolicy "+policies.Items[i].Name, &policies.Items[i].Spec.PodSelector)
	}
	return found, nil
}
