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

// Command mutants changes the code on purpose, one operator at a time, and counts
// how many of these mutants the tests of their package notice. make mutants runs
// it. docs/adr/0002-our-own-mutants.md says why it is our own.
//
// Of internal/plan, internal/report and internal/forecast all mutants have to be
// killed, but for those that survivors.txt excuses with a reason; of the others, as
// many as the table below asks for.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// target is a package and the share of its mutants that has to be killed. tests are
// folders besides its own whose tests are about it.
type target struct {
	folder string
	least  float64
	tests  []string
}

// The tests of plan play whole fleets, with their reports and forecasts.
var targets = []target{
	{folder: "internal/plan", least: 100},
	{folder: "internal/report", least: 100, tests: []string{"internal/plan"}},
	{folder: "internal/forecast", least: 100, tests: []string{"internal/plan"}},
	{folder: "internal/apply", least: 85},
	{folder: "internal/observe", least: 85},
	{folder: "internal/desired", least: 85},
}

const (
	page    = "docs/reliability.md"
	excuses = "hack/mutants/survivors.txt"
)

// options narrow a run.
type options struct {
	only    string
	match   *regexp.Regexp
	workers int
	write   bool
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "folders to mutate, separated by commas; all when empty")
	match := flag.String("match", "", "try only mutants whose FILE:LINE matches this regular expression")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many mutants are tried at a time")
	flag.BoolVar(&o.write, "write", false, "write the scores into "+page)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if o.match, err = regexp.Compile(*match); err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.write && o.match.String() != "" {
		return fmt.Errorf("-write is for whole packages: leave -match out")
	}
	reasons, err := readExcuses(excuses)
	if err != nil {
		return err
	}
	var rows, failed []string
	for _, t := range targets {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), t.folder) {
			continue
		}
		began := time.Now()
		s, err := t.mutate(ctx, o, reasons, out)
		if err != nil {
			return err
		}
		for _, m := range s.survivors {
			fmt.Fprintln(out, "survived:", m.describe())
		}
		rows = append(rows, s.row(commit()))
		fmt.Fprintf(out, "%s in %s\n", s.row(commit()), time.Since(began).Round(time.Second))
		if s.score() < t.least {
			failed = append(failed, fmt.Sprintf("%s: %.1f %% of the mutants are killed, and %.0f %% have to be", t.folder, s.score(), t.least))
		}
	}
	if o.write {
		if err := writeRows(page, rows); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("too weak:\n%s", strings.Join(failed, "\n"))
	}
	return nil
}

// mutate tries the mutants of a package.
func (t target) mutate(ctx context.Context, o options, reasons map[string]string, out io.Writer) (score, error) {
	mutants, err := find(t.folder)
	if err != nil {
		return score{}, err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool {
		return !o.match.MatchString(fmt.Sprintf("%s:%d", m.File, m.Line))
	})
	fmt.Fprintf(out, "%s: %d mutants\n", t.folder, len(mutants))
	tests, err := begin(ctx, t, mutants)
	if err != nil {
		return score{}, err
	}
	defer tests.end()
	outcomes, err := tests.tryAll(ctx, o.workers, out)
	if err != nil {
		return score{}, err
	}
	return judge(t, mutants, outcomes, reasons), nil
}

// score is what a package's mutants came to.
type score struct {
	target
	killed, excused int
	survivors       []mutant
}

// judge counts. What does not compile is no mutant.
func judge(t target, mutants []mutant, outcomes []outcome, reasons map[string]string) score {
	s := score{target: t}
	for i, m := range mutants {
		switch {
		case outcomes[i] == killed:
			s.killed++
		case outcomes[i] == lived && reasons[m.excuse()] != "":
			s.excused++
		case outcomes[i] == lived:
			s.survivors = append(s.survivors, m)
		}
	}
	return s
}

func (s *score) score() float64 {
	all := s.killed + len(s.survivors)
	if all == 0 {
		return 0
	}
	return 100 * float64(s.killed) / float64(all)
}

func (s *score) row(commit string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %.1f %% | %#q | 0 |",
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
