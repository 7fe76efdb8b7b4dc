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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Workload is a running workload, as a take-over reads it.
type Workload struct {
	Kind            *Kind
	Namespace, Name string
	// Spec is the spec of a PodManager that asks for the same.
	Spec appsv1.PodManagerSpec
	// History are the templates of earlier revisions, oldest first.
	History []corev1.PodTemplateSpec
	// Parts are the objects that keep the pods: a Deployment and its
	// ReplicaSets, for example. They are deleted in this order.
	Parts []Part
	// PodLabels are labels that the workload's controller put on its pods, and
	// by which it would recognise them again.
	PodLabels map[string]string
	Selector  labels.Selector
	// Busy says what is under way, if anything: a rollout, a deletion.
	Busy string
	// Refused says what stands in the way, if anything, however long one waits.
	Refused string
	// Losses are what a PodManager has no counterpart for.
	Losses []string
	// Pods are the pods that it keeps, without those that terminate.
	Pods []corev1.Pod
}

// Part is an object that keeps pods.
type Part struct{ *unstructured.Unstructured }

// String names the workload, as kubectl does.
func (w *Workload) String() string { return w.Kind.Word() + "/" + w.Name }

// Top is the object that the user works with.
func (w *Workload) Top() Part { return w.Parts[0] }

// Replicas is how many pods the workload asks for.
func (w *Workload) Replicas() int32 { return *w.Spec.Replicas }

// lose notes what has no counterpart.
func (w *Workload) lose(format string, args ...any) {
	w.Losses = append(w.Losses, fmt.Sprintf(format, args...))
}

// reader reads workloads.
type reader struct {
	context.Context
	client.Client
}

// Read reads a workload and its pods.
func Read(ctx context.Context, c client.Client, kind *Kind, key client.ObjectKey) (*Workload, error) {
	top := &unstructured.Unstructured{}
	top.SetGroupVersionKind(kind.GroupVersionKind)
	err := c.Get(ctx, key, top)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("this cluster has no %s.%s: its CRD is not installed", kind.Resource, kind.Group)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s/%s: %w", kind.Word(), key.Name, err)
	}
	w := unread(kind, top)
	r := &reader{ctx, c}
	if err := kind.read(r, w); err != nil {
		return nil, err
	}
	if top.GetDeletionTimestamp() != nil {
		w.Busy = "it is being deleted"
	}
	for _, ref := range top.GetOwnerReferences() {
		if !ptr.Deref(ref.Controller, false) {
			w.lose("the owner reference to %s %s: with that it would have been deleted", ref.Kind, ref.Name)
		}
	}
	if w.Refused == "" {
		if w.Refused, err = w.overlap(ctx, c, false); err != nil {
			return nil, err
		}
	}
	w.Pods, err = r.podsOf(w)
	if hash := kappsv1.ControllerRevisionHashLabelKey; w.PodLabels[hash] != "" && len(w.Pods) > 0 && w.Pods[0].Labels[hash] != "" {
		w.PodLabels[hash] = w.Pods[0].Labels[hash] // OpenKruise may have shortened it
	}
	return w, err
}

// unread is a workload of which the object alone is known.
func unread(kind *Kind, top *unstructured.Unstructured) *Workload {
	w := &Workload{Kind: kind, Namespace: top.GetNamespace(), Name: top.GetName(), Parts: []Part{{top}}}
	w.Spec.Replicas = new(int32)
	return w
}

// Convert is what a Deployment or a StatefulSet asks for, from the object alone; nil for other
// kinds. Its pods are not read.
func Convert(object *unstructured.Unstructured) (w *Workload, err error) {
	switch object.GroupVersionKind() {
	case Deployments.GroupVersionKind:
		w = unread(Deployments, object)
		err = w.asDeployment(&kappsv1.Deployment{})
	case StatefulSets.GroupVersionKind:
		w = unread(StatefulSets, object)
		err = w.asStatefulSet(&kappsv1.StatefulSet{})
	}
	return w, err
}

// podsOf lists the pods that the parts of a workload control.
func (r *reader) podsOf(w *Workload) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := r.List(r, &list, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: w.Selector}); err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", w, err)
	}
	owners := map[types.UID]bool{}
	for _, p := range w.Parts {
		owners[p.GetUID()] = true
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		ref := metav1.GetControllerOfNoCopy(&pod)
		return pod.DeletionTimestamp != nil || ref == nil || !owners[ref.UID]
	}), nil
}

// controller says who else controls the workload, such as an operator.
func (w *Workload) controller() *metav1.OwnerReference {
	if len(w.Parts) == 0 {
		return nil
	}
	return metav1.GetControllerOf(w.Top())
}

// ReadBare reads pods that have no controller as a workload.
func ReadBare(ctx context.Context, c client.Client, key client.ObjectKey, selector labels.Selector) (*Workload, error) {
	w := &Workload{Kind: BarePods, Namespace: key.Namespace, Name: key.Name, Selector: selector}
	var list corev1.PodList
	if err := c.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list the pods with %s: %w", selector, err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if err := bare(pod, key.Name); err != nil {
			return nil, err
		}
		if pod.DeletionTimestamp != nil {
			continue
		}
		if phase := pod.Status.Phase; metav1.GetControllerOfNoCopy(pod) == nil && (phase == corev1.PodFailed || phase == corev1.PodSucceeded) {
			w.Refused = fmt.Sprintf("pod %s has ended (%s), and the PodManager would make another in its place: delete it first", pod.Name, phase)
		}
		w.Pods = append(w.Pods, *pod)
	}
	if len(w.Pods) == 0 {
		return nil, fmt.Errorf("no pod in namespace %s has the labels %s", key.Namespace, selector)
	}
	slices.SortFunc(w.Pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	replicas := int32(len(w.Pods)) // #nosec G115 -- a namespace has fewer pods
	w.Spec.Replicas = &replicas
	w.Spec.Identity = appsv1.IdentityRandom
	newest := &w.Pods[len(w.Pods)-1]
	w.Spec.Template = bareTemplate(newest, selector)
	w.loseGates(newest.Spec.ReadinessGates)
	w.loseOwn()
	return w, nil
}

// gone: an object that was asked for does not exist.
func gone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
