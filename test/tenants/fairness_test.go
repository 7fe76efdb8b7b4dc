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
	"fmt"
	"maps"
	"math"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// How the fairness is measured.
const (
	// attackers are at least as many as the operator has workers.
	attackers = 5
	// quota is what the attacker's namespace may have, as a tenant's has.
	quota = "20"
	// tries: the machine is noisy, and a fair operator is fair in one of them.
	tries = 3
	// floor is how long a fleet may take in any case: there was a time when it took
	// for ever.
	floor = 2 * time.Second
)

// attack is an object with one field at its largest allowed value.
type attack struct {
	field string
	gvk   schema.GroupVersionKind
	spec  map[string]any
}

// One object does not stop the others: with any field at its largest allowed
// value, another tenant's PodManager is ready in at most twice the usual time. A
// maxSurge of 2147483647 held a worker for good.
func TestOneObjectDoesNotStopTheOthers(t *testing.T) {
	list := attacks(t)
	if len(list) < 18 {
		t.Errorf("only %d fields were found", len(list))
	}
	for _, a := range list {
		t.Run(a.field, func(t *testing.T) {
			for try := range tries {
				took := underAttack(t, a)
				if took <= floor {
					return
				}
				usual := victimTakes(t) // the machine may be slow just now
				if took <= 2*usual {
					return
				}
				t.Logf("try %d: another tenant's pods took %s, and without the attack %s", try, took, usual)
			}
			t.Error("more than twice the usual time, at every try")
		})
	}
}

// What a pod template holds costs the API server as much, whichever client makes the
// pods. So large ones are compared with ReplicaSets of the same template: beside
// PodManagers another tenant waits at most twice as long as beside those.
func TestALargeTemplateCostsOthersNoMoreThanAReplicaSets(t *testing.T) {
	for name, template := range largeTemplates() {
		t.Run(name, func(t *testing.T) {
			ours := attack{gvk: schema.GroupVersionKind{Group: "apps.mycompany.com", Version: "v1", Kind: "PodManager"}, spec: map[string]any{
				"replicas": int64(4), "template": template,
			}}
			theirs := attack{gvk: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, spec: map[string]any{
				"replicas": int64(4), "template": template, "selector": map[string]any{"matchLabels": map[string]any{"app": "large"}},
			}}
			for try := range tries {
				took := underAttack(t, ours)
				if took <= floor {
					return
				}
				beside := underAttack(t, theirs)
				usual := victimTakes(t)
				t.Logf("try %d: another tenant's pods took %s beside PodManagers, %s beside ReplicaSets, %s alone", try, took, beside, usual)
				if took <= 2*max(beside, usual) {
					return
				}
			}
			t.Error("more than twice the time beside ReplicaSets, at every try")
		})
	}
}

// largeTemplates are pod templates with a list or a text that is very long.
func largeTemplates() map[string]map[string]any {
	template := func(labels map[string]any, containers ...any) map[string]any {
		labels["app"] = "large"
		return map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": containers}}
	}
	container := func(name string) map[string]any { return map[string]any{"name": name, "image": "nginx:1.27"} }
	var containers, env []any
	labels := map[string]any{}
	for i := range 100 {
		containers = append(containers, container(fmt.Sprintf("c-%d", i)))
	}
	for i := range 500 {
		labels[fmt.Sprintf("label-%d", i)] = "value"
		env = append(env, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", i), "value": "value"})
	}
	texts := container("app")
	texts["args"] = []any{strings.Repeat("a", 200<<10)}
	variables := container("app")
	variables["env"] = env
	return map[string]map[string]any{
		"100 containers":  template(map[string]any{}, containers...),
		"500 labels":      template(labels, container("app")),
		"500 variables":   template(map[string]any{}, variables),
		"a long argument": template(map[string]any{}, texts),
	}
}

// victimTakes is how long a PodManager of three pods takes to be ready.
func victimTakes(t testing.TB) time.Duration {
	t.Helper()
	namespace := suite.Namespace(t)
	begin := time.Now()
	suite.Create(t, testkit.MakePodManager(namespace, "web").Replicas(3).Obj())
	suite.Fleet(t, namespace, "web").ExpectReady(3)
	return time.Since(begin)
}

func underAttack(t *testing.T, a attack) time.Duration {
	t.Helper()
	namespace := suite.Namespace(t)
	hard := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourcePods, corev1.ResourcePersistentVolumeClaims, "count/controllerrevisions.apps"} {
		hard[name] = resource.MustParse(quota)
	}
	suite.Create(t, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}})
	list := make([]*unstructured.Unstructured, attackers)
	for i := range list {
		list[i] = &unstructured.Unstructured{Object: map[string]any{"spec": a.spec}}
		list[i].SetGroupVersionKind(a.gvk)
		list[i].SetNamespace(namespace)
		list[i].SetName(fmt.Sprintf("attack-%d", i))
		if err := suite.Client.Create(t.Context(), list[i]); err != nil {
			t.Fatalf("%s: the largest allowed value is not allowed: %v", a.field, err)
		}
	}
	defer func() {
		for _, object := range list {
			_ = suite.Client.Delete(t.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground))
		}
	}()
	victimTakes(t) // by then they are at work
	return victimTakes(t)
}

// attacks reads the CRDs of the cluster: every number, list and text of their
// specs, each at its largest. Pod templates have a test of their own.
func attacks(t *testing.T) []attack {
	t.Helper()
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := suite.Client.List(t.Context(), &crds); err != nil {
		t.Fatal(err)
	}
	var list []attack
	for i := range crds.Items {
		crd := &crds.Items[i]
		for j := range crd.Spec.Versions {
			version := &crd.Spec.Versions[j]
			if !version.Storage || !slices.Contains(ourKinds, crd.Spec.Names.Kind) {
				continue
			}
			gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
			for path, value := range extremes(&spec, nil) {
				list = append(list, attack{field: gvk.Kind + "." + path, gvk: gvk, spec: with(base(gvk.Kind), strings.Split(path, "."), value)})
			}
		}
	}
	list = append(list, claimTemplates()...)
	slices.SortFunc(list, func(a, b attack) int { return strings.Compare(a.field, b.field) })
	return list
}

// base is a spec that is valid without the field.
func base(kind string) map[string]any {
	switch kind {
	case "PodManager":
		return map[string]any{"image": "nginx:1.27", "replicas": int64(1), "update": map[string]any{"progressDeadlineSeconds": int64(604800)}}
	case "Collector":
		return map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}
	}
	return map[string]any{}
}

// with sets a field of a spec, and returns the spec.
func with(spec map[string]any, path []string, value any) map[string]any {
	if err := unstructured.SetNestedField(spec, value, path...); err != nil {
		panic(err)
	}
	return spec
}

// extremes are the largest values of the fields, by path.
func extremes(props *apiextensionsv1.JSONSchemaProps, path []string) map[string]any {
	found := map[string]any{}
	name := strings.Join(path, ".")
	switch {
	case name == "template" || name == "volumeClaimTemplates" || name == "selector":
		return found
	case len(props.Enum) > 0:
	case props.XIntOrString:
		found[name] = int64(100000)
	case props.Type == "integer":
		found[name] = int64(min(bound(props.Maximum), math.MaxInt32))
	case props.Type == "string" && strings.Contains(props.Pattern, "ms|s"):
		found[name] = "24h"
		if path[len(path)-1] == "initial" {
			found[name] = "5m" // it is at most max, which is that by default
		}
	case props.Type == "string":
		found[name] = strings.Repeat("a", int(min(length(props.MaxLength), 1024)))
	case props.Type == "array" && props.Items.Schema.Type == "string":
		list := []any{}
		for i := range length(props.MaxItems) {
			list = append(list, fmt.Sprintf("nowhere-%d", i))
		}
		found[name] = list
	case props.Type == "array" && props.Items.Schema.Type == "integer":
		list := []any{}
		for i := range length(props.MaxItems) {
			list = append(list, int64(math.MaxInt32)-i)
		}
		found[name] = list
	}
	for _, child := range slices.Sorted(maps.Keys(props.Properties)) {
		schema := props.Properties[child]
		maps.Copy(found, extremes(&schema, append(slices.Clone(path), child)))
	}
	return found
}

func bound(maximum *float64) float64 {
	if maximum == nil {
		return math.MaxInt32
	}
	return *maximum
}

func length(n *int64) int64 {
	if n == nil {
		return 1024
	}
	return *n
}

// claimTemplates are as many as there may be.
func claimTemplates() []attack {
	gvk := schema.GroupVersionKind{Group: "apps.mycompany.com", Version: "v1", Kind: "PodManager"}
	claims := []any{}
	for i := range 32 {
		claims = append(claims, map[string]any{"metadata": map[string]any{"name": fmt.Sprintf("data-%d", i)}, "spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}})
	}
	return []attack{
		{field: "PodManager.volumeClaimTemplates", gvk: gvk, spec: map[string]any{"replicas": int64(3), "image": "a", "volumeClaimTemplates": claims}},
	}
}
