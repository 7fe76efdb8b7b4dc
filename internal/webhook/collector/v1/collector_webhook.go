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
// will, and tells of namespaces that do not exist.
package v1

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

// SetupWithManager registers the webhook.
func SetupWithManager(mgr ctrl.Manager, scope preflight.Scope) error {
	return ctrl.NewWebhookManagedBy(mgr, &collectorv1.Collector{}).
		WithValidator(&validator{live: mgr.GetAPIReader(), scope: scope}).
		Complete()
}

type validator struct {
	live  client.Reader
	scope preflight.Scope
}

// ValidateCreate implements admission.Validator.
func (v *validator) ValidateCreate(ctx context.Context, c *collectorv1.Collector) (admission.Warnings, error) {
	return v.validate(ctx, c)
}

// ValidateUpdate implements admission.Validator.
func (v *validator) ValidateUpdate(ctx context.Context, _, c *collectorv1.Collector) (admission.Warnings, error) {
	return v.validate(ctx, c)
}

// ValidateDelete implements admission.Validator. The configuration does not ask
// for it.
func (*validator) ValidateDelete(context.Context, *collectorv1.Collector) (admission.Warnings, error) {
	return nil, nil
}

func (v *validator) validate(ctx context.Context, c *collectorv1.Collector) (admission.Warnings, error) {
	if !v.scope.Has(c.Namespace) {
		return nil, nil
	}
	problems := metav1validation.ValidateLabelSelector(&c.Spec.Selector,
		metav1validation.LabelSelectorValidationOptions{}, field.NewPath("spec", "selector"))
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(collectorv1.GroupVersion.WithKind("Collector").GroupKind(), c.Name, problems)
	}
	ctx, cancel := context.WithTimeout(ctx, preflight.Budget)
	defer cancel()
	var warnings admission.Warnings
	for _, name := range c.Spec.Namespaces {
		err := v.live.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
		switch {
		case apierrors.IsNotFound(err):
			warnings = append(warnings, fmt.Sprintf("namespace %s does not exist: nothing is counted there until it does", name))
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("whether namespace %s exists was not checked: %v", name, err))
		}
	}
	return warnings, nil
}
