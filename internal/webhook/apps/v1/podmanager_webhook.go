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

// Package v1 admits PodManagers. What the CRD's schema can check is checked
// there, by the API server itself; the webhooks do what only a program can:
//
//   - the finalizer is set when the object is created, which saves the
//     controller a write for every PodManager;
//   - a dry run tries the template's pod, and warnings say what the change will
//     do to the pods (package preflight);
//   - the annotation of a take-over names a workload, and templates are not too large.
package v1

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/shard"
	"github.com/mycompany/pod-operator/internal/webhook/metapatch"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

// DefaultPath is where the mutating webhook is.
const DefaultPath = "/mutate-apps-mycompany-com-v1-podmanager"

// SetupWithManager registers the webhooks. Shards is how many there are, or 0.
func SetupWithManager(mgr ctrl.Manager, inspector *preflight.Inspector, scope preflight.Scope, shards int) error {
	prepare := func(metadata, old *metav1.ObjectMeta) error {
		prepare(scope, metadata, old)
		if shards > 0 && scope.Has(metadata.Namespace) {
			keepShard(shards, metadata, old)
		}
		return nil
	}
	mgr.GetWebhookServer().Register(DefaultPath, &admission.Webhook{Handler: metapatch.Edit(prepare)})
	return ctrl.NewWebhookManagedBy(mgr, &appsv1.PodManager{}).
		WithValidator(&validator{preflight.Validator[*appsv1.PodManager]{
			Inspector: inspector,
			Kind:      desired.PodManagerKind{MaxHold: inspector.MaxHold},
			GroupKind: desired.PodManagerGVK.GroupKind(),
			Scope:     scope,
			Path:      podPath,
			ClaimPath: claimPath,
		}}).
		Complete()
}

// validator is preflight's, and what holds for PodManagers besides.
type validator struct {
	preflight.Validator[*appsv1.PodManager]
}

// ValidateCreate implements admission.Validator.
func (v *validator) ValidateCreate(ctx context.Context, pm *appsv1.PodManager) (admission.Warnings, error) {
	if err := v.checkTakeOver(pm); err != nil {
		return nil, err
	}
	if !isSmall(ctx) {
		if err := checkTemplates(pm, 0); err != nil {
			return nil, err
		}
		if err := checkSize(pm); err != nil {
			return nil, err
		}
	}
	return v.Validator.ValidateCreate(ctx, pm)
}

// ValidateUpdate implements admission.Validator.
func (v *validator) ValidateUpdate(ctx context.Context, old, pm *appsv1.PodManager) (admission.Warnings, error) {
	if v.checkTakeOver(old) == nil {
		if err := v.checkTakeOver(pm); err != nil {
			return nil, err
		}
	}
	if !isSmall(ctx) {
		if err := checkTemplates(pm, observe.TemplateSize(old)); err != nil {
			return nil, err
		}
		if err := checkSize(pm); err != nil && checkSize(old) == nil {
			return nil, err
		}
	}
	return v.Validator.ValidateUpdate(ctx, old, pm)
}

// isSmall reports whether an object is so small that v1alpha1 carries it however
// badly it compresses: in base64 it grows by a third.
func isSmall(ctx context.Context) bool {
	req, err := admission.RequestFromContext(ctx)
	return err == nil && len(req.Object.Raw) < v1alpha1.AnnotationsLimit/2
}

// maxTemplates is how large the pod template and the claim templates may be together, as JSON. A
// pod of a few hundred bytes is usual, and one of ten containers with all their probes and
// variables has 20 KiB.
const maxTemplates = 256 << 10

// checkTemplates refuses templates that are too large. What was larger before there was a limit may
// be edited, as long as it does not grow.
func checkTemplates(pm *appsv1.PodManager, before int) error {
	size := observe.TemplateSize(pm)
	if size <= max(maxTemplates, before) {
		return nil
	}
	return preflight.Refuse(desired.PodManagerGVK.GroupKind(), pm.Name, []preflight.Problem{{
		Field: "spec.template", Type: string(metav1.CauseTypeTooLong),
		Message: fmt.Sprintf("Too long: with the volumeClaimTemplates it has %d bytes, and it may have %d: put files into ConfigMaps", size, maxTemplates),
	}})
}

// checkSize refuses what v1alpha1 could not carry. Its users could read such an
// object and not write it, and where v1alpha1 is the storage version it could
// not be stored.
func checkSize(pm *appsv1.PodManager) error {
	hub, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pm)
	if err != nil {
		return fmt.Errorf("read PodManager %s/%s: %w", pm.Namespace, pm.Name, err)
	}
	if _, fits := v1alpha1.FromHub(hub); fits {
		return nil
	}
	return preflight.Refuse(desired.PodManagerGVK.GroupKind(), pm.Name, []preflight.Problem{{
		Field: "spec", Type: string(metav1.CauseTypeTooLong),
		Message: "Too long: compressed, and together with the annotations, it may not be more than 262144 bytes",
	}})
}

// otherWorkload is RESOURCE.GROUP/NAME, or RESOURCE/NAME in the core group.
var otherWorkload = regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// checkTakeOver refuses an annotation that names no workload. Such a fleet would
// wait for pods of which no message could say where they come from.
func (v *validator) checkTakeOver(pm *appsv1.PodManager) error {
	from, ok := pm.Annotations[appsv1.AnnotationTakeOver]
	if !ok || pm.DeletionTimestamp != nil || !v.Scope.Has(pm.Namespace) || otherWorkload.MatchString(from) {
		return nil
	}
	return preflight.Refuse(desired.PodManagerGVK.GroupKind(), pm.Name, []preflight.Problem{{
		Field: "metadata.annotations[" + appsv1.AnnotationTakeOver + "]", Type: string(metav1.CauseTypeFieldValueInvalid),
		Message: fmt.Sprintf("Invalid value: %q: %s must name the workload that the pods are taken over from, as RESOURCE.GROUP/NAME: "+
			"deployments.apps/web, say", from, appsv1.AnnotationTakeOver),
	}})
}

// Scale foresees what kubectl scale does.
func Scale(inspector *preflight.Inspector) preflight.Foresee {
	return inspector.ScaleFleet(desired.PodManagerKind{MaxHold: inspector.MaxHold}, func(owner client.Object, replicas int32) {
		owner.(*appsv1.PodManager).Spec.Replicas = &replicas
	})
}

// prepare gives a new object its finalizer, unless it is in a namespace that
// this operator does not watch: there it would never be removed. An object that
// was read as v1alpha1 and is written as v1 loses the annotation that v1alpha1
// needs; see api/apps/v1alpha1.
func prepare(scope preflight.Scope, metadata, old *metav1.ObjectMeta) {
	if old == nil && scope.Has(metadata.Namespace) && !slices.Contains(metadata.Finalizers, appsv1.Finalizer) {
		metadata.Finalizers = append(metadata.Finalizers, appsv1.Finalizer)
	}
	delete(metadata.Annotations, v1alpha1.AnnotationKept)
}

// keepShard gives a new object the label of its shard, and keeps an edit from
// changing it. An old object without the label is left without it: it gets it
// after its pods, or the holder of that shard would not see them.
func keepShard(shards int, metadata, old *metav1.ObjectMeta) {
	want := strconv.Itoa(shard.Of(metadata.Namespace, metadata.Name, shards))
	if metadata.Labels[appsv1.LabelShard] == want {
		return
	}
	if old != nil {
		kept, has := old.Labels[appsv1.LabelShard]
		if !has {
			delete(metadata.Labels, appsv1.LabelShard)
			return
		}
		want = kept
	}
	metav1.SetMetaDataLabel(metadata, appsv1.LabelShard, want)
}

var imageField = regexp.MustCompile(`^spec\.containers\[([0-9]+)\]\.image$`)

// podPath says where a field of the pod comes from: out of the template, or,
// for the image of the container app, out of spec.image.
func podPath(pm *appsv1.PodManager) func(string) string {
	return func(podField string) string {
		if match := imageField.FindStringSubmatch(podField); match != nil && pm.Spec.Image != "" {
			n, err := strconv.Atoi(match[1])
			if err == nil && isApp(pm.Spec.Template, n) {
				return "spec.image"
			}
		}
		return strings.TrimSuffix("spec.template."+podField, ".")
	}
}

// isApp reports whether spec.image is the image of the nth container.
func isApp(template *corev1.PodTemplateSpec, n int) bool {
	if template == nil || len(template.Spec.Containers) == 0 {
		return true
	}
	return n < len(template.Spec.Containers) && template.Spec.Containers[n].Name == appsv1.AppContainer
}

func claimPath(pm *appsv1.PodManager) func(template, claimField string) string {
	return func(template, claimField string) string {
		n := slices.IndexFunc(pm.Spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == template })
		return strings.TrimSuffix(fmt.Sprintf("spec.volumeClaimTemplates[%d].%s", n, claimField), ".")
	}
}
