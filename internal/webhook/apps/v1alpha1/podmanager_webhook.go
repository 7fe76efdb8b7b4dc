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

// Package v1alpha1 admits PodManagers that are written as v1alpha1. What v1
// says and v1alpha1 cannot say travels in an annotation (see
// api/apps/v1alpha1); the webhooks here keep v1alpha1's users from changing
// it, by accident or on purpose:
//
//   - an update never changes it. Whatever annotation the request has, the one
//     of the stored object is put in its place; so a manifest that knows size
//     and image alone, applied with kubectl replace, does not wipe out a
//     template, and a manifest with yesterday's annotation does not bring
//     yesterday's template back;
//   - a create may bring one along, as a copied object does. The API server
//     checks a request by the schema of its own version and would let through
//     what v1's schema refuses, so the v1 object is checked here.
package v1alpha1

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/webhook/metapatch"
)

// KeepPath is where the mutating webhook is.
const KeepPath = "/mutate-apps-mycompany-com-v1alpha1-podmanager"

// SetupWithManager registers the webhooks. The conversion is registered for the
// whole group, by package apps.
func SetupWithManager(mgr ctrl.Manager) error {
	mgr.GetWebhookServer().Register(KeepPath, &admission.Webhook{Handler: metapatch.Edit(keep)})
	return ctrl.NewWebhookManagedBy(mgr, &v1alpha1.PodManager{}).
		WithValidator(&validator{schema: newSchema(mgr.GetAPIReader())}).
		Complete()
}

var annotationPath = field.NewPath("metadata", "annotations").Key(v1alpha1.AnnotationKept)

// keep puts the stored object's annotation into an update. One that comes with
// a create has to be readable; that is checked here, because the next webhook
// that wants to see a v1 object has it converted, and the conversion drops what
// it cannot read.
func keep(metadata, old *metav1.ObjectMeta) error {
	if old == nil {
		return readable(metadata)
	}
	if v1alpha1.IsTooLarge(old.Labels) {
		return v1alpha1.ErrTooLarge // also where the label was left out
	}
	if kept, ok := old.Annotations[v1alpha1.AnnotationKept]; ok {
		metav1.SetMetaDataAnnotation(metadata, v1alpha1.AnnotationKept, kept)
		return nil
	}
	delete(metadata.Annotations, v1alpha1.AnnotationKept)
	return nil
}

func readable(metadata *metav1.ObjectMeta) error {
	if v1alpha1.IsTooLarge(metadata.Labels) {
		return v1alpha1.ErrTooLarge
	}
	kept, ok := metadata.Annotations[v1alpha1.AnnotationKept]
	if !ok {
		return nil
	}
	if err := v1alpha1.CheckKept(kept); err != nil {
		return invalid(metadata.Name, field.ErrorList{field.Invalid(annotationPath, excerpt(kept),
			fmt.Sprintf("the annotation is written by the operator and cannot be read: %v; leave it out", err))})
	}
	return nil
}

// validator checks what a create brings along.
type validator struct{ schema *schema }

// ValidateCreate implements admission.Validator.
func (v *validator) ValidateCreate(ctx context.Context, pm *v1alpha1.PodManager) (admission.Warnings, error) {
	if _, ok := pm.Annotations[v1alpha1.AnnotationKept]; !ok {
		return nil, nil
	}
	spoke, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pm)
	if err != nil {
		return nil, fmt.Errorf("read PodManager %s/%s: %w", pm.Namespace, pm.Name, err)
	}
	hub, err := v1alpha1.ToHub(spoke)
	if err != nil {
		return nil, fmt.Errorf("convert PodManager %s/%s: %w", pm.Namespace, pm.Name, err)
	}
	problems, err := v.schema.check(ctx, hub)
	if err != nil {
		return nil, fmt.Errorf("check PodManager %s/%s against v1: %w", pm.Namespace, pm.Name, err)
	}
	return nil, invalid(pm.Name, problems)
}

// ValidateUpdate implements admission.Validator. The configuration does not ask
// for it: an update brings nothing that was not stored before.
func (*validator) ValidateUpdate(context.Context, *v1alpha1.PodManager, *v1alpha1.PodManager) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete implements admission.Validator. The configuration does not ask
// for it.
func (*validator) ValidateDelete(context.Context, *v1alpha1.PodManager) (admission.Warnings, error) {
	return nil, nil
}

func invalid(name string, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("PodManager").GroupKind(), name, problems)
}

// excerpt keeps a message readable.
func excerpt(text string) string {
	const most = 40
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
