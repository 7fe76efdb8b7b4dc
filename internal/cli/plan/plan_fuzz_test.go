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

package plan

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// FuzzApplyPatch: any file and any last applied configuration make a patch or
// an error, and the patch is JSON.
//
//	make fuzz
func FuzzApplyPatch(f *testing.F) {
	for _, seed := range []struct{ file, last string }{
		{"apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: web}\nspec: {image: nginx}\n", `{"spec":{"replicas":2}}`},
		{"spec:\n  template: {spec: {containers: [{name: app}]}}\n", ""},
		{"- a\n- b\n", "[]"},
		{"null", "null"},
		{"a: &a [*a]", "{"},
	} {
		f.Add([]byte(seed.file), seed.last)
	}
	f.Fuzz(func(t *testing.T, file []byte, last string) {
		modified, err := yaml.YAMLToJSON(file)
		if err != nil {
			return
		}
		live := &unstructured.Unstructured{}
		live.SetAPIVersion("apps.mycompany.com/v1")
		live.SetKind("PodManager")
		live.SetName("web")
		current, err := live.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		patch, err := applyPatch([]byte(last), modified, current)
		if err == nil && !json.Valid(patch) {
			t.Errorf("the patch is not JSON: %q", patch)
		}
	})
}
