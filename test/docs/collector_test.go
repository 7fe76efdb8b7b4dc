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
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheCountersSideBySide: the table of docs/collector.md that compares the Deployment's
// own updates on kwok and on kubelets is made of the two that were measured.
//
//	go test ./test/docs -run TestTheCountersSideBySide -update
//
// writes it, in both languages.
func TestTheCountersSideBySide(t *testing.T) {
	for name, head := range map[string]string{
		"docs/collector.md":    "| change | A | B | the Deployment's own updates, kwok | the same, real kubelets |",
		"docs/zh/collector.md": "| 变更 | A | B | Deployment 自身的更新，kwok | 同上，真实的 kubelet |",
	} {
		page := read(t, name)
		kwok, kubelets := measured(t, page, "measured on kwok"), measured(t, page, "measured on kubelets")
		if len(kwok) < 10 || len(kwok) != len(kubelets) {
			t.Fatalf("%s has %d changes with kwok and %d with kubelets", name, len(kwok), len(kubelets))
		}
		table := head + "\n|---|---|---|---|---|\n"
		for i, row := range kwok {
			table += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", row[0], row[4], row[5], updates(row[1]), updates(kubelets[i][1]))
		}
		const begin, end = "<!-- side by side: begin -->\n", "<!-- side by side: end -->"
		before, rest, ok := strings.Cut(page, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no place for the table", name)
		}
		want := before + begin + table + end + after
		if *update {
			if err := os.WriteFile(filepath.Join(root, name), []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(want, page); diff != "" {
			t.Errorf("%s (-measured +page); -update writes it:\n%s", name, diff)
		}
	}
}

// measured are the rows of a table that a test has measured.
func measured(t *testing.T, page, name string) (rows [][]string) {
	t.Helper()
	_, rest, ok := strings.Cut(page, "<!-- "+name+": begin -->\n")
	table, _, closed := strings.Cut(rest, "<!-- "+name+": end -->")
	if !ok || !closed {
		t.Fatalf("there is no table %q", name)
	}
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

var modified = regexp.MustCompile(`\d+ \+ (\d+) \+ \d+`)

// updates are the middle numbers of a cell: of pods with 2 containers, and with 4 where
// these differ.
func updates(cell string) string {
	found := modified.FindAllStringSubmatch(cell, -1)
	if len(found) == 1 {
		return found[0][1]
	}
	return found[0][1] + " / " + found[1][1]
}
