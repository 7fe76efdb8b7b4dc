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

package manifests

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/manager"
)

// nasty are values that pass a careless schema and no decoder. Numbers are as the
// API server reads them.
var nasty = []any{
	int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt32) + 1, int64(math.MinInt32) - 1, int64(9999999999), int64(-1),
	"", " ", "9999999999h", "999999999s", "99999h99999h99999h99999h99999h", "1.000000000000000000000000001h", "1h-1h", ".5s", "5.s",
	"1e1.5", "1e99999999999999999999", "1e-999999999", "1E", "0x10", "+1", "-1", ".", "1.", ".5Ki", "99999999999999999999999999Ei", "1k", "nan", "1e9e9",
	"2026-13-40T99:99:99Z", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00z", "2026-01-01t00:00:00Z", "0000-01-01T00:00:00Z",
	"9999-12-31T23:59:60Z", "2026-01-01T00:00:00+99:99", "2026-01-01 00:00:00Z",
	true, nil, 1.5,
	[]any{},
	map[string]any{},
}

// What a CRD's schema admits can be decoded into its Go type: an object that
// cannot would keep all others of its kind from being listed. Every field of every
// schema gets every nasty value; those that the schema refuses are left out.
func TestWhatTheSchemaAdmitsCanBeDecoded(t *testing.T) {
	scheme, err := manager.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range render(t, "crd") {
		crd := into[apiextensionsv1.CustomResourceDefinition](t, object)
		for _, version := range crd.Spec.Versions {
			gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			t.Run(gvk.Kind+" "+gvk.Version, func(t *testing.T) {
				s := &tormentor{t: t, decode: func(raw []byte) error {
					object, err := scheme.New(gvk)
					if err != nil {
						return err
					}
					return json.Unmarshal(raw, object)
				}}
				s.walk(version.Schema.OpenAPIV3Schema, nil)
				t.Logf("%d of %d values are admitted, and can be decoded", s.admitted, s.tried)
				if s.admitted == 0 || s.tried == s.admitted {
					t.Error("the schema admits nothing, or everything: the test cannot fail")
				}
			})
		}
	}
}

type validate func(object any) field.ErrorList

func validatorOf(t *testing.T, props *apiextensionsv1.JSONSchemaProps) validate {
	t.Helper()
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
		t.Fatal(err)
	}
	v, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return func(object any) field.ErrorList { return validation.ValidateCustomResource(nil, object, v) }
}

// tormentor puts nasty values into an object, one at a time.
type tormentor struct {
	t               *testing.T
	decode          func(raw []byte) error
	tried, admitted int
}

// walk goes down to every field. A path is made of names; "[]" is the first item of
// a list and "{}" a key of a map.
func (s *tormentor) walk(props *apiextensionsv1.JSONSchemaProps, path []string) {
	leaf := len(props.Properties) == 0 && props.Items == nil && props.AdditionalProperties == nil
	if leaf && len(path) > 1 && path[0] != "metadata" {
		admits := validatorOf(s.t, props)
		for _, value := range nasty {
			s.try(admits, path, props.Format != "", value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(props.Properties)) {
		child := props.Properties[name]
		s.walk(&child, append(slices.Clone(path), name))
	}
	if props.Items != nil && props.Items.Schema != nil {
		s.walk(props.Items.Schema, append(slices.Clone(path), "[]"))
	}
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		s.walk(props.AdditionalProperties.Schema, append(slices.Clone(path), "{}"))
	}
}

// try asks whether the schema of a field has anything against the value, and decodes
// an object with nothing else in it. That other fields are missing does not matter.
func (s *tormentor) try(admits validate, path []string, formatted bool, value any) {
	s.tried++
	object := build(path, value)
	for _, problem := range admits(value) {
		if problem.Type != field.ErrorTypeRequired {
			return
		}
	}
	if _, list := value.([]any); value == nil || list && formatted {
		// The API server drops null. It takes an empty list for a string that has a
		// format, and no schema can forbid it: that is what package quarantine is for.
		return
	}
	s.admitted++
	raw, err := json.Marshal(object)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.decode(raw); err != nil {
		text, _ := yaml.Marshal(object)
		s.t.Errorf("%s: %v passes the schema, and then: %v\n%s", strings.Join(path, "."), value, err, text)
	}
}

func build(path []string, value any) any {
	for _, name := range slices.Backward(path) {
		switch name {
		case "[]":
			value = []any{value}
		case "{}":
			value = map[string]any{"cpu": value}
		default:
			value = map[string]any{name: value}
		}
	}
	return value
}
