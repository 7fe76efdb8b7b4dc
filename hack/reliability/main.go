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

// Command reliability keeps the tables of results in docs/reliability.md: it
// prints what the fault tests of the last run came to, writes these rows into the
// page with -write, and counts for every row how many commits have changed the code
// that it is about since it was measured. With -refuse-old it fails where there are
// any; make release does that.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mycompany/pod-operator/test/faults/summary"
)

const page = "docs/reliability.md"

// tables are the names of the page's tables whose last two columns are the commit
// and the number of commits since.
var tables = []string{"faults", "mutants"}

func main() {
	write := flag.Bool("write", false, "write the results of the last run, and the age of every row, into "+page)
	refuse := flag.Bool("refuse-old", false, "fail if the code of a row has changed since it was measured")
	flag.Parse()
	results, err := summary.Read(summary.Folder())
	if err == nil {
		err = run(options{root: ".", results: results, write: *write, refuse: *refuse, code: codeIn(".")}, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reliability:", err)
		os.Exit(1)
	}
}

type options struct {
	root          string
	results       []summary.Line
	write, refuse bool
	code          codeOf
}

func run(o options, out io.Writer) error {
	if o.refuse {
		return refuseOld(&o, out)
	}
	for i := range o.results {
		fmt.Fprintln(out, sentence(&o.results[i]))
	}
	if !o.write {
		return nil
	}
	file := filepath.Join(o.root, page)
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := putResults(string(raw), o.results)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	head, err := git(o.root, "rev-parse", "--short=7", "HEAD")
	if err != nil {
		return err
	}
	text = counted.ReplaceAllString(text, "counted at commit `"+head+"`")
	if text, _, err = countAges(&o, text, head); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// sentence is a result as make prints it.
func sentence(l *summary.Line) string {
	text := fmt.Sprintf("%-44s %8d cases  %4d violations  longest recovery %-8s", l.Tier, l.Cases, l.Violations, l.Longest.Round(time.Millisecond))
	if l.Seed != 0 {
		text += fmt.Sprintf("  seed %d", l.Seed)
	}
	return strings.TrimRight(text+"  "+l.Note, " ")
}

// putResults replaces the rows of the tiers that ran. The page gets only what a
// commit stands for, and what broke no rule.
func putResults(text string, results []summary.Line) (string, error) {
	for i := range results {
		l := &results[i]
		switch {
		case l.Commit == summary.Changed:
			return "", fmt.Errorf("%q ran with changes that are not committed: commit them, and run it again", l.Tier)
		case l.Violations > 0:
			return "", fmt.Errorf("%q broke rules %d times: mend that, and run it again", l.Tier, l.Violations)
		}
		tier, longest := strings.TrimLeft(l.Tier, "0123456789 "), "" // the number sorts what make prints
		if l.Longest > 0 {
			longest = l.Longest.Round(100 * time.Millisecond).String()
		}
		row := fmt.Sprintf("| %s | %s | %d | %s | %s | %#q | 0 |", tier, thousands(l.Cases), l.Violations, longest, l.Date, l.Commit)
		var err error
		if text, err = putRow(text, "faults", tier, row); err != nil {
			return "", err
		}
	}
	return text, nil
}

// putRow replaces the row of a table that begins with a name, or adds one.
func putRow(text, table, name, row string) (string, error) {
	begin, end, err := within(text, table)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimRight(text[begin:end], "\n"), "\n")
	if at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "| "+name+" |") }); at >= 0 {
		lines[at] = row
	} else {
		lines = append(lines, row)
	}
	return text[:begin] + strings.Join(lines, "\n") + "\n\n" + text[end:], nil
}

func within(text, table string) (begin, end int, err error) {
	begin, end = strings.Index(text, "<!-- "+table+" -->"), strings.Index(text, "<!-- /"+table+" -->")
	if begin < 0 || end < begin {
		return 0, 0, fmt.Errorf("the table between <!-- %s --> and <!-- /%s --> is missing", table, table)
	}
	return begin, end, nil
}

// aged is a row's end: the commit, and how many commits there were since.
var aged = regexp.MustCompile("(?m)^\\| ([^|]*) \\|.*\\| `([0-9a-f]{7,40})` \\| ([0-9]+) \\|$")

// counted says at which commit the ages were counted.
var counted = regexp.MustCompile("counted at commit `([0-9a-f]{7,40})`")

// row is a measurement.
type row struct {
	table, name, commit string
	// since is how many commits have changed its code since.
	since int
}

// countAges sets the last column of every row.
func countAges(o *options, text, head string) (string, []row, error) {
	var rows []row
	for _, table := range tables {
		begin, end, err := within(text, table)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", page, err)
		}
		found := aged.FindAllStringSubmatchIndex(text[begin:end], -1)
		if len(found) == 0 {
			return "", nil, fmt.Errorf("%s: the table %s has no row with a commit", page, table)
		}
		slices.Reverse(found) // what comes before a replaced number stays where it is
		for _, m := range found {
			at := func(i int) string { return text[begin+m[i] : begin+m[i+1]] }
			r := row{table: table, name: at(2), commit: at(4)}
			if r.since, err = o.commitsSince(&r, head); err != nil {
				return "", nil, fmt.Errorf("%s, %q: %w", page, r.name, err)
			}
			rows = append(rows, r)
			text = text[:begin+m[6]] + strconv.Itoa(r.since) + text[begin+m[7]:]
		}
	}
	return text, rows, nil
}

func (o *options) commitsSince(r *row, head string) (int, error) {
	folders, err := o.code(r.table, r.name)
	if err != nil {
		return 0, err
	}
	return commitsSince(o.root, folders, r.commit, head)
}

// commitsSince counts the commits after one that changed what runs: the code in some
// folders, without its tests.
func commitsSince(root string, folders []string, commit, head string) (int, error) {
	if _, err := git(root, "merge-base", "--is-ancestor", commit, head); err != nil {
		return 0, fmt.Errorf("no commit %s in the history of %s; a shallow clone has too few", commit, head)
	}
	args := []string{"rev-list", "--count", "--no-merges", commit + ".." + head, "--", ":(exclude)*_test.go"}
	for _, folder := range folders {
		args = append(args, ":(glob)"+folder+"/*")
	}
	count, err := git(root, args...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(count)
}

func git(root string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

func refuseOld(o *options, out io.Writer) error {
	raw, err := os.ReadFile(filepath.Join(o.root, page))
	if err != nil {
		return err
	}
	_, rows, err := countAges(o, string(raw), "HEAD")
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.since, a.since) })
	old := 0
	for _, r := range rows {
		if r.since > 0 {
			old++
			fmt.Fprintf(out, "%s, %s: measured at %s, %d commits to its code ago\n", r.table, r.name, r.commit, r.since)
		}
	}
	if old > 0 {
		return errors.New("the results in " + page + " are older than the code: run make faults and make mutants MUTANTS=-write")
	}
	return nil
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
