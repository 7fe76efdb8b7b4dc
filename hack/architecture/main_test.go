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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packages are such as go list would print: "cmd/x: internal/a api/v1".
func packages(lines ...string) []goPackage {
	var all []goPackage
	for _, line := range lines {
		name, imports, _ := strings.Cut(line, ":")
		p := goPackage{ImportPath: module + name, Doc: "Package x does something. And more."}
		for _, to := range strings.Fields(imports) {
			p.Imports = append(p.Imports, module+to)
		}
		all = append(all, p)
	}
	return all
}

func TestLevels(t *testing.T) {
	h, err := newHouse(packages("cmd/x: internal/b api/v1", "internal/b: internal/a/one api/v1", "internal/a/one: api/v1", "internal/a/two:", "api/v1:"))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"api"}, {"internal/a"}, {"internal/b"}, {"cmd/x"}}
	if diff := cmp.Diff(want, h.levels); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"internal/b"}, h.direct("cmd/x")); diff != "" {
		t.Errorf("imports that are drawn (-want +got):\n%s", diff)
	}
	for _, text := range []string{"<svg", ">b</text>", ">cmd/x</text>"} {
		if !strings.Contains(string(h.svg()), text) {
			t.Errorf("the picture lacks %s", text)
		}
	}
	if line := "| [internal/b](../internal/b) | does something |"; !slices.Contains(strings.Split(h.table(), "\n"), line) {
		t.Errorf("the table lacks %s:\n%s", line, h.table())
	}
}

func TestThePictureIsTheSameEachTime(t *testing.T) {
	below := "pkg/a pkg/b pkg/c pkg/d pkg/e pkg/f pkg/g"
	lines := []string{"internal/x: " + below, "internal/y: " + below}
	for name := range strings.FieldsSeq(below) {
		lines = append(lines, name+":")
	}
	pictures := map[string]int{}
	for range 100 {
		h, err := newHouse(packages(lines...))
		if err != nil {
			t.Fatal(err)
		}
		pictures[string(h.svg())]++
	}
	if len(pictures) != 1 {
		t.Errorf("%d pictures of one house", len(pictures))
	}
}

func TestACircleIsRefused(t *testing.T) {
	_, err := newHouse(packages("internal/a/one: internal/b", "internal/b: internal/a/two", "internal/a/two:"))
	if err == nil || !strings.Contains(err.Error(), "internal/a -> internal/b -> internal/a") {
		t.Errorf("got %v", err)
	}
}

func TestAPageWithoutMarksIsLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	for content, want := range map[string]string{
		"a\n" + begin + "old\n" + end + "\nb": "a\n" + begin + "\nnew\n" + end + "\nb",
		"no marks":                            "",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := rewrite(file, "new")
		got, readErr := os.ReadFile(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		switch {
		case want == "" && (err == nil || string(got) != content):
			t.Errorf("%q became %q, error %v", content, got, err)
		case want != "" && (err != nil || string(got) != want):
			t.Errorf("%q became %q, error %v", content, got, err)
		}
	}
}

func TestTheRulesAreCounted(t *testing.T) {
	planner, page := filepath.Join(t.TempDir(), "plan.go"), filepath.Join(t.TempDir(), "page.md")
	write := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(planner, "func rules() [3]rule {")
	write(page, "It runs [2 rules](plan.go) in order.")
	if err := countRules(page, planner); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := "It runs [3 rules](plan.go) in order."; string(got) != want {
		t.Errorf("the page says %q, not %q", got, want)
	}
	write(planner, "var rules = []rule{")
	if countRules(page, planner) == nil {
		t.Error("rules that are not found are no error")
	}
}
