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
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	maxDepth      = 100  // deeper nesting is compared as a whole
	maxPathLength = 256  // longer paths are cut
	maxKeyLength  = 128  // longer map keys are cut
	maxKeyedPairs = 4096 // larger keyed lists are compared as a whole
)

// differ finds which fields of an object changed between two versions. It returns paths and never
// values: map keys are names of fields, and an item of a list is called by its index, or by its name
// or type where the API declares that as the list's key (containers, env, conditions).
//
// It walks both versions side by side with reflection, typed objects and unstructured ones alike.
// Fields that change with every write (resourceVersion, generation, managedFields) are left out. Where a
// whole branch appears or goes, its root is named; of a map, the keys are.
//
// Most events are about status, and most of an object is spec. The API server counts the changes of
// spec in metadata.generation, so where that stayed the same, spec is looked at only if nothing else
// changed: a server that does not count right must not make the change disappear.
type differ struct {
	layouts sync.Map // reflect.Type -> *layout
	names   *interner
	max     int
}

func newDiffer(names *interner, maxFields int) *differ { return &differ{names: names, max: maxFields} }

// diff returns at most d.max paths, sorted, and how many more there were.
func (d *differ) diff(oldObj, newObj client.Object) (fields []string, more int) {
	a, b := reflect.ValueOf(oldObj), reflect.ValueOf(newObj)
	if a.Type() != b.Type() {
		return nil, 0
	}
	if u, ok := oldObj.(*unstructured.Unstructured); ok {
		a, b = reflect.ValueOf(u.Object), reflect.ValueOf(newObj.(*unstructured.Unstructured).Object)
	}
	w := &walk{differ: d, path: make([]byte, 0, maxPathLength)}
	w.skipSpec = newObj.GetGeneration() > 0 && newObj.GetGeneration() == oldObj.GetGeneration()
	w.value(a, b, place{})
	if w.skipSpec && len(w.fields) == 0 {
		w.skipSpec = false
		w.value(a, b, place{})
	}
	slices.Sort(w.fields)
	return w.fields, w.more
}

// layout is what the differ knows of a struct type.
type layout struct {
	whole      bool // it has a meaning of its own, such as a quantity or a time
	comparable bool
	fields     []place
}

// place is under which name a value hangs in the object.
type place struct {
	index  int
	name   string
	inline bool
	key    string // of a list: the field that names its items, or ""
}

var marshalerType = reflect.TypeFor[json.Marshaler]()

func (d *differ) layoutOf(t reflect.Type) *layout {
	if known, ok := d.layouts.Load(t); ok {
		return known.(*layout)
	}
	s := &layout{comparable: t.Comparable()}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		inline := name == "" && (f.Anonymous || strings.Contains(options, "inline"))
		if name == "" {
			name = f.Name
		}
		s.fields = append(s.fields, place{index: i, name: name, inline: inline, key: listKey(name, f.Tag.Get("patchMergeKey"))})
	}
	s.whole = len(s.fields) == 0 || reflect.PointerTo(t).Implements(marshalerType)
	d.layouts.Store(t, s)
	return s
}

// listKey is the field that names the items of a list: the declared one, or that of the lists that
// Kubernetes itself keys, because an unstructured object does not carry its schema. Only name and type are
// taken: other keys (an IP, a path) are values.
func listKey(list, declared string) string {
	switch declared {
	case "name", "type":
		return declared
	case "":
	default:
		return ""
	}
	switch list {
	case "containers", "initContainers", "ephemeralContainers", "env", "volumes", "imagePullSecrets",
		"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses":
		return "name"
	case "conditions":
		return "type"
	}
	return ""
}

// isFreeMap tells the maps, whose keys are data, from the structures, whose keys are the schema's, in an
// unstructured object.
func isFreeMap(name string) bool {
	switch name {
	case "labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData", "binaryData", "limits", "requests":
		return true
	}
	return false
}

// walk is one comparison under way.
type walk struct {
	*differ
	path   []byte
	fields []string
	more   int
	depth  int

	skipSpec bool
}

func (w *walk) changed() {
	if len(w.fields) >= w.max {
		w.more++
		return
	}
	w.fields = append(w.fields, w.names.string(string(w.path[:min(len(w.path), maxPathLength)])))
}

// skips leaves out what changes with every write, or never.
func (w *walk) skips() bool {
	switch string(w.path) {
	case "apiVersion", "kind", "metadata.resourceVersion", "metadata.generation", "metadata.managedFields", "metadata.selfLink":
		return true
	case "spec":
		return w.skipSpec
	}
	return false
}

func (w *walk) value(a, b reflect.Value, f place) {
	w.depth++
	switch kind := a.Kind(); {
	case w.depth > maxDepth:
		w.compare(reflect.DeepEqual(a.Interface(), b.Interface()))
	case kind == reflect.Pointer || kind == reflect.Interface:
		switch {
		case a.IsNil() || b.IsNil():
			w.compare(a.IsNil() == b.IsNil())
		case a.Elem().Type() != b.Elem().Type():
			w.changed()
		default:
			w.value(a.Elem(), b.Elem(), f)
		}
	case kind == reflect.Struct:
		w.structure(a, b)
	case kind == reflect.Slice:
		w.list(a, b, f.key)
	case kind == reflect.Map:
		w.mapping(a, b, f.name)
	default:
		w.compare(a.Equal(b))
	}
	w.depth--
}

func (w *walk) compare(equal bool) {
	if !equal {
		w.changed()
	}
}

func (w *walk) structure(a, b reflect.Value) {
	s := w.layoutOf(a.Type())
	if s.whole {
		w.compare((s.comparable && a.Equal(b)) || equality.Semantic.DeepEqual(a.Interface(), b.Interface()))
		return
	}
	for _, f := range s.fields {
		x, y, mark := a.Field(f.index), b.Field(f.index), len(w.path)
		if x.IsZero() && y.IsZero() {
			continue // most fields are not set
		}
		if !f.inline {
			w.pushKey(f.name)
		}
		if !w.skips() {
			w.value(x, y, f)
		}
		w.path = w.path[:mark]
	}
}

func (w *walk) list(a, b reflect.Value, key string) {
	la, lb := a.Len(), b.Len()
	switch {
	case la == 0 && lb == 0: // nil and empty are the same to the API
	case a.Type().Elem().Kind() == reflect.Uint8:
		w.compare(bytes.Equal(a.Bytes(), b.Bytes()))
	case la == 0 || lb == 0:
		w.changed()
	case key != "" && la*lb <= maxKeyedPairs:
		w.keyed(a, b, key)
	case la != lb:
		w.changed()
	default:
		for i := range la {
			mark := len(w.path)
			w.pushItem("", i)
			w.value(a.Index(i), b.Index(i), place{})
			w.path = w.path[:mark]
		}
	}
}

func (w *walk) keyed(a, b reflect.Value, key string) {
	find := func(list reflect.Value, name string, hint int) int {
		if hint < list.Len() && w.nameOf(list.Index(hint), key) == name {
			return hint
		}
		for i := range list.Len() {
			if w.nameOf(list.Index(i), key) == name {
				return i
			}
		}
		return -1
	}
	mark := len(w.path)
	for i := range b.Len() {
		name := w.nameOf(b.Index(i), key)
		w.pushItem(name, i)
		if j := find(a, name, i); j >= 0 {
			w.value(a.Index(j), b.Index(i), place{})
		} else {
			w.changed()
		}
		w.path = w.path[:mark]
	}
	for i := range a.Len() {
		if name := w.nameOf(a.Index(i), key); find(b, name, i) < 0 {
			w.pushItem(name, i)
			w.changed()
			w.path = w.path[:mark]
		}
	}
}

// nameOf is the value of an item's key, or "".
func (w *walk) nameOf(item reflect.Value, key string) string {
	if item.Kind() == reflect.Interface || item.Kind() == reflect.Pointer {
		item = item.Elem()
	}
	switch item.Kind() {
	case reflect.Struct:
		for _, f := range w.layoutOf(item.Type()).fields {
			if f.name == key && item.Field(f.index).Kind() == reflect.String {
				return item.Field(f.index).String()
			}
		}
	case reflect.Map:
		object, _ := item.Interface().(map[string]any)
		name, _ := object[key].(string)
		return name
	}
	return ""
}

func (w *walk) mapping(a, b reflect.Value, name string) {
	if texts, ok := a.Interface().(map[string]string); ok && maps.Equal(texts, b.Interface().(map[string]string)) {
		return // spares most maps the reflection
	}
	_, isStructure := a.Interface().(map[string]any)
	if isStructure && !isFreeMap(name) && (a.Len() == 0) != (b.Len() == 0) {
		w.changed()
		return
	}
	for it := a.MapRange(); it.Next(); {
		w.entry(it.Key(), it.Value(), b.MapIndex(it.Key()))
	}
	for it := b.MapRange(); it.Next(); {
		if !a.MapIndex(it.Key()).IsValid() {
			w.entry(it.Key(), reflect.Value{}, it.Value())
		}
	}
}

// entry compares an entry of a map; the one that is not there is no valid value.
func (w *walk) entry(key, x, y reflect.Value) {
	mark := len(w.path)
	defer func() { w.path = w.path[:mark] }()
	name := key.String()
	if w.pushKey(name); w.skips() {
		return
	}
	if x.IsValid() && y.IsValid() {
		w.value(x, y, place{name: name, key: listKey(name, "")})
		return
	}
	there := x
	if y.IsValid() {
		there = y
	}
	if object, ok := there.Interface().(map[string]any); ok && isFreeMap(name) {
		w.mapping(reflect.ValueOf(object), reflect.ValueOf(map[string]any(nil)), name)
		return
	}
	w.changed()
}

// pushKey names a field, or an entry of a map.
func (w *walk) pushKey(key string) {
	if strings.IndexFunc(key, isSpecial) < 0 && key != "" {
		if len(w.path) > 0 {
			w.path = append(w.path, '.')
		}
		w.path = append(w.path, key[:min(len(key), maxKeyLength)]...)
		return
	}
	w.pushBracket(key)
}

// pushItem names an item of a list: by its key where that is fit to be shown (what Kubernetes calls a name or
// a type is short and has few letters), else by its index.
func (w *walk) pushItem(key string, index int) {
	fit := key != "" && len(key) <= 63 && strings.IndexFunc(key, func(c rune) bool { return isSpecial(c) && c != '.' && c != '/' }) < 0
	if !fit {
		key = strconv.Itoa(index)
	}
	w.pushBracket(key)
}

func (w *walk) pushBracket(key string) {
	w.path = append(w.path, '[')
	for i := range min(len(key), maxKeyLength) {
		c := key[i]
		if c < ' ' || c == ']' || c == '[' || c == 0x7f {
			c = '?'
		}
		w.path = append(w.path, c)
	}
	w.path = append(w.path, ']')
}

// isSpecial says that a path cannot show the letter without brackets.
func isSpecial(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
}

// interner keeps one copy of each string that recurs: field paths, manager names. It is bounded; past
// that, strings are simply not shared.
type interner struct {
	mu   sync.Mutex
	seen map[string]string
}

const maxInterned = 8192

func newInterner() *interner { return &interner{seen: map[string]string{}} }

func (n *interner) string(s string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if kept, ok := n.seen[s]; ok {
		return kept
	}
	if len(n.seen) < maxInterned {
		n.seen[s] = s
	}
	return s
}
