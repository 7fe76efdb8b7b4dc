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

package figures

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// column is one column of a step's table.
type column struct {
	title string
	cell  func(step *Step, contender string) string
}

// baseline is the contender that the others of a step are compared with.
func baseline(step *Step) string {
	for _, name := range []string{ReplicaSet, Deployment, PodManager} {
		if slices.Contains(step.Contenders(), name) {
			return name
		}
	}
	return ""
}

// columns of a step: ratios first.
func columns(step *Step) []column {
	base := baseline(step)
	ratio := func(m Measure) func(*Step, string) string {
		return func(s *Step, contender string) string {
			if got := s.Ratio(contender, base, m); got.Count > 0 {
				return got.digits(2) + " ×"
			}
			return "–"
		}
	}
	number := func(m Measure, precision int) func(*Step, string) string {
		return func(s *Step, contender string) string { return s.Summary(contender, m).digits(precision) }
	}
	all := []column{
		{"time, to " + Title(base) + "'s", ratio(Seconds)},
		{"writes", number(Writes, 0)},
		{"of status", number(StatusWrites, 0)},
		{"409s", number(Conflicts, 0)},
		{"seconds", number(Seconds, 2)},
		{"controller CPU s", number(ControllerCPU, 2)},
		{"API server CPU s", number(APIServerCPU, 2)},
		{"peak MB", number(PeakMB, 0)},
		{"of it private", number(PrivateMB, 0)},
	}
	if step.Name == "f" { // nothing happens, so nothing takes time
		return append([]column{{"LISTs", number(Lists, 0)}}, slices.Delete(slices.Delete(all, 4, 5), 0, 1)...)
	}
	return all
}

// order puts ours first, then the peers, then the bare loops.
func order(contenders []string) []string {
	known := append(ours(), peers()...)
	rank := func(name string) int {
		if i := slices.Index(known, name); i >= 0 {
			return i
		}
		return len(known)
	}
	sorted := slices.Clone(contenders)
	slices.SortStableFunc(sorted, func(a, b string) int { return rank(a) - rank(b) })
	return sorted
}

// rows of a step's table, the first of them its head.
func rows(step *Step) [][]string {
	cols := columns(step)
	head := []string{""}
	for _, c := range cols {
		head = append(head, c.title)
	}
	table := [][]string{head}
	for _, contender := range order(step.Contenders()) {
		row := []string{Title(contender)}
		for _, c := range cols {
			row = append(row, c.cell(step, contender))
		}
		table = append(table, row)
	}
	return table
}

// Print writes all tables for a terminal.
func (r *Results) Print(w io.Writer) error {
	for i := range r.Steps {
		step := &r.Steps[i]
		if len(step.Samples) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s) %s: %s\n", step.Name, step.Title, step.Goal)
		if err := printTable(w, rows(step)); err != nil {
			return err
		}
	}
	if len(r.Planner) > 0 {
		fmt.Fprintln(w, "\nplanner, per pod")
		if err := printTable(w, plannerRows(r.Planner)); err != nil {
			return err
		}
	}
	if !r.FullSize {
		return nil
	}
	fmt.Fprintln(w, "\ntargets")
	return printTable(w, verdictRows(r.Verdicts()))
}

func printTable(w io.Writer, table [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range table {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

func verdictRows(verdicts []Verdict) [][]string {
	table := [][]string{{"step", "what", "to reach", "measured", ""}}
	for _, v := range verdicts {
		word := "met"
		if !v.Met {
			word = "not met"
		}
		table = append(table, []string{v.Step, v.What, v.Limit, v.Measured, word})
	}
	return table
}

func plannerRows(costs []PlannerCost) [][]string {
	table := [][]string{{"fleet", "pods", "ns per pod", "allocations per pod", "bytes per pod"}}
	for _, c := range costs {
		table = append(table, []string{
			c.Fleet, Thousands(c.Pods), fmt.Sprintf("%.0f", c.NanosPerPod),
			fmt.Sprintf("%.2f", c.AllocsPerPod), fmt.Sprintf("%.0f", c.AllocatedBytes),
		})
	}
	return table
}

// markdown writes a table with its columns aligned, so that the source reads
// well, too.
func markdown(table [][]string) string {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		for i, cell := range cells {
			b.WriteString("| " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + " ")
		}
		b.WriteString("|\n")
	}
	line(table[0])
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	line(rule)
	for _, row := range table[1:] {
		line(row)
	}
	return b.String()
}
