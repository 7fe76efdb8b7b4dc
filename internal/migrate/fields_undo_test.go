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
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// undone is the row of what comes back by --undo. f are the fields on the way there: what was
// refused there cannot come back.
func (o *original) undone(t *testing.T, f *fate) string {
	all := o.givenBack(t, f)
	kept, refused, listed := o.changedSince(t)
	return fmt.Sprintf("| %s | all %d | %s | %s | %s |\n", o.name(), all, fields(kept), fields(refused), fields(listed))
}

// givenBack reads a workload that has every field, and one that has none, gives them back by
// their records, and compares. It returns how many fields there are.
func (o *original) givenBack(t *testing.T, f *fate) (all int) {
	var puts []func(reflect.Value)
	o.leaves(func(path string, put func(reflect.Value)) {
		if !slices.Contains(f.refused, "`"+path+"`") {
			puts = append(puts, put)
		}
	})
	every := func(spec reflect.Value) {
		for _, put := range puts {
			put(spec)
		}
	}
	for name, top := range map[string]*unstructured.Unstructured{"of every field": o.drawn(every), "of no field": o.drawn(func(reflect.Value) {})} {
		if err := unstructured.SetNestedField(top.Object, int64(7), "spec", "replicas"); err != nil { // the API server sets it
			t.Fatal(err)
		}
		if o.kind.Ordinal { // the API server sets it, and what makes the workload still is another
			if err := unstructured.SetNestedField(top.Object, "RollingUpdate", "spec", "updateStrategy", "type"); err != nil {
				t.Fatal(err)
			}
		}
		w := o.read(t, top)
		if w.Obstacle() != "" {
			t.Fatalf("%s %s: %s", w, name, w.Obstacle())
		}
		record := recordOf(w)
		record.Stage = Returning
		c := &controllers{fakeClient(t)}
		if _, err := newStore(t.Context(), c, w.key(), record, ""); err != nil {
			t.Fatal(err)
		}
		m := &Mover{Client: c, Holder: "me", Say: func(string, ...any) {}, Patience: time.Minute}
		if err := m.GiveBack(t.Context(), w.key(), o.kind); err != nil {
			t.Fatalf("%s %s: %v", w, name, err)
		}
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(o.kind.GroupVersionKind)
		if err := c.Get(t.Context(), w.key(), live); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(full(w.Top().Object["spec"]), full(live.Object["spec"])); diff != "" {
			t.Errorf("%s %s is given back as another:\n%s", w, name, diff)
		}
	}
	return len(puts)
}

func (w *Workload) key() client.ObjectKey {
	return client.ObjectKey{Namespace: w.Namespace, Name: w.Name}
}

// full is a value without empty structs, which mean the same as none.
func full(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		return value
	}
	rest := map[string]any{}
	for name, v := range fields {
		v = full(v)
		if nested, ok := v.(map[string]any); v != nil && (!ok || len(nested) > 0) {
			rest[name] = v
		}
	}
	return rest
}

// controllers imitates those of a workload that has no pods.
type controllers struct{ client.Client }

func (c *controllers) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	switch obj := obj.(type) {
	case *policyv1.PodDisruptionBudget:
		obj.Status.ObservedGeneration = 1
	case *unstructured.Unstructured:
		if FindKind(strings.ToLower(obj.GetKind())) != nil {
			obj.Object["status"] = map[string]any{"updateRevision": "web-1"}
		}
	}
	return c.Client.Create(ctx, obj, options...)
}

// changedSince draws every field of a PodManager that was made of the plainest workload, and
// sorts them by what an undo says.
func (o *original) changedSince(t *testing.T) (kept, refused, listed []string) {
	note := func(list *[]string, field string) { *list = append(*list, field) }
	plain := o.drawn(func(reflect.Value) {})
	leaves("", reflect.TypeFor[appsv1.PodManagerSpec](), func(v reflect.Value) reflect.Value { return v }, func(path string, put func(reflect.Value)) {
		if skipped(path) {
			return
		}
		w := o.read(t, plain)
		pm := w.Manager()
		pm.UID = "pm"
		before := fieldsOf(&pm.Spec)
		put(reflect.ValueOf(&pm.Spec).Elem())
		switch { // the drawn value means what it has
		case path == "identity" && o.kind.Ordinal:
			pm.Spec.Identity = appsv1.IdentityRandom
		case path == "update.strategy":
			pm.Spec.Update.Strategy = appsv1.UpdateOnDelete
		case path == "template.spec.enableServiceLinks":
			pm.Spec.Template.Spec.EnableServiceLinks = ptr.To(false)
		}
		if maps.EqualFunc(before, fieldsOf(&pm.Spec), func(a, b any) bool { return cmp.Equal(a, b) }) {
			t.Fatalf("%s of a PodManager of %s is not changed", path, w)
		}
		ofTemplate := path == "image" || strings.HasPrefix(path, "template.")
		said, replicas, err := tryUndo(t, w, pm)
		switch {
		case err != nil && (strings.Contains(err.Error(), "spec."+path) || ofTemplate && strings.Contains(err.Error(), "template of PodManager")):
			note(&refused, path)
		case err != nil:
			t.Errorf("%s of a PodManager of %s is refused without its name: %v", path, w, err)
		case strings.Contains(said, "spec."+path+" was changed since the migration") || strings.Contains(said, "spec."+path+"."):
			note(&listed, path)
		case path == "replicas" && replicas == *pm.Spec.Replicas:
			note(&kept, path)
		default:
			t.Errorf("%s of a PodManager of %s was changed since, and an undo says %q", path, w, said)
		}
	})
	return kept, refused, listed
}

// tryUndo decides on an undo, and returns what it says and how many pods it asks for.
func tryUndo(t *testing.T, w *Workload, pm *appsv1.PodManager) (said string, replicas int32, err error) {
	t.Helper()
	c := &permitted{Client: fakeClient(t)}
	record := recordOf(w)
	record.Stage = Taken
	s, err := newStore(t.Context(), c, w.key(), record, "me")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	r, err := (&Mover{Client: c, Holder: "me", Say: say}).runOf(w.key(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.promise(t.Context(), pm); err != nil {
		return "", 0, err
	}
	r.warn(t.Context(), pm, nil)
	return strings.Join(lines, "\n"), record.Replicas, nil
}

// fields are paths as a cell of the table.
func fields(paths []string) string {
	quoted := make([]string, len(paths))
	for i, path := range paths {
		quoted[i] = "`" + path + "`"
	}
	return cell(quoted)
}
