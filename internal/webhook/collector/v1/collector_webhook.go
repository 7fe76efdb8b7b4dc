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

// Package v1 admits Collectors. The webhook reads the selector as the operator
// will, and asks the API server about every other namespace that a Collector
// newly names: whether the user may read there, without which the Collector is
// refused, and whether the Collector's service account may, without which there
// is a warning. What the operator reads does not depend on this webhook: the
// controller asks for the service account, too.
package v1

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/access"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

const (
	// atOnce is how many namespaces are asked about at a time.
	atOnce = 4
	// patience is how long the API server may take to say what a user may read. A
	// Collector of 16 namespaces takes 192 questions. What is left of the webhook's
	// timeout of 10 s is for the warnings, which nothing depends on.
	patience = 6 * time.Second
)

// SetupWithManager registers the webhook.
func SetupWithManager(mgr ctrl.Manager, scope preflight.Scope) error {
	return ctrl.NewWebhookManagedBy(mgr, &collectorv1.Collector{}).
		WithValidator(&validator{live: mgr.GetAPIReader(), reviewer: mgr.GetClient(), scope: scope}).
		Complete()
}

type validator struct {
	live     client.Reader
	reviewer access.Reviewer
	scope    preflight.Scope
}

// ValidateCreate implements admission.Validator.
func (v *validator) ValidateCreate(ctx context.Context, c *collectorv1.Collector) (admission.Warnings, error) {
	return v.validate(ctx, c, c.Spec.Namespaces)
}

// ValidateUpdate implements admission.Validator.
func (v *validator) ValidateUpdate(ctx context.Context, old, c *collectorv1.Collector) (admission.Warnings, error) {
	return v.validate(ctx, c, newlyRead(old, c))
}

// ValidateDelete implements admission.Validator. The configuration does not ask
// for it.
func (*validator) ValidateDelete(context.Context, *collectorv1.Collector) (admission.Warnings, error) {
	return nil, nil
}

// newlyRead are the namespaces that a Collector did not name before or, with
// another service account, all of them.
func newlyRead(old, c *collectorv1.Collector) []string {
	if old.Spec.Account() != c.Spec.Account() {
		return c.Spec.Namespaces
	}
	return slices.DeleteFunc(slices.Clone(c.Spec.Namespaces), func(namespace string) bool {
		return slices.Contains(old.Spec.Namespaces, namespace)
	})
}

func (v *validator) validate(ctx context.Context, c *collectorv1.Collector, namespaces []string) (admission.Warnings, error) {
	if !v.scope.Has(c.Namespace) {
		return nil, nil
	}
	problems := metav1validation.ValidateLabelSelector(&c.Spec.Selector,
		metav1validation.LabelSelectorValidationOptions{}, field.NewPath("spec", "selector"))
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(collectorv1.GroupVersion.WithKind("Collector").GroupKind(), c.Name, problems)
	}
	namespaces = slices.DeleteFunc(slices.Clone(namespaces), func(name string) bool { return name == c.Namespace })
	if len(namespaces) == 0 {
		return nil, nil
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.mayReadAll(ctx, &request.UserInfo, c.Name, namespaces); err != nil {
		return nil, err
	}
	return v.warnings(ctx, c, namespaces), nil
}

// mayReadAll refuses a user who may not read one of the namespaces.
func (v *validator) mayReadAll(ctx context.Context, user *authenticationv1.UserInfo, name string, namespaces []string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, namespace := range namespaces {
		group.Go(func() error {
			if err := v.mayRead(ctx, user, namespace); err != nil {
				return apierrors.NewForbidden(collectorv1.Resource("collectors"), name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// warnings say where nothing will be counted, and why.
func (v *validator) warnings(ctx context.Context, c *collectorv1.Collector, namespaces []string) admission.Warnings {
	ctx, cancel := context.WithTimeout(ctx, preflight.Budget)
	defer cancel()
	found := make([]string, len(namespaces))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, namespace := range namespaces {
		group.Go(func() error {
			found[i] = v.warning(ctx, c, namespace)
			return nil
		})
	}
	_ = group.Wait() // they return no errors
	return slices.DeleteFunc(found, func(warning string) bool { return warning == "" })
}

// mayRead refuses a user who may not read a namespace. Without an answer it
// refuses, too.
func (v *validator) mayRead(ctx context.Context, user *authenticationv1.UserInfo, namespace string) error {
	missing, err := access.Missing(ctx, v.reviewer, user, namespace)
	switch {
	case err != nil:
		return fmt.Errorf("the API server does not say whether %s may read namespace %s, so this Collector is refused, try again: %w",
			user.Username, namespace, err)
	case missing != "":
		return fmt.Errorf("%s may not %s in namespace %s, and this Collector would tell about what is there: "+
			"get the role view there first, or take the namespace out of spec.namespaces", user.Username, missing, namespace)
	}
	return nil
}

// warning says why nothing will be counted in a namespace; empty where it will.
func (v *validator) warning(ctx context.Context, c *collectorv1.Collector, namespace string) string {
	err := v.live.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("namespace %s does not exist: nothing is counted there until it does", namespace)
	case err != nil:
		return fmt.Sprintf("whether namespace %s exists was not checked: %v", namespace, err)
	}
	account := access.ServiceAccount(c.Namespace, c.Spec.Account())
	missing, err := access.Missing(ctx, v.reviewer, &account, namespace)
	switch {
	case err != nil:
		return fmt.Sprintf("whether service account %s may read namespace %s was not checked: %v", c.Spec.Account(), namespace, err)
	case missing != "":
		return fmt.Sprintf("service account %s may not %s in namespace %s, and nothing is counted there until it may: %s",
			c.Spec.Account(), missing, namespace, access.Grant(c.Namespace, c.Spec.Account(), namespace))
	}
	return ""
}
