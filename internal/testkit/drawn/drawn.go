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

// Package drawn finds what a generator of test input never draws. It walks the
// input's Go type and compares it with what was drawn: a field that is not drawn,
// or that always has the same value, is a part of the API that no random test
// reaches. A new field counts as missing by itself, so it cannot be forgotten.
package drawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values are the values that were drawn for every field of a type.
type Values struct {
	leaves map[reflect.Type]bool
	enums  map[string][]string
	seen   map[string]map[string]bool
}

// New begins without values. A leaf is a type whose value counts as a whole, as
// JSON; it is given by an example, and time.Time always is one.
func New(leaves ...any) *Values {
	v := &Values{leaves: map[reflect.Type]bool{reflect.TypeFor[time.Time](): true}, enums: map[string][]string{}, seen: map[string]map[string]bool{}}
	for _, leaf := range leaves {
		v.leaves[reflect.TypeOf(leaf)] = true
	}
	return v
}

// Enums reads the constants of a package's string types: a field of such a type
// has to be drawn with each of them.
func (v *Values) Enums(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("read the constants of %s: %w", folder, errors.Join(err, os.ErrNotExist))
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return fmt.Errorf("read the constants of %s: %w", folder, err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				v.enum(parsed.Name.Name, spec)
			}
			return true
		})
	}
	return nil
}

func (v *Values) enum(pkg string, spec *ast.ValueSpec) {
	kind, ok := spec.Type.(*ast.Ident)
	if !ok || kind.Name == "string" {
		return
	}
	for _, value := range spec.Values {
		literal, ok := value.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		if text, err := strconv.Unquote(literal.Value); err == nil {
			v.enums[pkg+"."+kind.Name] = append(v.enums[pkg+"."+kind.Name], text)
		}
	}
}

// Add takes in one input that was drawn.
func (v *Values) Add(input any) {
	value := reflect.ValueOf(input)
	v.add(value.Type().Name(), value)
}

func (v *Values) add(path string, value reflect.Value) {
	switch kind := value.Kind(); {
	case v.leaves[value.Type()]:
		text, _ := json.Marshal(value.Interface())
		v.note(path, string(text))
	case kind == reflect.Pointer:
		v.note(path, fmt.Sprint("nil: ", value.IsNil()))
		if !value.IsNil() {
			v.add(path+"*", value.Elem())
		}
	case kind == reflect.Struct:
		for i := range value.NumField() {
			v.add(path+"."+value.Type().Field(i).Name, value.Field(i))
		}
	case kind == reflect.Slice:
		v.note(path, fmt.Sprint("length ", value.Len()))
		for i := range value.Len() {
			v.add(path+"[]", value.Index(i))
		}
	default:
		v.note(path, fmt.Sprint(value.Interface()))
	}
}

func (v *Values) note(path, value string) {
	if v.seen[path] == nil {
		v.seen[path] = map[string]bool{}
	}
	v.seen[path][value] = true
}

// Missing says of the fields of the input's type what was not drawn.
func (v *Values) Missing(input any) []string {
	kind := reflect.TypeOf(input)
	return v.missing(kind.Name(), kind)
}

func (v *Values) missing(path string, kind reflect.Type) (found []string) {
	switch {
	case v.leaves[kind]:
	case kind.Kind() == reflect.Pointer:
		found = v.missing(path+"*", kind.Elem())
	case kind.Kind() == reflect.Slice:
		found = v.missing(path+"[]", kind.Elem())
	case kind.Kind() == reflect.Struct:
		for i := range kind.NumField() {
			found = append(found, v.missing(path+"."+kind.Field(i).Name, kind.Field(i).Type)...)
		}
		return found
	}
	switch values := slices.Sorted(maps.Keys(v.seen[path])); len(values) {
	case 0:
		return append(found, path+" is never drawn")
	case 1:
		return append(found, fmt.Sprintf("%s is drawn with one value only, %q", path, values[0]))
	}
	for _, constant := range v.enums[kind.String()] {
		if !v.seen[path][constant] {
			found = append(found, fmt.Sprintf("%s is never drawn as %q", path, constant))
		}
	}
	return found
}
