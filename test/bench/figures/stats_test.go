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
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   Summary
	}{
		"nothing":                      {nil, Summary{}},
		"one":                          {[]float64{3}, Summary{3, 3, 3, 1}},
		"an odd number, not in order":  {[]float64{9, 1, 4}, Summary{4, 1, 9, 3}},
		"an even number":               {[]float64{4, 1, 9, 2}, Summary{3, 1, 9, 4}},
		"one that lies far off":        {[]float64{1, 1.1, 80, 0.9, 1}, Summary{1, 0.9, 80, 5}},
		"the same again and again":     {[]float64{2, 2, 2}, Summary{2, 2, 2, 3}},
		"zero is a value like another": {[]float64{0, 0}, Summary{0, 0, 0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Summarize(c.values)); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummarizeLeavesItsInputAlone(t *testing.T) {
	values := []float64{3, 1, 2}
	Summarize(values)
	if diff := cmp.Diff([]float64{3, 1, 2}, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func step(samples ...Sample) *Step { return &Step{Name: "a", Samples: samples} }

func sample(contender string, repetition int, seconds float64) Sample {
	return Sample{Step: "a", Contender: contender, Repetition: repetition, Seconds: seconds}
}

// The machine was twice as slow in the second repetition, for both.
func TestARatioComparesWhatRanSideBySide(t *testing.T) {
	s := step(sample("ours", 1, 5), sample("theirs", 1, 10), sample("theirs", 2, 20), sample("ours", 2, 10), sample("ours", 3, 1))
	if diff := cmp.Diff(Summary{0.5, 0.5, 0.5, 2}, s.Ratio("ours", "theirs", Seconds)); diff != "" {
		t.Errorf("ratio (-want +got):\n%s", diff)
	}
}

func TestARatioToNothingIsNone(t *testing.T) {
	s := step(sample("ours", 1, 5), sample("theirs", 1, 0))
	if got := s.Ratio("ours", "theirs", Seconds); got.Count != 0 {
		t.Errorf("got %v", got)
	}
	if got := s.Ratio("ours", "absent", Seconds); got.Count != 0 {
		t.Errorf("got %v", got)
	}
}

func TestBest(t *testing.T) {
	s := step(sample("slow", 1, 5), sample("fast", 1, 0), sample("fair", 1, 2))
	for name, c := range map[string]struct {
		among []string
		want  string
		found bool
	}{
		"the fastest, also when it took no time": {[]string{"slow", "fast", "fair"}, "fast", true},
		"of those that are named":                {[]string{"slow", "fair"}, "fair", true},
		"one that did not run does not win":      {[]string{"absent", "slow"}, "slow", true},
		"absent":                                 {[]string{"absent"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := s.Best(c.among, Seconds)
			if got != c.want || found != c.found {
				t.Errorf("got %q, %v; want %q, %v", got, found, c.want, c.found)
			}
		})
	}
}

func TestStatusWritesAreThoseOfOwners(t *testing.T) {
	s := Sample{Writes: map[string]int{
		"patch podmanagers/status": 3, "update replicasets/status": 4, "patch pods/status": 100, "create pods": 7,
	}}
	if s.StatusWrites() != 7 || s.TotalWrites() != 114 {
		t.Errorf("got %d status writes of %d", s.StatusWrites(), s.TotalWrites())
	}
}

func TestNumbersInWords(t *testing.T) {
	for want, n := range map[string]int{"0": 0, "999": 999, "1,000": 1000, "-1,234": -1234, "-999": -999, "12,345,678": 12345678} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: got %s", n, got)
		}
	}
	for want, c := range map[string]struct {
		values    []float64
		precision int
	}{
		"–":                   {nil, 1},
		"1.0":                 {[]float64{1.04, 0.96}, 1},
		"1.5 (1.0–2.0)":       {[]float64{1, 2}, 1},
		"1,283 (1,280–1,290)": {[]float64{1280, 1283, 1290}, 0},
	} {
		if got := Summarize(c.values).digits(c.precision); got != want {
			t.Errorf("%v: got %s, want %s", c.values, got, want)
		}
	}
	if got, want := inWords(map[string]int{"b": 2, "a": 2, "c": 3000}), "3,000 c, 2 a, 2 b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMergeTakesOverWholeSteps(t *testing.T) {
	now := Results{FullSize: true, Steps: []Step{{Name: "b", Title: "new"}}}
	now.Merge(Results{FullSize: true, CacheBytesPerPod: 7, Steps: []Step{{Name: "a", Title: "old"}, {Name: "b", Title: "old"}}})
	want := Results{FullSize: true, CacheBytesPerPod: 7, Steps: []Step{{Name: "a", Title: "old"}, {Name: "b", Title: "new"}}}
	if diff := cmp.Diff(want, now); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	now.Merge(Results{Steps: []Step{{Name: "c"}}})
	if now.FullSize {
		t.Error("a small step among large ones does not make a full run")
	}
}

func TestResultsSurviveTheirFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", "bench.json")
	want := Results{Kubernetes: "v1", CPUs: 2, Steps: []Step{{Name: "a", Samples: []Sample{{
		Step: "a", Contender: "ours", Repetition: 1, Seconds: 1.5, Writes: map[string]int{"create pods": 3},
	}}}}}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
