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

package v1alpha1_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/randfill"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
)

// TestEveryV1ObjectComesBack fills every field of v1 at random, reads the
// object as v1alpha1 through the v1alpha1 Go type, as a typed client does,
// writes it back and compares.
func TestEveryV1ObjectComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pm appsv1.PodManager
		filler(rapid.Int64().Draw(t, "seed")).Fill(&pm)
		hub := toJSON(t, &pm, "apps.mycompany.com/v1")

		var typed v1alpha1.PodManager
		fromJSON(t, fromHub(t, hub), &typed)
		spoke := toJSON(t, &typed, "apps.mycompany.com/v1alpha1")
		back := toHub(t, spoke)
		dropEmptyStatus(hub, back)
		if diff := cmp.Diff(hub, back); diff != "" {
			t.Errorf("v1 -> v1alpha1 -> v1 (-want +got):\n%s", diff)
		}
		var again appsv1.PodManager
		fromJSON(t, back, &again)
		if _, leaked := again.Annotations[v1alpha1.AnnotationKept]; leaked {
			t.Error("the annotation leaked into v1")
		}
	})
}

// TestEditsThroughV1alpha1 edits size, image and nodes at random in between:
// just these change in v1.
func TestEditsThroughV1alpha1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fill := filler(rapid.Int64().Draw(t, "seed"))
		var pm appsv1.PodManager
		fill.Fill(&pm)
		if pm.Spec.Template != nil && rapid.Bool().Draw(t, "shorthand") {
			pm.Spec.Template.Spec.Containers = nil
		}
		pm.Spec.Image = "before"
		var edited v1alpha1.PodManager
		fromJSON(t, fromHub(t, toJSON(t, &pm, "apps.mycompany.com/v1")), &edited)
		size := rapid.Int32Range(0, 1000).Draw(t, "size")
		edited.Spec.Size, edited.Spec.Image, edited.Status.Nodes = &size, "after", []string{"a", "b"}

		want := pm.DeepCopy()
		want.Spec.Replicas, want.Spec.Image, want.Status.Nodes = &size, "after", []string{"a", "b"}
		got := toHub(t, toJSON(t, &edited, "apps.mycompany.com/v1alpha1"))
		if diff := cmp.Diff(toJSON(t, want, "apps.mycompany.com/v1"), got); diff != "" {
			t.Errorf("after the edit (-want +got):\n%s", diff)
		}
	})
}

// TestEveryV1alpha1ObjectComesBack is the other way round.
func TestEveryV1alpha1ObjectComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pm v1alpha1.PodManager
		filler(rapid.Int64().Draw(t, "seed")).Fill(&pm)
		pm.Spec.Image = "image:" + rapid.StringMatching(`[a-z0-9]+`).Draw(t, "tag")
		spoke := toJSON(t, &pm, "apps.mycompany.com/v1alpha1")

		var typed appsv1.PodManager
		fromJSON(t, toHub(t, spoke), &typed)
		hub := toJSON(t, &typed, "apps.mycompany.com/v1")
		// Reading through the v1 Go type writes the zeros that v1's status
		// always shows; they come back in the annotation.
		back := fromHub(t, hub)
		var want, got v1alpha1.PodManager
		fromJSON(t, spoke, &want)
		fromJSON(t, back, &got)
		delete(got.Annotations, v1alpha1.AnnotationKept)
		if len(got.Annotations) == 0 {
			got.Annotations = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("v1alpha1 -> v1 -> v1alpha1 (-want +got):\n%s", diff)
		}
	})
}

// filler fills Go values at random, with values that survive JSON.
func filler(seed int64) *randfill.Filler {
	source := rand.New(rand.NewPCG(uint64(seed), 1))
	return randfill.NewWithSeed(seed).NilChance(.4).NumElements(0, 3).MaxDepth(14).Funcs(
		func(m *metav1.TypeMeta, _ randfill.Continue) { *m = metav1.TypeMeta{Kind: "PodManager"} },
		func(q *resource.Quantity, _ randfill.Continue) {
			*q = resource.MustParse([]string{"1", "1500m", "2Gi", "0", "1e3"}[source.IntN(5)])
		},
		func(v *metav1.Time, _ randfill.Continue) { *v = metav1.NewTime(time.Unix(source.Int64N(1<<32), 0)) },
		func(v *metav1.Duration, _ randfill.Continue) { v.Duration = time.Duration(source.Int64N(1 << 40)) },
		func(v *intstr.IntOrString, _ randfill.Continue) {
			if *v = intstr.FromInt32(source.Int32N(100)); source.IntN(2) == 0 {
				*v = intstr.FromString("25%")
			}
		},
		func(v *metav1.FieldsV1, _ randfill.Continue) { *v = *metav1.NewFieldsV1(`{"f:spec":{}}`) },
	)
}

func toJSON(t *rapid.T, typed any, apiVersion string) map[string]any {
	t.Helper()
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	o["apiVersion"] = apiVersion
	return o
}

func fromJSON(t *rapid.T, o map[string]any, typed any) {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, typed); err != nil {
		t.Fatal(err)
	}
}

// dropEmptyStatus evens out that a typed client writes no empty status.
func dropEmptyStatus(objects ...map[string]any) {
	for _, o := range objects {
		if status, ok := o["status"].(map[string]any); ok && len(status) == 0 {
			delete(o, "status")
		}
	}
}

// bomb is a small annotation that unpacks to 5 MiB.
func bomb(t *testing.T) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(make([]byte, 5<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}
