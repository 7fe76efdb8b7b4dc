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
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/view"
)

// deploymentRevision is where a ReplicaSet's number in its Deployment's history
// is written.
const deploymentRevision = "deployment.kubernetes.io/revision"

// deployment reads a Deployment: its pods are its ReplicaSets'.
func (r *reader) deployment(w *Workload) error {
	var d kappsv1.Deployment
	if err := w.asDeployment(&d); err != nil {
		return err
	}
	sets, err := r.replicaSetsOf(w, &d)
	if err != nil {
		return err
	}
	w.deploymentParts(&d, sets)
	return nil
}

// asDeployment takes over what a Deployment asks for.
func (w *Workload) asDeployment(d *kappsv1.Deployment) error {
	if err := decode(w.Top(), d); err != nil {
		return err
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return fmt.Errorf("read the selector of %s: %w", w, err)
	}
	w.Selector = selector
	w.template(&d.Spec.Template)
	w.Spec.Identity = appsv1.IdentityRandom
	w.Spec.Replicas = ptr.To(ptr.Deref(d.Spec.Replicas, 1))
	w.Spec.MinReadySeconds = d.Spec.MinReadySeconds
	w.Spec.Paused = d.Spec.Paused
	w.Spec.RevisionHistoryLimit = d.Spec.RevisionHistoryLimit
	w.Spec.Update.ProgressDeadlineSeconds = d.Spec.ProgressDeadlineSeconds
	if ptr.Deref(d.Spec.ProgressDeadlineSeconds, 0) > maxDeadline {
		w.Spec.Update.ProgressDeadlineSeconds = ptr.To[int32](maxDeadline)
		w.lose("progressDeadlineSeconds %d, which means never: a PodManager takes at most %d", *d.Spec.ProgressDeadlineSeconds, maxDeadline)
	}
	w.deploymentStrategy(d)
	return nil
}

// maxDeadline is a PodManager's longest progress deadline.
const maxDeadline = 604800

func (w *Workload) deploymentStrategy(d *kappsv1.Deployment) {
	if d.Spec.Strategy.Type == kappsv1.RecreateDeploymentStrategyType {
		w.Spec.Update.Strategy = appsv1.UpdateRecreate
		w.Spec.Update.MaxUnavailable, w.Spec.Update.MaxSurge = ptr.To(intstr.FromString("100%")), ptr.To(intstr.FromInt32(0))
		return
	}
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		w.Spec.Update.MaxUnavailable, w.Spec.Update.MaxSurge = rolling.MaxUnavailable, rolling.MaxSurge
	}
}

// replicaSetsOf lists a Deployment's ReplicaSets, the oldest revision first.
func (r *reader) replicaSetsOf(w *Workload, d *kappsv1.Deployment) ([]kappsv1.ReplicaSet, error) {
	var list kappsv1.ReplicaSetList
	if err := r.List(r, &list, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: w.Selector}); err != nil {
		return nil, fmt.Errorf("list the ReplicaSets of %s: %w", w, err)
	}
	sets := slices.DeleteFunc(list.Items, func(rs kappsv1.ReplicaSet) bool { return !metav1.IsControlledBy(&rs, d) })
	slices.SortFunc(sets, func(a, b kappsv1.ReplicaSet) int { return cmp.Compare(revisionNumber(&a), revisionNumber(&b)) })
	return sets, nil
}

func revisionNumber(rs *kappsv1.ReplicaSet) int {
	n, _ := strconv.Atoi(rs.Annotations[deploymentRevision])
	return n
}

// deploymentParts tells the current ReplicaSet from the earlier ones. The newest
// revision is the current one: a Deployment that goes back renumbers.
func (w *Workload) deploymentParts(d *kappsv1.Deployment, sets []kappsv1.ReplicaSet) {
	resume := ": kubectl rollout resume deployment/" + w.Name + " first"
	if d.Spec.Paused && (len(sets) == 0 || !sameTemplate(plainTemplate(&sets[len(sets)-1].Spec.Template), w.Spec.Template)) {
		w.Refused = "it is paused, and its pods are not on its template" + resume
	}
	if len(sets) == 0 {
		w.Busy = "it has no ReplicaSet yet"
		return
	}
	current := &sets[len(sets)-1]
	w.PodLabels = hashLabel(current)
	w.Parts = append(w.Parts, partOf(current, ReplicaSets))
	for i := range sets[:len(sets)-1] {
		w.Parts = append(w.Parts, partOf(&sets[i], ReplicaSets))
		w.History = append(w.History, *plainTemplate(&sets[i].Spec.Template))
		if sets[i].Status.Replicas > 0 || ptr.Deref(sets[i].Spec.Replicas, 1) > 0 {
			n, are := int(sets[i].Status.Replicas), "are"
			if n == 1 {
				are = "is"
			}
			still := fmt.Sprintf("%s %s still on revision %d", view.Count(n, "pod"), are, revisionNumber(&sets[i]))
			w.Busy = "a rollout is under way: " + still
			switch {
			case d.Spec.Paused:
				w.Refused = "it is paused, and " + still + resume
			case slices.ContainsFunc(d.Status.Conditions, rolloutFailed):
				w.Refused = "its rollout has failed, and " + still + ": kubectl rollout undo deployment/" + w.Name + ", or mend its template"
			}
		}
	}
	switch {
	case w.Busy != "":
	case d.Status.ObservedGeneration < d.Generation:
		w.Busy = "its last change was not seen by its controller yet"
	case !sameTemplate(plainTemplate(&current.Spec.Template), w.Spec.Template):
		w.Busy = "its pods are not on its template: a rollout is under way"
	case ptr.Deref(current.Spec.Replicas, 1) != w.Replicas() || current.Status.Replicas != w.Replicas():
		w.Busy = fmt.Sprintf("%d of %d pods are there: it is being scaled", current.Status.Replicas, w.Replicas())
	}
}

// rolloutFailed: the Deployment's controller says that its progress deadline has passed.
func rolloutFailed(c kappsv1.DeploymentCondition) bool {
	return c.Type == kappsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded"
}

func hashLabel(rs *kappsv1.ReplicaSet) map[string]string {
	if hash, ok := rs.Spec.Selector.MatchLabels[kappsv1.DefaultDeploymentUniqueLabelKey]; ok {
		return map[string]string{kappsv1.DefaultDeploymentUniqueLabelKey: hash}
	}
	return nil
}

// replicaSet reads a ReplicaSet that stands alone.
func (r *reader) replicaSet(w *Workload) error {
	var rs kappsv1.ReplicaSet
	if err := decode(w.Top(), &rs); err != nil {
		return err
	}
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return fmt.Errorf("read the selector of %s: %w", w, err)
	}
	w.Selector = selector
	w.PodLabels = hashLabel(&rs)
	w.template(&rs.Spec.Template)
	w.Spec.Identity = appsv1.IdentityRandom
	w.Spec.Replicas = ptr.To(ptr.Deref(rs.Spec.Replicas, 1))
	w.Spec.MinReadySeconds = rs.Spec.MinReadySeconds
	if rs.Status.ObservedGeneration < rs.Generation || rs.Status.Replicas != w.Replicas() {
		w.Busy = fmt.Sprintf("%d of %d pods are there: it is being scaled", rs.Status.Replicas, w.Replicas())
	}
	return nil
}

// statefulSet reads a StatefulSet.
func (r *reader) statefulSet(w *Workload) error {
	var sts kappsv1.StatefulSet
	if err := w.asStatefulSet(&sts); err != nil {
		return err
	}
	w.PodLabels = map[string]string{kappsv1.ControllerRevisionHashLabelKey: sts.Status.UpdateRevision}
	switch s := &sts.Status; {
	case s.ObservedGeneration < sts.Generation:
		w.Busy = "its last change was not seen by its controller yet"
	case s.CurrentRevision != s.UpdateRevision:
		w.unfinished(&sts)
	}
	if w.Busy == "" && sts.Status.Replicas != w.Replicas() {
		w.Busy = fmt.Sprintf("%d of %d pods are there: it is being scaled", sts.Status.Replicas, w.Replicas())
	}
	return r.history(w, sts.Status.UpdateRevision)
}

// asStatefulSet takes over what a StatefulSet asks for.
func (w *Workload) asStatefulSet(sts *kappsv1.StatefulSet) error {
	if err := decode(w.Top(), sts); err != nil {
		return err
	}
	selector, err := metav1.LabelSelectorAsSelector(sts.Spec.Selector)
	if err != nil {
		return fmt.Errorf("read the selector of %s: %w", w, err)
	}
	w.Selector = selector
	w.template(&sts.Spec.Template)
	w.ordinals(&sts.Spec)
	w.statefulStrategy(&sts.Spec.UpdateStrategy)
	return nil
}

// unfinished says what a rollout waits for. With OnDelete its controller never says that
// the last pod was updated.
func (w *Workload) unfinished(sts *kappsv1.StatefulSet) {
	updated := fmt.Sprintf("%d of %d pods are updated", sts.Status.UpdatedReplicas, w.Replicas())
	rolling := sts.Spec.UpdateStrategy.RollingUpdate
	switch {
	case sts.Spec.UpdateStrategy.Type == kappsv1.OnDeleteStatefulSetStrategyType:
		if sts.Status.UpdatedReplicas < sts.Status.Replicas {
			w.Refused = "spec.updateStrategy.type is OnDelete, and " + updated + ": delete the others, or set the template back"
		}
	case rolling != nil && ptr.Deref(rolling.Partition, 0) > 0:
		w.Refused = fmt.Sprintf("spec.updateStrategy.rollingUpdate.partition is %d, and %s: set it to 0, or the template back", *rolling.Partition, updated)
	default:
		w.Busy = "a rollout is under way: " + updated
	}
}

// ordinals takes over what a StatefulSet says about its pods' identity.
func (w *Workload) ordinals(spec *kappsv1.StatefulSetSpec) {
	w.Spec.Identity = appsv1.IdentityOrdinal
	w.Spec.Replicas = ptr.To(ptr.Deref(spec.Replicas, 1))
	w.Spec.MinReadySeconds = spec.MinReadySeconds
	w.Spec.RevisionHistoryLimit = spec.RevisionHistoryLimit
	w.Spec.ServiceName = spec.ServiceName
	w.Spec.PodManagementPolicy = appsv1.PodManagementPolicy(cmp.Or(spec.PodManagementPolicy, kappsv1.OrderedReadyPodManagement))
	if spec.Ordinals != nil {
		for i := range min(spec.Ordinals.Start, maxReserved) {
			w.Spec.ReserveOrdinals = append(w.Spec.ReserveOrdinals, i)
		}
		if spec.Ordinals.Start > maxReserved {
			w.Refused = fmt.Sprintf("spec.ordinals.start is %d, and a PodManager leaves out at most %d ordinals", spec.Ordinals.Start, maxReserved)
		}
	}
	for i := range spec.VolumeClaimTemplates {
		claim := spec.VolumeClaimTemplates[i].DeepCopy()
		claim.Status, claim.TypeMeta, claim.CreationTimestamp = corev1.PersistentVolumeClaimStatus{}, metav1.TypeMeta{}, metav1.Time{}
		w.Spec.VolumeClaimTemplates = append(w.Spec.VolumeClaimTemplates, *claim)
	}
	if keep := spec.PersistentVolumeClaimRetentionPolicy; keep != nil {
		w.Spec.PersistentVolumeClaimRetentionPolicy = appsv1.ClaimRetention{
			WhenDeleted: appsv1.ClaimPolicy(keep.WhenDeleted), WhenScaled: appsv1.ClaimPolicy(keep.WhenScaled),
		}
	}
}

func (w *Workload) statefulStrategy(strategy *kappsv1.StatefulSetUpdateStrategy) {
	update := &w.Spec.Update
	update.MaxUnavailable, update.MaxSurge = ptr.To(intstr.FromInt32(1)), ptr.To(intstr.FromInt32(0))
	if strategy.Type == kappsv1.OnDeleteStatefulSetStrategyType {
		update.Strategy = appsv1.UpdateOnDelete
		return
	}
	if rolling := strategy.RollingUpdate; rolling != nil {
		if rolling.MaxUnavailable != nil {
			update.MaxUnavailable = rolling.MaxUnavailable
		}
		if n := ptr.Deref(rolling.Partition, 0); n > 0 {
			update.Partition = ptr.To(intstr.FromInt32(n))
		}
	}
}

var controllerRevision = kappsv1.SchemeGroupVersion.WithKind("ControllerRevision")

// history reads the revisions of a workload that has ControllerRevisions.
func (r *reader) history(w *Workload, current string) error {
	var list kappsv1.ControllerRevisionList
	if err := r.List(r, &list, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: w.Selector}); err != nil {
		return fmt.Errorf("list the revisions of %s: %w", w, err)
	}
	slices.SortFunc(list.Items, func(a, b kappsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	for i := range list.Items {
		revision := &list.Items[i]
		if !metav1.IsControlledBy(revision, w.Top()) {
			continue
		}
		part := partOf(revision, &Kind{GroupVersionKind: controllerRevision})
		w.Parts = append(w.Parts, part)
		if revision.Name == current {
			continue
		}
		var data struct{ Spec kappsv1.StatefulSetSpec }
		if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
			w.lose("revision %s, which cannot be decoded: %v", revision.Name, err)
			continue
		}
		w.History = append(w.History, *w.Kind.plainTemplate(&data.Spec.Template))
	}
	return nil
}

// template takes the pod template over.
func (w *Workload) template(t *corev1.PodTemplateSpec) {
	w.Spec.Template = w.Kind.plainTemplate(t)
	for key := range t.Labels {
		if slices.Contains(appsv1.ReservedLabels(), key) {
			w.Refused = fmt.Sprintf("spec.template.metadata.labels[%s] is a label of the operator's own: take it off first", key)
		}
	}
	if w.Kind.Ordinal && t.Spec.Hostname != "" {
		w.lose("spec.template.spec.hostname") // its pods have their names there
	}
	if w.Kind.Ordinal && t.Spec.Subdomain != "" {
		w.lose("spec.template.spec.subdomain") // and serviceName
	}
}

// plainTemplate is a template without what a controller added to it.
func plainTemplate(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	t = t.DeepCopy()
	t.ObjectMeta = metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations, Finalizers: t.Finalizers}
	delete(t.Labels, kappsv1.DefaultDeploymentUniqueLabelKey)
	return t
}

// metadata is what a PodManager takes over of an object's labels and
// annotations: not what its controllers, kubectl and Argo CD wrote there about
// that very object.
func metadata(values map[string]string) map[string]string {
	kept := maps.Clone(values)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		return strings.HasPrefix(key, "deployment.kubernetes.io/") || key == corev1.LastAppliedConfigAnnotation || key == argoTracking
	})
	return kept
}

func decode(part Part, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(part.Object, into); err != nil {
		return fmt.Errorf("decode %s %s: %w", part.GetKind(), part.GetName(), err)
	}
	return nil
}

// partOf is a typed object as a part.
func partOf(obj runtime.Object, kind *Kind) Part {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		panic(err) // it came from the API server
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind.GroupVersionKind)
	return Part{u}
}
