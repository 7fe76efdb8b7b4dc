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
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// source has operators of every kind, in places where they are hard to replace.
const source = `package a

const wait = 30 * minute

func f(a, b int, list []int, text string) bool {
	text = text + "!"
	switch {
	case a < b && // a comment
		list == nil:
		a++
	case -a >= b-1 || a != 2*b:
		b--
	}
	return a%2 == b/2
}
`

// TestEveryOperatorIsFound, and each is replaced where it stands.
func TestEveryOperatorIsFound(t *testing.T) {
	mutants, err := findIn("a.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		changed := strings.Split(string(m.apply([]byte(source))), "\n")[m.Line-1]
		got = append(got, fmt.Sprintf("%d %s %s", m.Line, m.Kind, strings.TrimSpace(changed)))
	}
	want := []string{
		"3 ARITHMETIC_BASE const wait = 30 / minute",
		"8 CONDITIONALS_BOUNDARY case a <= b && // a comment",
		"8 CONDITIONALS_NEGATION case a >= b && // a comment",
		"9 CONDITIONALS_NEGATION list != nil:",
		"10 INCREMENT_DECREMENT a--",
		"11 INVERT_NEGATIVES case +a >= b-1 || a != 2*b:",
		"11 CONDITIONALS_BOUNDARY case -a > b-1 || a != 2*b:",
		"11 CONDITIONALS_NEGATION case -a < b-1 || a != 2*b:",
		"11 ARITHMETIC_BASE case -a >= b+1 || a != 2*b:",
		"11 CONDITIONALS_NEGATION case -a >= b-1 || a == 2*b:",
		"11 ARITHMETIC_BASE case -a >= b-1 || a != 2/b:",
		"12 INCREMENT_DECREMENT b++",
		"14 ARITHMETIC_BASE return a*2 == b/2",
		"14 CONDITIONALS_NEGATION return a%2 != b/2",
		"14 ARITHMETIC_BASE return a%2 == b*2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !mutants[0].Constant || mutants[1].Constant {
		t.Error("only the first is an operator of a constant")
	}
}

// TestMutantsAreTried mutates a package whose tests are weak on purpose.
func TestMutantsAreTried(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, content := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"a/a.go": "package a\n\nconst one = 2 - 1\n\nfunc Grown(n int) bool {\n\treturn n > 17+one &&\n\t\tn != 100\n}\n\n" +
			"func Join(a, b string) string { return a + b }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestGrown(t *testing.T) {\n" +
			"\tif Grown(17) || !Grown(40) || Grown(100) {\n\t\tt.Error()\n\t}\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	var out strings.Builder
	s, err := target{folder: "a", least: 100}.mutate(t.Context(), options{match: regexp.MustCompile(""), workers: 2}, nil, &out)
	if err != nil {
		t.Fatal(err)
	}
	var survivors []string
	for _, m := range s.survivors {
		survivors = append(survivors, m.describe())
	}
	// Nothing asks about 18; that 17+1 becomes 17-1 is found by 17. a - b does not
	// compile and is no mutant.
	want := []string{
		"a/a.go:3 ARITHMETIC_BASE, + for -: const one = 2 - 1",
		"a/a.go:6 CONDITIONALS_BOUNDARY, >= for >: return n > 17+one &&",
	}
	if diff := cmp.Diff(want, survivors); diff != "" || s.killed != 3 {
		t.Errorf("%d killed, survivors (-want +got):\n%s\n%s", s.killed, diff, out.String())
	}
}

func TestJudgeCountsSurvivors(t *testing.T) {
	mutants := []mutant{
		{File: "internal/plan/a.go", Kind: negation, Text: "if a {"},
		{File: "internal/plan/a.go", Kind: boundary, Text: "if b > c {"},
		{File: "internal/plan/a.go", Kind: arithmetic, Text: "a - b"},
		{File: "internal/plan/a.go", Kind: negation, Text: "if d {"},
	}
	outcomes := []outcome{killed, lived, notViable, lived}
	for name, tc := range map[string]struct {
		reasons map[string]string
		excused int
		lived   int
		score   float64
	}{
		"without excuses":               {lived: 2, score: 100.0 / 3},
		"an excuse takes a mutant out":  {reasons: map[string]string{"internal/plan/a.go | CONDITIONALS_BOUNDARY | if b > c {": "the same"}, excused: 1, lived: 1, score: 50},
		"an excuse for another is none": {reasons: map[string]string{"internal/plan/a.go | CONDITIONALS_BOUNDARY | if a {": "the same"}, lived: 2, score: 100.0 / 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := judge(target{folder: "internal/plan", least: 100}, mutants, outcomes, tc.reasons)
			if s.killed != 1 || s.excused != tc.excused || len(s.survivors) != tc.lived || s.score() != tc.score {
				t.Errorf("killed %d, excused %d, survived %d, score %f; want %+v", s.killed, s.excused, len(s.survivors), s.score(), tc)
			}
		})
	}
}

func TestAnExcuseNeedsAReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "survivors.txt")
	for content, works := range map[string]bool{
		"# a comment\n\na.go | KIND | if a | b { | the two are never equal\n": true,
		"a.go | KIND | if a {":    false,
		"a.go KIND if a {":        false,
		"a.go | KIND | if a { | ": false,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readExcuses(file); (err == nil) != works {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := readExcuses("survivors.txt"); err != nil {
		t.Error(err)
	}
}

func TestRowsAreReplacedWhereTheyAre(t *testing.T) {
	text := "before\n<!-- mutants -->\n| package | mutants |\n|---|---|\n| internal/plan | 1 |\n| internal/apply | 2 |\n<!-- /mutants -->\nafter\n"
	got, err := replaceRows(text, []string{"| internal/apply | 3 |"})
	if err != nil || got != strings.Replace(text, "| 2 |", "| 3 |", 1) {
		t.Errorf("got %v:\n%s", err, got)
	}
	if _, err := replaceRows(text, []string{"| internal/view | 3 |"}); err == nil {
		t.Error("a row of another package was written")
	}
	if _, err := replaceRows("no table", nil); err == nil {
		t.Error("a page without a table was written")
	}
}
