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
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A figure is said on one page and measured on another, whose tables are generated.
type figure struct {
	page, says string
	// from has the group that is quoted, or two whose ratio is.
	source, from string
}

const (
	performance = "docs/performance.md"
	scale       = "docs/scale.md"
	drain       = "docs/drain.md"
)

// figures are what prose quotes. Each measurement has one source; what is said elsewhere
// is here, and has to be changed with it.
var figures = map[string]figure{
	"README: in place":            {"README.md", `in place: time \| ([\d.]+) \|`, performance, target("d", "time, in place, to Deployment's")},
	"README: in place, in zh":     {"docs/zh/README.md", `原地换镜像：用时 \| ([\d.]+) \|`, performance, target("d", "time, in place, to Deployment's")},
	"README: a drain":             {"README.md", `failed requests \| 0 of ([\d,]+) \|`, drain, `\| PodManager, SurgeFirst \| 1 \| ([\d,]+) \| 0 \|`},
	"README: a Deployment's":      {"README.md", `\| (\d+) of 856 \|`, drain, `\| Deployment \| 1 \| 856 \| (\d+) \|`},
	"README: a drain, in zh":      {"docs/zh/README.md", `\| ([\d,]+) 个中 0 个 \|`, drain, `\| PodManager, SurgeFirst \| 1 \| ([\d,]+) \| 0 \|`},
	"to create 1,000 pods":        {performance, `takes ([\d.]+) times Deployment's time to create`, performance, target("a", "time until all are ready, to Deployment's")},
	"to delete them":              {performance, `([\d.]+) times its time to delete them`, performance, target("b", "time until all are terminating, to Deployment's")},
	"to replace lost ones":        {performance, `([\d.]+) times ReplicaSet's, [\d.]+ s more`, performance, target("c", "time until all are ready again, to ReplicaSet's")},
	"private memory in a":         {performance, `private memory is ([\d.]+) times`, performance, private("a")},
	"private memory in b":         {performance, `([\d.]+) times in step b`, performance, private("b")},
	"an operator without pods":    {performance, `has about (\d+ MB) \(\[scale\]`, scale, `\| operator, memory +\| (\d+ MB) and`},
	"one leader":                  {"docs/sharding.md", `with one operator up to\s+([\d,]+) pods`, scale, `\| PodManager, objects of 5 pods +\| to ([\d,]+)`},
	"four shards":                 {"docs/sharding.md", `with four up to ([\d,]*\d)`, scale, `\| PodManager, shards, objects of 5 pods +\| to ([\d,]+)`},
	"frequent question: pods":     {"docs/install.md", `\n\*\*How many Pods can it manage\?\*\* ([\d,]+) in`, scale, `\| PodManager, objects of 5 pods +\| to ([\d,]+)`},
	"values.yaml: small objects":  {"charts/pod-operator/values.yaml", `good for ([\d,]+)\n?#? ?\s*pods`, "docs/operations.md", `(?s:.*)\n\| ([\d,]+) \| [\d,]+ of 5 pods \| 1 \| 512Mi`},
	"values.yaml: one object":     {"charts/pod-operator/values.yaml", `and for ([\d,]+) in one object`, "docs/operations.md", `(?s:.*)\n\| ([\d,]+) \| 1 \| 1 \| 512Mi`},
	"values.yaml: the shipped is": {"charts/pod-operator/values.yaml", `\n    memory: (512Mi)\n`, "docs/operations.md", `\| (512Mi), as shipped \|`},
}

func target(step, what string) string {
	return `\| ` + step + ` +\| ` + regexp.QuoteMeta(what) + ` +\| ≤ [\d.]+ +\| ([\d.]+) `
}

// private is the last column of a step's table, PodManager's and ReplicaSet's.
func private(step string) string {
	const last = ` [^\n]*\| (\d+)(?: \([^)]*\))? +\|\n`
	return `\n### ` + step + `\)(?s:.*?)\n\| PodManager +\|` + last + `\| ReplicaSet +\|` + last
}

func TestFiguresAreThoseThatWereMeasured(t *testing.T) {
	for name, f := range figures {
		t.Run(name, func(t *testing.T) {
			said, measured := one(t, f.page, f.says)[0], one(t, f.source, f.from)
			want := measured[0]
			if len(measured) == 2 {
				want = strconv.FormatFloat(number(t, measured[0])/number(t, measured[1]), 'f', 2, 64)
			}
			if said != want {
				t.Errorf("%s says %s, and %s has %s", f.page, said, f.source, want)
			}
		})
	}
}

// one is what the groups of a pattern match on a page.
func one(t *testing.T, page, pattern string) []string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(read(t, page))
	if match == nil {
		t.Fatalf("%s has no %s", page, pattern)
	}
	return match[1:]
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Every row of the sizing table is of a peak that was measured, which takes less than 80 %
// of the limit that the row names.
func TestTheSizingTableFitsThePeaks(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| ([\d,]+) \| ([^|]+) \| (\d)[^|]* \| (\d+)Mi[^|]*\|$`).FindAllStringSubmatch(read(t, "docs/operations.md"), -1)
	if len(rows) < 7 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	small, one, ok := strings.Cut(read(t, scale), "\n### One object with all pods\n")
	if !ok {
		t.Fatal("docs/scale.md has no series with one object")
	}
	for _, row := range rows {
		pods, objects, operators, limit := row[1], row[2], row[3], row[4]
		series, contender := small, "PodManager"
		if objects == "1" {
			series = one
		}
		if operators != "1" {
			contender = "PodManager, shards"
		}
		peak := regexp.MustCompile(`\n\| [\d,]+ to ` + pods + ` +\| ` + contender + ` +\|(?:[^|\n]*\|){7} ([\d,]+)`).FindStringSubmatch(series)
		if peak == nil {
			t.Errorf("%s has no peak of %s pods, %s", scale, pods, contender)
			continue
		}
		if used := number(t, peak[1]) * 1e6 / (number(t, limit) * (1 << 20)); used >= 0.8 {
			t.Errorf("%s pods in %s objects took %s MB, %.0f %% of the limit of %s MiB", pods, objects, peak[1], 100*used, limit)
		}
	}
}
