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

	"github.com/mycompany/pod-operator/hack/overlay"
)

// switches rewrites a file so that it holds all its mutants at once. Each operator
// becomes a call that does what the operator did, or, when the environment variable
// MUTANT has the mutant's number, what the mutant does. So a package is compiled
// once and not once a mutant.
//
// A mutant's number is its index in all, which lists those of the whole package.
// Mutants that skip has are left out.
func switches(file string, content []byte, all []mutant, skip map[int]bool) ([]byte, error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, file, content, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	r := &rewriter{content: content, numbers: map[int][]int{}, offset: func(p token.Pos) int { return files.Position(p).Offset }}
	for i := range all {
		if all[i].File == file && !skip[i] {
			r.numbers[all[i].Offset] = append(r.numbers[all[i].Offset], i)
		}
	}
	ast.Walk(r, syntax)
	return r.result(), nil
}

// rewriter walks over a file's syntax and collects edits. Where two begin at one
// place, the outer expression's comes first, because it is met first; where two end
// at one place, the inner one's.
type rewriter struct {
	content      []byte
	offset       func(token.Pos) int
	numbers      map[int][]int // of the mutants, by the operator's offset
	open, closed []overlay.Edit
}

// Visit is ast.Visitor.
func (r *rewriter) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if numbers := r.numbers[r.offset(n.OpPos)]; len(numbers) > 0 {
			r.binary(n, numbers)
		}
	case *ast.UnaryExpr:
		if numbers := r.numbers[r.offset(n.OpPos)]; len(numbers) > 0 {
			r.wrap(n, fmt.Sprintf("mutantSign(%d, ", numbers[0]), ")")
		}
	case *ast.IncDecStmt:
		if numbers := r.numbers[r.offset(n.TokPos)]; len(numbers) > 0 {
			operand := r.content[r.offset(n.X.Pos()):r.offset(n.X.End())]
			r.open = append(r.open, overlay.Edit{At: r.offset(n.TokPos), Length: 2, Text: fmt.Sprintf(" = mutant%s(%d, %s)", names[n.Tok], numbers[0], operand)})
		}
	}
	return r
}

func (r *rewriter) wrap(n ast.Node, before, after string) {
	r.open = append(r.open, overlay.Edit{At: r.offset(n.Pos()), Text: before})
	r.closed = append(r.closed, overlay.Edit{At: r.offset(n.End()), Text: after})
}

// names are the ends of the calls' names.
var names = map[token.Token]string{
	token.LSS: "Less", token.LEQ: "LessOrEqual", token.GTR: "Greater", token.GEQ: "GreaterOrEqual",
	token.ADD: "Add", token.SUB: "Subtract", token.MUL: "Multiply", token.QUO: "Divide", token.REM: "Remainder",
	token.INC: "Increment", token.DEC: "Decrement",
}

func (r *rewriter) binary(n *ast.BinaryExpr, numbers []int) {
	at := r.offset(n.OpPos)
	switch n.Op {
	case token.EQL, token.NEQ:
		r.wrap(n, fmt.Sprintf("mutantNot(%d, ", numbers[0]), ")")
	case token.LSS, token.LEQ, token.GTR, token.GEQ: // first the boundary, then the negation
		r.wrap(n, fmt.Sprintf("mutantNot(%d, mutant%s(%d, ", numbers[1], names[n.Op], numbers[0]), "))")
		r.open = append(r.open, overlay.Edit{At: at, Length: len(n.Op.String()), Text: ","})
	default:
		r.wrap(n, fmt.Sprintf("mutant%s(%d, ", names[n.Op], numbers[0]), ")")
		r.open = append(r.open, overlay.Edit{At: at, Length: 1, Text: ","})
	}
}

// result puts the edits into the content. The walk met outer expressions first, so
// what closes them is turned round.
func (r *rewriter) result() []byte {
	slices.Reverse(r.closed)
	return []byte(overlay.Apply(string(r.content), slices.Concat(r.closed, r.open)))
}

// calls is what the rewritten files of a package call, without its first line.
const calls = `

import (
	"cmp"
	"os"
	"strconv"
)

var mutantActive = func() int {
	n, err := strconv.Atoi(os.Getenv("MUTANT"))
	if err != nil {
		return -1
	}
	return n
}()

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func mutantNot(n int, is bool) bool { return is != (n == mutantActive) }

func mutantLess[T cmp.Ordered](n int, a, b T) bool           { return a < b || n == mutantActive && a == b }
func mutantLessOrEqual[T cmp.Ordered](n int, a, b T) bool    { return a < b || n != mutantActive && a == b }
func mutantGreater[T cmp.Ordered](n int, a, b T) bool        { return a > b || n == mutantActive && a == b }
func mutantGreaterOrEqual[T cmp.Ordered](n int, a, b T) bool { return a > b || n != mutantActive && a == b }

func mutantAdd[T mutantNumber](n int, a, b T) T {
	if n == mutantActive {
		return a - b
	}
	return a + b
}

func mutantSubtract[T mutantNumber](n int, a, b T) T {
	if n == mutantActive {
		return a + b
	}
	return a - b
}

func mutantMultiply[T mutantNumber](n int, a, b T) T {
	if n == mutantActive {
		return a / b
	}
	return a * b
}

func mutantDivide[T mutantNumber](n int, a, b T) T {
	if n == mutantActive {
		return a * b
	}
	return a / b
}

func mutantRemainder[T mutantInteger](n int, a, b T) T {
	if n == mutantActive {
		return a * b
	}
	return a % b
}

func mutantIncrement[T mutantNumber](n int, a T) T {
	if n == mutantActive {
		return a - 1
	}
	return a + 1
}

func mutantDecrement[T mutantNumber](n int, a T) T {
	if n == mutantActive {
		return a + 1
	}
	return a - 1
}

func mutantSign[T mutantNumber](n int, a T) T {
	if n == mutantActive {
		return -a
	}
	return a
}
`
