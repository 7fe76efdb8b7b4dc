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

package binary

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

var (
	rounds = flag.Int("rounds", 5, "how often each case is played by each contender")
	table  = flag.Bool("table", false, "write the table of docs/reliability.md")
)

// The lines of docs/reliability.md between which the table is.
const tableBegin, tableEnd = "<!-- versus -->\n", "<!-- /versus -->\n"

// TestVersus puts PodManager and ReplicaSet through the same faults. PodManager
// must not break a rule; what ReplicaSet does is written down. With two leaders
// S4 is not promised (docs/reliability.md).
func TestVersus(t *testing.T) {
	if !*all {
		t.Skip("takes minutes; -all runs it, -table writes the table")
	}
	g := field
	var rows bytes.Buffer
	fmt.Fprintf(&rows, "| fault | PodManager | ReplicaSet |\n|---|---|---|\n")
	cases, violations := 0, 0
	for _, m := range matches() {
		cells := []string{}
		for _, c := range []contender{podManager(), replicaSet()} {
			sum := verdict{rules: map[string]int{}}
			for round := range *rounds {
				t.Run(fmt.Sprintf("%s/%s/%d", m.name, c.name, round), func(t *testing.T) {
					v := fight(t, g, c, m)
					t.Logf("%+v", v)
					sum.add(v)
					if c.name != "PodManager" {
						return
					}
					cases++
					if m.elect {
						delete(v.rules, "S4")
					}
					if len(v.rules) > 0 {
						violations += len(v.rules)
						t.Errorf("rules broken: %v", v.rules)
					}
				})
			}
			cells = append(cells, sum.String())
		}
		fmt.Fprintf(&rows, "| %s | %s |\n", m.name, strings.Join(cells, " | "))
	}
	fmt.Fprintf(&rows, "\nEach %d times, from %d to %d to %d pods.\n", *rounds, low, high, end)
	t.Logf("\n%s", rows.String())
	line := summary.Line{Tier: "3 real program, beside ReplicaSet", Cases: cases, Violations: violations, Seed: g.seed, Note: "docs/reliability.md has both columns"}
	if err := summary.Write("3-versus", line); err != nil {
		t.Error(err)
	}
	if *table {
		if err := writeTable(rows.Bytes()); err != nil {
			t.Error(err)
		}
	}
}

func (v *verdict) add(other verdict) {
	for rule := range other.rules {
		v.rules[rule]++
	}
	v.created += other.created
	v.deleted += other.deleted
}

// String is a cell of the table: in how many rounds each rule was broken.
func (v *verdict) String() string {
	if len(v.rules) == 0 {
		return "no rule broken"
	}
	var parts []string
	for _, rule := range slices.Sorted(maps.Keys(v.rules)) {
		parts = append(parts, fmt.Sprintf("%s in %d of %d", rule, v.rules[rule], *rounds))
	}
	text := strings.Join(parts, ", ")
	if v.created != 0 || v.deleted != 0 {
		text += fmt.Sprintf("; %+d creates, %+d deletes", v.created, v.deleted)
	}
	return text
}

func writeTable(rows []byte) error {
	path := filepath.Join(testkit.Root(), "docs", "reliability.md")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, found := bytes.Cut(text, []byte(tableBegin))
	_, tail, closed := bytes.Cut(rest, []byte(tableEnd))
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table", path)
	}
	text = slices.Concat(head, []byte(tableBegin+"\n"), rows, []byte("\n"+tableEnd), tail)
	return os.WriteFile(path, text, 0o644) // a public document
}
