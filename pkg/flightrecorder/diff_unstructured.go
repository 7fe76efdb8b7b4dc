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

package flightrecorder

import "reflect"

// unstructuredKeys are the lists that Kubernetes itself keys by name or type. An unstructured object
// does not carry its schema, so other lists are called by index.
func unstructuredKey(list string) string {
	switch list {
	case "containers", "initContainers", "ephemeralContainers", "env", "volumes", "imagePullSecrets",
		"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses":
		return "name"
	case "conditions":
		return "type"
	}
	return ""
}

func (w *walk) unstructuredObject(a, b map[string]any) {
	for _, key := range unionOfKeys(a, b) {
		switch {
		case key == "apiVersion", key == "kind", key == "spec" && w.skipSpec:
			continue
		}
		mark := len(w.path)
		w.pushField(key)
		if key == "metadata" {
			w.unstructuredMetadata(a[key], b[key])
		} else {
			w.any(a[key], b[key], key)
		}
		w.path = w.path[:mark]
	}
}

func (w *walk) unstructuredMetadata(x, y any) {
	a, _ := x.(map[string]any)
	b, _ := y.(map[string]any)
	for _, key := range unionOfKeys(a, b) {
		if changesAlways(key) {
			continue
		}
		mark := len(w.path)
		w.pushField(key)
		w.any(a[key], b[key], key)
		w.path = w.path[:mark]
	}
}

func unionOfKeys(a, b map[string]any) []string {
	keys := make([]string, 0, len(a))
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// any compares two JSON values; field is the name under which they hang.
func (w *walk) any(x, y any, field string) {
	if w.depth++; w.depth > maxDepth {
		if !reflect.DeepEqual(x, y) {
			w.changed()
		}
		w.depth--
		return
	}
	defer func() { w.depth-- }()
	switch a := x.(type) {
	case map[string]any:
		if b, ok := y.(map[string]any); ok {
			w.anyMap(a, b, isFreeMap(field))
			return
		}
		if y == nil && isFreeMap(field) {
			w.anyMap(a, nil, true)
			return
		}
	case []any:
		if b, ok := y.([]any); ok {
			w.anyList(a, b, unstructuredKey(field))
			return
		}
	default:
		switch b := y.(type) {
		case map[string]any:
			if x == nil && isFreeMap(field) {
				w.anyMap(nil, b, true)
				return
			}
		case []any:
		default:
			if x == y {
				return
			}
		}
	}
	w.changed()
}

// isFreeMap tells the maps, whose keys are data, from the structures, whose keys are the schema's.
func isFreeMap(field string) bool {
	switch field {
	case "labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData", "binaryData", "limits", "requests":
		return true
	}
	return false
}

func (w *walk) anyMap(a, b map[string]any, free bool) {
	if len(a) == 0 && len(b) == 0 {
		return
	}
	if !free && (len(a) == 0 || len(b) == 0) {
		w.changed()
		return
	}
	for _, key := range unionOfKeys(a, b) {
		x, inA := a[key]
		y, inB := b[key]
		mark := len(w.path)
		w.pushKey(key, false)
		if (inA && inB) || isFreeMap(key) {
			w.any(x, y, key)
		} else {
			w.changed()
		}
		w.path = w.path[:mark]
	}
}

func (w *walk) anyList(a, b []any, key string) {
	switch {
	case len(a) == 0 && len(b) == 0:
		return
	case len(a) == 0 || len(b) == 0:
		w.changed()
		return
	case key != "" && len(a)*len(b) <= maxKeyedPairs:
		w.anyKeyed(a, b, key)
		return
	case len(a) != len(b):
		w.changed()
		return
	}
	for i := range a {
		mark := len(w.path)
		w.pushIndex(i)
		w.any(a[i], b[i], "")
		w.path = w.path[:mark]
	}
}

func (w *walk) anyKeyed(a, b []any, key string) {
	name := func(item any) string {
		m, _ := item.(map[string]any)
		s, _ := m[key].(string)
		return s
	}
	find := func(list []any, want string) int {
		for i := range list {
			if name(list[i]) == want {
				return i
			}
		}
		return -1
	}
	for i := range b {
		mark := len(w.path)
		w.pushItem(name(b[i]), i)
		if j := find(a, name(b[i])); j >= 0 {
			w.any(a[j], b[i], "")
		} else {
			w.changed()
		}
		w.path = w.path[:mark]
	}
	for i := range a {
		if find(b, name(a[i])) < 0 {
			w.changedAt(func() { w.pushItem(name(a[i]), i) })
		}
	}
}
