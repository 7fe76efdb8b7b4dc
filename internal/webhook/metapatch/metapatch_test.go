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

package metapatch

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func TestHandle(t *testing.T) {
	addFinalizer := Edit(func(m, _ *metav1.ObjectMeta) error { m.Finalizers = append(m.Finalizers, "ours"); return nil })
	takeOld := Edit(func(m, old *metav1.ObjectMeta) error { m.Annotations = old.Annotations; return nil })
	tests := map[string]struct {
		edit        Edit
		object, old string
		want        []jsonpatch.Operation
		refused     bool
	}{
		"a finalizer is added, and a quantity stays as it was written": {
			edit:   addFinalizer,
			object: `{"metadata":{"name":"a"},"spec":{"cpu":"1000m"}}`,
			want:   []jsonpatch.Operation{{Operation: "add", Path: "/metadata/finalizers", Value: []string{"ours"}}},
		},
		"and joins those that are there": {
			edit:   addFinalizer,
			object: `{"metadata":{"name":"a","finalizers":["theirs"]}}`,
			want:   []jsonpatch.Operation{{Operation: "add", Path: "/metadata/finalizers", Value: []string{"theirs", "ours"}}},
		},
		"the stored annotations come back": {
			edit:   takeOld,
			object: `{"metadata":{"name":"a","annotations":{"x":"new"}}}`,
			old:    `{"metadata":{"name":"a","annotations":{"x":"old"}}}`,
			want:   []jsonpatch.Operation{{Operation: "add", Path: "/metadata/annotations", Value: map[string]string{"x": "old"}}},
		},
		"the last annotation goes": {
			edit:   takeOld,
			object: `{"metadata":{"name":"a","annotations":{"x":"new"}}}`,
			old:    `{"metadata":{"name":"a"}}`,
			want:   []jsonpatch.Operation{{Operation: "remove", Path: "/metadata/annotations"}},
		},
		"nothing to change": {edit: func(_, _ *metav1.ObjectMeta) error { return nil }, object: `{"metadata":{"name":"a"}}`},
		"no object":         {edit: addFinalizer, object: `[]`, refused: true},
		"one that is refused": {
			edit:   func(_, _ *metav1.ObjectMeta) error { return errors.New("no") },
			object: `{"metadata":{"name":"a"}}`, refused: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Object: runtime.RawExtension{Raw: []byte(tt.object)}, OldObject: runtime.RawExtension{Raw: []byte(tt.old)},
			}}
			response := tt.edit.Handle(t.Context(), request)
			if response.Allowed == tt.refused {
				t.Fatalf("allowed: %v, %v", response.Allowed, response.Result)
			}
			if diff := cmp.Diff(tt.want, response.Patches); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
		})
	}
}
