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

package sim

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fields is a set of fields as managedFields have it: a tree.
type fields map[string]fields

// add adds the field at the end of a path.
func (f fields) add(path []string) {
	for _, key := range path {
		if f[key] == nil {
			f[key] = fields{}
		}
		f = f[key]
	}
}

// remove takes a field out, and what is empty then.
func (f fields) remove(path []string) {
	next := f[path[0]]
	if next == nil {
		return
	}
	if len(path) > 1 {
		next.remove(path[1:])
	}
	if len(next) == 0 {
		delete(f, path[0])
	}
}

// manageResize keeps managedFields of resizes: an amount belongs to the manager
// that changed it last. Of other fields the server does not keep who wrote them.
func (s *Server) manageResize(by request, before, after *corev1.Pod) {
	changed := changedAmounts(before, after)
	if len(changed) == 0 {
		return
	}
	managed := map[string]fields{by.manager: {}}
	for _, entry := range before.ManagedFields {
		set := fields{}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set); err != nil {
			panic(err)
		}
		managed[entry.Manager] = set
	}
	for _, path := range changed {
		for _, set := range managed {
			set.remove(path)
		}
		managed[by.manager].add(path)
	}
	after.ManagedFields = nil
	for _, manager := range sortedKeys(managed) {
		raw, err := json.Marshal(managed[manager])
		if err != nil {
			panic(err)
		}
		if len(managed[manager]) > 0 {
			now := s.now()
			after.ManagedFields = append(after.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "resize", APIVersion: "v1", Time: &now,
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
			})
		}
	}
}

func sortedKeys(managed map[string]fields) []string {
	names := make([]string, 0, len(managed))
	for name := range managed {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// changedAmounts are the paths of the requests and limits that differ.
func changedAmounts(before, after *corev1.Pod) [][]string {
	var paths [][]string
	for i := range after.Spec.Containers {
		name, old, now := after.Spec.Containers[i].Name, before.Spec.Containers[i].Resources, after.Spec.Containers[i].Resources
		for list, pair := range map[string][2]corev1.ResourceList{"f:requests": {old.Requests, now.Requests}, "f:limits": {old.Limits, now.Limits}} {
			for resource, q := range pair[1] {
				if was, ok := pair[0][resource]; !ok || was.Cmp(q) != 0 {
					paths = append(paths, []string{"f:spec", "f:containers", fmt.Sprintf(`k:{"name":%q}`, name), "f:resources", list, "f:" + string(resource)})
				}
			}
		}
	}
	return paths
}
