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

package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/lab"
	"github.com/mycompany/pod-operator/lab/exercises"
)

// learner has a copy of the repository, in which the exercises are as they are or
// edited until they are like the solutions.
type learner struct {
	*testing.T
	root           string
	broken, edited string // the programs that check
}

// newLearner builds what make lab CHECK=01 runs, twice. An overlay of the compiler is
// the edit.
func newLearner(t *testing.T) *learner {
	t.Helper()
	l := &learner{T: t, root: t.TempDir()}
	tools := t.TempDir()
	replace := map[string]string{}
	clause := regexp.MustCompile(`(?m)^package \w+$`)
	for _, e := range exercises.All()[:3] {
		broken := l.read(filepath.Join(testkit.Root(), e.File()))
		solution := l.read(filepath.Join(testkit.Root(), e.Folder(), "solution", "reconciler.go"))
		edited := filepath.Join(tools, e.Slug+".go")
		l.write(edited, clause.ReplaceAllString(solution, clause.FindString(broken)))
		replace[filepath.Join(testkit.Root(), e.File())] = edited
		l.write(filepath.Join(l.root, e.Readme("en")), l.read(filepath.Join(testkit.Root(), e.Readme("en"))))
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(tools, "overlay.json")
	l.write(overlay, string(raw))
	l.broken, l.edited = filepath.Join(tools, "broken"), filepath.Join(tools, "edited")
	l.run("go", "build", "-ldflags=-s -w", "-o", l.broken, "./lab/check/cmd")
	l.run("go", "build", "-ldflags=-s -w", "-overlay", overlay, "-o", l.edited, "./lab/check/cmd")
	return l
}

func (l *learner) read(file string) string {
	l.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		l.Fatal(err)
	}
	return string(raw)
}

func (l *learner) write(file, content string) {
	l.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		l.Fatal(err)
	}
}

func (l *learner) run(name string, args ...string) {
	l.Helper()
	cmd := exec.CommandContext(l.Context(), name, args...)
	cmd.Dir = testkit.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		l.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}

// check grades an exercise, with the simulator alone: lab/check has tests on a real API
// server.
func (l *learner) check(program, number string, passes bool) {
	l.Helper()
	out, err := exec.CommandContext(l.Context(), program, "-root", l.root, "-without-server", number).CombinedOutput()
	if (err == nil) != passes {
		l.Fatalf("exercise %s: %v, want passed %t\n%s", number, err, passes, out)
	}
}

// TestANewcomerReachesTheThirdExercise: the map leads from one exercise to the next. Each
// check fails at first, its schedule is replayed on the picture up to the broken promise,
// and with the file edited the map says that it is passed.
func TestANewcomerReachesTheThirdExercise(t *testing.T) {
	l := newLearner(t)
	r, b := visit(t, lab.Options{Root: l.root})
	for _, e := range exercises.All()[:3] {
		entry := "#exercise-" + e.Number
		b.Do("open the page", chromedp.Navigate(r.origin+"/"))
		reads(b, entry, e.Title.EN)
		b.Do("read the exercise", chromedp.Evaluate(fmt.Sprintf(`document.querySelector('%s button').click()`, entry), nil))
		reads(b, "#about-body", "make lab CHECK="+e.Number)

		l.check(l.broken, e.Number, false)
		b.Do("open the page again", chromedp.Navigate(r.origin+"/"))
		reads(b, entry+".failed", "make lab CHECK="+e.Number)
		b.Do("replay the schedule", chromedp.Navigate(r.origin+"/?walk="+e.Number))
		b.See("the broken promise is shown", `document.getElementById('violation-text').textContent.length > 20`)
		b.See("the schedule can be walked to its end", `(() => { const f = document.getElementById('forward'); if (!f.disabled) f.click();
			return f.disabled && document.getElementById('now').textContent.length > 10; })()`)

		l.check(l.edited, e.Number, true)
		b.Do("see the map", chromedp.Navigate(r.origin+"/"))
		reads(b, entry+".passed", "passed")
	}
	b.Content()
}
