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

// Package statuspatch makes the patches that controllers write statuses with.
package statuspatch

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operation is one line of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Between is a JSON patch of the fields of the status that differ. It tests the
// UID, so that it cannot land on a successor of the same name; a UID in a merge
// patch would not do, because the API server ignores the metadata in what is
// written to the status of a custom resource. It tests no resourceVersion:
// no other client writes our statuses, and an edit of the spec must not cost us
// the record of what was just done.
func Between(before, after client.Object) (client.Patch, error) {
	old, err := statusOf(before)
	if err != nil {
		return nil, err
	}
	status, err := statusOf(after)
	if err != nil {
		return nil, err
	}
	patch := []operation{{"test", "/metadata/uid", before.GetUID()}}
	if old == nil {
		patch = append(patch, operation{"add", "/status", status})
		old = status
	}
	for _, field := range slices.Sorted(maps.Keys(old)) {
		if _, kept := status[field]; !kept {
			patch = append(patch, operation{Op: "remove", Path: "/status/" + field})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(status)) {
		if value, had := old[field]; !had || !reflect.DeepEqual(value, status[field]) {
			patch = append(patch, operation{"add", "/status/" + field, status[field]})
		}
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the status patch of %s: %w", client.ObjectKeyFromObject(before), err)
	}
	return client.RawPatch(types.JSONPatchType, raw), nil
}

// statusOf is the status as the API server stores it, or nil.
func statusOf(obj client.Object) (map[string]any, error) {
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	var whole struct {
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fmt.Errorf("decode %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	return whole.Status, nil
}
