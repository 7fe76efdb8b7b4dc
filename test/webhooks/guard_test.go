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

package webhooks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestWritesToTheAnnotationAreIgnored: what v1alpha1 cannot say is not v1alpha1's to
// change.
func TestWritesToTheAnnotationAreIgnored(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(ns, "web").Replicas(0).Image("").Template(richTemplate()).Obj())
	want := testkit.Get(t, suite, ns, "web", &appsv1.PodManager{}).Spec
	for name, body := range map[string]string{
		"another template": `{"metadata":{"annotations":{"apps.mycompany.com/v1":"{\"spec\":{\"template\":{\"spec\":{\"hostNetwork\":true}}}}"}}}`,
		"nonsense":         `{"metadata":{"annotations":{"apps.mycompany.com/v1":"nonsense"}}}`,
		"nothing":          `{"metadata":{"annotations":{"apps.mycompany.com/v1":null}}}`,
		"no annotations":   `{"metadata":{"annotations":null}}`,
	} {
		old := &v1alpha1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
		if err := suite.Client.Patch(t.Context(), old, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, testkit.Get(t, suite, ns, "web", &appsv1.PodManager{}).Spec); diff != "" {
			t.Errorf("%s: the spec changed (-before +after):\n%s", name, diff)
		}
	}

	// Written as v1, it means nothing, and it does not stay.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pm := testkit.Get(t, suite, ns, "web", &appsv1.PodManager{})
		metav1.SetMetaDataAnnotation(&pm.ObjectMeta, v1alpha1.AnnotationKept, `{"spec":{"paused":true}}`)
		return suite.Client.Update(t.Context(), pm)
	})
	if err != nil {
		t.Fatal(err)
	}
	pm := testkit.Get(t, suite, ns, "web", &appsv1.PodManager{})
	if _, ok := pm.Annotations[v1alpha1.AnnotationKept]; ok || pm.Spec.Paused {
		t.Errorf("the annotation stayed in v1: %v, paused: %v", pm.Annotations, pm.Spec.Paused)
	}
}

// TestACopyIsHeldToV1sRules: the API server checks a v1alpha1 request by
// v1alpha1's schema alone.
func TestACopyIsHeldToV1sRules(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	for name, tt := range map[string]struct {
		kept, want string
		// or is what another webhook, which is asked at the same time, says.
		or string
	}{
		"no JSON": {
			kept: "{nonsense",
			want: `metadata.annotations[apps.mycompany.com/v1]: Invalid value: "{nonsense": the annotation is written by the operator and cannot be read: ` +
				`it is no JSON object: invalid character 'n' looking for beginning of object key string; leave it out`,
		},
		"a reserved label": {
			kept: `{"spec":{"template":{"metadata":{"labels":{"podmanager":"other"}},"spec":{"containers":[{"name":"app"}]}}}}`,
			want: `leave them out of template.metadata.labels`,
		},
		"pods that end": {
			kept: `{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"app"}]}}}}`,
			want: `restartPolicy must be Always: a PodManager keeps its pods running`,
		},
		"a number out of range": {
			kept: `{"spec":{"minReadySeconds":-5}}`,
			want: `spec.minReadySeconds: Invalid value: -5: spec.minReadySeconds in body should be greater than or equal to 0`,
		},
		"minReadySeconds that no pod can keep in time": {
			kept: `{"spec":{"minReadySeconds":700}}`,
			want: `update.progressDeadlineSeconds must be greater than minReadySeconds, or no pod can become available in time`,
		},
		"a value of the wrong type": {
			kept: `{"spec":{"template":"nginx"}}`,
			want: `spec.template: Invalid value: "string": spec.template in body must be of type object: "string"`,
			or:   `json: cannot unmarshal string into Go struct field PodManagerSpec.spec.template of type v1.PodTemplateSpec`,
		},
		"an unknown word": {
			kept: `{"spec":{"identity":"Named"}}`,
			want: `spec.identity: Unsupported value: "Named": supported values: "Ordinal", "Random"`,
		},
		"a template whose pod is refused": {
			kept: `{"spec":{"template":{"spec":{"containers":[{"name":"app","ports":[{"containerPort":70000}]}]}}}}`,
			want: `spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := suite.Client.Create(t.Context(), &v1alpha1.PodManager{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy", Annotations: map[string]string{v1alpha1.AnnotationKept: tt.kept}},
				Spec:       v1alpha1.PodManagerSpec{Size: ptr.To(int32(0)), Image: "nginx"},
			})
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) && (tt.or == "" || !strings.HasSuffix(err.Error(), tt.or)) {
				t.Errorf("the answer is\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}
