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
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

var (
	fuzzTime = flag.Duration("fuzz-tenants", 5*time.Second, "for how long objects are thrown at the operator")
	fuzzSeed = flag.Uint64("fuzz-seed", 1, "where the objects come from")
)

// served is how long a fleet may take to follow while objects are thrown: long
// enough for a slow machine, and far from for ever.
const served = 30 * time.Second

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

// TestTenantsFuzz throws objects at a running operator, whether their schemas admit
// them or not, while another tenant's PodManager has to stay served.
func TestTenantsFuzz(t *testing.T) {
	rng := rand.New(rand.NewPCG(*fuzzSeed, 1))
	f := &fuzzer{t: t, rng: rng, namespace: suite.Namespace(t), fields: fieldsOf(t)}
	suite.Create(t, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "tenant"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse(quota)}},
	})
	victim := suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(victim, "web").Replicas(1).Obj())
	suite.Fleet(t, victim, "web").ExpectReady(1)
	for begin, size := time.Now(), int32(1); time.Since(begin) < *fuzzTime; {
		for range 20 {
			f.throw()
		}
		size = size%3 + 1
		asked := time.Now()
		scaleTo(t, victim, "web", size)
		suite.Fleet(t, victim, "web").ExpectReady(int(size))
		if took := time.Since(asked); took > served {
			t.Errorf("after %d objects (-fuzz-seed=%d) the other tenant waited for %s; the last was\n%s", f.thrown, *fuzzSeed, took, f.last)
		}
	}
	t.Logf("%d objects were thrown, %d of them stored", f.thrown, f.stored)
	if f.stored == 0 || f.stored == f.thrown {
		t.Error("all or none were stored: the test proves little")
	}
}

// field is a place in the schema of a kind.
type field struct {
	gvk  schema.GroupVersionKind
	path []string
}

type fuzzer struct {
	t              *testing.T
	rng            *rand.Rand
	namespace      string
	fields         map[schema.GroupVersionKind][]field
	thrown, stored int
	last           string
}

// throw creates or changes an object, at times its status, and at times deletes it.
func (f *fuzzer) throw() {
	kinds := slices.SortedFunc(maps.Keys(f.fields), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.Kind, b.Kind) })
	gvk := kinds[f.rng.IntN(len(kinds))]
	object := &unstructured.Unstructured{Object: map[string]any{"spec": base(gvk.Kind)}}
	for range 1 + f.rng.IntN(3) {
		at := f.fields[gvk][f.rng.IntN(len(f.fields[gvk]))]
		put(object.Object, at.path, thrown[f.rng.IntN(len(thrown))])
	}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(f.namespace)
	object.SetName(fmt.Sprintf("thrown-%d", f.rng.IntN(5)))
	raw, err := json.Marshal(object)
	if err != nil {
		f.t.Fatal(err)
	}
	f.last = string(raw)
	f.thrown++
	ctx, patch := f.t.Context(), client.RawPatch(types.MergePatchType, raw)
	switch f.rng.IntN(5) {
	case 0:
		err = suite.Client.Delete(ctx, object)
	case 1:
		err = suite.Client.Status().Patch(ctx, object, patch)
	case 2:
		err = suite.Client.Patch(ctx, object, patch)
	default:
		err = suite.Client.Create(ctx, object)
	}
	if err == nil {
		f.stored++
	}
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
