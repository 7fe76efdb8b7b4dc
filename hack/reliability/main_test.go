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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/testkit/project"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

// mostBehind is how many commits to the operator may pass before the page's ages are
// counted again.
const mostBehind = 30

// TestThePageSaysHowOldItsRowsAre recounts the page of this repository at the
// commit at which the page says that it was counted.
func TestThePageSaysHowOldItsRowsAre(t *testing.T) {
	root := project.Root()
	if shallow, err := git(root, "rev-parse", "--is-shallow-repository"); err != nil || shallow == "true" {
		t.Skip("not a whole git repository: the commits that were measured are missing")
	}
	raw, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	at := counted.FindStringSubmatch(string(raw))
	if at == nil {
		t.Fatal("the page does not say at which commit it was counted")
	}
	o := &options{root: root, code: codeIn(root)}
	if behind, err := o.commitsSince(&row{table: "faults", name: "real program", commit: at[1]}, "HEAD"); err != nil || behind > mostBehind {
		t.Errorf("the ages were counted %d commits ago (%v): run go run ./hack/reliability -write", behind, err)
	}
	want, rows, err := countAges(o, string(raw), at[1])
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 15 {
		t.Errorf("found %d rows, want those of ten tiers and of six packages", len(rows))
	}
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("go run ./hack/reliability -write changes %s (-want +page):\n%s", page, diff)
	}
}

func TestResultsAreWrittenAndGrowOld(t *testing.T) {
	r := newRepository(t)
	r.write(t, page, "counted at commit `0000000`\n<!-- faults -->\n\n| tier |\n|---|\n| simulator | 1 | 0 | | | `0000000` | 0 |\n\n<!-- /faults -->\n"+
		"<!-- mutants -->\n\n| internal/plan | 5 | `0000000` | 0 |\n\n<!-- /mutants -->\n")
	first := r.commit(t, "internal/plan/plan.go", "package plan")
	results := []summary.Line{
		{Tier: "1 simulator", Cases: 12345, Longest: 1234 * time.Millisecond, Commit: first, Date: "2026-01-02"},
		{Tier: "small worlds", Cases: 7, Commit: first, Date: "2026-01-02"},
	}
	text := strings.ReplaceAll(r.read(t, page), "`0000000` | 0 |\n\n<!-- /mutants", "`"+first+"` | 0 |\n\n<!-- /mutants")
	r.write(t, page, text)
	code := func(table, name string) ([]string, error) {
		if table == "mutants" {
			return []string{name}, nil
		}
		return []string{"internal/plan", "internal/apply"}, nil
	}
	if err := run(options{root: string(r), results: results, write: true, code: code}, t.Output()); err != nil {
		t.Fatal(err)
	}
	if err := run(options{root: string(r), refuse: true, code: code}, t.Output()); err != nil {
		t.Errorf("fresh results are refused: %v", err)
	}
	r.commit(t, "internal/plan/plan_test.go", "package plan")
	r.commit(t, "README.md", "more")
	if err := run(options{root: string(r), refuse: true, code: code}, t.Output()); err != nil {
		t.Errorf("results are refused for a change of a test: %v", err)
	}
	r.commit(t, "internal/plan/fields/all.go", "package fields")
	r.commit(t, "internal/cli/cli.go", "package cli")
	if err := run(options{root: string(r), refuse: true, code: code}, t.Output()); err != nil {
		t.Errorf("results are refused for code that they are not about: %v", err)
	}
	r.commit(t, "internal/apply/apply.go", "package apply")
	var out strings.Builder
	err := run(options{root: string(r), refuse: true, code: code}, &out)
	if err == nil || !strings.Contains(out.String(), "faults, simulator: measured at "+first+", 1 commits to its code ago") {
		t.Errorf("old results gave %v and %q", err, out.String())
	}
	if err := run(options{root: string(r), write: true, code: code}, t.Output()); err != nil {
		t.Fatal(err)
	}
	head, err := git(string(r), "rev-parse", "--short=7", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	want := "counted at commit `" + head + "`\n<!-- faults -->\n\n| tier |\n|---|\n" +
		"| simulator | 12,345 | 0 | 1.2s | 2026-01-02 | `" + first + "` | 1 |\n" +
		"| small worlds | 7 | 0 |  | 2026-01-02 | `" + first + "` | 1 |\n\n<!-- /faults -->\n" +
		"<!-- mutants -->\n\n| internal/plan | 5 | `" + first + "` | 0 |\n\n<!-- /mutants -->\n"
	if diff := cmp.Diff(want, r.read(t, page)); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
}

func TestWhatARowIsAbout(t *testing.T) {
	code := codeIn(project.Root())
	for name, tc := range map[string]struct {
		table   string
		has     string
		without string
	}{
		"internal/apply":                      {table: "mutants", has: "internal/apply", without: "internal/plan"},
		"small worlds, whole":                 {table: "faults", has: "internal/plan", without: "internal/apply"},
		"simulator, random schedules":         {table: "faults", has: "internal/observe", without: "internal/cli/plan"},
		"simulator against the API server":    {table: "faults", has: "internal/apply", without: "internal/testkit"},
		"real API server, crash points":       {table: "faults", has: "internal/apply", without: "internal/localkube"},
		"real program, broken while it works": {table: "faults", has: "internal/manager", without: "internal/migrate"},
	} {
		got, err := code(tc.table, name)
		if err != nil || !slices.Contains(got, tc.has) || slices.Contains(got, tc.without) {
			t.Errorf("%s is about %v (%v), want %s in it, and %s not", name, got, err, tc.has, tc.without)
		}
	}
	if _, err := code("faults", "another tier"); err == nil {
		t.Error("a tier that does not exist is about something")
	}
}

func TestWhatIsNotPublished(t *testing.T) {
	const text = "<!-- faults -->\n\n<!-- /faults -->"
	for name, tc := range map[string]struct {
		line summary.Line
		want string
	}{
		"a tree with changes": {line: summary.Line{Tier: "simulator", Commit: summary.Changed}, want: "not committed"},
		"a broken rule":       {line: summary.Line{Tier: "simulator", Commit: "1234567", Violations: 1}, want: "broke rules"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := putResults(text, []summary.Line{tc.line}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
	if _, err := commitsSince(string(newRepository(t)), nil, "0123abc", "HEAD"); err == nil {
		t.Error("a commit that does not exist has an age")
	}
}

// repository is a git repository that was made for a test.
type repository string

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository(t.TempDir())
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "user.name", "tester"}, {"config", "user.email", "tester@example.com"}, {"config", "commit.gpgsign", "false"},
	} {
		if _, err := git(string(r), args...); err != nil {
			t.Fatal(err)
		}
	}
	r.commit(t, "README.md", "text")
	return r
}

func (r repository) write(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join(string(r), file)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r repository) read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(string(r), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// commit returns the commit's short name.
func (r repository) commit(t *testing.T, file, text string) string {
	t.Helper()
	r.write(t, file, text)
	for _, args := range [][]string{{"add", file}, {"commit", "-q", "-m", "change " + file}} {
		if _, err := git(string(r), args...); err != nil {
			t.Fatal(err)
		}
	}
	head, err := git(string(r), "rev-parse", "--short=7", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return head
}
