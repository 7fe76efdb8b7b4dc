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

package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const internalPlan = module + "internal/plan"

func TestResults(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		events []event
		want   string
	}{
		"a package that passes is one line, and its subtests count": {
			events: []event{
				{Action: "start", Package: internalPlan},
				{Action: "output", Package: internalPlan, Test: "TestA", Output: "noise\n"},
				{Action: "pass", Package: internalPlan, Test: "TestA/sub", Elapsed: 0.4},
				{Action: "pass", Package: internalPlan, Test: "TestA", Elapsed: 0.5},
				{Action: "skip", Package: internalPlan, Test: "TestB"},
				{Action: "pass", Package: internalPlan, Elapsed: 1.5},
			},
			want: `
[1/2] ok    internal/plan                               3 tests  1.5s

The slowest tests:
     0.5s  internal/plan TestA
     0.0s  internal/plan TestB

1 packages in 1m30s, 0 of them from the cache.
2 passed, 0 failed, 1 skipped, 0 flaky
`,
		},
		"a failing test shows its output, once": {
			events: []event{
				{Action: "start", Package: internalPlan},
				{Action: "output", Package: internalPlan, Test: "TestA/sub", Output: "want 1, got 2\n"},
				{Action: "fail", Package: internalPlan, Test: "TestA/sub", Elapsed: 0.1},
				{Action: "fail", Package: internalPlan, Test: "TestA", Elapsed: 0.1},
				{Action: "fail", Package: internalPlan, Elapsed: 0.2},
			},
			want: `
FAIL  internal/plan TestA/sub
    want 1, got 2
FAIL  internal/plan TestA
[1/2] FAIL  internal/plan                               2 tests  0.2s

The slowest tests:
     0.1s  internal/plan TestA

Failed:
  internal/plan TestA/sub
  internal/plan TestA

1 packages in 1m30s, 0 of them from the cache.
0 passed, 2 failed, 0 skipped, 0 flaky
`,
		},
		"a package that does not compile shows the compiler's output": {
			events: []event{
				{Action: "build-output", ImportPath: internalPlan + ".test", Output: "plan.go:1: undefined: x\n"},
				{Action: "build-fail", ImportPath: internalPlan + ".test"},
				{Action: "start", Package: internalPlan},
				{Action: "fail", Package: internalPlan, FailedBuild: internalPlan + ".test"},
			},
			want: `
[1/2] FAIL  internal/plan                               0 tests  0.0s
    plan.go:1: undefined: x

Failed:
  internal/plan (does not compile)

1 packages in 1m30s, 0 of them from the cache.
0 passed, 1 failed, 0 skipped, 0 flaky
`,
		},
		"a package that dies in a test shows what it wrote": {
			events: []event{
				{Action: "start", Package: internalPlan},
				{Action: "output", Package: internalPlan, Test: "TestA", Output: "panic: no\n"},
				{Action: "fail", Package: internalPlan, Elapsed: 0.2},
			},
			want: `
[1/2] FAIL  internal/plan                               0 tests  0.2s
    panic: no

Failed:
  internal/plan (the package)

1 packages in 1m30s, 0 of them from the cache.
0 passed, 1 failed, 0 skipped, 0 flaky
`,
		},
		"a cached package says so, and its tests are not among the slowest": {
			events: []event{
				{Action: "start", Package: internalPlan},
				{Action: "pass", Package: internalPlan, Test: "TestA", Elapsed: 9},
				{Action: "output", Package: internalPlan, Output: "ok  \t" + internalPlan + "\t(cached)\n"},
				{Action: "pass", Package: internalPlan, Elapsed: 9},
			},
			want: `
[1/2] ok    internal/plan                               1 tests  cached

1 packages in 1m30s, 1 of them from the cache.
1 passed, 0 failed, 0 skipped, 0 flaky
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			r := newResults(&out, 2)
			r.began, r.now = start, func() time.Time { return start.Add(90 * time.Second) }
			for _, e := range tc.events {
				r.add(e)
			}
			r.summary()
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeartbeatNamesWhatRuns(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := start
	var out strings.Builder
	r := newResults(&out, 2)
	r.began, r.now = start, func() time.Time { return now }
	r.heartbeat()
	r.add(event{Action: "start", Package: module + "test/integration"})
	now = now.Add(20 * time.Second)
	r.add(event{Action: "start", Package: internalPlan})
	now = now.Add(10 * time.Second)
	r.heartbeat()
	want := "[0/2] ...   after 0s, compiling tests\n[0/2] ...   after 30s, running: test/integration (30s), internal/plan (10s)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// A test that fails among others and passes alone does not fail the run, unless
// there are more of them than two, or something failed that is no single test.
func TestATestThatPassesAloneIsFlaky(t *testing.T) {
	failing := func(names ...string) (events []event) {
		for _, name := range names {
			events = append(events, event{Action: "output", Package: internalPlan, Test: name + "/sub", Output: name + " took too long\n"},
				event{Action: "fail", Package: internalPlan, Test: name + "/sub"}, event{Action: "fail", Package: internalPlan, Test: name})
		}
		return append(events, event{Action: "fail", Package: internalPlan})
	}
	said := func(line string) []event {
		return append([]event{{Action: "output", Package: internalPlan, Test: "TestA", Output: line}}, failing("TestA")...)
	}
	for name, test := range map[string]struct {
		events  []event
		alone   string // what the second run ends with
		again   []string
		passing bool
	}{
		"one passes alone":            {events: failing("TestA"), alone: "pass", again: []string{"TestA"}, passing: true},
		"two pass alone":              {events: failing("TestA", "TestB"), alone: "pass", again: []string{"TestA", "TestB"}, passing: true},
		"three are too many":          {events: failing("TestA", "TestB", "TestC"), alone: "pass", again: []string{"TestA", "TestB", "TestC"}},
		"one fails alone":             {events: failing("TestA"), alone: "fail", again: []string{"TestA"}},
		"one is skipped alone":        {events: failing("TestA"), alone: "skip", again: []string{"TestA"}},
		"its process died":            {events: said("panic: no\n"), alone: "pass"},
		"it found a race":             {events: said("WARNING: DATA RACE\n"), alone: "pass"},
		"a package fails by itself":   {events: []event{{Action: "fail", Package: internalPlan}}, alone: "pass"},
		"another package fails, too":  {events: append(failing("TestA"), event{Action: "fail", Package: module + "api"}), alone: "pass"},
		"eleven are not run again":    {events: failing(strings.Split("ABCDEFGHIJK", "")...), alone: "pass"},
		"nothing failed, nothing ran": {events: []event{{Action: "pass", Package: internalPlan}}, alone: "pass"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			r := newResults(&out, 2)
			for _, e := range test.events {
				r.add(e)
			}
			var again []string
			r.runAgain(func(pkg, name string, second *results) error {
				again = append(again, name)
				second.add(event{Action: "output", Package: pkg, Test: name, Output: name + " is quick\n"})
				second.add(event{Action: test.alone, Package: pkg, Test: name})
				if test.alone == "fail" {
					return errors.New("exit status 1")
				}
				return nil
			})
			if diff := cmp.Diff(test.again, again); diff != "" {
				t.Errorf("run again (-want +got):\n%s", diff)
			}
			if got := r.onlyFlaky(); got != test.passing {
				t.Errorf("the run passes: %t\n%s", got, &out)
			}
			if test.passing && (strings.Count(out.String(), "TestA took too long") != 2 || !strings.Contains(out.String(), "TestA is quick")) {
				t.Errorf("both outputs are not there:\n%s", &out)
			}
		})
	}
}

func TestATestRunsAloneWithTheSameFlags(t *testing.T) {
	got := alone([]string{"-race", "-timeout", "25m", "-run", "^(TestA|TestB)$", "./test/webhooks", "./test/migrate"}, module+"test/migrate", "TestA")
	want := []string{"-race", "-timeout", "25m", "-run", "^(TestA|TestB)$", "-count=1", "-run=^TestA$", module + "test/migrate"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}
