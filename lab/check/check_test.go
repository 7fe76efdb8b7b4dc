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
	"maps"
	"slices"
	"testing"
)

// TestExercises: the file to edit breaks the promise that its text names, and the
// solution breaks none.
func TestExercises(t *testing.T) {
	all := All()
	for _, number := range slices.Sorted(maps.Keys(all)) {
		t.Run(number+" broken", func(t *testing.T) {
			e := all[number].Exercise()
			v, err := e.Run()
			if err != nil {
				t.Fatal(err)
			}
			if v.Broken != e.Breaks {
				t.Fatalf("%d schedules, %d states, complete=%t: it breaks %q (%s), want %q", v.Schedules, v.States, v.Complete, v.Broken, v.Message, e.Breaks)
			}
			for i, step := range v.Walk.Steps {
				t.Logf("%2d %s %s: %s", i+1, step.Process, step.Box, step.Text.EN)
			}
			t.Logf("%s; shortest=%t, %d schedules, %d states", v.Walk.Violation.EN, v.Shortest, v.Schedules, v.States)
			if len(v.Walk.Steps) > e.Within {
				t.Errorf("the schedule has %d steps, want at most %d", len(v.Walk.Steps), e.Within)
			}
		})
		t.Run(number+" solved", func(t *testing.T) {
			e := all[number].Solution()
			v, err := e.Run()
			if err != nil {
				t.Fatal(err)
			}
			if v.Broken != "" {
				for i, step := range v.Walk.Steps {
					t.Logf("%2d %s %s: %s", i+1, step.Process, step.Box, step.Text.EN)
				}
				t.Errorf("it breaks %q: %s", v.Broken, v.Message)
			}
			t.Logf("%d schedules, %d steps, %d states, complete=%t", v.Schedules, v.Steps, v.States, v.Complete)
		})
	}
}
