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
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const report = `{"files":[{"file_name":"internal/plan/a.go","mutations":[
	{"line":2,"column":1,"type":"CONDITIONALS_NEGATION","status":"KILLED"},
	{"line":3,"column":1,"type":"CONDITIONALS_BOUNDARY","status":"LIVED"},
	{"line":3,"column":1,"type":"ARITHMETIC_BASE","status":"TIMED OUT"},
	{"line":2,"column":1,"type":"ARITHMETIC_BASE","status":"NOT VIABLE"},
	{"line":4,"column":1,"type":"CONDITIONALS_NEGATION","status":"NOT COVERED"}]}]}`

func TestJudgeCountsSurvivors(t *testing.T) {
	mutants, err := parse([]byte(report), func(string) ([]byte, error) { return []byte("package a\n\tif a {\n\tif b > c {\n}\n"), nil })
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reasons map[string]string
		killed  int
		excused int
		lived   int
		score   float64
	}{
		"without excuses":               {killed: 2, lived: 2, score: 50},
		"an excuse takes a mutant out":  {reasons: map[string]string{"internal/plan/a.go | CONDITIONALS_BOUNDARY | if b > c {": "the same"}, killed: 2, excused: 1, lived: 1, score: 200.0 / 3},
		"an excuse for another is none": {reasons: map[string]string{"internal/plan/a.go | CONDITIONALS_BOUNDARY | if a {": "the same"}, killed: 2, lived: 2, score: 50},
	} {
		t.Run(name, func(t *testing.T) {
			s := judge(target{"internal/plan", 100}, mutants, tc.reasons)
			if s.killed != tc.killed || s.excused != tc.excused || len(s.survivors) != tc.lived || s.score() != tc.score {
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
