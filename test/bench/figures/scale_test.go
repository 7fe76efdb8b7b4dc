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
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// grown is a sample with round costs: an operator of 40 MB and 8 kB a pod, an API
// server of 400 MB and 20 kB, 2 writes, 2 and 10 ms of CPU for each pod that is added.
func grown(contender string, before, pods int) Growth {
	added, all := float64(pods-before), int64(pods)
	return Growth{
		Sample: Sample{
			Step: Grow, Contender: contender, Seconds: added / 100, Milestones: map[string]float64{Exist: added * 0.006}, Writes: map[string]int{"create pods": pods - before, "patch x/status": pods - before},
			ControllerCPU: added * 0.002, APIServerCPU: added * 0.010, PeakMemory: 40e6 + 8000*all,
		},
		Pods: pods, Before: before, Processes: 1, AllMemory: 40e6 + 8000*all, APIServerMemory: 400e6 + 20000*all, EtcdMemory: 50e6 + 10000*all,
		Database: 10e6 + 5000*all, EtcdCPU: added * 0.001, KwokCPU: added * 0.003,
	}
}

func calm(contender string, pods int) []Growth {
	return []Growth{
		{
			Sample: Sample{
				Step: Restart, Contender: contender, Seconds: 9, Milestones: map[string]float64{FirstAction: 1 + float64(pods)/1000}, ControllerCPU: 1,
			},
			Pods: pods, Before: pods,
		},
		{
			Sample: Sample{Step: Lost, Contender: contender, Seconds: 2, APIServerCPU: float64(pods) / 100 * 0.02, Writes: map[string]int{"create pods": pods / 100}},
			Pods:   pods, Before: pods,
		},
	}
}

func round1() *Scale {
	s := &Scale{Kubernetes: "v1.37.1", CPUs: 2, Memory: 16e9, ObjectPods: 5, MemoryLimit: 440e6, Timeout: 60}
	for _, contender := range []string{PodManager, ReplicaSet} {
		series := Series{Contender: contender, Shape: Many, Commit: "0123abc", Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
		before := 0
		for _, pods := range []int{1000, 5000, 20000} {
			series.Samples = append(append(series.Samples, grown(contender, before, pods)), calm(contender, pods)...)
			before = pods
		}
		s.Series = append(s.Series, series)
	}
	return s
}

func TestTheCostsAreTheMeasuredOnes(t *testing.T) {
	got, ok := round1().Costs()
	want := Costs{
		Largest: 20000, Operator: Line{40e6, 8000}, APIServer: Line{400e6, 20000}, Etcd: Line{50e6, 10000}, Database: Line{10e6, 5000},
		Writes: 2, OperatorCPU: 0.002, APIServerCPU: 0.010, EtcdCPU: 0.001, FirstAction: Line{1, 0.001}, LostAPIServerCPU: 0.02,
	}
	if diff := cmp.Diff(want, got, nearly()); !ok || diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
	one := round1()
	one.Series[0].Samples = one.Series[0].Samples[:3]
	if _, ok := one.Costs(); ok {
		t.Error("one size makes a line")
	}
	if _, ok := (&Scale{}).Costs(); ok {
		t.Error("nothing makes a line")
	}
}

// nearly compares numbers as far as a line through points is exact.
func nearly() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(1, math.Max(math.Abs(a), math.Abs(b))) })
}

// 440 MB, of which 80 % are 352 MB, hold (352-40)/0.008 = 39,000 pods; the
// 142,858 pods of each of 7 clusters take 4 such operators.
func TestTheNeedFollowsFromTheCosts(t *testing.T) {
	s := round1()
	costs, _ := s.Costs()
	got, ok := costs.Need(s.scalePlan())
	const cluster, each = 142_858, 35_715
	want := Need{
		Clusters: 7, ClusterPods: cluster, Operators: 4, OperatorPods: each,
		OperatorMemory: 40e6 + 8000*each, FirstAction: 1 + each/1000.0,
		APIServerMemory: 400e6 + 20000*cluster, EtcdMemory: 50e6 + 10000*cluster, Database: 10e6 + 5000*cluster,
		OperatorCores: 0.002 * cluster / 600, APIServerCores: 0.010 * cluster / 600, EtcdCores: 0.001 * cluster / 600, LostCPU: 0.02 * cluster / 100,
	}
	if diff := cmp.Diff(want, got, nearly()); !ok || diff != "" {
		t.Errorf("need (-want +got):\n%s", diff)
	}
	if _, ok := costs.Need(Plan{Pods: 1, ClusterPods: 1, OperatorMemory: 40e6, Fill: 1, Seconds: 1}); ok {
		t.Error("an operator without room for a pod is enough")
	}
}

func TestWhatBreaksFirst(t *testing.T) {
	// 440 MB at (440-40)/0.008 = 50,000; 8 GiB of file at 1.7 million; 16 GB at
	// (16,000-490)/0.038 = 410,000.
	want := "All steps reached their goals, for PodManager up to 20,000 pods. By the measured costs, what breaks first is the operator's memory limit as it is " +
		"shipped (0.4 GB; the measured operator had none, and with one Go collects more often before it is reached): at about **50,000 pods**. Then comes the memory of the machine"
	if got := round1().Breaks(); !strings.HasPrefix(got, want) || !strings.Contains(got, "at about **410,000 pods**. Then comes the size of etcd's file") {
		t.Errorf("got %s", got)
	}
	s := round1()
	failed := &s.Series[1].Samples[6]
	failed.Unfinished, failed.Ready, failed.Seconds = "waited until all pods exist: its 1m0s were over", 12345, 60
	want = `ReplicaSet with objects of 5 pods broke first, at **20,000 pods**, in the step "grow": when 60 s were over, 12,345 pods were ready. ` +
		`It was: waited until all pods exist: its 1m0s were over.`
	if diff := cmp.Diff(want, s.Breaks()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rows := markdown(s.growRows(Many, s.sizes(Many))); !strings.Contains(rows, "not finished: 12,345 of 20,000 pods ready after 60 s") {
		t.Errorf("the table hides it:\n%s", rows)
	}
	if got := (&Scale{}).Breaks(); !strings.Contains(got, "It takes two sizes") {
		t.Errorf("without samples: %s", got)
	}
}

func TestTheTableOfGrowth(t *testing.T) {
	want := [][]string{
		{"5,000 to 20,000", "PodManager", "90.0", "150.0", "10.0", "1.00 ×", "2.00", "2.00", "10.00", "200", "800", "110", "0"},
		{"5,000 to 20,000", "ReplicaSet", "90.0", "150.0", "10.0", "1.00 ×", "2.00", "2.00", "10.00", "200", "800", "110", "0"},
	}
	s := round1()
	if diff := cmp.Diff(want, s.growRows(Many, s.sizes(Many))[5:]); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	want = [][]string{
		{"20,000", "PodManager", "21.0", "9.0", "1.0", "2.0", "200", "0.00", "4.00"},
		{"20,000", "ReplicaSet", "21.0", "9.0", "1.0", "2.0", "200", "0.00", "4.00"},
	}
	if diff := cmp.Diff(want, s.calmRows(Many, s.sizes(Many))[5:]); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestALaterSeriesReplacesAnEarlierOne(t *testing.T) {
	earlier := round1()
	now := Scale{Series: []Series{{Contender: ReplicaSet, Shape: One}, {Contender: ReplicaSet, Shape: Many, Commit: "new"}}}
	now.Merge(*earlier)
	var got []string
	for _, s := range now.Series {
		got = append(got, s.Contender+" "+string(s.Shape)+" "+s.Commit)
	}
	if diff := cmp.Diff([]string{"podmanager many 0123abc", "replicaset many new", "replicaset one "}, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestCurvesAreToScale(t *testing.T) {
	svg := drawCurves("Growth & more", []chart{{title: "s", curves: []curve{
		{look: look{label: "ours", ours: true}, points: []point{{1000, 1}, {2000, 2}}},
		{look: look{label: "theirs", dashed: true}, points: []point{{2000, 4}}},
	}}})
	texts, _, lines := drawn(t, svg)
	if diff := cmp.Diff([]string{"Growth & more", "ours", "theirs", "s", "0", "2.0", "4.0", "0", "1,000", "2,000"}, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	// Two of the legend, three of the grid; a single point has no line.
	if lines != 5 || strings.Count(svg, "<polyline") != 1 || strings.Count(svg, "<circle") != 3 {
		t.Errorf("%d lines in:\n%s", lines, svg)
	}
	// Half of the pods and a quarter of the value, then all of the pods and half of it.
	if !strings.Contains(svg, `<polyline points="187.0,232.5 316.0,191.0"`) {
		t.Errorf("the curve is not to scale:\n%s", svg)
	}
}

// The pages say what was measured: they change with the samples, and not by hand.
func TestThePagesAreThoseOfTheSamples(t *testing.T) {
	results := filepath.Join(testkit.Root(), "test", "bench", "results")
	scale, err := ReadScale(filepath.Join(results, "scale.json"))
	if err != nil {
		t.Fatal(err)
	}
	bench, err := Read(filepath.Join(results, "bench.json"))
	if err != nil {
		t.Fatal(err)
	}
	for verb, c := range map[string]struct {
		name    string
		results interface {
			WriteDocument(path, images string) error
		}
	}{"make scale SCALE": {"scale.md", &scale}, "make bench BENCH": {"performance.md", &bench}} {
		t.Run(c.name, func(t *testing.T) {
			docs, made := filepath.Join(testkit.Root(), "docs"), t.TempDir()
			page, err := os.ReadFile(filepath.Join(docs, c.name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(made, c.name), page, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.results.WriteDocument(filepath.Join(made, c.name), filepath.Join(made, "images")); err != nil {
				t.Fatal(err)
			}
			plots, err := filepath.Glob(filepath.Join(made, "images", "*"))
			if err != nil || len(plots) == 0 {
				t.Fatalf("no plots: %v", err)
			}
			for _, path := range append(plots, filepath.Join(made, c.name)) {
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				name := strings.TrimPrefix(path, made)
				got, err := os.ReadFile(filepath.Join(docs, name))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("docs%s is not that of the samples: %s=--report-only (-want +got):\n%s", name, verb, diff)
				}
			}
		})
	}
}
