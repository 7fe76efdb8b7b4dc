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

package collector

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

// maxDifferences is how many differences a description names.
const maxDifferences = 3

// difference is one field in which two specs differ.
type difference struct {
	path []string
	// from and to are texts; empty where the value is not shown.
	from, to string
	what     string
}

// describe says in words what changed between two specs: "replicas 3 -> 1".
// Values of a pod template are shown for images only: an environment may hold
// what the readers of a Collector must not see.
func describe(before, after any) string {
	a, errA := fields(before)
	b, errB := fields(after)
	if errA != nil || errB != nil {
		return "spec changed"
	}
	var found []difference
	compare(nil, a, b, &found)
	if len(found) == 0 {
		return "spec changed"
	}
	// What has values first, then by path, the short ones first.
	slices.SortFunc(found, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(a.path), len(b.path)), slices.Compare(a.path, b.path))
	})
	var words []string
	for _, d := range found[:min(len(found), maxDifferences)] {
		words = append(words, d.String())
	}
	text := strings.Join(words, ", ")
	if more := len(found) - maxDifferences; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(text) > collectorv1.MaxChangeLength {
		text = text[:collectorv1.MaxChangeLength-3] + "..."
	}
	return text
}

// describeCreated says with how many pods a workload begins.
func describeCreated(w *workload) string {
	spec, err := fields(w.spec)
	if err != nil {
		return "created"
	}
	if n, ok := spec["replicas"]; ok {
		return fmt.Sprintf("created, replicas %v", n)
	}
	return "created"
}

func fields(spec any) (map[string]any, error) {
	if spec == nil || reflect.ValueOf(spec).IsNil() {
		return map[string]any{}, nil
	}
	if raw, ok := spec.(storedSpec); ok {
		var read map[string]any
		err := utiljson.Unmarshal(raw, &read)
		return read, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
}

func (d difference) rank() int {
	if d.what == "" {
		return 0
	}
	return 1
}

func (d difference) String() string {
	path := strings.Join(d.path, ".")
	if d.what != "" {
		return path + " " + d.what
	}
	return fmt.Sprintf("%s %s -> %s", path, d.from, d.to)
}

// compare walks two specs. Lists whose items have names are compared by name;
// other lists as a whole.
func compare(path []string, a, b any, found *[]difference) {
	if reflect.DeepEqual(a, b) {
		return
	}
	mapA, okA := keyed(a)
	mapB, okB := keyed(b)
	if okA && okB {
		for _, key := range slices.Sorted(maps.Keys(union(mapA, mapB))) {
			step := append(slices.Clone(path), key)
			valueA, inA := mapA[key]
			valueB, inB := mapB[key]
			switch {
			case inA && inB:
				compare(step, valueA, valueB, found)
			case inB:
				*found = append(*found, oneSided(step, nil, valueB))
			default:
				*found = append(*found, oneSided(step, valueA, nil))
			}
		}
		return
	}
	*found = append(*found, leaf(path, a, b))
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// keyed is a value as a map: an object, or a list of objects with names.
func keyed(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case []any:
		byName := make(map[string]any, len(v))
		for _, item := range v {
			object, _ := item.(map[string]any)
			name, ok := object["name"].(string)
			if !ok {
				return nil, false
			}
			byName[name] = item
		}
		return byName, len(byName) == len(v)
	}
	return nil, false
}

func leaf(path []string, a, b any) difference {
	if told(path) && scalar(a) && scalar(b) {
		return difference{path: path, from: fmt.Sprint(a), to: fmt.Sprint(b)}
	}
	return difference{path: path, what: "changed"}
}

// oneSided is a field that only one of the specs has.
func oneSided(path []string, a, b any) difference {
	switch {
	case a == nil && told(path) && scalar(b):
		return difference{path: path, from: "unset", to: fmt.Sprint(b)}
	case b == nil && told(path) && scalar(a):
		return difference{path: path, from: fmt.Sprint(a), to: "unset"}
	case a == nil:
		return difference{path: path, what: "added"}
	}
	return difference{path: path, what: "removed"}
}

// told says whether the value at a path may be shown.
func told(path []string) bool {
	return path[0] != "template" || path[len(path)-1] == "image"
}

func scalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}
