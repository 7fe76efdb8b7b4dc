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

package nativewhy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// change is a field that differs between two templates.
type change struct {
	// field is its path below the object: spec.template.spec.containers[app].image.
	field    string
	from, to any
}

// keys are what tells the items of a list apart, by the list's name. Other lists
// are compared as a whole.
var keys = map[string]string{
	"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath",
}

// opened are maps that are compared item by item also where one side has none.
var opened = map[string]bool{
	"metadata": true, "annotations": true, "labels": true, "nodeSelector": true, "resources": true, "requests": true, "limits": true,
}

// differences are the fields in which two templates differ, in the order of their names.
func differences(from, to map[string]any) []change {
	return compare("spec.template", "", from, to)
}

func compare(path, name string, from, to any) []change {
	if reflect.DeepEqual(from, to) || empty(from) && empty(to) {
		return nil
	}
	a, aMap := from.(map[string]any)
	b, bMap := to.(map[string]any)
	if key := keys[name]; key != "" {
		a, aMap = byKey(from, key)
		b, bMap = byKey(to, key)
	}
	if opened[name] {
		aMap, bMap = aMap || from == nil, bMap || to == nil
	}
	if !aMap || !bMap {
		return []change{{field: path, from: from, to: to}}
	}
	var changes []change
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	for _, child := range slices.Sorted(maps.Keys(all)) {
		below := path + "." + child
		if keys[name] != "" {
			below = path + "[" + child + "]"
			changes = append(changes, compare(below, "", a[child], b[child])...)
			continue
		}
		changes = append(changes, compare(below, child, a[child], b[child])...)
	}
	return changes
}

// empty: absent, null, {} and [] mean the same in a template.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func byKey(list any, key string) (map[string]any, bool) {
	items, ok := list.([]any)
	if !ok && list != nil {
		return nil, false
	}
	found := make(map[string]any, len(items))
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		found[fmt.Sprint(object[key])] = object
	}
	// Two of the same key: only the whole list says what changed.
	return found, len(found) == len(items)
}

// maxFields is how many changed fields a sentence names.
const maxFields = 4

// sentence names the changed fields, and their values where they are short and no
// secret can be in them.
func sentence(changes []change) string {
	var words []string
	for i, c := range changes {
		if i == maxFields {
			words = append(words, fmt.Sprintf("and %d more", len(changes)-i))
			break
		}
		words = append(words, c.String())
	}
	return strings.Join(words, ", ")
}

func (c change) String() string {
	name := strings.TrimPrefix(strings.TrimPrefix(c.field, "spec.template."), "spec.")
	from, ok := scalar(c.from)
	to, okTo := scalar(c.to)
	switch {
	case c.from == nil:
		if okTo && shows(name) {
			return name + " added: " + to
		}
		return name + " added"
	case c.to == nil:
		return name + " removed"
	case ok && okTo && shows(name):
		return name + " " + from + " → " + to
	}
	return name
}

// shows: the values of the environment and of annotations may be secret.
func shows(name string) bool {
	return !strings.Contains(name, ".env[") && !strings.Contains(name, "annotations.")
}

func scalar(v any) (string, bool) {
	const long = 80
	switch v.(type) {
	case map[string]any, []any:
		return "", false
	}
	text := fmt.Sprint(v)
	return text, len(text) <= long
}
