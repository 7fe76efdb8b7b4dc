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

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/mycompany/pod-operator/hack/overlay"
)

// To compile the tests once for every fault would take most of the time. So all of
// them are compiled in: a function that a fault changes is there twice, and the
// original calls its copy when an environment variable has the number of the fault.
// A fault outside a function is compiled alone.

// variable has the number of the fault that is switched on, from 1.
const variable = "JUDGE_FAULT"

// switchFile is added to every package that has faults.
const switchFile = `
import (
	"os"
	"strconv"
)

// judgeFault is the number of the fault that is switched on.
var judgeFault = func() int { n, _ := strconv.Atoi(os.Getenv("` + variable + `")); return n }()
`

// piece is a change of a function: what it is in the file with the fault.
type piece struct {
	number int
	edits  []edit
}

// switchable puts the faults that it can into the files, by number, and returns those
// that it cannot.
func switchable(read func(file string) (string, error), faults []fault) (files map[string]string, alone map[int]bool, err error) {
	pieces, alone := map[string][]piece{}, map[int]bool{}
	for i := range faults {
		byFile := map[string][]edit{}
		for _, e := range faults[i].edits {
			byFile[e.file] = append(byFile[e.file], e)
		}
		for file, edits := range byFile {
			pieces[file] = append(pieces[file], piece{number: i + 1, edits: edits})
		}
	}
	files = map[string]string{}
	for file, list := range pieces {
		text, err := read(file)
		if err != nil {
			return nil, nil, err
		}
		if files[file], err = twice(file, text, list, alone); err != nil {
			return nil, nil, err
		}
	}
	return files, alone, nil
}

// twice adds the copies of the functions that faults change, and the switches.
func twice(file, text string, list []piece, alone map[int]bool) (string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var insertions []overlay.Edit
	var copies strings.Builder
	for _, p := range list {
		changed := map[*ast.FuncDecl][]edit{}
		for _, e := range p.edits {
			at := strings.Index(text, e.find)
			f := around(parsed, at, at+len(e.find))
			if f == nil || strings.Count(text, e.find) != 1 || !callable(f) {
				alone[p.number] = true
				break
			}
			changed[f] = append(changed[f], e)
		}
		if alone[p.number] {
			continue
		}
		for f, edits := range changed {
			name := fmt.Sprintf("%sFault%d", f.Name.Name, p.number)
			insertions = append(insertions, overlay.Edit{At: int(f.Body.Lbrace), Text: fmt.Sprintf("\nif judgeFault == %d { %s }\n", p.number, call(f, name))})
			body := text[f.Name.End()-1 : f.End()-1]
			for _, e := range edits {
				body = strings.Replace(body, e.find, e.replace, 1)
			}
			copies.WriteString("\n" + text[f.Type.Pos()-1:f.Name.Pos()-1] + name + body + "\n")
		}
	}
	return overlay.Apply(text, insertions) + copies.String(), nil
}

// around is the function in whose body a text is.
func around(file *ast.File, from, to int) *ast.FuncDecl {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && from >= int(f.Body.Lbrace) && to < int(f.Body.Rbrace) {
			return f
		}
	}
	return nil
}

// callable: all parameters have names, so that they can be passed on.
func callable(f *ast.FuncDecl) bool {
	if f.Type.TypeParams != nil || f.Recv != nil && (len(f.Recv.List[0].Names) == 0 || f.Recv.List[0].Names[0].Name == "_") {
		return false
	}
	for _, p := range f.Type.Params.List {
		if len(p.Names) == 0 || slices.ContainsFunc(p.Names, func(n *ast.Ident) bool { return n.Name == "_" }) {
			return false
		}
	}
	return true
}

// call calls the copy of a function with its own parameters.
func call(f *ast.FuncDecl, name string) string {
	var args []string
	for _, p := range f.Type.Params.List {
		for _, n := range p.Names {
			arg := n.Name
			if _, variadic := p.Type.(*ast.Ellipsis); variadic {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	text := name + "(" + strings.Join(args, ", ") + ")"
	if f.Recv != nil {
		text = f.Recv.List[0].Names[0].Name + "." + text
	}
	if f.Type.Results == nil {
		return text + "; return"
	}
	return "return " + text
}
