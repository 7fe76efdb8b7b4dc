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
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// planner makes, once per Go type, the plan by which the differ walks values of that type: the JSON
// names of the fields, which of them to leave out, which lists have a key.
type planner struct {
	ready sync.Map // reflect.Type -> *typePlan; only whole plans

	mu       sync.Mutex
	building map[reflect.Type]*typePlan
}

type planKind uint8

const (
	planLeaf planKind = iota // compared as a whole
	planScalar
	planPointer
	planStruct
	planSlice
	planBytes
	planMap
)

type typePlan struct {
	kind   planKind
	elem   *typePlan
	fields []fieldPlan
}

type fieldPlan struct {
	index  int
	name   string
	inline bool
	key    int // of a list: the index of the key field in its items, or -1
	plan   *typePlan
}

func (p *planner) planFor(t reflect.Type) *typePlan {
	if plan, ok := p.ready.Load(t); ok {
		return plan.(*typePlan)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := p.build(t)
	p.ready.Store(t, plan)
	return plan
}

var (
	marshalerType  = reflect.TypeFor[json.Marshaler]()
	objectMetaType = reflect.TypeFor[metav1.ObjectMeta]()
	typeMetaType   = reflect.TypeFor[metav1.TypeMeta]()
	conditionType  = reflect.TypeFor[metav1.Condition]()
)

// build is called with the lock held. A type that contains itself finds its own unfinished plan in
// p.building, which is complete before a walk uses it.
func (p *planner) build(t reflect.Type) *typePlan {
	if plan, ok := p.building[t]; ok {
		return plan
	}
	plan := &typePlan{}
	p.building[t] = plan
	isMarshaler := t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType)
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		plan.kind = planScalar
	case reflect.Pointer:
		plan.kind, plan.elem = planPointer, p.build(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			plan.kind = planBytes
		} else if !isMarshaler {
			plan.kind, plan.elem = planSlice, p.build(t.Elem())
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !isMarshaler {
			plan.kind, plan.elem = planMap, p.build(t.Elem())
		}
	case reflect.Struct:
		if !isMarshaler {
			p.buildStruct(plan, t)
		}
	}
	return plan
}

func (p *planner) buildStruct(plan *typePlan, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Type == typeMetaType {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || (t == objectMetaType && changesAlways(name)) {
			continue
		}
		inline := name == "" && (f.Anonymous || strings.Contains(options, "inline"))
		if name == "" {
			name = f.Name
		}
		plan.fields = append(plan.fields, fieldPlan{
			index: i, name: name, inline: inline, key: listKey(f), plan: p.build(f.Type),
		})
	}
	if len(plan.fields) > 0 {
		plan.kind = planStruct
	}
}

// changesAlways names the metadata that changes with every write, or that the differ has no use for.
func changesAlways(metadata string) bool {
	switch metadata {
	case "resourceVersion", "generation", "managedFields", "selfLink":
		return true
	}
	return false
}

// listKey finds the field that calls the items of a list by name, where the API declares one.
// Only name and type are taken: other keys (an IP, a path) are values.
func listKey(f reflect.StructField) int {
	if f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() != reflect.Struct {
		return -1
	}
	key := f.Tag.Get("patchMergeKey")
	if f.Type.Elem() == conditionType {
		key = "type"
	}
	if key != "name" && key != "type" {
		return -1
	}
	item := f.Type.Elem()
	for i := range item.NumField() {
		name, _, _ := strings.Cut(item.Field(i).Tag.Get("json"), ",")
		if name == key && item.Field(i).Type.Kind() == reflect.String {
			return i
		}
	}
	return -1
}

// interner keeps one copy of each string that recurs: field paths, manager names, kinds. It is
// bounded; past that, strings are simply not shared.
type interner struct {
	mu   sync.Mutex
	seen map[string]string
}

const maxInterned = 8192

func newInterner() *interner { return &interner{seen: map[string]string{}} }

func (n *interner) bytes(b []byte) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.seen[string(b)]; ok {
		return s
	}
	return n.keep(string(b))
}

func (n *interner) string(s string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if kept, ok := n.seen[s]; ok {
		return kept
	}
	return n.keep(s)
}

func (n *interner) keep(s string) string {
	if len(n.seen) < maxInterned {
		n.seen[s] = s
	}
	return s
}
