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

package integration

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

// step is one change that is measured.
type step struct {
	title string
	// do makes the change.
	do func(t testing.TB, namespace string)
	// change is how the Collector describes it.
	change string
	// why explains the number of pod events.
	why string
}

func steps(containers int) []step {
	spec := func(body string) func(testing.TB, string) {
		return func(t testing.TB, ns string) { suite.Patch(t, deployment(ns, "web"), `{"spec":`+body+`}`) }
	}
	remove := func(n int) func(testing.TB, string) {
		return func(t testing.TB, ns string) {
			pods := testkit.Names(suite.Pods(t, ns, map[string]string{"app": "web"}))[:n]
			suite.Kubectl(t, append([]string{"-n", ns, "delete", "pod"}, pods...)...)
		}
	}
	image := func(tag string) func(testing.TB, string) {
		return func(t testing.TB, ns string) {
			suite.Kubectl(t, "-n", ns, "set", "image", "deployment/web", "c0=nginx:"+tag)
		}
	}
	return []step{
		{
			"created with 3 pods", func(t testing.TB, ns string) { suite.Create(t, web(ns, 3, containers)) },
			"created, replicas 3", "3 pods come",
		},
		{"replicas 3 → 1", spec(`{"replicas":1}`), "replicas 3 -> 1", "2 pods go"},
		{"replicas 1 → 3", spec(`{"replicas":3}`), "replicas 1 -> 3", "2 pods come"},
		{"kubectl delete of one pod", remove(1), "1 pod deleted", "1 pod goes, 1 comes"},
		{"kubectl delete of two pods", remove(2), "2 pods deleted", "2 pods go, 2 come"},
		{
			"image, with RollingUpdate", image("1.28"),
			"template.spec.containers.c0.image nginx:1.27 -> nginx:1.28", "3 pods come, 3 go, one after the other",
		},
		{
			"strategy RollingUpdate → Recreate", spec(`{"strategy":{"type":"Recreate","rollingUpdate":null}}`),
			"strategy.type RollingUpdate -> Recreate, strategy.rollingUpdate removed", "no pod is touched",
		},
		{
			"image, with Recreate", image("1.29"),
			"template.spec.containers.c0.image nginx:1.28 -> nginx:1.29", "3 pods go, then 3 come",
		},
		{
			"strategy Recreate → RollingUpdate", spec(`{"strategy":{"type":"RollingUpdate"}}`),
			"strategy.type Recreate -> RollingUpdate, strategy.rollingUpdate added", "no pod is touched",
		},
		{"replicas 3 → 4", spec(`{"replicas":4}`), "replicas 3 -> 4", "1 pod comes"},
		{"replicas 4 → 0", spec(`{"replicas":0}`), "replicas 4 -> 0", "4 pods go"},
	}
}

// measured is what a Collector said of one step.
type measured struct {
	step
	pods, workloads collectorv1.EventCounts
}

// TestCollectorMeasuresWhatAChangeTriggers drives a Deployment through its life
// and holds the numbers against the table in docs/collector.md.
func TestCollectorMeasuresWhatAChangeTriggers(t *testing.T) {
	testkit.Long(t, "it measures for a minute")
	t.Parallel()
	results := map[int][]measured{}
	for _, containers := range []int{2, 4} {
		t.Run(fmt.Sprintf("pods with %d containers", containers), func(t *testing.T) {
			results[containers] = measure(t, containers)
		})
	}
	if t.Failed() {
		return
	}
	got := table(results[2], results[4])
	file := filepath.Join(testkit.Root(), "docs", "collector.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table, between %q and %q", file, begin, end)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+"\n"+got+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(podColumns(old), podColumns(got)); diff != "" {
		t.Errorf("docs/collector.md tells other numbers (-docs +measured); -update writes these:\n%s", diff)
	}
}

const (
	begin = "<!-- measured: begin -->"
	end   = "<!-- measured: end -->"
)

// measure makes the changes, one after the other.
func measure(t *testing.T, containers int) []measured {
	ns := suite.Namespace(t)
	suite.Create(t, collector(ns, "meter", map[string]string{"app": "web"}))
	expectCounting(t, ns, "meter")
	own := newWitness(t, ns, "app=web")
	var results []measured
	for _, s := range steps(containers) {
		s.do(t, ns)
		change := expectChange(t, ns, "meter", s.change)
		if seen := own.take(); seen != change.Events {
			t.Errorf("%s: the Collector counted %+v, a watch of the test's own %+v", s.title, change.Events, seen)
		}
		if change.WorkloadEvents.Modified+change.WorkloadEvents.Added == 0 {
			t.Errorf("%s: no event of the Deployment", s.title)
		}
		results = append(results, measured{s, change.Events, change.WorkloadEvents})
	}
	return results
}

func table(two, four []measured) string {
	var b strings.Builder
	b.WriteString("| change | pods, 2 containers | pods, 4 containers | why | workloads, 2 / 4 |\n|---|---|---|---|---|\n")
	for i := range two {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d / %d |\n", two[i].title, sum(two[i].pods), sum(four[i].pods), two[i].why,
			two[i].workloads.Total(), four[i].workloads.Total())
	}
	return b.String()
}

func sum(c collectorv1.EventCounts) string {
	return fmt.Sprintf("%d + %d + %d = %d", c.Added, c.Modified, c.Deleted, c.Total())
}

// podColumns cuts off the last column, which differs from run to run.
func podColumns(table string) []string {
	var rows []string
	for row := range strings.Lines(strings.TrimSpace(table)) {
		row = strings.TrimSuffix(strings.TrimSpace(row), "|")
		rows = append(rows, row[:strings.LastIndex(row, "|")])
	}
	return rows
}
