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
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestEveryEditApplies: the code moves on, and a fault that cannot be made any more
// has to be described anew.
func TestEveryEditApplies(t *testing.T) {
	for _, f := range table() {
		if _, err := f.apply(root); err != nil {
			t.Error(err)
		}
	}
}

// TestEveryRuleIsBrokenTwice: the table has two faults or more for each rule of the
// planner.
func TestEveryRuleIsBrokenTwice(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "internal", "plan", "plan.go"))
	if err != nil {
		t.Fatal(err)
	}
	faults := map[string]int{}
	for _, f := range table() {
		faults[f.rule]++
	}
	rules := regexp.MustCompile(`(?m)^\t\t\{"([a-z-]+)", \w+\}`).FindAllStringSubmatch(string(raw), -1)
	if len(rules) < 20 {
		t.Fatalf("%d rules found in the planner: the way they are listed has changed", len(rules))
	}
	for _, r := range rules {
		if faults[r[1]] < 2 {
			t.Errorf("the rule %s is broken in %d ways, and should be in two", r[1], faults[r[1]])
		}
	}
}

// TestEveryWorldIsThere: the small worlds that are to find faults have these names.
func TestEveryWorldIsThere(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "test", "faults", "small", "worlds_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range table() {
		if world, _, _ := strings.Cut(strings.TrimPrefix(f.by.String(), "small: "), "/"); f.by.tier == "small" && !strings.Contains(string(raw), `"`+world+`"`) {
			t.Errorf("%s: there is no small world %q", f.name(), world)
		}
	}
}

// TestEveryScheduleIsThere: the schedules that are to find faults are kept under these
// names.
func TestEveryScheduleIsThere(t *testing.T) {
	for _, f := range table() {
		schedule, ok := strings.CutPrefix(f.by.String(), "sim: TestRegressions/")
		if _, err := os.Stat(filepath.Join(root, "test", "faults", "sim", "testdata", "regressions", schedule)); ok && err != nil {
			t.Errorf("%s: %v", f.name(), err)
		}
	}
}

func TestAnEditThatDoesNotApplyIsNamed(t *testing.T) {
	f := fault{rule: "move", what: "none", edits: in("move", "no such code", "")}
	_, err := f.apply(root)
	if err == nil || !strings.Contains(err.Error(), "internal/plan/move.go has 0 times") {
		t.Errorf("got %v", err)
	}
}

// TestFaultsAreSwitched: each function is there once more for each of its faults.
func TestFaultsAreSwitched(t *testing.T) {
	const source = `package a

type t struct{}

var limit = 3

func (x t) add(a, b int, more ...int) int {
	return a + b
}

func show(text string) { print(text) }
`
	faults := []fault{
		{rule: "a", what: "minus", edits: []edit{{"a.go", "a + b", "a - b"}}},
		{rule: "a", what: "twice", edits: []edit{{"a.go", "print(text)", "print(text, text)"}}},
		{rule: "a", what: "outside", edits: []edit{{"a.go", "limit = 3", "limit = 4"}}},
	}
	files, alone, err := switchable(func(string) (string, error) { return source, nil }, faults)
	if err != nil {
		t.Fatal(err)
	}
	got, err := format.Source([]byte(files["a.go"]))
	if err != nil {
		t.Fatalf("%v in\n%s", err, files["a.go"])
	}
	for _, want := range []string{
		"if judgeFault == 1 {\n\t\treturn x.addFault1(a, b, more...)\n\t}", "func (x t) addFault1(a, b int, more ...int) int {\n\treturn a - b\n}",
		"if judgeFault == 2 {\n\t\tshowFault2(text)\n\t\treturn\n\t}", "func showFault2(text string) { print(text, text) }",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("want\n%s\nin\n%s", want, got)
		}
	}
	if !alone[3] || alone[1] || alone[2] {
		t.Errorf("compiled alone are %v, want the third", alone)
	}
}

// TestAViolationIsRead from what the small worlds and the simulator print.
func TestAViolationIsRead(t *testing.T) {
	for out, want := range map[string]string{
		"--- FAIL: TestSmallWorlds/worlds/drained/1_pods/1_wrong (0.01s)\n    small_test.go:9: \n        the operator looks, DeletePod web-0\n        U: pod web-0, which serves, is deleted\n": "U: pod web-0, which serves, is deleted",
		"    schedules_test.go:78: seed-1: scenario\n        S1 at version 12: with pod web-3 there are 4\n":                                                                                    "S1 at version 12: with pod web-3 there are 4",
		"panic: index out of range\n": "",
	} {
		if got := violation([]byte(out)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
