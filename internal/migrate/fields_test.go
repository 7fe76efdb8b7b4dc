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
	"sync"
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
	if fixed && reflect.TypeOf(value).ConvertibleTo(v.Type()) {
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
	return fmt.Sprintf("| %s | %s | %s | %s |\n", what, cell(f.kept), cell(f.refused), cell(f.lost))
}

// cell counts the fields of the template, if there are many, and names the others.
func cell(fields []string) string {
	var words []string
	inTemplate := 0
	for _, field := range fields {
		if strings.HasPrefix(field, "`template.") && len(fields) > 10 {
			inTemplate++
			continue
		}
		words = append(words, field)
	}
	if inTemplate > 0 {
		words = append(words, fmt.Sprintf("%d fields of `template`", inTemplate))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

var scheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kappsv1.AddToScheme, corev1.AddToScheme, autoscalingv2.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, batchv1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	for _, kind := range []*Kind{CloneSets, AdvancedStatefulSets} {
		scheme.AddKnownTypeWithName(kind.GroupVersionKind, &unstructured.Unstructured{})
		list := kind.GroupVersionKind
		list.Kind += "List"
		scheme.AddKnownTypeWithName(list, &unstructured.UnstructuredList{})
	}
	return scheme, nil
})

func fakeClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	known, err := scheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(known).WithObjects(objects...).Build()
}

// original is a kind of workload of which every field is drawn.
type original struct {
	kind *Kind
	spec reflect.Type
	// choices are the values of a field that has a fixed set of them.
	choices map[string][]string
}

var originals = []original{
	{kind: Deployments, spec: reflect.TypeFor[kappsv1.DeploymentSpec]()},
	{kind: StatefulSets, spec: reflect.TypeFor[kappsv1.StatefulSetSpec]()},
	{kind: ReplicaSets, spec: reflect.TypeFor[kappsv1.ReplicaSetSpec]()},
	{kind: CloneSets, spec: reflect.TypeFor[cloneSetSpec](), choices: map[string][]string{
		"updateStrategy.type": {"OnDelete", "ReCreate", "InPlaceIfPossible", "InPlaceOnly"},
	}},
	{kind: AdvancedStatefulSets, spec: reflect.TypeFor[advancedStatefulSetSpec](), choices: map[string][]string{
		"updateStrategy.rollingUpdate.podUpdatePolicy": {"InPlaceIfPossible", "ReCreate", "InPlaceOnly"},
	}},
}

// name is the kind as the table has it.
func (o *original) name() string {
	if o.kind == AdvancedStatefulSets {
		return "Advanced StatefulSet"
	}
	return o.kind.Kind
}

// leaves are the fields of the spec.
func (o *original) leaves(call func(path string, put func(spec reflect.Value))) {
	leaves("", o.spec, func(v reflect.Value) reflect.Value { return v }, func(path string, put func(reflect.Value)) {
		if !skipped(path) {
			call(path, put)
		}
	})
}

// drawn is a workload that has pods of the plainest template, changed by put.
func (o *original) drawn(put func(reflect.Value)) *unstructured.Unstructured {
	spec := reflect.New(o.spec).Elem()
	spec.FieldByName("Selector").Set(reflect.ValueOf(metav1.SetAsLabelSelector(map[string]string{"app": "web"})))
	spec.FieldByName("Template").Set(reflect.ValueOf(plainest()))
	put(spec)
	top := &unstructured.Unstructured{Object: map[string]any{"spec": values(spec.Addr().Interface())}}
	top.SetGroupVersionKind(o.kind.GroupVersionKind)
	top.SetNamespace("shop")
	top.SetName("web")
	top.SetUID("original")
	return top
}

// read reads a workload, which has all its pods.
func (o *original) read(t *testing.T, top *unstructured.Unstructured) *Workload {
	t.Helper()
	top = top.DeepCopy()
	replicas, ok, _ := unstructured.NestedInt64(top.Object, "spec", "replicas")
	if !ok {
		replicas = 1
	}
	status := map[string]any{"replicas": replicas, "updatedReplicas": replicas}
	c := fakeClient(t)
	if o.kind == Deployments {
		rs := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"replicas": replicas}}}
		spec, _, _ := unstructured.NestedMap(top.Object, "spec")
		rs.Object["spec"] = map[string]any{"replicas": replicas, "selector": spec["selector"], "template": spec["template"]}
		rs.SetGroupVersionKind(ReplicaSets.GroupVersionKind)
		rs.SetNamespace("shop")
		rs.SetName("web-1")
		rs.SetLabels(map[string]string{"app": "web"})
		rs.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(top, o.kind.GroupVersionKind)})
		if err := c.Create(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
		status = map[string]any{}
	}
	top.Object["status"] = status
	if err := c.Create(t.Context(), top); err != nil {
		t.Fatal(err)
	}
	w, err := Read(t.Context(), c, o.kind, client.ObjectKeyFromObject(top))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// fields sorts every field of the spec by what becomes of it in a PodManager.
func (o *original) fields(t *testing.T) *fate {
	f := &fate{}
	plain := o.read(t, o.drawn(func(reflect.Value) {}))
	o.leaves(func(path string, put func(reflect.Value)) {
		top := o.drawn(put)
		choices, several := o.choices[path]
		if !several {
			f.judge(t, path, o.read(t, top), plain, top)
			return
		}
		before := plain
		for _, choice := range choices {
			if err := unstructured.SetNestedField(top.Object, choice, append([]string{"spec"}, strings.Split(path, ".")...)...); err != nil {
				t.Fatal(err)
			}
			w := o.read(t, top)
			f.judge(t, path, w, before, top)
			before = w
		}
	})
	return f
}

// judge sorts a field by what became of it. plain is the workload without it.
func (f *fate) judge(t *testing.T, path string, w, plain *Workload, top *unstructured.Unstructured) {
	t.Helper()
	asked, _, _ := unstructured.NestedFieldNoCopy(top.Object, append([]string{"spec"}, strings.Split(path, ".")...)...)
	as, kept := w.keeps(path, asked, plain)
	listed := listed(w.Losses, path, asked)
	note := func(list *[]string, field string) {
		if !slices.Contains(*list, field) {
			*list = append(*list, field)
		}
	}
	switch {
	case strings.Contains(w.Obstacle(), path[strings.LastIndexByte(path, '.')+1:]):
		note(&f.refused, "`"+path+"`")
	case listed != "":
		note(&f.lost, "`"+listed+"`")
	case kept && as == path:
		note(&f.kept, "`"+path+"`")
	case kept:
		note(&f.kept, "`"+path+"` as `"+as+"`")
	default:
		t.Errorf("%s of %s is %v, and is neither kept nor refused nor listed (obstacle %q, lost %q)", path, w, asked, w.Obstacle(), w.Losses)
	}
}

// listed is as what a field is listed, or empty: by its path, that of what it is in, or
// by a value that is lost.
func listed(losses []string, path string, asked any) string {
	for at := path; at != ""; at = at[:max(0, strings.LastIndexByte(at, '.'))] {
		if slices.Contains(losses, "spec."+at) {
			return at
		}
	}
	value, _ := asked.(string)
	if value != "" && slices.ContainsFunc(losses, func(l string) bool { return strings.HasPrefix(l, value+":") }) {
		return path + ": " + value
	}
	return ""
}

// keeps says as which field a PodManager has the value.
func (w *Workload) keeps(path string, asked any, plain *Workload) (as string, kept bool) {
	if again, native := w.again(); native {
		is, _, _ := unstructured.NestedFieldNoCopy(again, strings.Split(path, ".")...)
		return path, cmp.Equal(asked, is)
	}
	if path == "selector" {
		selector, err := (Part{&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"selector": asked}}}}).selector()
		return path, err == nil && selector.String() == w.Selector.String()
	}
	if strings.HasPrefix(path, "template.") {
		is, _, _ := unstructured.NestedFieldNoCopy(map[string]any{"template": content(w.Spec.Template)}, strings.Split(path, ".")...)
		return path, cmp.Equal(asked, is)
	}
	is, was := fieldsOf(&w.Spec), fieldsOf(&plain.Spec)
	for _, field := range sortedKeys(is) {
		if !cmp.Equal(is[field], was[field]) && says(is[field], asked) {
			return field, true
		}
	}
	return "", false
}

// says: a field of a PodManager asks for the same. OpenKruise writes ReCreate, and a start
// is so many ordinals that are left out.
func says(is, asked any) bool {
	list, _ := is.([]any)
	return strings.EqualFold(fmt.Sprint(is), fmt.Sprint(asked)) || len(list) > 0 && fmt.Sprint(len(list)) == fmt.Sprint(asked)
}

// again is the spec of the workload that is made of its PodManager, for the kinds to which one
// is exported. A ReplicaSet is compared with the Deployment.
func (w *Workload) again() (spec map[string]any, native bool) {
	if w.Kind.Group == kruiseGroup {
		return nil, false
	}
	target, err := (&Record{Target: recordOf(w).Target}).exportAnew(w.Manager(), w.Kind)
	if err != nil {
		return nil, true
	}
	spec, _, _ = unstructured.NestedMap(target.Parts[0].Object, "spec")
	return spec, true
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
			f.refused = append(f.refused, "`"+path+"`")
			return
		}
		lost, err := lostBy(t.Context(), c, pm, target)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(lost, func(l string) bool { return l == path || strings.HasPrefix(l, path+".") }) {
			f.lost = append(f.lost, "`"+path+"`")
			return
		}
		f.kept = append(f.kept, "`"+path+"`")
	})
	return f
}

// Every field of a workload is kept, refused by its name or listed as lost.
func TestEveryFieldIsKeptRefusedOrLost(t *testing.T) {
	var there, undone, back strings.Builder
	for i := range originals {
		o := &originals[i]
		f := o.fields(t)
		there.WriteString(f.row(o.name() + " to PodManager"))
		undone.WriteString(o.undone(t, f))
	}
	there.WriteString(bareFields(t).row("Pod without a controller to PodManager"))
	back.WriteString(managerFields(t, Deployments, appsv1.IdentityRandom).row("PodManager, exported to Deployment"))
	back.WriteString(managerFields(t, StatefulSets, appsv1.IdentityOrdinal).row("PodManager, exported to StatefulSet"))
	table := "\n| from | kept | refused | lost, and listed |\n|---|---|---|---|\n" + there.String() + back.String() +
		"\n`--undo` gives back the original. Of a PodManager that was changed since:\n\n" +
		"| `--undo` of | fields that are as they were | changed since, and kept | changed since, and refused | changed since, listed, and as before the migration |\n" +
		"|---|---|---|---|---|\n" + undone.String() + "\n"
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
