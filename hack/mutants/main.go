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

// Command mutants changes the code on purpose, one small piece at a time, and
// counts how many of these mutants the tests of their package notice. make mutants
// runs it; gremlins does the work.
//
// Of internal/plan all mutants have to be killed, but for those that
// survivors.txt excuses with a reason; of the others, as many as the table below
// asks for.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// target is a package and the share of its mutants that has to be killed.
type target struct {
	folder string
	least  float64
}

var targets = []target{
	{"internal/plan", 100},
	{"internal/apply", 85},
	{"internal/observe", 85},
	{"internal/desired", 85},
}

const (
	page    = "docs/reliability.md"
	excuses = "hack/mutants/survivors.txt"
)

// What a mutant comes to, in gremlins' words.
const (
	killed   = "KILLED"
	timedOut = "TIMED OUT" // the tests hung: they noticed
	lived    = "LIVED"
	uncov    = "NOT COVERED"
)

// mutant is a change that was tried.
type mutant struct {
	File   string
	Line   int    `json:"line"`
	Type   string `json:"type"`
	Status string `json:"status"`
	// Text is the line that was changed.
	Text string
}

func main() {
	only := flag.String("only", "", "folders to mutate, separated by commas; all when empty")
	gremlins := flag.String("gremlins", "bin/gremlins", "the mutation tester")
	write := flag.Bool("write", false, "write the scores into "+page)
	exclude := flag.String("exclude", "", "files to leave alone, as a regular expression")
	flag.Parse()
	if err := run(*gremlins, *only, *exclude, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(gremlins, only, exclude string, write bool) error {
	reasons, err := readExcuses(excuses)
	if err != nil {
		return err
	}
	var rows, failed []string
	for _, t := range targets {
		if only != "" && !slices.Contains(strings.Split(only, ","), t.folder) {
			continue
		}
		mutants, err := t.mutate(gremlins, exclude)
		if err != nil {
			return err
		}
		s := judge(t, mutants, reasons)
		for _, m := range s.survivors {
			fmt.Printf("%s %s:%d %s: %s\n", m.Status, m.File, m.Line, m.Type, m.Text)
		}
		rows = append(rows, s.row(commit()))
		fmt.Println(s.row(commit()))
		if s.score() < t.least {
			failed = append(failed, fmt.Sprintf("%s: %.1f %% of the mutants are killed, and %.0f %% have to be", t.folder, s.score(), t.least))
		}
	}
	if write {
		if err := writeRows(page, rows); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("too weak:\n%s", strings.Join(failed, "\n"))
	}
	return nil
}

// mutate runs gremlins on a package. -short leaves out the tests that measure
// cost, and most of the random ones.
func (t target) mutate(gremlins, exclude string) ([]mutant, error) {
	out := filepath.Join("test-output", "mutants", strings.ReplaceAll(t.folder, "/", "-")+".json")
	if err := os.MkdirAll(filepath.Dir(out), 0o750); err != nil {
		return nil, err
	}
	args := []string{"unleash", "./" + t.folder, "--timeout-coefficient", "120", "--output", out, "--output-statuses", "lct"}
	if exclude != "" {
		args = append(args, "--exclude-files", exclude)
	}
	cmd := exec.Command(gremlins, args...)
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -short"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("mutate %s: %w", t.folder, err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return parse(raw, os.ReadFile)
}

// parse reads gremlins' report, and the lines that it is about.
func parse(raw []byte, read func(file string) ([]byte, error)) ([]mutant, error) {
	var report struct {
		Files []struct {
			Name      string   `json:"file_name"`
			Mutations []mutant `json:"mutations"`
		} `json:"files"`
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, err
	}
	var all []mutant
	for _, f := range report.Files {
		content, err := read(f.Name)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(content), "\n")
		for _, m := range f.Mutations {
			m.File = f.Name
			if m.Line > 0 && m.Line <= len(lines) {
				m.Text = strings.TrimSpace(lines[m.Line-1])
			}
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b mutant) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return all, nil
}

// score is what a package's mutants came to.
type score struct {
	target
	killed, excused int
	survivors       []mutant
}

// judge counts. A mutant that is not covered survives as well as one that lived.
func judge(t target, mutants []mutant, reasons map[string]string) score {
	s := score{target: t}
	for _, m := range mutants {
		switch m.Status {
		case killed, timedOut:
			s.killed++
		case lived, uncov:
			if reasons[m.excuse()] != "" {
				s.excused++
			} else {
				s.survivors = append(s.survivors, m)
			}
		}
	}
	return s
}

// excuse identifies a mutant by its file, its kind and the text of its line: line
// numbers change with every edit above.
func (m mutant) excuse() string { return m.File + " | " + m.Type + " | " + m.Text }

func (s *score) score() float64 {
	all := s.killed + len(s.survivors)
	if all == 0 {
		return 0
	}
	return 100 * float64(s.killed) / float64(all)
}

func (s *score) row(commit string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %.1f %% | %#q |",
		s.folder, s.killed+s.excused+len(s.survivors), s.killed, s.excused, len(s.survivors), s.score(), commit)
}

// readExcuses reads lines of FILE | KIND | LINE | REASON.
func readExcuses(file string) (map[string]string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	for _, line := range strings.Split(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndex(line, " | ")
		if strings.Count(line, " | ") < 3 || strings.TrimSpace(line[i+3:]) == "" {
			return nil, fmt.Errorf("%s: %q gives no reason", file, line)
		}
		reasons[line[:i]] = line[i+3:]
	}
	return reasons, nil
}

// writeRows puts the rows of the packages that were mutated into the page's table.
func writeRows(page string, rows []string) error {
	raw, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, err := replaceRows(string(raw), rows)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(text), 0o600)
}

func replaceRows(text string, rows []string) (string, error) {
	const begin, end = "<!-- mutants -->", "<!-- /mutants -->"
	i, j := strings.Index(text, begin), strings.Index(text, end)
	if i < 0 || j < i {
		return "", fmt.Errorf("the table between %s and %s is missing", begin, end)
	}
	lines := strings.Split(text[i:j], "\n")
	for _, row := range rows {
		name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "| "+name+" |") })
		if at < 0 {
			return "", fmt.Errorf("the table has no row for %s", name)
		}
		lines[at] = row
	}
	return text[:i] + strings.Join(lines, "\n") + text[j:], nil
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=7", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
