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

package migrate

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

var update = flag.Bool("update", false, "Write the table of fields into docs/migrate.md.")

const page = "../../docs/migrate.md"

// drawn are values of fields that cannot have any: all others are filled.
var drawn = map[string]any{
	"strategy.type":       kappsv1.RecreateDeploymentStrategyType,
	"podManagementPolicy": "Parallel", "updateStrategy.type": "OnDelete",
	"persistentVolumeClaimRetentionPolicy.whenDeleted": "Delete", "persistentVolumeClaimRetentionPolicy.whenScaled": "Delete",
	"template.spec.restartPolicy": "Never", "identity": "Ordinal", "reserveOrdinals": []int32{1},
	"selector":        &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}},
	"update.strategy": "Recreate", "update.onFailure": "Rollback", "update.partition": ptr.To(intstr.FromString("50%")),
	"deletion.policy": "Orphan", "disruption.policy": "SurgeFirst", "disruption.rebalance": "Auto", "terminating.policy": "Wait",
	"template.metadata.labels": map[string]string{"app": "web", "tier": "front"},
}

// set fills a value, whatever its type.
func set(v reflect.Value) {
	switch v.Interface().(type) {
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromInt32(2)))
		return
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("1")))
		return
	case metav1.ObjectMeta:
		v.Set(reflect.ValueOf(metav1.ObjectMeta{Name: "x", Labels: map[string]string{"x": "x"}}))
		return
	case metav1.Time, metav1.TypeMeta, corev1.PersistentVolumeClaimStatus:
		return
	case metav1.Duration:
		v.Set(reflect.ValueOf(metav1.Duration{Duration: time.Minute}))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			set(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		set(key)
		set(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	}
}

// leaves are the paths of the fields of a spec, each with a function that sets it. A
// pod's spec and lists are not gone into.
func leaves(path string, t reflect.Type, at func(reflect.Value) reflect.Value, call func(path string, put func(spec reflect.Value))) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		here := strings.TrimPrefix(path+"."+name, ".")
		get := func(spec reflect.Value) reflect.Value {
			parent := at(spec)
			if parent.Kind() == reflect.Pointer {
				if parent.IsNil() {
					parent.Set(reflect.New(parent.Type().Elem()))
				}
				parent = parent.Elem()
			}
			return parent.Field(i)
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		within := strings.HasPrefix(path, "template.spec")
		if name == "" {
			leaves(path, inner, get, call)
			continue
		}
		_, fixed := drawn[here]
		if inner.Kind() == reflect.Struct && !within && !fixed && inner != reflect.TypeFor[intstr.IntOrString]() && inner != reflect.TypeFor[metav1.Time]() &&
			inner != reflect.TypeFor[metav1.Duration]() {
			leaves(here, inner, get, call)
			continue
		}
		call(here, func(spec reflect.Value) { put(here, get(spec)) })
	}
}

func put(path string, v reflect.Value) {
	value, fixed := drawn[path]
	if fixed {
		v.Set(reflect.ValueOf(value).Convert(v.Type()))
		return
	}
	set(v)
}

// skipped are fields of a template's metadata that no template has.
func skipped(path string) bool {
	rest, ok := strings.CutPrefix(path, "template.metadata.")
	return ok && rest != "labels" && rest != "annotations"
}

func plainest() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
	}
}

// fate is what becomes of fields.
type fate struct{ kept, refused, lost []string }

func (f *fate) row(what string) string {
	cell := func(fields []string) string {
		var words []string
		inTemplate := 0
		for _, field := range fields {
			if strings.HasPrefix(field, "template.") && len(fields) > 10 {
				inTemplate++
				continue
			}
			words = append(words, "`"+field+"`")
		}
		if inTemplate > 0 {
			words = append(words, fmt.Sprintf("%d fields of `template`", inTemplate))
		}
		if len(words) == 0 {
			return "none"
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", what, cell(f.kept), cell(f.refused), cell(f.lost))
}

func fakeClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kappsv1.AddToScheme, corev1.AddToScheme, autoscalingv2.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, batchv1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// there reads a workload, makes a PodManager of it, and that a workload again.
func there(t *testing.T, kind *Kind, objects ...client.Object) (w *Workload, again map[string]any) {
	t.Helper()
	w, err := Read(t.Context(), fakeClient(t, objects...), kind, client.ObjectKey{Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	target, err := (&Record{Target: recordOf(w).Target}).exportAnew(w.Manager(), kind)
	if err != nil {
		return w, nil
	}
	again, _, _ = unstructured.NestedMap(target.Parts[0].Object, "spec")
	return w, again
}

// judge sorts a field by what became of it.
func (f *fate) judge(t *testing.T, path string, w *Workload, asked, again map[string]any) {
	t.Helper()
	name := path[strings.LastIndexByte(path, '.')+1:]
	keys := strings.Split(path, ".")
	was, _, _ := unstructured.NestedFieldNoCopy(asked, keys...)
	is, _, _ := unstructured.NestedFieldNoCopy(again, keys...)
	mentions := func(text string) bool { return strings.Contains(text, name) }
	switch {
	case mentions(w.Obstacle()):
		f.refused = append(f.refused, path)
	case slices.ContainsFunc(w.Losses, mentions):
		f.lost = append(f.lost, path)
	case cmp.Equal(was, is):
		f.kept = append(f.kept, path)
	default:
		t.Errorf("%s is %v, and comes back as %v, and nothing says so (obstacle %q)", path, was, is, w.Obstacle())
	}
}

func deploymentFields(t *testing.T) *fate {
	f := &fate{}
	leaves("", reflect.TypeFor[kappsv1.DeploymentSpec](), func(v reflect.Value) reflect.Value { return v }, func(path string, put func(reflect.Value)) {
		if skipped(path) {
			return
		}
		d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d"}}
		d.Spec.Selector, d.Spec.Template = metav1.SetAsLabelSelector(map[string]string{"app": "web"}), plainest()
		put(reflect.ValueOf(&d.Spec).Elem())
		rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d", Controller: ptr.To(true)}},
		}}
		rs.Spec.Replicas, rs.Spec.Template, rs.Spec.Selector = d.Spec.Replicas, *d.Spec.Template.DeepCopy(), d.Spec.Selector
		rs.Status.Replicas = ptr.Deref(d.Spec.Replicas, 1)
		w, again := there(t, Deployments, d, rs)
		f.judge(t, path, w, values(&d.Spec), again)
	})
	return f
}

func replicaSetFields(t *testing.T) *fate {
	f := &fate{}
	leaves("", reflect.TypeFor[kappsv1.ReplicaSetSpec](), func(v reflect.Value) reflect.Value { return v }, func(path string, put func(reflect.Value)) {
		if skipped(path) {
			return
		}
		rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "rs"}}
		rs.Spec.Selector, rs.Spec.Template = metav1.SetAsLabelSelector(map[string]string{"app": "web"}), plainest()
		put(reflect.ValueOf(&rs.Spec).Elem())
		rs.Status.Replicas = ptr.Deref(rs.Spec.Replicas, 1)
		w, again := there(t, ReplicaSets, rs)
		f.judge(t, path, w, values(&rs.Spec), again)
	})
	return f
}

func statefulSetFields(t *testing.T) *fate {
	f := &fate{}
	leaves("", reflect.TypeFor[kappsv1.StatefulSetSpec](), func(v reflect.Value) reflect.Value { return v }, func(path string, put func(reflect.Value)) {
		if skipped(path) {
			return
		}
		sts := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "s"}}
		sts.Spec.Selector, sts.Spec.Template = metav1.SetAsLabelSelector(map[string]string{"app": "web"}), plainest()
		put(reflect.ValueOf(&sts.Spec).Elem())
		sts.Status.Replicas = ptr.Deref(sts.Spec.Replicas, 1)
		w, again := there(t, StatefulSets, sts)
		f.judge(t, path, w, values(&sts.Spec), again)
	})
	return f
}

func values(spec any) map[string]any {
	v, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		panic(err)
	}
	return v
}

// managerFields are the fields of a PodManager that is exported.
func managerFields(t *testing.T, kind *Kind, identity appsv1.Identity) *fate {
	f := &fate{}
	c := fakeClient(t)
	leaves("", reflect.TypeFor[appsv1.PodManagerSpec](), func(v reflect.Value) reflect.Value { return v }, func(path string, put func(reflect.Value)) {
		if skipped(path) {
			return
		}
		pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		template := plainest()
		pm.Spec.Identity, pm.Spec.Template = identity, &template
		put(reflect.ValueOf(&pm.Spec).Elem())
		if path == "identity" && kind.Ordinal {
			pm.Spec.Identity = appsv1.IdentityRandom
		}
		target, err := (&Record{}).exportAnew(pm, kind)
		if err != nil {
			if !strings.Contains(err.Error(), "spec."+path) {
				t.Errorf("%s is refused without its name: %v", path, err)
			}
			f.refused = append(f.refused, path)
			return
		}
		lost, err := lostBy(t.Context(), c, pm, target)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(lost, func(l string) bool { return l == path || strings.HasPrefix(l, path+".") }) {
			f.lost = append(f.lost, path)
			return
		}
		f.kept = append(f.kept, path)
	})
	return f
}

// Every field of a workload is kept, refused by its name or listed as lost.
func TestEveryFieldIsKeptRefusedOrLost(t *testing.T) {
	table := "\n| from | kept | refused | lost, and listed |\n|---|---|---|---|\n" +
		deploymentFields(t).row("Deployment to PodManager") +
		statefulSetFields(t).row("StatefulSet to PodManager") +
		replicaSetFields(t).row("ReplicaSet to PodManager") +
		managerFields(t, Deployments, appsv1.IdentityRandom).row("PodManager, exported to Deployment") +
		managerFields(t, StatefulSets, appsv1.IdentityOrdinal).row("PodManager, exported to StatefulSet") + "\n"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- fields -->\n", "<!-- /fields -->"
	head, rest, found := strings.Cut(string(raw), begin)
	was, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+table+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != table {
		t.Errorf("the table of %s is old: go test ./internal/migrate -run %s -update\n%s", page, t.Name(), cmp.Diff(was, table))
	}
}
