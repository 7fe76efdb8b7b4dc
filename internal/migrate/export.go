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
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Exports are the kinds that a PodManager can become.
func Exports() []*Kind { return []*Kind{Deployments, StatefulSets} }

// Export makes a workload of a PodManager, and gives it the pods as they are. Where
// the PodManager was taken over and its template is still the same, the original
// comes back.
func (m *Mover) Export(ctx context.Context, key client.ObjectKey, kind *Kind) error {
	s, err := loadStore(ctx, m.Client, key)
	if errors.Is(err, ErrNoRecord) {
		if err := m.exists(ctx, key); err != nil {
			return err
		}
		s, err = newStore(ctx, m.Client, key, &Record{Stage: Taken}, m.Holder)
	}
	if err != nil {
		return err
	}
	return m.hold(ctx, s, func(ctx context.Context, m *Mover) error {
		return m.returnAs(ctx, key, s, func(pm *appsv1.PodManager) (*Target, error) {
			return s.record.export(pm, kind)
		})
	})
}

// endExport ends an interrupted export of a PodManager that never was anything else: as
// long as it stands it keeps its pods, and otherwise what it was to become is made.
func (m *Mover) endExport(ctx context.Context, key client.ObjectKey, s *store) error {
	return m.hold(ctx, s, func(ctx context.Context, m *Mover) error {
		r, err := m.runOf(key, s)
		if err != nil {
			return err
		}
		pm, err := r.manager(ctx)
		switch {
		case err == nil && pm.DeletionTimestamp == nil:
			r.Say("podmanager/%s manages its pods, as before", r.Name)
			return r.thaw(ctx)
		case err != nil && !apierrors.IsNotFound(errors.Unwrap(err)):
			return err
		case s.record.Export == nil:
			return s.remove(ctx)
		}
		return m.returnAs(ctx, key, s, func(*appsv1.PodManager) (*Target, error) { return s.record.Export, nil })
	})
}

// exists fails where there is no PodManager of the name.
func (m *Mover) exists(ctx context.Context, key client.ObjectKey) error {
	if err := m.Client.Get(ctx, key, &appsv1.PodManager{}); err != nil {
		return fmt.Errorf("read PodManager %s: %w", key.Name, err)
	}
	return nil
}

// export is what is made of a PodManager, or nil where that is the original.
func (r *Record) export(pm *appsv1.PodManager, kind *Kind) (*Target, error) {
	if r.kind() == kind {
		w, err := (&Record{Target: r.Target}).workload(pm.Namespace)
		if err != nil {
			return nil, err
		}
		was, err := (&run{Workload: w}).podTemplate()
		if err != nil {
			return nil, err
		}
		if sameMeaning(podrender.Template(pm.Name, "", kind.plainTemplate(was)), podrender.Template(pm.Name, pm.Spec.Image, pm.Spec.Template)) {
			return nil, nil
		}
	}
	return r.exportAnew(pm, kind)
}

// exportAnew is what is made of a PodManager as it is now.
func (r *Record) exportAnew(pm *appsv1.PodManager, kind *Kind) (*Target, error) {
	original := &r.Target
	if original.kind() != kind {
		original = &Target{}
	}
	template := podrender.Template(pm.Name, pm.Spec.Image, pm.Spec.Template)
	if kind == StatefulSets {
		return statefulSetOf(pm, template, original)
	}
	return deploymentOf(pm, template, original)
}

// releaseLabels change with every release, and no selector may change.
var releaseLabels = []string{"app.kubernetes.io/version", "helm.sh/chart"}

// selectorOf is the selector of the original, or else all labels that do not change with
// every release: others may share the label app.
func selectorOf(original *Target, template *corev1.PodTemplateSpec) (*metav1.LabelSelector, error) {
	if len(original.Parts) == 0 {
		identity := maps.Clone(template.Labels)
		maps.DeleteFunc(identity, func(key, _ string) bool { return slices.Contains(releaseLabels, key) })
		return metav1.SetAsLabelSelector(identity), nil
	}
	var object struct {
		Spec struct {
			Selector metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	err := decode(Part{&original.Parts[0]}, &object)
	return &object.Spec.Selector, err
}

// deploymentOf is a Deployment and its ReplicaSet, as if the PodManager had been taken
// over from them, with the earlier revisions of the original.
func deploymentOf(pm *appsv1.PodManager, template *corev1.PodTemplateSpec, original *Target) (*Target, error) {
	if len(pm.Spec.VolumeClaimTemplates) > 0 {
		return nil, fmt.Errorf("PodManager %s has spec.volumeClaimTemplates, which no Deployment has: export it as a StatefulSet", pm.Name)
	}
	hash, err := templateHash(pm.Name, template)
	if err != nil {
		return nil, err
	}
	selector, err := selectorOf(original, template)
	if err != nil {
		return nil, err
	}
	d := &kappsv1.Deployment{ObjectMeta: metadataOf(pm), Spec: kappsv1.DeploymentSpec{
		Replicas: pm.Spec.Replicas, Selector: selector, Template: *template,
		MinReadySeconds: pm.Spec.MinReadySeconds, RevisionHistoryLimit: pm.Spec.RevisionHistoryLimit, Paused: pm.Spec.Paused,
		ProgressDeadlineSeconds: pm.Spec.Update.ProgressDeadlineSeconds,
	}}
	d.Spec.Strategy = deploymentStrategy(&pm.Spec.Update)
	history, last := earlierSets(original, template)
	own := map[string]string{kappsv1.DefaultDeploymentUniqueLabelKey: hash}
	rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: pm.Namespace, Name: pm.Name + "-" + hash}}
	rs.Annotations = map[string]string{deploymentRevision: strconv.Itoa(last + 1)}
	rs.Spec = kappsv1.ReplicaSetSpec{
		Replicas: pm.Spec.Replicas, MinReadySeconds: pm.Spec.MinReadySeconds, Template: *template.DeepCopy(), Selector: selector.DeepCopy(),
	}
	rs.Spec.Selector.MatchLabels = merged(selector.MatchLabels, own)
	rs.Spec.Template.Labels = merged(template.Labels, own)
	rs.Labels = rs.Spec.Template.Labels
	return &Target{
		Resource: Deployments.id(), Name: pm.Name, PodLabels: own, Selector: metav1.FormatLabelSelector(selector),
		Parts: append([]unstructured.Unstructured{*partOf(d, Deployments).Unstructured, *partOf(rs, ReplicaSets).Unstructured}, history...),
	}, nil
}

// deploymentStrategy takes over how pods are updated, as far as a Deployment can say it.
func deploymentStrategy(update *appsv1.Update) (strategy kappsv1.DeploymentStrategy) {
	down, surge := update.MaxUnavailable, update.MaxSurge
	none := func(v *intstr.IntOrString) bool { return v == nil || v.String() == "0" }
	switch {
	case update.Strategy == appsv1.UpdateRecreate && down != nil && down.String() == "100%":
		strategy.Type = kappsv1.RecreateDeploymentStrategyType
	case none(down) && none(surge):
		// The default has to do: a Deployment refuses to have neither.
	default:
		strategy.Type = kappsv1.RollingUpdateDeploymentStrategyType
		strategy.RollingUpdate = &kappsv1.RollingUpdateDeployment{MaxUnavailable: down, MaxSurge: surge}
	}
	return strategy
}

// earlierSets are the ReplicaSets of the original, without pods, and the number of the
// last. One of the same template is left out: a Deployment would take it for its own.
func earlierSets(original *Target, template *corev1.PodTemplateSpec) (sets []unstructured.Unstructured, last int) {
	for i := 1; i < len(original.Parts); i++ {
		var rs kappsv1.ReplicaSet
		if decode(Part{&original.Parts[i]}, &rs) != nil || sameMeaning(plainTemplate(&rs.Spec.Template), template) {
			continue
		}
		last = max(last, revisionNumber(&rs))
		rs.Spec.Replicas = new(int32)
		sets = append(sets, *partOf(&rs, ReplicaSets).Unstructured)
	}
	return sets, last
}

// statefulSetOf is a StatefulSet that asks for what the PodManager asks for, with the
// earlier revisions of the original.
func statefulSetOf(pm *appsv1.PodManager, template *corev1.PodTemplateSpec, original *Target) (*Target, error) {
	spec := &pm.Spec
	start := int32(len(spec.ReserveOrdinals)) // #nosec G115 -- the CRD bounds it
	switch {
	case spec.Identity == appsv1.IdentityRandom:
		return nil, fmt.Errorf("spec.identity of PodManager %s is Random, and the pods of a StatefulSet are numbered: export it as a Deployment", pm.Name)
	case start > 0 && slices.Max(spec.ReserveOrdinals) != start-1:
		return nil, fmt.Errorf("spec.reserveOrdinals of PodManager %s is %v, and a StatefulSet leaves out only the first ones", pm.Name, spec.ReserveOrdinals)
	case spec.Update.Partition != nil && spec.Update.Partition.Type == intstr.String:
		return nil, fmt.Errorf("spec.update.partition of PodManager %s is %s, and that of a StatefulSet is a number", pm.Name, spec.Update.Partition)
	case spec.Paused:
		return nil, fmt.Errorf("spec.paused of PodManager %s is true, and a StatefulSet cannot be paused: resume it first", pm.Name)
	}
	selector, err := selectorOf(original, template)
	if err != nil {
		return nil, err
	}
	sts := &kappsv1.StatefulSet{ObjectMeta: metadataOf(pm), Spec: kappsv1.StatefulSetSpec{
		Replicas: spec.Replicas, Selector: selector, Template: *template, MinReadySeconds: spec.MinReadySeconds, ServiceName: spec.ServiceName,
		RevisionHistoryLimit: spec.RevisionHistoryLimit, VolumeClaimTemplates: spec.VolumeClaimTemplates,
		PodManagementPolicy: kappsv1.PodManagementPolicyType(spec.PodManagementPolicy),
		PersistentVolumeClaimRetentionPolicy: &kappsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: kappsv1.PersistentVolumeClaimRetentionPolicyType(spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted),
			WhenScaled:  kappsv1.PersistentVolumeClaimRetentionPolicyType(spec.PersistentVolumeClaimRetentionPolicy.WhenScaled),
		},
		UpdateStrategy: kappsv1.StatefulSetUpdateStrategy{Type: kappsv1.RollingUpdateStatefulSetStrategyType},
	}}
	if start > 0 {
		sts.Spec.Ordinals = &kappsv1.StatefulSetOrdinals{Start: start}
	}
	rollingUpdate(&sts.Spec.UpdateStrategy, &spec.Update)
	parts := []unstructured.Unstructured{*partOf(sts, StatefulSets).Unstructured}
	if len(original.Parts) > 1 {
		parts = append(parts, original.Parts[1:]...)
	}
	return &Target{Resource: StatefulSets.id(), Name: pm.Name, Selector: metav1.FormatLabelSelector(selector), Parts: parts}, nil
}

// rollingUpdate takes over how pods are updated, as far as a StatefulSet can say it.
func rollingUpdate(strategy *kappsv1.StatefulSetUpdateStrategy, update *appsv1.Update) {
	if update.Strategy == appsv1.UpdateOnDelete {
		strategy.Type = kappsv1.OnDeleteStatefulSetStrategyType
		return
	}
	rolling := &kappsv1.RollingUpdateStatefulSetStrategy{}
	if update.Partition != nil {
		rolling.Partition = &update.Partition.IntVal
	}
	if down := update.MaxUnavailable; down != nil && down.String() != "0" && down.String() != "1" {
		rolling.MaxUnavailable = down
	}
	if rolling.Partition != nil || rolling.MaxUnavailable != nil {
		strategy.RollingUpdate = rolling
	}
}

func metadataOf(pm *appsv1.PodManager) metav1.ObjectMeta {
	annotations := metadata(pm.Annotations)
	delete(annotations, appsv1.AnnotationTakeOver)
	return metav1.ObjectMeta{Namespace: pm.Namespace, Name: pm.Name, Labels: metadata(pm.Labels), Annotations: annotations}
}

func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// templateHash names the ReplicaSet, and is a label by which it selects its pods, so that
// of two workloads of one template neither takes the other's. A Deployment takes a
// ReplicaSet by its template, whatever its hash.
func templateHash(name string, template *corev1.PodTemplateSpec) (string, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("encode the template: %w", err)
	}
	h := fnv.New32a()
	_, _ = h.Write(append([]byte(name), raw...))
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}
