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

// scenario is a fleet and what its user has just asked for.
type scenario struct {
	name    string
	desired func(*plan.Desired)
	edit    func(*state)
	how     plan.Change
	gated   bool
	claims  []int // left by an earlier owner of the same name
}

func recreate() plan.Change { return plan.Change{Recreate: "the command differs"} }
func resize() plan.Change   { return plan.Change{Resize: []string{"app"}, Metadata: true} }
func restart() plan.Change  { return plan.Change{Images: []string{"app"}, Restarts: true} }

// rolls changes the template.
func rolls(s *state) { s.Template = revisionB }

// breaks changes it to one whose pods never get ready.
func breaks(s *state) { s.Template, s.Broken = revisionB, []string{revisionB} }

// takenOver: the pods are those of another workload, and are let go. With random
// names they have none of ours.
func takenOver(s *state) {
	s.Desired.TakeOver = "deployments.apps/web"
	for i := range s.Pods {
		p := &s.Pods[i]
		p.Membership = plan.Orphan
		if s.Desired.Identity == appsv1.IdentityRandom {
			p.Name, p.Slot = fmt.Sprintf("web-other-%d", i), plan.NoSlot
		}
	}
}

// tears leaves a pod with the size of the second revision and the label of the
// first, and then the template means another.
func tears(template string) func(*state) {
	return func(s *state) {
		s.Template = template
		s.Pods[0].SizeOf, s.Pods[0].Resize, s.Pods[0].ResizeSince = revisionB, plan.ResizeInProgress, now
	}
}

// drains: the eviction of the first pod waits.
func drains(s *state) { s.Pods[0].EvictionRequested = now }

func scales(n int) func(*state) { return func(s *state) { s.Desired.Replicas = n } }

func scenarios() []scenario {
	surge := func(d *plan.Desired) { d.Update.MaxUnavailable, d.Update.MaxSurge = 0, 1 }
	random := func(d *plan.Desired) { d.Identity = appsv1.IdentityRandom }
	rollback := func(d *plan.Desired) { d.Update.OnFailure = appsv1.FailureRollback }
	inOrder := func(d *plan.Desired) { d.Ordered = true }
	surgeFirst := func(d *plan.Desired) {
		d.Disruption = plan.Disruption{SurgeFirst: true, MaxSurge: 1, Deadline: 30 * time.Second}
	}
	patient := func(d *plan.Desired) { d.MinReady = 10 * time.Second }
	claims := func(d *plan.Desired) {
		d.Claims = plan.Claims{Templates: []string{"data"}, WhenScaled: appsv1.ClaimDelete, WhenDeleted: appsv1.ClaimRetain}
	}
	all := func(changes ...func(*plan.Desired)) func(*plan.Desired) {
		return func(d *plan.Desired) {
			for _, change := range changes {
				change(d)
			}
		}
	}
	return []scenario{
		{name: "at rest", desired: all(rollback)},
		{name: "at rest, random", desired: random},
		{name: "recreate", desired: rollback, edit: rolls, how: recreate()},
		{name: "recreate, random, surge", desired: all(random, surge), edit: rolls, how: recreate()},
		{name: "recreate, surge", desired: surge, edit: rolls, how: recreate()},
		{name: "in place", desired: all(rollback, patient), edit: rolls, how: restart()},
		{name: "in place with gate", edit: rolls, how: restart(), gated: true},
		{name: "resize", edit: rolls, how: resize()},
		{name: "resize, taken back", edit: tears(revisionA), how: resize()},
		{name: "resize, changed again", edit: tears(revisionC), how: resize()},
		{name: "a broken revision", desired: rollback, edit: breaks, how: recreate()},
		{name: "claims, scaled down", desired: claims, edit: scales(0)},
		{name: "claims of an earlier owner", desired: claims, claims: []int{0, 2, 3}},
		{name: "in order, scaled down", desired: inOrder, edit: scales(0)},
		{name: "in order, recreate", desired: all(inOrder, rollback), edit: rolls, how: recreate()},
		{name: "drained", desired: surgeFirst, edit: drains},
		{name: "drained, random", desired: all(surgeFirst, random), edit: drains},
		{name: "drained and rolled out", desired: surgeFirst, edit: func(s *state) { rolls(s); drains(s) }, how: recreate()},
		{name: "taken over", edit: takenOver},
		{name: "taken over, random", desired: random, edit: takenOver},
		{name: "claims, recreate, surge", desired: all(claims, surge), edit: rolls, how: recreate()},
	}
}

// random: pods have random names. Which slots are in use then depends on all that
// happened before, so these worlds are large.
func (sc *scenario) random() bool {
	var d plan.Desired
	if sc.desired != nil {
		sc.desired(&d)
	}
	return d.Identity == appsv1.IdentityRandom
}

// most is how many pods the scenario is explored with.
func (sc *scenario) most() int {
	if sc.random() {
		return 2
	}
	return 3
}

// start is the scenario's fleet, complete and at rest before the edit.
func (sc *scenario) start(t *testing.T, replicas, wrong int) (*world, *state) {
	t.Helper()
	w := &world{name: sc.name, how: sc.how, gated: sc.gated}
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
		if len(steps) == 0 {
			break
		}
		for _, broken := range steps[0].broken {
			t.Errorf("before anything goes wrong: %s\n%s", broken, steps[0].text)
		}
		s = steps[0].next
	}
	if broken := w.judgeRest(s); broken != "" {
		t.Fatalf("before anything goes wrong: %s%s", broken, s.table())
	}
	s.pass(long)
	s.Left = wrong
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
	wrong := 1
	if *whole {
		wrong = 2
	}
	t.Run("worlds", func(t *testing.T) {
		for _, sc := range scenarios() {
			for replicas := sc.most(); replicas > 0; replicas-- { // the largest first
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
			want:     "budget: DeletePod of web-1 leaves 1 available", steps: 1,
		},
		"no backoff": {
			wrong:   2,
			misread: func(d *plan.Desired) { d.FailedPods.Initial, d.FailedPods.Max = 0, 0 },
			want:    "B: web-1 follows a pod that failed", steps: 6,
		},
		"pods that were not asked for": {
			misread: func(d *plan.Desired) { d.Replicas = 4 },
			want:    "S1: 4 pods live", steps: 1,
		},
		"an order that is not kept": {
			scenario: scenario{desired: func(d *plan.Desired) { d.Ordered = true }, edit: scales(0)},
			misread:  func(d *plan.Desired) { d.Ordered = false },
			want:     "Q: DeletePod of web-1", steps: 1,
		},
		"a take-over that is not seen": {
			scenario: scenario{edit: func(s *state) { takenOver(s); scales(2)(s) }},
			misread:  func(d *plan.Desired) { d.TakeOver = "" },
			want:     "O: DeletePod of web-2", steps: 2,
		},
		"pods that are missing for ever": {
			scenario: scenario{edit: scales(3)},
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
