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

package flightrecorder

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	maxDepth      = 40   // deeper nesting is compared as a whole
	maxPathLength = 256  // longer paths are cut
	maxKeyLength  = 128  // longer map keys are cut
	maxKeyedPairs = 4096 // larger keyed lists are compared as a whole
)

// differ finds which fields of an object changed between two versions. It returns paths and never
// values: map keys are names of fields, and an item of a list is called by its index, or by its name
// or type where the API declares that as the list's key (containers, env, conditions).
//
// It walks both versions side by side with reflection, guided by a plan made once per Go type, and
// allocates nothing where nothing changed. Fields that change with every write (resourceVersion,
// generation, managedFields) are left out. Where a whole branch appears or goes, its root is named; of a map, the keys are.
//
// Most events are about status, and most of an object is spec. The API server counts the changes of
// spec in metadata.generation, so where that stayed the same, spec is looked at only if nothing else
// changed: a server that does not count right must not make the change disappear.
type differ struct {
	planner planner
	walks   sync.Pool
	names   *interner
	max     int
}

func newDiffer(names *interner, maxFields int) *differ {
	return &differ{names: names, max: maxFields, planner: planner{building: map[reflect.Type]*typePlan{}}}
}

// diff returns at most d.max paths, sorted, and how many more there were.
func (d *differ) diff(oldObj, newObj client.Object) (fields []string, more int) {
	w, _ := d.walks.Get().(*walk)
	if w == nil {
		w = &walk{path: make([]byte, 0, maxPathLength), names: d.names, max: d.max}
	}
	defer d.walks.Put(w)
	w.skipSpec = newObj.GetGeneration() > 0 && newObj.GetGeneration() == oldObj.GetGeneration()
	w.compare(oldObj, newObj, &d.planner)
	if w.skipSpec && len(w.fields) == 0 {
		w.skipSpec = false
		w.compare(oldObj, newObj, &d.planner)
	}
	slices.Sort(w.fields)
	fields, more = w.fields, w.more
	w.fields = nil
	return fields, more
}

// walk is one comparison under way.
type walk struct {
	names  *interner
	max    int
	path   []byte
	fields []string
	more   int
	depth  int

	skipSpec bool
}

func (w *walk) compare(oldObj, newObj client.Object, planner *planner) {
	w.path, w.fields, w.more, w.depth = w.path[:0], nil, 0, 0
	oldU, oldIs := oldObj.(*unstructured.Unstructured)
	newU, newIs := newObj.(*unstructured.Unstructured)
	if oldIs || newIs {
		if oldIs && newIs {
			w.unstructuredObject(oldU.Object, newU.Object)
		}
		return
	}
	a, b := reflect.ValueOf(oldObj), reflect.ValueOf(newObj)
	if a.Type() == b.Type() && a.Kind() == reflect.Pointer {
		w.value(a, b, planner.planFor(a.Type()))
	}
}

func (w *walk) changed() {
	if len(w.fields) >= w.max {
		w.more++
		return
	}
	path := w.path
	if len(path) > maxPathLength {
		path = path[:maxPathLength]
	}
	w.fields = append(w.fields, w.names.bytes(path))
}

func (w *walk) changedAt(push func()) {
	mark := len(w.path)
	push()
	w.changed()
	w.path = w.path[:mark]
}

func (w *walk) pushField(name string) {
	if len(w.path) > 0 {
		w.path = append(w.path, '.')
	}
	w.path = append(w.path, name...)
}

func (w *walk) pushIndex(i int) {
	w.path = append(w.path, '[')
	w.path = strconv.AppendInt(w.path, int64(i), 10)
	w.path = append(w.path, ']')
}

// pushKey names an entry of a map, or an item of a list by its declared key.
func (w *walk) pushKey(key string, bracket bool) {
	if len(key) > maxKeyLength {
		key = key[:maxKeyLength]
	}
	if !bracket && isPlain(key) {
		w.pushField(key)
		return
	}
	w.path = append(w.path, '[')
	for i := range len(key) {
		c := key[i]
		if c < ' ' || c == ']' || c == '[' || c == 0x7f {
			c = '?'
		}
		w.path = append(w.path, c)
	}
	w.path = append(w.path, ']')
}

func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != ""
}

// isKey says whether a declared key is fit to be shown: what Kubernetes calls a name or a type is
// short and has few letters. Anything else is called by its index.
func isKey(s string) bool {
	if s == "" || len(s) > 63 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isPlain(s[i:i+1]) && c != '.' && c != '/' {
			return false
		}
	}
	return true
}

func (w *walk) value(a, b reflect.Value, p *typePlan) {
	switch p.kind {
	case planScalar:
		if !scalarEqual(a, b) {
			w.changed()
		}
	case planPointer:
		w.pointer(a, b, p)
	case planStruct:
		w.structure(a, b, p)
	case planSlice:
		w.slice(a, b, p.elem, -1)
	case planBytes:
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			w.changed()
		}
	case planMap:
		w.mapping(a, b, p)
	case planLeaf:
		if !leafEqual(a, b) {
			w.changed()
		}
	}
}

func (w *walk) pointer(a, b reflect.Value, p *typePlan) {
	switch {
	case a.Pointer() == b.Pointer():
	case a.IsNil() || b.IsNil():
		w.changed()
	default:
		w.value(a.Elem(), b.Elem(), p.elem)
	}
}

func (w *walk) structure(a, b reflect.Value, p *typePlan) {
	if w.depth++; w.depth > maxDepth {
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			w.changed()
		}
		w.depth--
		return
	}
	for i := range p.fields {
		f := &p.fields[i]
		if w.skipSpec && w.depth == 1 && f.name == "spec" {
			continue
		}
		fa, fb := a.Field(f.index), b.Field(f.index)
		if plainlyEqual(fa, fb, f.plan.kind) {
			continue // most fields: spared the path
		}
		mark := len(w.path)
		if !f.inline {
			w.pushField(f.name)
		}
		if f.key >= 0 {
			w.slice(fa, fb, f.plan.elem, f.key)
		} else {
			w.value(fa, fb, f.plan)
		}
		w.path = w.path[:mark]
	}
	w.depth--
}

// plainlyEqual sees at a glance that two values are the same; false means that one has to look.
func plainlyEqual(a, b reflect.Value, kind planKind) bool {
	switch kind {
	case planScalar:
		return scalarEqual(a, b)
	case planPointer:
		return a.Pointer() == b.Pointer()
	case planSlice, planMap, planBytes:
		return a.Len() == 0 && b.Len() == 0
	}
	return false
}

// slice compares lists; key is the index of the items' key field, or -1.
func (w *walk) slice(a, b reflect.Value, elem *typePlan, key int) {
	la, lb := a.Len(), b.Len()
	switch {
	case la == 0 && lb == 0: // nil and empty are the same to the API
		return
	case la == 0 || lb == 0:
		w.changed()
		return
	case key >= 0 && la*lb <= maxKeyedPairs:
		w.keyed(a, b, elem, key)
		return
	case la != lb:
		w.changed()
		return
	}
	for i := range la {
		mark := len(w.path)
		w.pushIndex(i)
		w.value(a.Index(i), b.Index(i), elem)
		w.path = w.path[:mark]
	}
}

func (w *walk) keyed(a, b reflect.Value, elem *typePlan, key int) {
	name := func(list reflect.Value, i int) string { return list.Index(i).Field(key).String() }
	find := func(list reflect.Value, want string, hint int) int {
		if hint < list.Len() && name(list, hint) == want {
			return hint
		}
		for i := range list.Len() {
			if name(list, i) == want {
				return i
			}
		}
		return -1
	}
	for i := range b.Len() {
		mark := len(w.path)
		w.pushItem(name(b, i), i)
		if j := find(a, name(b, i), i); j >= 0 {
			w.value(a.Index(j), b.Index(i), elem)
		} else {
			w.changed()
		}
		w.path = w.path[:mark]
	}
	for i := range a.Len() {
		if find(b, name(a, i), i) < 0 {
			w.changedAt(func() { w.pushItem(name(a, i), i) })
		}
	}
}

func (w *walk) pushItem(key string, index int) {
	if isKey(key) {
		w.pushKey(key, true)
	} else {
		w.pushIndex(index)
	}
}

func (w *walk) mapping(a, b reflect.Value, p *typePlan) {
	if (a.Len() == 0 && b.Len() == 0) || a.Pointer() == b.Pointer() {
		return
	}
	if am, ok := a.Interface().(map[string]string); ok {
		diffMaps(w, am, b.Interface().(map[string]string), func(x, y string) {
			if x != y {
				w.changed()
			}
		})
		return
	}
	for it := a.MapRange(); it.Next(); {
		key, other := it.Key(), b.MapIndex(it.Key())
		mark := len(w.path)
		w.pushKey(key.String(), false)
		if other.IsValid() {
			w.value(it.Value(), other, p.elem)
		} else {
			w.changed()
		}
		w.path = w.path[:mark]
	}
	for it := b.MapRange(); it.Next(); {
		if !a.MapIndex(it.Key()).IsValid() {
			w.changedAt(func() { w.pushKey(it.Key().String(), false) })
		}
	}
}

// diffMaps calls both for the keys that are in both maps, with the path set, and reports the rest.
func diffMaps[V any](w *walk, a, b map[string]V, both func(x, y V)) {
	for key, x := range a {
		mark := len(w.path)
		w.pushKey(key, false)
		if y, ok := b[key]; ok {
			both(x, y)
		} else {
			w.changed()
		}
		w.path = w.path[:mark]
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			w.changedAt(func() { w.pushKey(key, false) })
		}
	}
}

func scalarEqual(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return a.Uint() == b.Uint()
	default:
		return a.Float() == b.Float()
	}
}

// leafEqual compares what has a meaning of its own: 1 and 1000m are the same quantity.
func leafEqual(a, b reflect.Value) bool {
	if !a.CanAddr() || !b.CanAddr() {
		ca, cb := reflect.New(a.Type()), reflect.New(b.Type())
		ca.Elem().Set(a)
		cb.Elem().Set(b)
		a, b = ca.Elem(), cb.Elem()
	}
	switch x := a.Addr().Interface().(type) {
	case *metav1.Time:
		return x.Equal(b.Addr().Interface().(*metav1.Time))
	case *metav1.MicroTime:
		return x.Equal(b.Addr().Interface().(*metav1.MicroTime))
	case *resource.Quantity:
		return x.Cmp(*b.Addr().Interface().(*resource.Quantity)) == 0
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
