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

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// asked: kube-controller-manager is asked what it sees.
func (k *Kind) asked() bool { return k == Deployments || k == ReplicaSets }

// awaitControllers waits until the controllers know that the pods have no owner
// any more: one that still believed the contrary would make new ones.
//
// kube-controller-manager is asked with a PodDisruptionBudget, whose status counts
// pods in the same cache from which ReplicaSets find theirs. A StatefulSet cannot
// make a pod whose name is taken, and a CloneSet is made so that it makes none.
func (r *run) awaitControllers(ctx context.Context) error {
	if !r.Kind.asked() {
		return nil
	}
	return r.await(ctx, func(ctx context.Context) (string, error) {
		budget, err := r.barrier(ctx)
		if err != nil {
			return "", err
		}
		free, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			return "", err
		}
		var pods corev1.PodList
		if err := r.Client.List(ctx, &pods, client.InNamespace(r.Namespace), client.MatchingLabelsSelector{Selector: free}); err != nil {
			return "", fmt.Errorf("list the pods that are free: %w", err)
		}
		if budget.Status.ObservedGeneration == 0 || int(budget.Status.ExpectedPods) != len(pods.Items) {
			return "waiting for kube-controller-manager to see that the pods are free", nil
		}
		return "", nil
	})
}

// barrier is the PodDisruptionBudget that counts the pods without a PodManager.
// It forbids nothing.
func (r *run) barrier(ctx context.Context) (*policyv1.PodDisruptionBudget, error) {
	budget, err := r.findBarrier(ctx)
	if budget != nil || err != nil {
		return budget, err
	}
	if budget, err = r.newBarrier(); err != nil {
		return nil, err
	}
	return budget, r.createBarrier(ctx, budget)
}

// findBarrier reads the budget that an interrupted run made, or nil. A user may have one
// of the name.
func (r *run) findBarrier(ctx context.Context) (*policyv1.PodDisruptionBudget, error) {
	budget := &policyv1.PodDisruptionBudget{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.barrierName()}, budget)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read PodDisruptionBudget %s: %w", r.barrierName(), err)
	case len(missing(recordLabels(), budget.Labels)) > 0:
		return nil, fmt.Errorf("PodDisruptionBudget %s exists already, and is none of a migration's: rename or delete it first", budget.Name)
	}
	return budget, nil
}

func (r *run) newBarrier() (*policyv1.PodDisruptionBudget, error) {
	selector, err := freeSelector(r.Selector)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.barrierName(), Labels: recordLabels()},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(0)), Selector: selector},
	}, err
}

func (r *run) createBarrier(ctx context.Context, budget *policyv1.PodDisruptionBudget, options ...client.CreateOption) error {
	if err := r.Client.Create(ctx, budget, options...); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create a PodDisruptionBudget, by which kube-controller-manager tells which pods it sees: %w", err)
	}
	return nil
}

// tryBarrier has the API server say whether it would take the budget.
func (r *run) tryBarrier(ctx context.Context) error {
	if !r.Kind.asked() {
		return nil
	}
	found, err := r.findBarrier(ctx)
	if found != nil || err != nil {
		return err
	}
	budget, err := r.newBarrier()
	if err != nil {
		return err
	}
	return r.createBarrier(ctx, budget, client.DryRunAll)
}

func (r *run) barrierName() string { return r.Name + recordSuffix }

// freeSelector finds what a selector finds and no PodManager has labelled.
func freeSelector(selector labels.Selector) (*metav1.LabelSelector, error) {
	free, err := labels.NewRequirement(appsv1.LabelName, selection.DoesNotExist, nil)
	if err != nil {
		return nil, err
	}
	return metav1.ParseToLabelSelector(selector.Add(*free).String())
}

func (r *run) removeBarrier(ctx context.Context) error {
	if !r.Kind.asked() {
		return nil
	}
	budget, err := r.findBarrier(ctx)
	if budget == nil || err != nil {
		return err
	}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, budget, client.Preconditions{UID: &budget.UID})); err != nil {
		return fmt.Errorf("delete PodDisruptionBudget %s: %w", budget.Name, err)
	}
	return nil
}
