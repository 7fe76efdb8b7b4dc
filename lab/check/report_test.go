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

package check

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/lab/exercises"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
)

func TestAReportEndsWithWhatToDoNow(t *testing.T) {
	all := exercises.All()
	first, last := all[0], all[len(all)-1]
	for name, test := range map[string]struct {
		language string
		entry    exercises.Exercise
		passed   bool
		want     string
	}{
		"passed":                {"en", first, true, "Next: 02 Status written in a hot loop\nlab/exercises/02-hot-loop/reconciler.go, then make lab CHECK=02\n"},
		"passed, in Chinese":    {"zh", first, true, "make lab CHECK=02\n"},
		"the last is passed":    {"en", last, true, "This was the last exercise.\n"},
		"not passed":            {"en", first, false, "Edit lab/exercises/01-stale-read/reconciler.go, then run make lab CHECK=01 again.\n"},
		"not passed in Chinese": {"zh", first, false, "make lab CHECK=01。\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			wordsOf(test.language).goOn(&out, test.entry, test.passed)
			if !strings.HasSuffix(out.String(), test.want) {
				t.Errorf("it ends with %q, want %q", &out, test.want)
			}
		})
	}
}

// The letters of operators are there only where there are two, and then they are explained.
func TestLettersOfOperatorsAreExplained(t *testing.T) {
	e := grade.Exercise{}
	for processes, want := range map[string]bool{"a": false, "ab": true} {
		walk := &trace.Walk{}
		for _, process := range processes {
			walk.Steps = append(walk.Steps, trace.Step{Box: trace.BoxReconcile, Process: string(process), Text: trace.Text{EN: "It runs."}})
		}
		var out bytes.Buffer
		wordsOf("en").report(&out, exercises.Exercise{}, &e, &grade.Verdict{Schedules: 1, Steps: 2, States: 1, Broken: "it", Walk: walk})
		if !strings.Contains(out.String(), "Simulator: 1 schedule, 2 steps, 1 different state.") {
			t.Errorf("the numbers have no nouns:\n%s", &out)
		}
		if got := strings.Contains(out.String(), "b the second leader"); got != want || strings.Contains(out.String(), "reconcile a ") != want {
			t.Errorf("with %s it says\n%s", processes, &out)
		}
	}
}
