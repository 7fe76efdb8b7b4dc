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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The planner, the report and the forecast are pure: they neither read a clock nor
// do any I/O. The linter checks this too; this test needs no linter.
func TestThePlannerImportsNothingImpure(t *testing.T) {
	var files []string
	for _, folder := range []string{".", "../report", "../forecast"} {
		found, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(found) == 0 {
			t.Fatalf("found %d files in %s: %v", len(found), folder, err)
		}
		files = append(files, found...)
	}
	checked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		checked++
		fileSet := token.NewFileSet()
		file, err := parser.ParseFile(fileSet, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range impurities(file) {
			t.Error(name + ": " + broken)
		}
	}
	if checked == 0 {
		t.Error("no file was checked")
	}
}

func TestTheCheckFindsImpurities(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		want   int
	}{
		"a clock":                         {"import \"time\"\nvar _ = time.Now()", 1},
		"a clock under another name":      {"import clock \"time\"\nvar _ = clock.Since", 1},
		"a timer":                         {"import \"time\"\nvar _ = time.After", 1},
		"randomness":                      {"import _ \"math/rand/v2\"", 1},
		"a client":                        {"import _ \"k8s.io/client-go/kubernetes\"", 1},
		"our own outside of api":          {"import _ \"github.com/mycompany/pod-operator/internal/observe\"", 1},
		"files":                           {"import _ \"os\"", 1},
		"a random name":                   {"import \"k8s.io/apimachinery/pkg/util/rand\"\nvar _ = rand.String(5)", 1},
		"a duration is not a clock":       {"import \"time\"\nvar _ = time.Second", 0},
		"the encoding of a name is fixed": {"import \"k8s.io/apimachinery/pkg/util/rand\"\nvar _ = rand.SafeEncodeString", 0},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+test.source, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := impurities(file); len(got) != test.want {
				t.Errorf("found %v, want %d", got, test.want)
			}
		})
	}
}

// impurities lists what a file imports and calls without leave.
func impurities(file *ast.File) (found []string) {
	allowed := []string{
		"github.com/mycompany/pod-operator/api/", "k8s.io/api/", "k8s.io/apimachinery/",
		"github.com/mycompany/pod-operator/internal/plan", "github.com/mycompany/pod-operator/internal/report",
	}
	standard := []string{
		"cmp", "container/heap", "encoding/json", "errors", "fmt", "hash/fnv", "iter", "maps", "math", "slices", "sort", "strconv", "strings", "time",
	}
	// Of these packages nothing but the given names may be used.
	only := map[string][]string{
		"time": {
			"Duration", "Time", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour",
			"Date", "Unix", "UTC", "RFC3339",
		},
		"k8s.io/apimachinery/pkg/util/rand": {"SafeEncodeString"},
	}
	names := map[string]string{} // by which an import is known in the file
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if !slices.Contains(standard, path) && !slices.ContainsFunc(allowed, func(p string) bool { return strings.HasPrefix(path, p) }) {
			found = append(found, "imports "+path)
		}
		local := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		names[local] = path
		if local == "." {
			found = append(found, "imports all names of "+path)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok {
			path := names[pkg.Name]
			if list := only[path]; list != nil && !slices.Contains(list, selector.Sel.Name) {
				found = append(found, "uses "+path+"."+selector.Sel.Name)
			}
		}
		return true
	})
	return found
}
