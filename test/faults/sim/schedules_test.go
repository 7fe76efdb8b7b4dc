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
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

// How much is tried. make faults tries more, and -short a quarter of it.
var (
	schedules = flag.Int("schedules", 600, "how many random schedules are played")
	seedFlag  = flag.Uint64("seed", 1, "the first seed, always the same so that only a change can break a test; 0 takes one from the clock")
	depth     = flag.Int("deviations", 1, "how many deviations the exhaustive search combines")
	stride    = flag.Int("stride", 120, "of so many schedules the exhaustive search plays one; 1 plays all")
)

// fewer is what -short divides by.
func fewer() int {
	if testing.Short() {
		return 4
	}
	return 1
}

// tally counts over shards.
type tally struct {
	mu         sync.Mutex
	cases      int
	violations int
	longest    time.Duration
}

func (y *tally) add(r *Result) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.cases++
	y.violations += len(r.Violations)
	y.longest = max(y.longest, r.Recovery)
}

func (y *tally) write(t *testing.T, name, tier string, seed uint64, note string) {
	t.Helper()
	line := summary.Line{Tier: tier, Cases: y.cases, Violations: y.violations, Longest: y.longest, Seed: seed, Note: note}
	if err := summary.Write(name, line); err != nil {
		t.Error(err)
	}
	t.Logf("%+v", line)
}

// maxFailures is how many cases a search keeps before it gives up.
const maxFailures = 3

// TestRandomSchedules plays schedules drawn at random.
func TestRandomSchedules(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	l := newLaboratory(t)
	counts, events := &tally{}, &carriedOut{times: map[string]int{}}
	const shards = 4
	t.Run("shards", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				failures := 0
				for i := shard; i < *schedules/fewer() && failures < maxFailures; i += shards {
					c, schedule := l.draw(seed + uint64(i))
					result := l.play(t, *c, schedule)
					counts.add(result)
					events.add(result.Done)
					if len(result.Violations) > 0 {
						failures++
						l.condemn(t, *c, fmt.Sprintf("seed-%d", seed+uint64(i)))
					}
				}
			})
		}
	})
	events.check(t, counts.cases)
	counts.write(t, "1-simulator-random", "1 simulator, random schedules", seed, "")
}

// TestTheClockJumps, five minutes ahead or an hour back, after every few steps
// of every scenario: pods that seem to come from the future, or to be ready for
// long, do not change the end. What docs/reliability.md says does not hold is
// left out: a jump ahead that is longer than a rollout's deadline, and failed
// pods when the clock goes back.
func TestTheClockJumps(t *testing.T) {
	testkit.Long(t, "every scenario is played many times")
	l := newLaboratory(t)
	counts := &tally{}
	step := 5
	t.Run("scenarios", func(t *testing.T) {
		for _, name := range l.names() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				jump(t, l, counts, name, step)
			})
		}
	})
	counts.write(t, "1-simulator-clock", "1 simulator, the clock jumps", 0, "")
}

// jump plays a scenario with the clock set back or forward after every so many steps.
func jump(t *testing.T, l *laboratory, counts *tally, name string, step int) {
	s, fair := l.scenarios[name], l.fair[name]
	s.Uncounted = true
	for at := 1; at < len(fair.Trace); at += step {
		for _, by := range []time.Duration{-time.Hour, 5 * time.Minute} {
			if by < 0 && strings.Contains(name, "failed") {
				continue
			}
			result := play(t, l.Lab, Run{Scenario: s, Jump: by, JumpAt: at})
			result.Violations = append(result.Violations, compare(s, false, fair, result)...)
			counts.add(result)
			if len(result.Violations) > 0 {
				t.Errorf("%s after step %d: %s", by, at, tell(Case{Scenario: name}, result))
			}
		}
	}
}

// TestEveryDeviation is exhaustive: for fleets of up to two pods it plays every
// schedule that deviates from the fair one at up to -deviations places, each in
// every way that is possible there. With -stride it plays some of them.
func TestEveryDeviation(t *testing.T) {
	l := newLaboratory(t)
	counts := &tally{}
	t.Run("scenarios", func(t *testing.T) {
		for _, name := range l.names() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				e := &exhaustion{laboratory: l, counts: counts}
				e.explore(t, Case{Scenario: name, Faults: *depth}, *depth)
			})
		}
	})
	counts.write(t, "1-simulator-exhaustive", "1 simulator, every deviation", 0, fmt.Sprintf("up to %d at once, one of %d", *depth, *stride*fewer()))
}

// exhaustion enumerates deviations.
type exhaustion struct {
	*laboratory
	counts   *tally
	failures int
	drawn    int
}

// explore plays a case and then every case with one more deviation after its
// last one.
func (e *exhaustion) explore(t *testing.T, c Case, more int) {
	if e.failures >= maxFailures {
		return
	}
	result := e.play(t, c, nil)
	e.counts.add(result)
	if len(result.Violations) > 0 {
		e.failures++
		e.condemn(t, c, fmt.Sprintf("every-%d-%s", e.counts.cases, c.Scenario))
		return
	}
	if more == 0 {
		return
	}
	from := 0
	if n := len(c.Deviations); n > 0 {
		from = c.Deviations[n-1][0] + 1
	}
	for decision := from; decision < len(result.Options); decision++ {
		for pick := 1; pick < result.Options[decision]; pick++ {
			if e.drawn++; more == 1 && e.drawn%(*stride*fewer()) != 0 {
				continue
			}
			next := c
			next.Deviations = append(append([][2]int(nil), c.Deviations...), [2]int{decision, pick})
			e.explore(t, next, more-1)
		}
	}
}
