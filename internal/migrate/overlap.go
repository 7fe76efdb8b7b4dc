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
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// A controller adopts every object without an owner that it selects: a Deployment such
// ReplicaSets, which it scales down as earlier revisions, and others such pods, of which they
// delete those that are too many. While a workload changes hands, its ReplicaSet and pods have
// no owner. A StatefulSet also goes by the names of pods, and PodManagers and CloneSets find
// theirs by other means.

// adopters are the kinds that adopt what they select.
var adopters = []schema.GroupVersionKind{
	Deployments.GroupVersionKind, ReplicaSets.GroupVersionKind, corev1.SchemeGroupVersion.WithKind("ReplicationController"),
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "batch", Version: "v1", Kind: "Job"},
}

// rival is another workload that may adopt, or be adopted.
type rival struct {
	name string
	gvk  schema.GroupVersionKind
	// selector finds what it adopts, and labels are those of its ReplicaSets.
	selector labels.Selector
	labels   labels.Set
	// moves: it changes hands, too, so that what it has may be free.
	moves bool
}

// alone fails where another would adopt what has no owner while the workload changes hands.
func (r *run) alone(ctx context.Context) error {
	taken, err := r.overlap(ctx, r.Client, r.store.record.Export != nil)
	if err == nil && taken != "" {
		err = errors.New(taken)
	}
	if err != nil || r.Kind != ReplicaSets {
		return err
	}
	return r.strangers(ctx)
}

// strangers fails where a ReplicaSet would find pods of others. It adopts every pod without an
// owner that it selects, and deletes those that are too many. That of a Deployment also selects by
// the hash of its template.
func (r *run) strangers(ctx context.Context) error {
	records, err := Records(ctx, r.Client, r.Namespace) // first: what has been let go since is found below
	if err != nil {
		return err
	}
	pods, err := r.listPods(ctx)
	if err != nil {
		return err
	}
	for i := range pods {
		keeper := pods[i].Labels[appsv1.LabelName]
		moves := func(o *Record) bool { return o.Name == keeper && (o.Stage == Releasing || o.Stage == Returning) }
		switch {
		case keeper == r.Name:
		case metav1.GetControllerOfNoCopy(&pods[i]) == nil:
			return fmt.Errorf("pod %s has no owner, and %s would adopt it, and delete one that is too many: change its labels first", pods[i].Name, r.Workload)
		case slices.ContainsFunc(records, moves):
			return fmt.Errorf("pod %s of PodManager %s, which changes hands, would be adopted by %s: wait until that has ended, or change its labels",
				pods[i].Name, keeper, r.Workload)
		}
	}
	return nil
}

// overlap says who would adopt what has no owner while the workload changes hands, or is empty.
// made is set where the workload's selector is new, and may find what others have.
func (w *Workload) overlap(ctx context.Context, c client.Client, made bool) (string, error) {
	rivals, err := w.rivals(ctx, c)
	if err != nil {
		return "", err
	}
	sets, pods, err := w.free()
	if err != nil {
		return "", err
	}
	const advice = "change the labels and the selector of one of the two first"
	for _, o := range rivals {
		adopts := pods
		if o.gvk == Deployments.GroupVersionKind {
			adopts = sets
		}
		if slices.ContainsFunc(adopts, func(free labels.Set) bool { return o.selector.Matches(free) }) {
			return fmt.Sprintf("%s selects by %s and would take the pods of %s: %s", o.name, o.selector, w, advice), nil
		}
		// A ReplicaSet without an owner may have come since the Deployment went.
		if w.Kind == Deployments && (made || o.moves || o.gvk == ReplicaSets.GroupVersionKind) && o.labels != nil && w.Selector.Matches(o.labels) {
			return fmt.Sprintf("%s would select by %s and take the pods of %s: %s", w, w.Selector, o.name, advice), nil
		}
	}
	return "", nil
}

// free are the labels of the ReplicaSets and pods that have no owner in between.
func (w *Workload) free() (sets, pods []labels.Set, err error) {
	if len(w.Parts) == 0 { // they have no controller, and others may have come since
		for i := range w.Pods {
			pods = append(pods, w.Pods[i].Labels)
		}
		return nil, pods, nil
	}
	var object struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := decode(w.Top(), &object); err != nil {
		return nil, nil, err
	}
	pods = []labels.Set{merged(object.Spec.Template.Labels, w.PodLabels)}
	if w.Kind == Deployments && len(w.Parts) > 1 {
		if err := decode(w.Parts[1], &object); err != nil {
			return nil, nil, err
		}
		sets = []labels.Set{object.Metadata.Labels, object.Spec.Template.Labels}
	}
	if w.Kind == ReplicaSets {
		sets = []labels.Set{object.Metadata.Labels}
	}
	return sets, pods, nil
}

// rivals are the others of the namespace that adopt what they select, and the workloads that
// change hands at this moment, whose objects may not be there.
func (w *Workload) rivals(ctx context.Context, c client.Client) ([]rival, error) {
	found, err := w.moving(ctx, c) // first: what has changed hands since is found below
	if err != nil {
		return nil, err
	}
	for _, gvk := range adopters {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		err := c.List(ctx, list, client.InNamespace(w.Namespace))
		if apierrors.IsForbidden(err) {
			continue // the role edit may list all of them
		}
		if err != nil {
			return nil, fmt.Errorf("look for others that select the same pods: %w", err)
		}
		for i := range list.Items {
			other := Part{&list.Items[i]}
			if metav1.GetControllerOfNoCopy(other) != nil && gvk == ReplicaSets.GroupVersionKind || w.has(other) {
				continue // its selector has a label of its owner's
			}
			if ref := w.controller(); ref != nil && ref.UID == other.GetUID() {
				continue // Obstacle names it
			}
			selector, err := other.selector()
			if err != nil {
				return nil, err
			}
			name := strings.ToLower(gvk.Kind) + "/" + other.GetName()
			found = append(found, rival{name: name, gvk: gvk, selector: selector, labels: other.setLabels()})
		}
	}
	return found, nil
}

// moving are the other workloads that a migration, an undo or an export has begun with.
func (w *Workload) moving(ctx context.Context, c client.Client) ([]rival, error) {
	records, err := Records(ctx, c, w.Namespace)
	if apierrors.IsForbidden(err) {
		return nil, nil // CheckRights names what is missing
	}
	if err != nil {
		return nil, err
	}
	var found []rival
	for _, record := range records {
		if record.Name == w.Name || record.Stage != Releasing && record.Stage != Returning {
			continue
		}
		other, err := record.workload(w.Namespace)
		if err != nil {
			return nil, err
		}
		if other.Kind != Deployments && other.Kind != ReplicaSets {
			continue
		}
		selector, err := other.Top().selector()
		if err != nil {
			return nil, err
		}
		r := rival{name: other.String() + ", which changes hands,", gvk: other.Kind.GroupVersionKind, selector: selector, moves: true}
		if sets, _, err := other.free(); err == nil && len(sets) > 0 {
			r.labels = sets[0]
		}
		found = append(found, r)
	}
	return found, nil
}

// has: an object is a part of the workload, also of a run before this.
func (w *Workload) has(other Part) bool {
	return slices.ContainsFunc(w.Parts, func(p Part) bool {
		return p.GetName() == other.GetName() && p.GetKind() == other.GetKind()
	})
}

// selector is how an object finds what is its own.
func (p Part) selector() (labels.Selector, error) {
	if p.GetKind() == "ReplicationController" {
		set, _, err := unstructured.NestedStringMap(p.Object, "spec", "selector")
		return labels.SelectorFromSet(set), err
	}
	var object struct {
		Spec struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	if err := decode(p, &object); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of %s %s: %w", p.GetKind(), p.GetName(), err)
	}
	return selector, nil
}

// setLabels are those of the ReplicaSets of an object, or nil.
func (p Part) setLabels() labels.Set {
	switch p.GroupVersionKind() {
	case Deployments.GroupVersionKind:
		set, _, _ := unstructured.NestedStringMap(p.Object, "spec", "template", "metadata", "labels")
		return set
	case ReplicaSets.GroupVersionKind:
		return p.GetLabels()
	}
	return nil
}
