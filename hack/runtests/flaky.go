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
	"fmt"
	"slices"
	"strings"
)

const (
	// mostFlaky is how many flaky tests do not fail a run.
	mostFlaky = 2
	// mostAgain is how many failed tests are worth a second run. Where more
	// fail, it is not for the machine's pace.
	mostAgain = 10
)

// failedTest is a test, without its subtests, that failed.
type failedTest struct {
	pkg, name string
	output    []string
}

// isFinal says that a second run would prove nothing: a process that dies leaves
// tests out, and a race is not found every time.
func isFinal(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "WARNING: DATA RACE")
}

// runAgain runs each test that failed once more, alone. One that passes then is
// flaky: it depends on the machine's pace, or on other tests.
func (r *results) runAgain(run func(pkg, test string, again *results) error) {
	if r.final || len(r.failedTests) > mostAgain {
		return
	}
	for _, t := range r.failedTests {
		name := short(t.pkg) + " " + t.name
		fmt.Fprintf(r.out, "\nonce more, alone: %s\n", name)
		again := newResults(r.out, 1)
		again.keep = true
		if err := run(t.pkg, t.name, again); err != nil || again.passed == 0 {
			continue
		}
		fmt.Fprintf(r.out, "FLAKY %s failed among others:\n%s  and passed alone:\n%s", name, indent(t.output), indent(again.kept))
		r.flaky = append(r.flaky, name)
	}
}

// onlyFlaky says that everything that failed is flaky, and that it is little.
func (r *results) onlyFlaky() bool {
	return !r.final && len(r.flaky) > 0 && len(r.flaky) == len(r.failedTests) && len(r.flaky) <= mostFlaky
}

// alone are the arguments for one test. Of two -run the last one counts.
func alone(args []string, pkg, test string) []string {
	flags := slices.DeleteFunc(slices.Clone(args), isPackage)
	return append(flags, "-count=1", "-run=^"+test+"$", pkg)
}
