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

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// returnable fails where the workload would not keep the pods as they are. The
// PodManager is frozen, so that the answer stays true.
func (r *run) returnable(ctx context.Context, pm *appsv1.PodManager, pods []corev1.Pod) error {
	if r.Kind == BarePods {
		return r.freeable(ctx, pods)
	}
	template, err := r.podTemplate()
	if err != nil {
		return err
	}
	r.Spec.Template = r.Kind.plainTemplate(template)
	if !sameMeaning(podrender.Template(pm.Name, "", r.Spec.Template), podrender.Template(pm.Name, pm.Spec.Image, pm.Spec.Template)) {
		return fmt.Errorf("the template of PodManager %s was changed since the migration, so %s would restart its pods: "+
			"change it back first, or make a new workload with kubectl podmanager export", pm.Name, r.Workload)
	}
	if pin := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionPinned); pin != nil {
		return fmt.Errorf("PodManager %s is pinned, and a %s has no pins: %s", pm.Name, r.Kind.Kind, pin.Message)
	}
	if err := r.updated(pm); err != nil {
		return err
	}
	if err := r.sameOrdinals(pm); err != nil {
		return err
	}
	if err := r.samePods(ctx, pods); err != nil {
		return err
	}
	if err := CheckRights(ctx, r.Client, r.Workload); err != nil {
		return err
	}
	return r.tryParts(ctx)
}

// freeable fails where pods that get no owner would never be ready, or be another's.
func (r *run) freeable(ctx context.Context, pods []corev1.Pod) error {
	r.Pods = pods
	if err := inService(pods); err != nil {
		return err
	}
	if err := CheckRights(ctx, r.Client, r.Workload); err != nil {
		return err
	}
	return r.alone(ctx)
}

// inService fails where the operator has still to put a pod in service.
func inService(pods []corev1.Pod) error {
	for i := range pods {
		if gateShut(&pods[i]) {
			return fmt.Errorf("pod %s is not in service yet, and only the operator opens its readiness gate: wait until it is ready, or delete it", pods[i].Name)
		}
	}
	return nil
}

// updated fails while pods are not on the template, and says what that waits for.
func (r *run) updated(pm *appsv1.PodManager) error {
	s, update := &pm.Status, &pm.Spec.Update
	if s.UpdatedReplicas == s.Replicas {
		return nil
	}
	ends := "wait until that has ended"
	switch {
	case r.store.record.Stage == Prepared || r.store.record.Stage == Releasing:
		ends = "it was edited while it took over, which has not ended: run kubectl podmanager migrate again first"
	case pm.Spec.Paused:
		ends = "it is paused: resume it"
	case update.Strategy == appsv1.UpdateOnDelete:
		ends = "spec.update.strategy is OnDelete: delete the others"
	case update.Partition != nil && update.Partition.String() != "0" && update.Partition.String() != "0%":
		ends = fmt.Sprintf("spec.update.partition is %s: set it to 0", update.Partition)
	}
	return fmt.Errorf("PodManager %s is changing its pods: %d of %d are updated; %s", pm.Name, s.UpdatedReplicas, s.Replicas, ends)
}

// podTemplate is the template of the workload that is made again.
func (r *run) podTemplate() (*corev1.PodTemplateSpec, error) {
	var object struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	err := decode(r.Top(), &object)
	return &object.Spec.Template, err
}

// sameOrdinals: the workload leaves the same gaps. One that leaves none would remove
// the pods at the end, and their claims.
func (r *run) sameOrdinals(pm *appsv1.PodManager) error {
	if !r.Kind.Ordinal {
		return nil
	}
	w := &Workload{Kind: r.Kind}
	var object struct {
		Spec struct {
			Ordinals *kappsv1.StatefulSetOrdinals `json:"ordinals"`
		} `json:"spec"`
	}
	if err := decode(r.Top(), &object); err != nil {
		return err
	}
	w.ordinals(&kappsv1.StatefulSetSpec{Ordinals: object.Spec.Ordinals})
	if r.Kind == AdvancedStatefulSets {
		if err := w.reserved(r.Top()); err != nil {
			return err
		}
	}
	now := slices.Sorted(slices.Values(pm.Spec.ReserveOrdinals))
	if slices.Equal(w.Spec.ReserveOrdinals, now) {
		return nil
	}
	return fmt.Errorf("spec.reserveOrdinals of PodManager %s is %v, and %s leaves out %v: it would remove pods; change it back first",
		pm.Name, now, r.Workload, w.Spec.ReserveOrdinals)
}

// samePods holds the pods against the template, and refuses those that stand in for
// others, or that the operator has still to put in service.
func (r *run) samePods(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		if pods[i].Annotations[appsv1.AnnotationSurge] == "true" && r.Kind.Ordinal {
			return fmt.Errorf("pod %s stands in for another, and a %s would remove it: wait until it is gone", pods[i].Name, r.Kind.Kind)
		}
	}
	if err := inService(pods); err != nil {
		return err
	}
	r.Pods = pods
	for _, d := range Compare(ctx, r.Client, r.Workload) {
		if !d.Harmless {
			return fmt.Errorf("%s; %s would restart it: delete the pod first", d, r.Workload)
		}
	}
	return nil
}

// gateShut: the pod waits for the operator to open its readiness gate.
func gateShut(pod *corev1.Pod) bool {
	gated := func(g corev1.PodReadinessGate) bool { return g.ConditionType == appsv1.GateInService }
	open := func(c corev1.PodCondition) bool {
		return c.Type == appsv1.GateInService && c.Status == corev1.ConditionTrue
	}
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	return !ended && slices.ContainsFunc(pod.Spec.ReadinessGates, gated) && !slices.ContainsFunc(pod.Status.Conditions, open)
}

// tryParts has the API server say whether it would take the parts: names that are
// taken, quotas, policies and missing rights show before anything is let go.
func (r *run) tryParts(ctx context.Context) error {
	if err := r.tryBarrier(ctx); err != nil {
		return err
	}
	sets := int64(0)
	for i := range r.Parts {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(r.Parts[i].GroupVersionKind())
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(r.Parts[i]), live)
		if err == nil && (i == 0 || i == r.Kind.keeper()) { // another's ReplicaSet would take the pods, and delete those it has too many
			return fmt.Errorf("%s %s exists already: rename or delete it first", live.GetKind(), live.GetName())
		}
		if err != nil && live.GroupVersionKind() == ReplicaSets.GroupVersionKind {
			sets++
		}
		fresh, err := r.fresh(i)
		if err != nil {
			return err
		}
		err = r.Client.Create(ctx, fresh, client.DryRunAll)
		if err != nil && !apierrors.IsAlreadyExists(err) && !r.spare(i, err) {
			return fmt.Errorf("%s %s could not be created: %w", fresh.GetKind(), fresh.GetName(), err)
		}
		if i == 0 && !r.isStill(fresh) {
			return fmt.Errorf("this OpenKruise does not know spec.scaleStrategy.maxUnavailable, so %s would make new pods: update it first", r.Workload)
		}
	}
	if err := r.alone(ctx); err != nil {
		return err
	}
	if r.Kind != Deployments {
		return nil
	}
	return r.roomFor(ctx, sets)
}

// spare: the part is a revision that the user may not write. A StatefulSet makes
// its current one itself.
func (r *run) spare(i int, err error) bool {
	return apierrors.IsForbidden(err) && r.Parts[i].GroupVersionKind() == controllerRevision
}
