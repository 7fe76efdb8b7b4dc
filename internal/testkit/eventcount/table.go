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

package eventcount

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// The columns of a table of rows.
const (
	ColumnChange = iota
	ColumnDeployment
	ColumnReplicaSet
	ColumnPod
	ColumnPodsComeAndGo
	ColumnSpecs
	ColumnReconciles
)

// Table writes rows as a table. A cell with two entries has the one of pods with
// 2 containers first; where both agree, it has one.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| change | Deployment | ReplicaSet | Pod | A | B | C |\n|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		cells := []string{row[0].Title}
		for _, entry := range []func(Measured) string{
			func(m Measured) string { return Sum(m.Events["Deployment"]) },
			func(m Measured) string { return Sum(m.Events["ReplicaSet"]) },
			func(m Measured) string { return Sum(m.Events["Pod"]) },
			func(m Measured) string { return fmt.Sprint(m.Calls.PodsComeAndGo()) },
			func(m Measured) string { return fmt.Sprint(m.Calls.PodsComeAndGo() + m.Calls.Specs) },
			func(m Measured) string { return fmt.Sprint(m.Calls.Reconciles) },
		} {
			cell := entry(row[0])
			if other := entry(row[1]); other != cell {
				cell += " / " + other
			}
			cells = append(cells, cell)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// Sum writes counts as added + modified + deleted.
func Sum(c collectorv1.EventCounts) string {
	return fmt.Sprintf("%d + %d + %d", c.Added, c.Modified, c.Deleted)
}

// Page compares a table with the one of that name in docs/collector.md, in the
// columns that do not vary from run to run, or writes it there.
func Page(t testing.TB, name, table string, update bool, columns ...int) {
	t.Helper()
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	file := filepath.Join(testkit.Root(), "docs", "collector.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table, between %q and %q", file, begin, end)
	}
	if update {
		if err := os.WriteFile(file, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(pick(old, columns), pick(table, columns)); diff != "" {
		t.Errorf("docs/collector.md has other numbers (-docs +measured); -update writes these:\n%s", diff)
	}
}

// pick takes some columns of a table.
func pick(table string, columns []int) [][]string {
	var rows [][]string
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		var picked []string
		for _, column := range columns {
			if column < len(cells) {
				picked = append(picked, cells[column])
			}
		}
		rows = append(rows, picked)
	}
	return rows
}
