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
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// maxName is how long the name of a PodManager may be.
const maxName = 52

// Manager is the PodManager that asks for what the workload asks for.
func (w *Workload) Manager() *appsv1.PodManager {
	pm := &appsv1.PodManager{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.GroupVersion.String(), Kind: "PodManager"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name},
		Spec:       *w.Spec.DeepCopy(),
	}
	if len(w.Parts) > 0 {
		pm.Labels, pm.Annotations = metadata(w.Top().GetLabels()), metadata(w.Top().GetAnnotations())
	}
	return pm
}

// waiting is the PodManager that asks for what the workload asks for, and waits for its
// pods.
func (w *Workload) waiting() *appsv1.PodManager {
	pm := w.Manager()
	metav1.SetMetaDataAnnotation(&pm.ObjectMeta, appsv1.AnnotationTakeOver, w.Kind.id()+"/"+w.Name)
	return pm
}

// Obstacle says why the workload cannot be taken over, or is empty.
func (w *Workload) Obstacle() string {
	spec := &w.Spec.Template.Spec
	switch {
	case w.Refused != "":
		return w.Refused
	case w.Busy != "":
		return w.Busy + ": wait until it has ended, then run migrate again"
	case w.controller() != nil:
		ref := w.controller()
		advice := "migrate that instead, or take its owner reference off"
		if !migratable(ref) {
			advice = "a " + ref.Kind + " cannot be taken over; take its owner reference off, if that is not put back"
		}
		return fmt.Sprintf("it belongs to %s %s, which would make it again: %s", ref.Kind, ref.Name, advice)
	case w.heldBy() != "":
		return w.heldBy() + ", whose program would clean up and keep it until then: take it off first"
	case len(w.Name) > maxName:
		return fmt.Sprintf("its name has %d characters, and a PodManager's at most %d", len(w.Name), maxName)
	case spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyAlways:
		return fmt.Sprintf("restartPolicy is %s, and a PodManager keeps its pods running", spec.RestartPolicy)
	case spec.ActiveDeadlineSeconds != nil:
		return "activeDeadlineSeconds ends its pods, and a PodManager keeps its pods running"
	}
	return ""
}

// migratable: an owner is of a kind that can be taken over.
func migratable(owner *metav1.OwnerReference) bool {
	return slices.ContainsFunc(Kinds(), func(k *Kind) bool { return owner.APIVersion == k.GroupVersion().String() && owner.Kind == k.Kind })
}

// heldBy names a finalizer of others, or is empty.
func (w *Workload) heldBy() string {
	own := []string{finalizerMigrating, metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	for _, part := range w.Parts {
		for _, finalizer := range part.GetFinalizers() {
			if !slices.Contains(own, finalizer) {
				return fmt.Sprintf("%s %s has the finalizer %s", part.GetKind(), part.GetName(), finalizer)
			}
		}
	}
	return ""
}

// NewPodsDiffer says what pods that the PodManager makes have, and those of the
// workload have not.
func (w *Workload) NewPodsDiffer() []string {
	var notes []string
	if _, ok := w.Spec.Template.Labels[appsv1.LabelApp]; !ok {
		notes = append(notes, fmt.Sprintf("the label %s=%s, because the template has none", appsv1.LabelApp, w.Name))
	}
	return notes
}

// podLabels are the labels that make a pod one of the PodManager's revision.
func podLabels(pm *appsv1.PodManager, revision string) map[string]string {
	labels := map[string]string{
		appsv1.LabelName: pm.Name, appsv1.LabelUID: string(pm.UID), appsv1.LabelRevision: revision,
	}
	if shard, ok := pm.Labels[appsv1.LabelShard]; ok {
		labels[appsv1.LabelShard] = shard
	}
	return labels
}

// missing are the labels of the first that the second has not, or has with
// another value.
func missing(want, have map[string]string) map[string]string {
	rest := maps.Clone(want)
	maps.DeleteFunc(rest, func(key, value string) bool {
		is, ok := have[key]
		return ok && is == value
	})
	return rest
}
