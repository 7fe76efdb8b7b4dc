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

package tenants

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// thrown are values for a field: some that its schema admits, and some that no
// schema should.
var thrown = []any{
	int64(0), int64(1), int64(-1), int64(math.MaxInt32), int64(math.MinInt32), int64(100000), int64(math.MaxInt64),
	"", "a", "1", "50%", "1h", "99999h", "1e9", "1e-99", "1Gi", "{}", "\x00", "\u202e", "2026-01-01T00:00:00Z", strings.Repeat("x", 1000),
	true, false, 1.5,
	[]any{},
	map[string]any{},
	[]any{"a"},
	map[string]any{"a": "b"},
}

// field is a place in the schema of a kind.
type field struct {
	gvk  schema.GroupVersionKind
	path []string
}

// put sets a field, making what leads to it.
func put(object map[string]any, path []string, value any) {
	at := value
	for _, name := range slices.Backward(path[1:]) {
		if name == "[]" {
			at = []any{at}
		} else {
			at = map[string]any{name: at}
		}
	}
	if inner, ok := at.(map[string]any); ok {
		if outer, ok := object[path[0]].(map[string]any); ok {
			maps.Copy(outer, inner)
			return
		}
	}
	object[path[0]] = at
}

// fieldsOf are all places of the stored versions.
func fieldsOf(t *testing.T) map[schema.GroupVersionKind][]field {
	t.Helper()
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := suite.Client.List(t.Context(), &crds); err != nil {
		t.Fatal(err)
	}
	all := map[schema.GroupVersionKind][]field{}
	for i := range crds.Items {
		crd := &crds.Items[i]
		for j := range crd.Spec.Versions {
			if version := &crd.Spec.Versions[j]; version.Storage && slices.Contains(ourKinds, crd.Spec.Names.Kind) {
				gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
				for _, part := range []string{"spec", "status"} {
					props := version.Schema.OpenAPIV3Schema.Properties[part]
					all[gvk] = append(all[gvk], places(gvk, &props, []string{part})...)
				}
			}
		}
	}
	return all
}

var ourKinds = []string{"PodManager", "ImoocPod", "HelloWorld", "Collector"}

func places(gvk schema.GroupVersionKind, props *apiextensionsv1.JSONSchemaProps, path []string) []field {
	list := []field{{gvk, path}}
	for _, name := range slices.Sorted(maps.Keys(props.Properties)) {
		child := props.Properties[name]
		list = append(list, places(gvk, &child, append(slices.Clone(path), name))...)
	}
	if props.Items != nil && props.Items.Schema != nil {
		list = append(list, places(gvk, props.Items.Schema, append(slices.Clone(path), "[]"))...)
	}
	return list
}
