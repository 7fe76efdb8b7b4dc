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

package crash

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/test/faults/scenario"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

// TestRandomFaults plays scenarios with several faults at random writes, in
// every life of the operator. Every second schedule draws its scenario, the others
// take one of those with a name. A schedule follows from its seed, as far as the
// operator's writes do: two that are sent at once may change places.
func TestRandomFaults(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	all := learn(t, draw(rand.New(rand.NewPCG(seed, 3)), scenario.All(), *plays))
	counts := &counter{}
	t.Run("schedules", func(t *testing.T) {
		for i := range uint64(*schedules) {
			rng := rand.New(rand.NewPCG(seed+i, 3))
			f := all[rng.IntN(len(all))]
			c := &chaos{rng: rng, likely: []float64{0.1, 0.3, 0.6}[rng.IntN(3)], left: 1 + rng.IntN(6)}
			name, play := f.Name, func(t *testing.T, s *stage) time.Duration { return try(t, f, s, c.end) }
			if (seed+i)%2 == 1 {
				name, play = "drawn", drawn(rand.New(rand.NewPCG(seed+i, 4)), c.end)
			}
			t.Run(fmt.Sprintf("%d/%s", seed+i, name), func(t *testing.T) {
				t.Parallel()
				s := begin(t, c.next)
				s.encore = c.next
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("what went wrong:\n%s", strings.Join(c.done, "\n"))
					}
				})
				counts.watch(t)
				counts.took(play(t, s))
			})
		}
	})
	line := summary.Line{
		Tier: "2 real API server, random schedules", Cases: *schedules, Violations: counts.violations, Longest: counts.longest,
		Seed: seed, Note: fmt.Sprintf("over %d scenarios, and every second one drawn", len(all)),
	}
	if err := summary.Write("2-random", line); err != nil {
		t.Error(err)
	}
	t.Logf("%+v", line)
}
