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
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one operator of a file, to be replaced by another.
type mutant struct {
	File   string
	Line   int
	Offset int // of the operator in the file
	Kind   string
	Old    string
	New    string
	Text   string // the line, without its indent
	// First and Last are the lines of the whole expression.
	First, Last int
	// Constant is an operator of a constant, which is what it is when the program runs.
	Constant bool
}

// The kinds of mutants, by the names that mutation testers give them.
const (
	boundary   = "CONDITIONALS_BOUNDARY"
	negation   = "CONDITIONALS_NEGATION"
	arithmetic = "ARITHMETIC_BASE"
	count      = "INCREMENT_DECREMENT"
	sign       = "INVERT_NEGATIVES"
)

// replacements are what becomes of an operator, one mutant for each.
var replacements = map[token.Token]map[string]token.Token{
	token.LSS: {boundary: token.LEQ, negation: token.GEQ},
	token.LEQ: {boundary: token.LSS, negation: token.GTR},
	token.GTR: {boundary: token.GEQ, negation: token.LEQ},
	token.GEQ: {boundary: token.GTR, negation: token.LSS},
	token.EQL: {negation: token.NEQ},
	token.NEQ: {negation: token.EQL},
	token.ADD: {arithmetic: token.SUB},
	token.SUB: {arithmetic: token.ADD},
	token.MUL: {arithmetic: token.QUO},
	token.QUO: {arithmetic: token.MUL},
	token.REM: {arithmetic: token.MUL},
	token.INC: {count: token.DEC},
	token.DEC: {count: token.INC},
}

// find lists the mutants of a folder's files in order, without those of tests and
// of generated code.
func find(folder string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := findIn(file, content)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func findIn(file string, content []byte) ([]mutant, error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, file, content, parser.ParseComments)
	if err != nil || ast.IsGenerated(syntax) {
		return nil, err
	}
	lines := strings.Split(string(content), "\n")
	var found []mutant
	var constants token.Pos // the end of those that are walked over
	add := func(n ast.Node, at token.Pos, old, replacement token.Token, kind string) {
		p := files.Position(at)
		found = append(found, mutant{
			File: file, Line: p.Line, Offset: p.Offset, Kind: kind,
			Old: old.String(), New: replacement.String(), Text: strings.TrimSpace(lines[p.Line-1]),
			Constant: at < constants, First: files.Position(n.Pos()).Line, Last: files.Position(n.End()).Line,
		})
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			if n.Tok == token.CONST {
				constants = n.End()
			}
		case *ast.BinaryExpr:
			if joinsText(n) {
				return true
			}
			for kind, replacement := range replacements[n.Op] {
				add(n, n.OpPos, n.Op, replacement, kind)
			}
		case *ast.IncDecStmt:
			for kind, replacement := range replacements[n.Tok] {
				add(n, n.TokPos, n.Tok, replacement, kind)
			}
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				add(n, n.OpPos, n.Op, token.ADD, sign)
			}
		}
		return true
	})
	slices.SortFunc(found, func(a, b mutant) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return found, nil
}

// joinsText: strings can be added and not subtracted.
func joinsText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (joinsText(e.X) || joinsText(e.Y))
	case *ast.BasicLit:
		return e.Kind == token.STRING
	}
	return false
}

// apply returns the file's content with the operator replaced.
func (m *mutant) apply(content []byte) []byte {
	return slices.Concat(content[:m.Offset], []byte(m.New), content[m.Offset+len(m.Old):])
}

// excuse identifies a mutant by its file, its kind and the text of its line: line
// numbers change with every edit above.
func (m *mutant) excuse() string { return m.File + " | " + m.Kind + " | " + m.Text }
