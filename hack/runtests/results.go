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
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is one line of go test -json, and of the build before it.
type event struct {
	Time        time.Time
	Action      string
	Package     string
	ImportPath  string // of a build's output
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// slowest is how many tests the summary names.
const slowest = 10

// results keeps what the events said.
type results struct {
	out   io.Writer
	now   func() time.Time
	began time.Time
	total int // packages asked for; 0 where that is unknown

	done                    int // packages
	passed, failed, skipped int // tests
	cached                  int // packages
	running                 map[string]*running
	builds                  map[string][]string // the output of builds, by import path
	times                   []timing
	failures                []string
	failedTests             []failedTest
	flaky                   []string
	// keep has all output kept.
	keep bool
	kept []string
	// final: more failed than tests that a second run could clear.
	final bool
}

// running is a package whose tests are running.
type running struct {
	began  time.Time
	tests  int
	times  []timing
	cached bool
	output map[string][]string // by test; "" is the package's own
	failed map[string][]string // the output of a test with its subtests, where they failed
}

type timing struct {
	test string
	took float64
}

func newResults(out io.Writer, total int) *results {
	return &results{out: out, now: time.Now, began: time.Now(), total: total, running: map[string]*running{}, builds: map[string][]string{}}
}

func (r *results) add(e event) {
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
		return
	case "build-fail":
		return
	}
	p := r.running[e.Package]
	if p == nil {
		p = &running{began: r.now(), output: map[string][]string{}, failed: map[string][]string{}}
		r.running[e.Package] = p
	}
	switch e.Action {
	case "output":
		p.output[e.Test] = append(p.output[e.Test], e.Output)
		if r.keep {
			r.kept = append(r.kept, e.Output)
		}
		r.final = r.final || isFinal(e.Output)
		p.cached = p.cached || e.Test == "" && strings.HasSuffix(e.Output, "\t(cached)\n")
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageDone(e, p)
		} else {
			r.testDone(e, p)
		}
	}
}

func (r *results) testDone(e event, p *running) {
	p.tests++
	switch e.Action {
	case "pass":
		r.passed++
		delete(p.output, e.Test)
	case "skip":
		r.skipped++
		delete(p.output, e.Test)
	case "fail":
		r.failed++
		r.failures = append(r.failures, short(e.Package)+" "+e.Test)
		fmt.Fprintf(r.out, "FAIL  %s %s\n%s", short(e.Package), e.Test, indent(p.output[e.Test]))
		top, _, sub := strings.Cut(e.Test, "/")
		p.failed[top] = append(p.failed[top], p.output[e.Test]...)
		p.output[e.Test] = nil // its parents fail with it and need not repeat it
		if !sub {
			r.failedTests = append(r.failedTests, failedTest{pkg: e.Package, name: top, output: p.failed[top]})
		}
	}
	// A test's time includes that of its subtests, which are not listed again.
	if !strings.Contains(e.Test, "/") {
		p.times = append(p.times, timing{short(e.Package) + " " + e.Test, e.Elapsed})
	}
}

func (r *results) packageDone(e event, p *running) {
	delete(r.running, e.Package)
	r.done++
	word, took := "ok", fmt.Sprintf("%.1fs", e.Elapsed)
	switch {
	case e.Action == "fail":
		word = "FAIL"
	case e.Action == "skip":
		word, took = "-", "no tests"
	case p.cached:
		r.cached++
		took = "cached"
	}
	if !p.cached {
		r.times = append(r.times, p.times...)
	}
	fmt.Fprintf(r.out, "%s %-4s  %-40s %4d tests  %s\n", r.position(), word, short(e.Package), p.tests, took)
	if e.Action != "fail" {
		return
	}
	// A package can fail without a failing test: it does not compile, panics,
	// or its TestMain says no. Then its own output says why.
	name := short(e.Package) + " (the package)"
	if e.FailedBuild != "" {
		name = short(e.Package) + " (does not compile)"
		fmt.Fprint(r.out, indent(r.builds[e.FailedBuild]))
	}
	alone := !slices.ContainsFunc(r.failures, func(f string) bool { return strings.HasPrefix(f, short(e.Package)+" ") })
	if alone {
		r.failed++
		r.failures = append(r.failures, name)
		r.final = true
	}
	for _, test := range slices.Sorted(maps.Keys(p.output)) {
		fmt.Fprint(r.out, indent(p.output[test]))
	}
}

// position is "[ 3/71]", or less where the total is unknown.
func (r *results) position() string {
	if r.total == 0 {
		return fmt.Sprintf("[%d]", r.done)
	}
	width := len(fmt.Sprint(r.total))
	return fmt.Sprintf("[%*d/%d]", width, r.done, r.total)
}

// heartbeat says what is running, the longest first.
func (r *results) heartbeat() {
	now := r.now()
	names := slices.SortedFunc(maps.Keys(r.running), func(a, b string) int {
		return cmp.Or(r.running[a].began.Compare(r.running[b].began), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s (%s)", short(name), now.Sub(r.running[name].began).Round(time.Second)))
	}
	what := "compiling tests"
	if len(parts) > 0 {
		what = "running: " + strings.Join(parts, ", ")
	}
	fmt.Fprintf(r.out, "%s ...   after %s, %s\n", r.position(), now.Sub(r.began).Round(time.Second), what)
}

func (r *results) summary() {
	slices.SortStableFunc(r.times, func(a, b timing) int { return cmp.Compare(b.took, a.took) })
	if len(r.times) > 0 {
		fmt.Fprintln(r.out, "\nThe slowest tests:")
	}
	for _, t := range r.times[:min(slowest, len(r.times))] {
		fmt.Fprintf(r.out, "  %6.1fs  %s\n", t.took, t.test)
	}
	if len(r.failures) > 0 {
		fmt.Fprintf(r.out, "\nFailed:\n  %s\n", strings.Join(r.failures, "\n  "))
	}
	if len(r.flaky) > 0 {
		fmt.Fprintf(r.out, "\nFlaky, to be mended with the next change; more than %d fail the run:\n  %s\n", mostFlaky, strings.Join(r.flaky, "\n  "))
	}
	fmt.Fprintf(r.out, "\n%d packages in %s, %d of them from the cache.\n%d passed, %d failed, %d skipped, %d flaky\n",
		r.done, r.now().Sub(r.began).Round(time.Second), r.cached, r.passed, r.failed, r.skipped, len(r.flaky))
}

// module is left out of package names on the screen.
const module = "github.com/mycompany/pod-operator/"

func short(pkg string) string { return strings.TrimPrefix(pkg, module) }

func indent(lines []string) string {
	text := strings.Join(lines, "")
	if text == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
