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

package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// Every verb has one line in the table, with the words that a user sees.
func TestVerbs(t *testing.T) {
	var constants []Verb
	file, err := parser.ParseFile(token.NewFileSet(), "decision.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Verb" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Error(err)
			}
			constants = append(constants, Verb(text))
		}
		return true
	})
	var lines []Verb
	for i := range Verbs {
		facts := &Verbs[i]
		lines = append(lines, facts.Verb)
		if facts.Past == "" {
			t.Errorf("%s has no words", facts.Verb)
		}
		if facts.Verb.Order() != i || facts.Verb.Facts() != facts {
			t.Errorf("%s finds another line", facts.Verb)
		}
	}
	if !slices.Equal(constants, lines) {
		t.Errorf("the constants are %v, the table has %v", constants, lines)
	}
	if unknown := Verb("Paint"); unknown.Order() != len(Verbs) || unknown.Facts().Verb != unknown {
		t.Error("a verb that is not in the table has a line")
	}
}
