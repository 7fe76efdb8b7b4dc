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

package root

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/internal/testkit/project"
)

// counted is a number before a noun that is always in the plural: "1 pods" is printed where it is one.
var counted = regexp.MustCompile(`(?:of )?%(?:\[\d+\])?d (?:different |other |ready |more )?` +
	`(pods|steps|tries|times|writes|objects|events|replicas|schedules|containers|waves|nodes|revisions|reconciles|namespaces|PodManagers|things|runs|decisions)\b`)

// many are texts about numbers that are never one.
var many = []string{
	"%d pods of the operator run in namespace %s, and the lease %s does not say which of them leads", // several run
	"%d without what was seen (more than %d pods)",                                                   // a limit
	" (%d events)", "%d pods", // of several
	"there are %d containers: give CONTAINER=IMAGE, where the containers are %s", // not one
}

// TestANumberHasItsNoun reads all texts that the plugin and the lab print.
func TestANumberHasItsNoun(t *testing.T) {
	if !counted.MatchString("%d pods run") || !strings.HasPrefix(counted.FindString("%d of %d pods run"), "of ") {
		t.Fatal("the pattern finds nothing")
	}
	read := 0
	for _, folder := range []string{"internal/cli", "internal/view", "internal/change", "internal/native", "internal/nativewhy", "internal/flight", "internal/migrate", "lab"} {
		err := filepath.WalkDir(filepath.Join(project.Root(), folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			read++
			ast.Inspect(parsed, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(literal.Value) // it was parsed
				for _, found := range counted.FindAllString(text, -1) {
					if !strings.HasPrefix(found, "of ") && !slices.Contains(many, text) {
						t.Errorf("%s: %q prints a plural of one: view.Count, plan.NumberOf and trace.Counted do not", file, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Errorf("only %d files were read", read)
	}
}
