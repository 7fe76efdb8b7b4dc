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

package small

import (
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

// whole explores all the worlds with two things going wrong, which takes minutes.
var whole = flag.Bool("whole", false, "explore all small worlds whole")

// random: pods have random names. Which slots are in use then depends on all that
// happened before, so these worlds are large.
func (sc *scenario) random() bool {
	var d plan.Desired
	if sc.desired != nil {
		sc.desired(&d)
	}
	return d.Identity == appsv1.IdentityRandom
}

// sizes are the numbers of pods that the scenario is explored with.
func (sc *scenario) sizes() []int {
	sizes := sc.pods
	switch {
	case sizes != nil:
	case sc.random():
		sizes = []int{2, 1}
	default:
		sizes = []int{3, 2, 1}
	}
	return slices.DeleteFunc(sizes, func(n int) bool { return sc.quick > 0 && n > sc.quick && !*whole })
}

// costs is how many things less may go wrong in it.
func (sc *scenario) costs() int {
	if sc.large {
		return 1
	}
	return len(sc.story)
}

// start is the scenario's fleet, complete and at rest before the edit.
func (sc *scenario) start(t *testing.T, replicas, wrong int) (*world, *state) {
	t.Helper()
	w := &world{
		name: sc.name, changes: allChanges(sc.how), templates: templates(sc.how), gated: sc.gated, startup: sc.startup, pdb: sc.pdb, zones: sc.zones,
	}
	w.encoded = encode(w.templates)
	s := &state{Template: revisionA, Woken: true, Desired: plan.Desired{
		Namespace: "default", Name: "web", UID: "owner-1", Generation: 1, NamePrefix: "web", Identity: appsv1.IdentityOrdinal,
		Selector: "podmanager=web", Replicas: replicas, RevisionHistoryLimit: 10, Finalizer: plan.FinalizerMissing,
		FailedPods: plan.FailedPods{Limit: 1, Initial: 10 * time.Second, Max: 40 * time.Second},
		Update: plan.Update{
			Strategy: appsv1.UpdateInPlace, MaxUnavailable: 1, OnFailure: appsv1.FailurePause,
			ProgressDeadline: time.Minute, ResizeDeadline: time.Minute,
		},
		Terminating: plan.Terminating{Policy: appsv1.TerminatingReplaceAtOnce},
	}}
	s.Status.ObservedGeneration = -1
	if sc.desired != nil {
		sc.desired(&s.Desired)
	}
	for _, slot := range sc.claims {
		name := plan.ClaimName("data", plan.SlotName(&s.Desired, slot))
		s.Claims = append(s.Claims, plan.Claim{Name: name, UID: types.UID("old-" + name), Slot: slot, Owner: "owner-0"})
	}
	for range 100 {
		steps := w.steps(s)
		if len(steps) == 0 || !steps[0].fair {
			break
		}
		if broken := steps[0].broken; len(broken) > 0 {
			t.Fatalf("before anything goes wrong:\n%s\n%s%s", steps[0].text, strings.Join(broken, "\n"), steps[0].next.table())
		}
		s = steps[0].next
	}
	if broken := w.judgeRest(s); len(broken) > 0 {
		t.Fatalf("before anything goes wrong:\n%s%s", strings.Join(broken, "\n"), s.table())
	}
	s.pass(long)
	s.Left, w.wrong, w.story, w.more, w.past = wrong, wrong, sc.story, sc.more, nil
	if sc.edit != nil {
		sc.edit(s)
		s.Desired.Generation++
		s.Woken = true
	}
	return w, s
}

// TestSmallWorlds explores every scenario with every number of pods: whole, or the
// part of it that takes seconds.
func TestSmallWorlds(t *testing.T) {
	var total, worlds atomic.Int64
	began := time.Now()
	// States are small and many: the garbage collector would take a quarter of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	wrong := 1
	if *whole {
		wrong = 2
	}
	t.Run("worlds", func(t *testing.T) {
		for _, sc := range scenarios() {
			wrong := wrong - min(wrong, sc.costs())
			for _, replicas := range sc.sizes() { // the largest first
				t.Run(fmt.Sprintf("%s/%d pods/%d wrong", sc.name, replicas, wrong), func(t *testing.T) {
					t.Parallel()
					w, s := sc.start(t, replicas, wrong)
					states, schedule := w.explore(s, 5_000_000)
					t.Logf("%d states", states)
					total.Add(int64(states))
					worlds.Add(1)
					if schedule != "" {
						t.Errorf("%s", schedule)
					}
				})
			}
		}
	})
	note := fmt.Sprintf("%d worlds, %d things wrong, in %s", worlds.Load(), wrong, time.Since(began).Round(time.Second))
	t.Logf("%d states: %s", total.Load(), note)
	if err := summary.Write("0-small", summary.Line{Tier: "0 small worlds, whole", Cases: int(total.Load()), Note: note}); err != nil {
		t.Error(err)
	}
}

// TestTheShortestScheduleIsFound has the planner misread what is asked for: each
// rule is broken then, and shown by the fewest steps.
func TestTheShortestScheduleIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		scenario scenario
		wrong    int
		misread  func(*plan.Desired)
		want     string
		steps    int
	}{
		"a budget that is too large": {
			scenario: scenario{edit: rolls, how: recreate()},
			misread:  func(d *plan.Desired) { d.Update.MaxUnavailable = 3 },
			want:     "U: pod web-1, which serves, is deleted: 1 others serve", steps: 1,
		},
		"no backoff": {
			wrong:   2,
			misread: func(d *plan.Desired) { d.FailedPods.Initial, d.FailedPods.Max = 0, 0 },
			want:    "B: web-1 follows a pod that failed", steps: 6,
		},
		"pods that were not asked for": {
			misread: func(d *plan.Desired) { d.Replicas = 4 },
			want:    "S1: with pod web-3 there are 4 live pods", steps: 1,
		},
		"an order that is not kept": {
			scenario: scenario{desired: func(d *plan.Desired) { d.Ordered = true }, edit: scales(0)},
			misread:  func(d *plan.Desired) { d.Ordered = false },
			want:     "Q: ", steps: 1,
		},
		"a take-over that is not seen": {
			scenario: scenario{edit: func(s *state) { takenOver(s); scales(2)(s) }},
			misread:  func(d *plan.Desired) { d.TakeOver = "" },
			want:     "O: the operator wrote pod web-2", steps: 2,
		},
		"pods that are missing for ever": {
			scenario: scenario{edit: func(s *state) { scales(3)(s); s.remove("web-2") }},
			misread:  func(d *plan.Desired) { d.Replicas = 2 },
			want:     "P: rests without a pod in slot 2", steps: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := tc.scenario.start(t, 3, tc.wrong)
			w.misread = tc.misread
			s.Woken = true
			_, schedule := w.explore(s, 1_000_000)
			before, _, found := strings.Cut(schedule, tc.want)
			if steps := len(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(before), " ", "_"), "\n", " "))); !found || steps > tc.steps+3 {
				t.Errorf("want %q after %d steps or so, got %d:%s", tc.want, tc.steps, steps, schedule)
			}
		})
	}
}
