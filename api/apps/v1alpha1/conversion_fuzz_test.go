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

package v1alpha1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// FuzzConversion: every v1 object goes to v1alpha1 and back without loss, or is
// marked as one that does not fit; and whatever a client sends as v1alpha1 is
// converted or refused.
//
//	make fuzz
func FuzzConversion(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"web"},"spec":{"replicas":3,"image":"nginx"}}`,
		`{"metadata":{"name":"web"},"spec":{"size":3,"image":"nginx"},"status":{"nodes":["web-0"]}}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"a"},{"name":"b"}]}}},"status":{"replicas":2,"nodes":["web-0"]}}`,
		`{"metadata":{"annotations":{"apps.mycompany.com/v1":"H4sI"},"labels":{"apps.mycompany.com/v1":"too-large"}},"spec":null}`,
		`{"metadata":{"annotations":{"apps.mycompany.com/v1":"{\"spec\":{\"template\":1}}"}},"spec":{"image":5}}`,
		`{"spec":{"template":{"spec":{"containers":[null,1,{"image":"x"}]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var object map[string]any
		if json.Unmarshal(raw, &object) != nil || object == nil {
			return
		}
		_, _ = ToHub(object) // converted or refused, and no panic
		FromHub(object)

		var pm appsv1.PodManager
		if json.Unmarshal(raw, &pm) != nil {
			return
		}
		pm.Labels, pm.Annotations = nil, nil // those that are ours say nothing in v1
		hub, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pm)
		if err != nil {
			return
		}
		hub["apiVersion"] = appsv1.GroupVersion.String()
		spoke, fits := FromHub(hub)
		if !fits {
			return
		}
		back, err := ToHub(spoke)
		if err != nil {
			t.Fatalf("what fits cannot be converted back: %v", err)
		}
		var again appsv1.PodManager
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(back, &again); err != nil {
			t.Fatalf("what comes back is no PodManager: %v", err)
		}
		again.TypeMeta, pm.TypeMeta = appsv1.PodManager{}.TypeMeta, appsv1.PodManager{}.TypeMeta
		if !equality.Semantic.DeepEqual(pm, again) {
			t.Errorf("lost on the way (-sent +back):\n%s", cmp.Diff(pm, again))
		}
	})
}
