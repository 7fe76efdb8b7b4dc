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
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Item is one workload of a namespace.
type Item struct {
	Kind *Kind
	Name string
	// Workload is nil where an interrupted migration deleted it already.
	Workload *Workload
	// Owner is the object that it belongs to, if any: such a workload is left alone.
	Owner string
	// Hidden: the user may not list the kind, so that none of it is named.
	Hidden bool
	// Unread is why it could not be read.
	Unread error
}

// String names the workload, as kubectl does.
func (i *Item) String() string {
	if i.Hidden {
		return i.Kind.id()
	}
	return i.Kind.Word() + "/" + i.Name
}

// All are the workloads of a namespace: first those of which a migration was
// interrupted, then by kind and name.
func All(ctx context.Context, c client.Client, namespace string) ([]Item, error) {
	items, err := interrupted(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	for _, kind := range Kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersionKind)
		err := c.List(ctx, list, client.InNamespace(namespace))
		if gone(err) {
			continue // its CRD is not installed
		}
		if apierrors.IsForbidden(err) {
			items = append(items, Item{Kind: kind, Hidden: true})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the %s of namespace %s: %w", kind.Resource, namespace, err)
		}
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
		for i := range list.Items {
			item := itemOf(ctx, c, kind, client.ObjectKeyFromObject(&list.Items[i]))
			if ref := item.Workload.owned(); ref != "" {
				if kind == ReplicaSets && strings.HasPrefix(ref, "Deployment ") {
					continue // the Deployment is in the list
				}
				item.Owner = ref
			}
			if !slices.ContainsFunc(items, func(other Item) bool { return other.String() == item.String() }) {
				items = append(items, *item)
			}
		}
	}
	return items, nil
}

func itemOf(ctx context.Context, c client.Client, kind *Kind, key client.ObjectKey) *Item {
	w, err := Find(ctx, c, kind, key)
	return &Item{Kind: kind, Name: key.Name, Workload: w, Unread: err}
}

// owned names the object that a workload belongs to, or is empty.
func (w *Workload) owned() string {
	if w == nil || w.controller() == nil {
		return ""
	}
	return w.controller().Kind + " " + w.controller().Name
}

// interrupted are workloads that a migration has begun with and not ended.
func interrupted(ctx context.Context, c client.Client, namespace string) ([]Item, error) {
	records, err := Records(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, r := range records {
		kind := r.kind()
		if r.Stage != Prepared && r.Stage != Releasing || kind == nil || kind == BarePods {
			continue
		}
		items = append(items, *itemOf(ctx, c, kind, client.ObjectKey{Namespace: namespace, Name: r.Name}))
	}
	return items, nil
}

// Records are all migrations of a namespace, or of all with an empty one, that can be
// undone, by name, and the exports that were interrupted: these name their PodManager.
func Records(ctx context.Context, c client.Client, namespace string) ([]*Record, error) {
	var list corev1.ConfigMapList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels(recordLabels())); err != nil {
		return nil, fmt.Errorf("list the records of migrations: %w", err)
	}
	var records []*Record
	for i := range list.Items {
		name, ok := strings.CutSuffix(list.Items[i].Name, recordSuffix)
		if !ok {
			continue
		}
		s := &store{config: &list.Items[i]}
		if err := s.decode(); err != nil {
			return nil, err
		}
		s.record.Name = cmp.Or(s.record.Name, name)
		records = append(records, s.record)
	}
	return records, nil
}
