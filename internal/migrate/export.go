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
	"strconv"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Export makes a Deployment of a PodManager, and gives it the pods as they are.
// Where the PodManager was taken over and its template is still the same, the
// original comes back.
func (m *Mover) Export(ctx context.Context, pm *appsv1.PodManager) error {
	key := client.ObjectKeyFromObject(pm)
	s, err := loadStore(ctx, m.Client, key)
	if err != nil && !errors.Is(err, ErrNoRecord) {
		return err
	}
	if s != nil && (s.record.Stage == Returning || s.unchanged(pm)) {
		return m.GiveBack(ctx, key)
	}
	record, err := exported(pm)
	if err != nil {
		return err
	}
	for i := range record.Parts {
		if err := m.absent(ctx, &record.Parts[i]); err != nil {
			return err
		}
	}
	if s == nil {
		if _, err = newStore(ctx, m.Client, key, record, m.Holder); err != nil {
			return err
		}
		return m.GiveBack(ctx, key)
	}
	s.record = record
	if err := s.take(ctx, m.Holder); err != nil {
		return err
	}
	return m.GiveBack(ctx, key)
}

// absent fails where an object of the name exists.
func (m *Mover) absent(ctx context.Context, part *unstructured.Unstructured) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(part.GroupVersionKind())
	err := m.Client.Get(ctx, client.ObjectKeyFromObject(part), live)
	switch {
	case gone(err):
		return nil
	case err != nil:
		return fmt.Errorf("look for a %s of the name: %w", part.GetKind(), err)
	}
	return fmt.Errorf("%s %s exists already: rename or delete it first", part.GetKind(), part.GetName())
}

// unchanged: what was taken over is a Deployment whose template the PodManager
// still has.
func (s *store) unchanged(pm *appsv1.PodManager) bool {
	w, err := s.record.workload(pm.Namespace)
	if err != nil || w.Kind != Deployments || pm.Spec.Template == nil {
		return false
	}
	template, err := (&run{Workload: w}).podTemplate()
	return err == nil && sameTemplate(plainTemplate(template), pm.Spec.Template)
}

// exported is the record of a Deployment and its ReplicaSet, as if the PodManager
// had been taken over from them.
func exported(pm *appsv1.PodManager) (*Record, error) {
	if len(pm.Spec.VolumeClaimTemplates) > 0 {
		return nil, fmt.Errorf("PodManager %s has volumeClaimTemplates, which no Deployment has", pm.Name)
	}
	template := podrender.Template(pm.Name, pm.Spec.Image, pm.Spec.Template)
	hash, err := templateHash(template)
	if err != nil {
		return nil, err
	}
	selector := map[string]string{appsv1.LabelApp: template.Labels[appsv1.LabelApp]}
	meta := metav1.ObjectMeta{Namespace: pm.Namespace, Name: pm.Name, Labels: metadata(pm.Labels), Annotations: metadata(pm.Annotations)}
	d := &kappsv1.Deployment{ObjectMeta: *meta.DeepCopy(), Spec: kappsv1.DeploymentSpec{
		Replicas: pm.Spec.Replicas, Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: *template,
		MinReadySeconds: pm.Spec.MinReadySeconds, RevisionHistoryLimit: pm.Spec.RevisionHistoryLimit, Paused: pm.Spec.Paused,
		ProgressDeadlineSeconds: pm.Spec.Update.ProgressDeadlineSeconds,
	}}
	if down, surge := pm.Spec.Update.MaxUnavailable, pm.Spec.Update.MaxSurge; down != nil && surge != nil && (down.String() != "0" || surge.String() != "0") {
		d.Spec.Strategy = kappsv1.DeploymentStrategy{
			Type: kappsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &kappsv1.RollingUpdateDeployment{MaxUnavailable: down, MaxSurge: surge},
		}
	}
	own := map[string]string{kappsv1.DefaultDeploymentUniqueLabelKey: hash}
	rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: pm.Namespace, Name: pm.Name + "-" + hash}}
	rs.Annotations = map[string]string{deploymentRevision: "1"}
	rs.Spec = kappsv1.ReplicaSetSpec{
		Replicas: pm.Spec.Replicas, MinReadySeconds: pm.Spec.MinReadySeconds, Template: *template.DeepCopy(),
		Selector: &metav1.LabelSelector{MatchLabels: merged(selector, own)},
	}
	rs.Spec.Template.Labels = merged(template.Labels, own)
	rs.Labels = rs.Spec.Template.Labels
	return &Record{
		Resource: Deployments.id(), Name: pm.Name, Stage: Taken, PodLabels: own, Selector: metav1.FormatLabelSelector(d.Spec.Selector),
		Replicas: ptr.Deref(pm.Spec.Replicas, 0),
		Parts:    []unstructured.Unstructured{*partOf(d, Deployments).Unstructured, *partOf(rs, ReplicaSets).Unstructured},
	}, nil
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// templateHash names the ReplicaSet. A Deployment takes a ReplicaSet by its
// template, whatever its hash.
func templateHash(template *corev1.PodTemplateSpec) (string, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("encode the template: %w", err)
	}
	h := fnv.New32a()
	_, _ = h.Write(raw)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}
