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
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/lab/exercises"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
)

// TestExercises: the file to edit breaks the promise that its text names, within the
// steps that it names, and the solution breaks none.
func TestExercises(t *testing.T) {
	all := All()
	for _, number := range slices.Sorted(maps.Keys(all)) {
		t.Run(number+" broken", func(t *testing.T) {
			e, v := grades(t, all[number].Exercise)
			if v.Broken != e.Breaks {
				t.Fatalf("it breaks %q: %s; want %q", v.Broken, v.Message, e.Breaks)
			}
			if len(v.Walk.Steps) > e.Within {
				t.Errorf("the schedule has %d steps, want at most %d", len(v.Walk.Steps), e.Within)
			}
		})
		t.Run(number+" solved", func(t *testing.T) {
			if _, v := grades(t, all[number].Solution); v.Broken != "" {
				t.Errorf("it breaks %q: %s", v.Broken, v.Message)
			}
		})
	}
}

func grades(t *testing.T, exercise func() grade.Exercise) (grade.Exercise, *grade.Verdict) {
	t.Helper()
	began, e := time.Now(), exercise()
	v, err := e.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d schedules, %d steps, %d states, complete=%t in %s", v.Schedules, v.Steps, v.States, v.Complete, time.Since(began))
	if v.Walk != nil {
		var table bytes.Buffer
		wordsOf("en").report(&table, exercises.Exercise{}, &e, v)
		t.Logf("shortest=%t\n%s", v.Shortest, &table)
	}
	return e, v
}

// TestIndex: each exercise of the index is there, with its texts, and says everything in
// both languages.
func TestIndex(t *testing.T) {
	all := All()
	list := exercises.All()
	if len(all) != len(list) {
		t.Errorf("the index has %d exercises, and %d are graded", len(list), len(all))
	}
	for _, entry := range list {
		e := all[entry.Number].Exercise()
		if e.Number != entry.Number {
			t.Errorf("exercise %s calls itself %s", entry.Number, e.Number)
		}
		for _, file := range []string{entry.File(), entry.Readme("en"), entry.Readme("zh"), filepath.Join(entry.Folder(), "solution", "reconciler.go")} {
			raw, err := os.ReadFile(filepath.Join("../..", file))
			if err != nil {
				t.Error(err)
				continue
			}
			if steps := fmt.Sprintf(" %d ", e.Within); strings.HasSuffix(file, ".md") && !strings.Contains(string(raw), steps) {
				t.Errorf("%s does not say that%ssteps are enough", file, steps)
			}
		}
		var names []string
		for _, promise := range slices.Concat(e.World.Invariants, e.World.Goals) {
			names = append(names, promise.Name)
		}
		for _, action := range e.World.Actions {
			names = append(names, action.Name)
		}
		for _, name := range append(names, e.Breaks) {
			if text := e.Say(name); text.EN == name || text.ZH == name || text.EN == "" || text.ZH == "" {
				t.Errorf("exercise %s does not say %q in both languages", entry.Number, name)
			}
		}
	}
}

// TestRun keeps the progress and the walk of a learner who solves an exercise at the
// second try.
func TestRun(t *testing.T) {
	root := t.TempDir()
	var out bytes.Buffer
	o := Options{Root: root, Number: "1", Language: "zh", WithoutServer: true, Out: &out, Now: func() time.Time { return time.Unix(0, 0) }}
	for range 2 {
		passed, err := Run(t.Context(), o)
		if err != nil || passed {
			t.Fatalf("the file of exercise 01 passes: %t, %v", passed, err)
		}
	}
	if text := out.String(); !strings.Contains(text, "违反的承诺") || !strings.Contains(text, "  6  ") {
		t.Errorf("the report has no schedule:\n%s", text)
	}
	var walk trace.Walk
	read(t, filepath.Join(root, ".lab", "walk-01.json"), &walk)
	if len(walk.Steps) == 0 || walk.Violation == nil {
		t.Errorf("the walk is %+v", walk)
	}
	var progress exercises.Progress
	read(t, filepath.Join(root, ".lab", "progress.json"), &progress)
	if got, want := progress.Exercises["01"], (exercises.Result{At: "1970-01-01T00:00:00Z", Tries: 2}); got != want {
		t.Errorf("the progress is %+v, want %+v", got, want)
	}
	if _, err := Run(t.Context(), Options{Number: "99"}); err == nil {
		t.Error("there is an exercise 99")
	}
	o.Solution = true
	if passed, err := Run(t.Context(), o); err != nil || !passed {
		t.Errorf("the solution passes: %t, %v", passed, err)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Clean(file))
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEveryStepHasAText in both languages.
func TestEveryStepHasAText(t *testing.T) {
	for _, number := range []string{"02", "06", "07", "12"} {
		e := All()[number].Exercise()
		v, err := e.Run()
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range v.Walk.Steps {
			if step.Text.EN == "" || step.Text.ZH == "" || strings.Contains(step.Text.EN+step.Text.ZH, "%!") {
				t.Errorf("exercise %s: %+v", number, step)
			}
			if step.Box == "" || step.Verb == "" {
				t.Errorf("exercise %s: a step without a box or a verb: %+v", number, step)
			}
		}
	}
}
