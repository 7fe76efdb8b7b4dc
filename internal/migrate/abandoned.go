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
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A run that is killed while it deletes what keeps the pods leaves our finalizer on it. The
// next migrate or --undo goes on by the record. Where the record is gone too, as in a
// namespace that is deleted, --undo finds the object by the finalizer: nothing else would
// take it off. The operator does not: it may not write to workloads.

// Abandoned are the ReplicaSets and StatefulSets that a migration held, of which there is
// no record any more. An empty namespace is all of them.
func Abandoned(ctx context.Context, c client.Client, namespace string) ([]Part, error) {
	var held []Part
	for _, kind := range []*Kind{ReplicaSets, StatefulSets} {
		some, err := heldOf(ctx, c, kind, namespace)
		if err != nil {
			return nil, err
		}
		held = append(held, some...)
	}
	if len(held) == 0 {
		return nil, nil
	}
	recorded, err := recordedParts(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(held, func(p Part) bool { return recorded[p.GetUID()] }), nil
}

// heldOf lists the objects of a kind that have our finalizer. A cluster has many
// ReplicaSets, so it reads no more of them than their metadata, page by page.
func heldOf(ctx context.Context, c client.Client, kind *Kind, namespace string) ([]Part, error) {
	const page = 500
	var held []Part
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersionKind)
	for more := true; more; more = list.Continue != "" {
		if err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(list.Continue)); err != nil {
			return nil, fmt.Errorf("list the %s: %w", kind.Resource, err)
		}
		for i := range list.Items {
			if !slices.Contains(list.Items[i].Finalizers, finalizerMigrating) {
				continue
			}
			full := &unstructured.Unstructured{}
			full.SetGroupVersionKind(kind.GroupVersionKind)
			err := c.Get(ctx, client.ObjectKeyFromObject(&list.Items[i]), full)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("read %s/%s: %w", kind.Word(), list.Items[i].Name, err)
			}
			if err == nil {
				held = append(held, Part{full})
			}
		}
	}
	return held, nil
}

// recordedParts are the UIDs of all parts of which there is a record.
func recordedParts(ctx context.Context, c client.Client, namespace string) (map[types.UID]bool, error) {
	records, err := Records(ctx, c, namespace)
	recorded := map[types.UID]bool{}
	for _, record := range records {
		for i := range record.Parts {
			recorded[record.Parts[i].GetUID()] = true
		}
	}
	return recorded, err
}

// freeAbandoned lets go what an abandoned migration of the name held, and reports whether
// there was any. A ReplicaSet has the name of its Deployment and a hash.
func (m *Mover) freeAbandoned(ctx context.Context, key client.ObjectKey) (freed bool, err error) {
	found, err := Abandoned(ctx, m.Client, key.Namespace)
	if apierrors.IsForbidden(err) {
		return false, nil // a user who may not read workloads has left none
	}
	if err != nil {
		return false, err
	}
	for _, part := range found {
		if part.GetName() != key.Name && !strings.HasPrefix(part.GetName(), key.Name+"-") {
			continue
		}
		if err := m.FreeAbandoned(ctx, part); err != nil {
			return freed, err
		}
		freed = true
	}
	return freed, nil
}

// FreeAbandoned takes our finalizer off an object that is Abandoned. One that is being
// deleted goes then, once the pods that it would take with it have no owner.
func (m *Mover) FreeAbandoned(ctx context.Context, part Part) error {
	w := &Workload{Kind: ReplicaSets, Namespace: part.GetNamespace(), Name: part.GetName(), Parts: []Part{part}}
	if part.GetKind() == StatefulSets.Kind {
		w.Kind = StatefulSets
	}
	var err error
	if w.Selector, err = part.selector(); err != nil {
		return err
	}
	if w.Kind == StatefulSets {
		if err := (&reader{ctx, m.Client}).freeRevisions(w); err != nil {
			return err
		}
	}
	if err := (&run{Mover: m, Workload: w}).spareKeeper(ctx); err != nil {
		return err
	}
	m.Say("%s is not held any more by a migration that was interrupted", w)
	return nil
}

// freeRevisions reads the revisions of a StatefulSet that the garbage collector let go.
func (r *reader) freeRevisions(w *Workload) error {
	var list kappsv1.ControllerRevisionList
	if err := r.List(r, &list, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: w.Selector}); err != nil {
		return fmt.Errorf("list the revisions of %s: %w", w, err)
	}
	for i := range list.Items {
		if metav1.GetControllerOfNoCopy(&list.Items[i]) == nil {
			w.Parts = append(w.Parts, partOf(&list.Items[i], &Kind{GroupVersionKind: controllerRevision}))
		}
	}
	return nil
}
