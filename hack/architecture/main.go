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

// Command architecture draws the packages and their imports, and writes the table of
// packages and the number of the planner's rules into docs/architecture.md. It fails
// when imports form a circle.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

const (
	module  = "github.com/mycompany/pod-operator/"
	page    = "docs/architecture.md"
	picture = "docs/images/architecture.svg"
	planner = "internal/plan/plan.go"
	begin   = "<!-- packages -->\n"
	end     = "<!-- /packages -->"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "architecture:", err)
		os.Exit(1)
	}
}

func run() error {
	packages, err := list()
	if err != nil {
		return err
	}
	h, err := newHouse(packages)
	if err != nil {
		return err
	}
	if err := os.WriteFile(picture, h.svg(), 0o644); err != nil {
		return err
	}
	if err := rewrite(page, h.table()); err != nil {
		return err
	}
	return countRules(page, planner)
}

var (
	declared = regexp.MustCompile(`func rules\(\) \[(\d+)\]rule`)
	counted  = regexp.MustCompile(`\[\d+ rules\]`)
)

// countRules writes into a page how many rules the planner declares.
func countRules(page, planner string) error {
	source, err := os.ReadFile(planner)
	if err != nil {
		return err
	}
	number := declared.FindSubmatch(source)
	if number == nil {
		return fmt.Errorf("%s declares no array of rules", planner)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if !counted.Match(content) {
		return fmt.Errorf("%s names no number of rules", page)
	}
	return os.WriteFile(page, counted.ReplaceAll(content, fmt.Appendf(nil, "[%s rules]", number[1])), 0o644)
}

// goPackage is what go list says about a package.
type goPackage struct {
	ImportPath, Doc string
	Imports         []string
}

// list asks go for what we ship. internal/testkit is for tests, and cmd is cmd/manager
// again, where kubebuilder looks for it.
func list() ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports", "./api/...", "./cmd/...", "./internal/...", "./pkg/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := decoder.Decode(&p)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read what go list printed: %w", err)
		case p.ImportPath != module+"cmd" && !strings.HasPrefix(p.ImportPath, module+"internal/testkit") && !strings.HasSuffix(p.ImportPath, "test"):
			all = append(all, p)
		}
	}
}

// room is the part of the house that a package belongs to: two names of its path,
// or one for the API.
func room(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, module), "/")
	if parts[0] == "api" {
		return "api"
	}
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// rewrite puts a table between the marks of a page.
func rewrite(file, table string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no %s and %s", file, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+table+"\n"+end+after), 0o644)
}

// table lists the rooms from top to bottom with their first sentence.
func (h *house) table() string {
	var b strings.Builder
	b.WriteString("| package | what it does |\n|---|---|\n")
	for level := len(h.levels) - 1; level >= 0; level-- {
		for _, name := range slices.Sorted(slices.Values(h.levels[level])) {
			fmt.Fprintf(&b, "| [%s](../%s) | %s |\n", name, name, h.doc[name])
		}
	}
	return b.String()
}
