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

// Package summary keeps the result of each tier of the fault tests as a file in
// test-output/faults. go test prints nothing for a test that passed, so
// hack/reliability prints the files, and writes them into docs/reliability.md.
package summary

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mycompany/pod-operator/internal/testkit/project"
)

// Line is the result of one tier.
type Line struct {
	// Tier is what was tried, for example "simulator, random schedules".
	Tier       string `json:"tier"`
	Cases      int    `json:"cases"`
	Violations int    `json:"violations"`
	// Longest is the longest time that the cluster took to come to rest.
	Longest time.Duration `json:"longest,omitempty"`
	// Seed, where cases were drawn at random.
	Seed uint64 `json:"seed,omitempty"`
	Note string `json:"note,omitempty"`
	// Commit and Date are those of the code that was tried. Write sets them; a
	// tree with changes that are not committed has the commit "changed".
	Commit string `json:"commit"`
	Date   string `json:"date"`
}

// Changed is the commit of a result that belongs to no commit.
const Changed = "changed"

// Folder is where the results are.
func Folder() string { return filepath.Join(project.Root(), "test-output", "faults") }

// Write stores a line under a name of its own; a later run replaces it.
func Write(name string, l Line) error {
	l.Commit, l.Date = commit(), time.Now().UTC().Format(time.DateOnly)
	if err := os.MkdirAll(Folder(), 0o750); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(Folder(), name+".json"), append(raw, '\n'), 0o600)
}

// Read returns the stored lines, in the order of their names.
func Read(folder string) ([]Line, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	lines := make([]Line, len(files))
	for i, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &lines[i]); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// commit is the one that was checked out, if the Go code of the tree is its.
func commit() string {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", project.Root()}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	if changes, err := git("status", "--porcelain", "--untracked-files=no", "--", "*.go"); err != nil || changes != "" {
		return Changed
	}
	head, err := git("rev-parse", "--short=7", "HEAD")
	if err != nil {
		return Changed
	}
	return head
}
