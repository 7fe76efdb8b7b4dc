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

package sim

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// fingerprint identifies what a reconciler remembers in its fields. It fails for a
// function, whose variables cannot be read, and for what is nested too deeply.
func fingerprint(r reconcile.Reconciler) (sum uint64, ok bool) {
	f := &finger{ok: true}
	f.walk(reflect.ValueOf(r), 0)
	return f.sum, f.ok
}

type finger struct {
	sum uint64
	ok  bool
}

func (f *finger) add(parts ...any) { f.sum = hashOf(append([]any{f.sum}, parts...)...) }

// ours are the types of what New hands out. They are not memory.
func ours(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[api](), reflect.TypeFor[live](), reflect.TypeFor[recorder](), reflect.TypeFor[runClock](), reflect.TypeFor[runtime.Scheme]():
		return true
	}
	return false
}

func (f *finger) walk(v reflect.Value, depth int) {
	if depth > 12 {
		f.ok = false
	}
	if !f.ok || !v.IsValid() || ours(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Func:
		f.ok = f.ok && depth > 0
	case reflect.Chan, reflect.UnsafePointer:
	case reflect.Pointer, reflect.Interface:
		if f.add(v.IsNil()); !v.IsNil() {
			f.walk(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.walk(v.Field(i), depth+1)
		}
	case reflect.Slice, reflect.Array:
		f.add(v.Len())
		for i := range v.Len() {
			f.walk(v.Index(i), depth+1)
		}
	case reflect.Map:
		f.entries(v, depth)
	case reflect.String:
		f.add(v.String())
	case reflect.Bool:
		f.add(v.Bool())
	case reflect.Float32, reflect.Float64:
		f.add(v.Float())
	case reflect.Complex64, reflect.Complex128:
		f.add(v.Complex())
	default:
		if v.CanInt() {
			f.add(v.Int())
		} else {
			f.add(v.Uint())
		}
	}
}

// entries adds a map in a way that does not depend on the order of its keys.
func (f *finger) entries(v reflect.Value, depth int) {
	total := uint64(0)
	for it := v.MapRange(); it.Next(); {
		e := &finger{ok: true}
		e.walk(it.Key(), depth+1)
		e.walk(it.Value(), depth+1)
		f.ok = f.ok && e.ok
		total += e.sum
	}
	f.add(v.Len(), total)
}
