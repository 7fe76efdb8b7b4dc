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

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// core is the code whose faults docs/reliability.md measures.
var core = []string{"internal/plan", "internal/apply", "internal/observe"}

// changesBeforeARelease is how many changes to the core a measurement may be
// behind while there is no release to count by.
const changesBeforeARelease = 100

// TestReliabilityIsMeasuredAnew: every row of the table of results names the
// commit that it was measured at, and none is more than a release behind the core.
func TestReliabilityIsMeasuredAnew(t *testing.T) {
	rows := resultRows(read(t, "docs/reliability.md"))
	if len(rows) < 9 {
		t.Fatalf("found %d rows of results in docs/reliability.md; the expression here does not fit it any more", len(rows))
	}
	r := repositoryAt(root)
	if reason := r.cannotTell(); reason != "" {
		t.Skip(reason)
	}
	for _, row := range rows {
		if problem := r.judge(row.commit); problem != "" {
			t.Errorf("docs/reliability.md, %q: %s", row.tier, problem)
		}
	}
}

// TestStaleResultsAreFound proves that the test above can fail, in repositories
// made for it.
func TestStaleResultsAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		change   string // the file that changes after the measurement
		changes  int
		releases int
		want     string
	}{
		"measured, and nothing changed":                 {},
		"the core changed, and nothing was released":    {change: "internal/plan/plan.go", changes: 3},
		"one release since is allowed":                  {change: "internal/plan/plan.go", changes: 1, releases: 1},
		"two releases with changes are not":             {change: "internal/apply/apply.go", changes: 1, releases: 2, want: "2 releases ago"},
		"two releases without changes to the core are":  {change: "README.md", changes: 1, releases: 2},
		"without releases the changes are counted, too": {change: "internal/observe/pods.go", changes: changesBeforeARelease + 1, want: "changes ago"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestRepository(t)
			measured := r.must(t, "rev-parse", "--short", "HEAD")
			for i := range tc.changes {
				r.commit(t, tc.change, fmt.Sprint("change ", i))
			}
			changelog := "# Changelog\n\n## Unreleased\n"
			for i := range tc.releases {
				changelog += fmt.Sprintf("\n## v1.%d.0\n", i)
				r.commit(t, "CHANGELOG.md", changelog)
			}
			got := r.judge(measured)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
	t.Run("a commit that does not exist", func(t *testing.T) {
		if got := newTestRepository(t).judge("0123abc"); !strings.Contains(got, "no commit") {
			t.Errorf("found %q", got)
		}
	})
	t.Run("a folder without a history", func(t *testing.T) {
		if repositoryAt(t.TempDir()).cannotTell() == "" {
			t.Error("the age of a measurement is known without a history")
		}
	})
}

// resultRow is a row of the table of results.
type resultRow struct{ tier, commit string }

// resultRows reads the table under "What came of it". A row without a commit has
// an empty one.
func resultRows(page string) (rows []resultRow) {
	_, section, _ := strings.Cut(page, "\n## What came of it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if !strings.HasPrefix(line, "|") || len(cells) < 2 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "tier" {
			continue
		}
		row := resultRow{tier: strings.TrimSpace(cells[0])}
		if m := regexp.MustCompile("^ *`([0-9a-f]{7,40})` *$").FindStringSubmatch(cells[len(cells)-1]); m != nil {
			row.commit = m[1]
		}
		rows = append(rows, row)
	}
	return rows
}

// gitRepository is a clone, seen through git.
type gitRepository struct{ dir string }

func repositoryAt(dir string) gitRepository { return gitRepository{dir} }

func (r gitRepository) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// cannotTell says why the age of a measurement cannot be told here, or nothing. A
// full clone always can, with tags or without: releases are counted by the
// headings of the changelog.
func (r gitRepository) cannotTell() string {
	switch shallow, err := r.git("rev-parse", "--is-shallow-repository"); {
	case err != nil:
		return "not a git repository: " + err.Error()
	case shallow == "true":
		return "a shallow clone does not have the commits that were measured"
	}
	return ""
}

// judge says what is wrong with a measurement at a commit.
func (r gitRepository) judge(commit string) string {
	if commit == "" {
		return "names no commit"
	}
	if _, err := r.git("merge-base", "--is-ancestor", commit, "HEAD"); err != nil {
		return "there is no commit " + commit + " in the history of this one"
	}
	changes, err := r.git(append([]string{"rev-list", "--count", commit + "..HEAD", "--"}, core...)...)
	if err != nil {
		return err.Error()
	}
	if changes == "0" {
		return ""
	}
	then, _ := r.git("show", commit+":CHANGELOG.md")
	today, err := r.git("show", "HEAD:CHANGELOG.md")
	if err != nil {
		return err.Error()
	}
	if since := releases(today) - releases(then); since > 1 {
		return fmt.Sprintf("was measured at %s, %d releases ago, and %s changes to %s came since: run it again",
			commit, since, changes, strings.Join(core, ", "))
	}
	var n int
	if _, err := fmt.Sscan(changes, &n); err != nil {
		return err.Error()
	}
	if releases(today) == 0 && n > changesBeforeARelease {
		return fmt.Sprintf("was measured at %s, %d changes ago: run it again", commit, n)
	}
	return ""
}

var releaseHeading = regexp.MustCompile(`(?m)^## \[?v?[0-9]+\.[0-9]+\.[0-9]+`)

// releases counts the releases that a changelog lists.
func releases(changelog string) int { return len(releaseHeading.FindAllString(changelog, -1)) }

// newTestRepository has one commit.
func newTestRepository(t *testing.T) gitRepository {
	t.Helper()
	r := repositoryAt(t.TempDir())
	r.must(t, "init", "-q")
	for _, setting := range []string{"user.name=tester", "user.email=tester@example.com", "commit.gpgsign=false"} {
		name, value, _ := strings.Cut(setting, "=")
		r.must(t, "config", name, value)
	}
	r.commit(t, "CHANGELOG.md", "# Changelog\n\n## Unreleased\n")
	return r
}

func (r gitRepository) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.git(args...)
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}

func (r gitRepository) commit(t *testing.T, file, content string) {
	t.Helper()
	path := filepath.Join(r.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r.must(t, "add", "-A")
	r.must(t, "commit", "-qm", "change "+file)
}
