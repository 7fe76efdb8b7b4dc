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

// Package v1alpha1 admits ImoocPods. The CRD's schema checks their one number;
// the webhook says what it will do to the pods, and whether the namespace takes
// them.
package v1alpha1

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

// SetupWithManager registers the webhook.
func SetupWithManager(mgr ctrl.Manager, inspector *preflight.Inspector, scope preflight.Scope) error {
	return ctrl.NewWebhookManagedBy(mgr, &batchv1alpha1.ImoocPod{}).
		WithValidator(&preflight.Validator[*batchv1alpha1.ImoocPod]{
			Inspector: inspector,
			Kind:      desired.ImoocPodKind{},
			GroupKind: desired.ImoocPodGVK.GroupKind(),
			Scope:     scope,
		}).
		Complete()
}

// Scale foresees what kubectl scale does.
func Scale(inspector *preflight.Inspector) preflight.Foresee {
	return inspector.ScaleFleet(desired.ImoocPodKind{}, func(owner client.Object, replicas int32) {
		owner.(*batchv1alpha1.ImoocPod).Spec.Replicas = &replicas
	})
}
