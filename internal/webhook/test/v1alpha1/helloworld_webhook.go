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

// Package v1alpha1 admits HelloWorlds. The CRD's schema checks their one number;
// the webhook says what it will do to the pods, whether the namespace takes them,
// and whether the Deployment's name is taken.
package v1alpha1

import (
	"context"
	"fmt"

	kappsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

// SetupWithManager registers the webhook.
func SetupWithManager(mgr ctrl.Manager, inspector *preflight.Inspector, scope preflight.Scope) error {
	return ctrl.NewWebhookManagedBy(mgr, &testv1alpha1.HelloWorld{}).
		WithValidator(&validator{cache: mgr.GetClient(), inspector: inspector, scope: scope}).
		Complete()
}

type validator struct {
	cache     client.Reader
	inspector *preflight.Inspector
	scope     preflight.Scope
}

// ValidateCreate implements admission.Validator.
func (v *validator) ValidateCreate(ctx context.Context, hw *testv1alpha1.HelloWorld) (admission.Warnings, error) {
	if !v.scope.Has(hw.Namespace) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, preflight.Budget)
	defer cancel()
	deployment, err := desired.HelloWorldDeployment(desired.HelloWorld(hw))
	if err != nil {
		return nil, fmt.Errorf("render the Deployment of HelloWorld %s/%s: %w", hw.Namespace, hw.Name, err)
	}
	template := &deployment.Spec.Template
	warnings := v.inspector.CheckSecurity(ctx, hw.Namespace, &template.ObjectMeta, &template.Spec)
	warnings = append(warnings, v.nameTaken(ctx, hw)...)
	if *deployment.Spec.Replicas == 0 {
		warnings = append(warnings, noPod)
	}
	return warnings, nil
}

// ValidateUpdate implements admission.Validator.
func (v *validator) ValidateUpdate(_ context.Context, old, hw *testv1alpha1.HelloWorld) (admission.Warnings, error) {
	if !v.scope.Has(hw.Namespace) || hw.DeletionTimestamp != nil {
		return nil, nil
	}
	return fewer(hw.Name, desired.HelloWorldSize(old), desired.HelloWorldSize(hw)), nil
}

// ValidateDelete implements admission.Validator. The configuration does not ask
// for it.
func (*validator) ValidateDelete(context.Context, *testv1alpha1.HelloWorld) (admission.Warnings, error) {
	return nil, nil
}

// nameTaken: a Deployment that is not this HelloWorld's is left alone, and the
// HelloWorld waits for its name.
func (v *validator) nameTaken(ctx context.Context, hw *testv1alpha1.HelloWorld) []string {
	var deployment kappsv1.Deployment
	err := v.cache.Get(ctx, client.ObjectKeyFromObject(hw), &deployment)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return []string{fmt.Sprintf("whether the name of the Deployment is free was not checked: %v", err)}
	case metav1.IsControlledBy(&deployment, hw):
		return nil
	}
	return []string{fmt.Sprintf("a Deployment named %s exists and is not this HelloWorld's: it is left alone, and no pod is made until it is gone", hw.Name)}
}

const noPod = "size is 0: no pod will run"

// fewer warns about pods that will be deleted. The Deployment's own controller
// chooses which.
func fewer(name string, before, after int32) []string {
	var warnings []string
	if after < before {
		pods := "pods"
		if before-after == 1 {
			pods = "pod"
		}
		warnings = append(warnings, fmt.Sprintf("%d %s of Deployment %s will be deleted: size %d -> %d", before-after, pods, name, before, after))
	}
	if after == 0 && before > 0 {
		warnings = append(warnings, noPod)
	}
	return warnings
}

// Scale foresees what kubectl scale does.
func Scale() preflight.Foresee {
	return func(_ context.Context, key client.ObjectKey, before, after int32) ([]string, error) {
		return fewer(key.Name, before, after), nil
	}
}
