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

package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit/specs"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// Case is a run that can be written down: the schedule is the list of its
// deviations from the fair choice.
type Case struct {
	Scenario string `json:"scenario,omitempty"`
	// Spec and Events are a scenario that was drawn.
	Spec      *appsv1.PodManagerSpec `json:"spec,omitempty"`
	Events    []scenario.Event       `json:"events,omitempty"`
	Weakness  Weakness               `json:"weakness,omitempty"`
	Hasty     bool                   `json:"hasty,omitempty"`
	SlowReads bool                   `json:"slowReads,omitempty"`
	Faults    int                    `json:"faults"`
	// Refusals are the rules that the operator meets, and Meddles is a webhook
	// that changes its pods.
	Refusals []Refusal `json:"refusals,omitempty"`
	Meddles  bool      `json:"meddles,omitempty"`
	Sharded  bool      `json:"sharded,omitempty"`
	// Deviations are pairs: at this decision, that option.
	Deviations [][2]int `json:"deviations"`
	// Broke is what the case broke when it was found.
	Broke string `json:"broke,omitempty"`
}

// laboratory plays cases and remembers the runs without faults.
type laboratory struct {
	*Lab
	scenarios map[string]scenario.Scenario
	fair      map[string]*Result
}

// fairRuns are the runs without faults, which are played once for all tests.
var fairRuns = struct {
	sync.Mutex
	results map[string]*Result
}{results: map[string]*Result{}}

func newLaboratory(t *testing.T) *laboratory {
	t.Helper()
	fairRuns.Lock()
	defer fairRuns.Unlock()
	l := &laboratory{Lab: newLab(t), scenarios: map[string]scenario.Scenario{}}
	for _, s := range everything() {
		l.scenarios[s.Name] = s
		if fairRuns.results[s.Name] == nil {
			fairRuns.results[s.Name] = play(t, l.Lab, Run{Scenario: s})
		}
	}
	l.fair = maps.Clone(fairRuns.results)
	return l
}

func (l *laboratory) names() []string { return slices.Sorted(maps.Keys(l.scenarios)) }

// play plays a case and judges it.
func (l *laboratory) play(t *testing.T, c Case, schedule Schedule) *Result {
	t.Helper()
	if schedule == nil {
		schedule = replay(c.Deviations)
	}
	s, ok := l.scenarios[c.Scenario]
	if c.Spec != nil {
		s, ok = scenario.Drawn(c.Spec, c.Events), true
	}
	if !ok {
		t.Fatalf("there is no scenario %q", c.Scenario)
	}
	result := play(t, l.Lab, Run{
		Scenario: s, Weakness: c.Weakness, Hasty: c.Hasty, SlowReads: c.SlowReads, Faults: c.Faults, Schedule: schedule,
		Refusals: c.Refusals, Meddles: c.Meddles, Sharded: c.Sharded,
	})
	s.Uncounted = s.Uncounted || len(c.Refusals) > 0
	if !s.Drawn && result.Lifted && !result.GaveUp {
		result.Violations = append(result.Violations, compare(s, c.Hasty, l.fair[s.Name], result)...)
	}
	return result
}

// compare holds a run against the one without faults: S4 and L1.
func compare(s scenario.Scenario, hasty bool, want, got *Result) []oracle.Violation {
	var found []oracle.Violation
	a, b := want.End, got.End
	if hasty {
		// What the user did before anything had come of the step before
		// leaves other traces: revisions, corpses, orphans.
		a, b = oracle.End{Owners: a.Owners}, oracle.End{Owners: b.Owners}
	}
	if diff := gocmp.Diff(a, b); diff != "" {
		found = append(found, oracle.Violation{Rule: "L1", Message: "another end than without faults (-without +with):\n" + diff})
	}
	if hasty || s.Uncounted || got.Split {
		return found
	}
	if diff := gocmp.Diff(total(want.Tally, s.Anonymous), total(got.Tally, s.Anonymous)); diff != "" {
		found = append(found, oracle.Violation{Rule: "S4", Message: "other creates and deletes than without faults (-without +with):\n" + diff})
	}
	return found
}

// total adds up what is done to pods whose names do not matter.
func total(tally map[string]int, anonymous bool) map[string]int {
	if !anonymous {
		return tally
	}
	sums := map[string]int{}
	for key, n := range tally {
		verb, _, _ := strings.Cut(key, " ")
		sums[verb] += n
	}
	return sums
}

// replay follows a list of deviations.
func replay(deviations [][2]int) Schedule {
	picks := map[int]int{}
	for _, d := range deviations {
		picks[d[0]] = d[1]
	}
	return func(decision int, options []Option) int { return picks[decision] % len(options) }
}

// draw makes a random case, and the schedule that draws as it goes and writes
// down what it drew.
func (l *laboratory) draw(seed uint64) (*Case, Schedule) {
	rng := rand.New(rand.NewPCG(seed, 1))
	if rng.IntN(named) > 0 {
		c, schedule := l.drawFrom(rng, "")
		drawScenario(rng, c)
		return c, schedule
	}
	names := l.names()
	return l.drawFrom(rng, names[rng.IntN(len(names))])
}

// named: of so many schedules one is of a scenario with a name.
const named = 4

// drawScenario draws a PodManager and what happens to it. Refusals come and go with
// events.
func drawScenario(rng *rand.Rand, c *Case) {
	spec := specs.Draw(func(_ string, n int) int { return rng.IntN(n) })
	c.Spec, c.Events, c.Hasty, c.Refusals = &spec, scenario.DrawEvents(rng), false, nil
}

// drawFrom makes a random case of a scenario.
func (l *laboratory) drawFrom(rng *rand.Rand, name string) (*Case, Schedule) {
	c := &Case{
		Scenario: name, Hasty: rng.IntN(3) == 0, SlowReads: rng.IntN(4) == 0, Faults: rng.IntN(7),
	}
	c.Refusals, c.Meddles, c.Sharded = drawRefusals(rng), rng.IntN(6) == 0, rng.IntN(6) == 0
	likely := []float64{0.03, 0.1, 0.3, 0.6}[rng.IntN(4)]
	weights := map[Class]int{Fair: 6, Time: 1, User: 3, Fault: 5}
	return c, func(decision int, options []Option) int {
		if rng.Float64() >= likely {
			return 0
		}
		groups := map[Class][]int{}
		for i, o := range options[1:] {
			groups[o.Class] = append(groups[o.Class], i+1)
		}
		sum := 0
		for class := range groups {
			sum += weights[class]
		}
		at := rng.IntN(sum)
		for _, class := range []Class{Fair, Time, User, Fault} {
			if len(groups[class]) == 0 {
				continue
			}
			if at -= weights[class]; at < 0 {
				pick := groups[class][rng.IntN(len(groups[class]))]
				c.Deviations = append(c.Deviations, [2]int{decision, pick})
				return pick
			}
		}
		return 0
	}
}

// shrink takes out of a case everything that is not needed to break the same rule:
// deviations, events, fields of the spec, refusals.
func (l *laboratory) shrink(t *testing.T, c Case) Case {
	t.Helper()
	rule := ""
	if broke := l.play(t, c, nil).Violations; len(broke) > 0 {
		rule = broke[0].Rule
	}
	return l.shrinkTo(t, c, rule)
}

// shrinkTo takes out what is not needed to break one rule.
func (l *laboratory) shrinkTo(t *testing.T, c Case, rule string) Case {
	t.Helper()
	fails := func(try Case) bool {
		return slices.ContainsFunc(l.play(t, try, nil).Violations, func(v oracle.Violation) bool { return v.Rule == rule })
	}
	for range 3 {
		before := len(c.Deviations) + len(c.Events)
		c.Deviations = without(c.Deviations, func(fewer [][2]int) bool {
			try := c
			try.Deviations = fewer
			return fails(try)
		})
		if c.Spec == nil {
			return c
		}
		c.Events = without(c.Events, func(fewer []scenario.Event) bool {
			try := c
			try.Events = fewer
			return fails(try)
		})
		c = simplify(c, fails)
		if len(c.Deviations)+len(c.Events) == before {
			break
		}
	}
	return c
}

// without takes out of a list what is not needed: first halves, then quarters, at
// last single ones.
func without[T any](list []T, fails func(fewer []T) bool) []T {
	for size := max(1, len(list)/2); ; size /= 2 {
		for at := 0; at < len(list); {
			fewer := slices.Delete(slices.Clone(list), at, min(at+size, len(list)))
			if fails(fewer) {
				list = fewer
			} else {
				at += size
			}
		}
		if size <= 1 {
			return list
		}
	}
}

// simplify leaves fields of the spec out, takes events at rest, and plays without
// what makes a run harder to read.
func simplify(c Case, fails func(Case) bool) Case {
	try := func(change func(*Case)) {
		next := c
		next.Spec, next.Events = c.Spec.DeepCopy(), slices.Clone(c.Events)
		change(&next)
		if fails(next) {
			c = next
		}
	}
	try(func(next *Case) { next.SlowReads = false })
	try(func(next *Case) { next.Spec.Image, next.Spec.Template = scenario.Old, nil })
	try(func(next *Case) { next.Meddles = false })
	try(func(next *Case) { next.Sharded = false })
	try(func(next *Case) { next.Faults = 0 })
	for _, field := range specs.Fields() {
		before := c.Spec.DeepCopy()
		if specs.Clear(before, field); !reflect.DeepEqual(before, c.Spec) {
			try(func(next *Case) { specs.Clear(next.Spec, field) })
		}
	}
	for i := range c.Events {
		if c.Events[i].After > 0 || c.Events[i].Wait > 0 {
			try(func(next *Case) { next.Events[i].After, next.Events[i].Wait = 0, 0 })
		}
	}
	return c
}

// condemn shrinks a case that broke a rule, keeps it for TestRegressions, and
// tells its story and how to repeat it.
func (l *laboratory) condemn(t *testing.T, c Case, name string) {
	t.Helper()
	c = l.shrink(t, c)
	result := l.play(t, c, nil)
	if len(result.Violations) == 0 {
		t.Fatalf("%s: the case broke a rule and does not when it is played again: the simulator is not deterministic", name)
	}
	c.Broke = result.Violations[0].String()
	file := strings.ReplaceAll(name, " ", "-") + ".json"
	t.Errorf("%s: %s\nto repeat it: go test ./test/faults/sim -run 'TestRegressions/%s'", name, tell(c, result), file)
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(*keep, file)
	if err := os.WriteFile(file, append(raw, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("kept as %s", file)
}

// keep is where cases that broke a rule are written, and played from.
var keep = flag.String("cases", filepath.Join("testdata", "regressions"), "the folder of cases that broke a rule")

// story tells what happens in every case.
var story = flag.Bool("story", false, "tell what happens in every case that is played")

// longStory is how much is told of the beginning of a run, and of its end.
const longStory = 400

func tell(c Case, result *Result) string {
	var b strings.Builder
	about := c
	about.Broke = ""
	raw, err := json.Marshal(about)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(&b, "%s\n", raw)
	for _, v := range result.Violations {
		fmt.Fprintln(&b, v)
	}
	for i, line := range result.Trace {
		if i >= longStory && len(result.Trace)-i > longStory {
			continue // what goes on for ever is no story
		}
		fmt.Fprintln(&b, "  "+line)
	}
	return b.String()
}

// TestRegressions plays every case that ever broke a rule.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*keep, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLaboratory(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Clean(file))
			if err != nil {
				t.Fatal(err)
			}
			var c Case
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			result := l.play(t, c, nil)
			if *story {
				t.Log(tell(c, result))
			}
			if len(result.Violations) > 0 {
				t.Error(tell(c, result))
			}
		})
	}
}

// TestARunIsTheSameEveryTime: what a seed found is found again.
func TestARunIsTheSameEveryTime(t *testing.T) {
	l := newLaboratory(t)
	for seed := range uint64(20) {
		c, schedule := l.draw(seed)
		first := l.play(t, *c, schedule)
		again := l.play(t, *c, nil)
		if diff := gocmp.Diff(first.Trace, again.Trace); diff != "" {
			t.Fatalf("seed %d: (-first +again):\n%s", seed, diff)
		}
	}
}
