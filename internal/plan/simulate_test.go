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

package plan

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// seedsEach is how many seeds every strategy and identity is simulated with;
// SIMULATE_SEEDS asks for more, SIMULATE_FROM begins elsewhere.
const seedsEach = 1000

// TestRolloutsKeepTheirPromises simulates rollouts in a world where kubelets
// act in any order, the operator crashes, writes fail and users edit the spec
// in mid-rollout. At every write:
//   - no more than replicas + maxSurge pods live;
//   - U: no write of ours takes a pod that serves when that leaves fewer than replicas -
//     maxUnavailable, or fewer than replicas where a pod has to leave its node;
//   - no slot gets a second pod;
//   - no pod is recreated that could be changed in place, and none surged over;
//   - nothing moves while paused, with OnDelete, or behind the partition;
//   - a failed revision is taken back once;
//   - F: a rollout is halted or taken back only for its own fault;
//   - T: what the status tells agrees with what the pods are;
//   - B: no successor of a failed pod comes before its backoff.
//
// And when the edits stop, the fleet comes to rest where the spec wants it.
func TestRolloutsKeepTheirPromises(t *testing.T) {
	seeds, from := envOr("SIMULATE_SEEDS", seedsEach), envOr("SIMULATE_FROM", 1)
	if testing.Short() {
		seeds = min(seeds, 50)
	}
	for _, strategy := range strategies {
		for _, identity := range []appsv1.Identity{appsv1.IdentityOrdinal, appsv1.IdentityRandom} {
			t.Run(fmt.Sprintf("%s/%s", strategy, identity), func(t *testing.T) {
				t.Parallel()
				for seed := from; seed < from+seeds && !t.Failed(); seed++ {
					simulate(t, uint64(seed), strategy, identity)
				}
			})
		}
	}
}

var strategies = []appsv1.UpdateStrategy{appsv1.UpdateInPlace, appsv1.UpdateRecreate, appsv1.UpdateOnDelete}

func envOr(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// simulate plays one seed: a fleet, some edits, then calm.
func simulate(t *testing.T, seed uint64, strategy appsv1.UpdateStrategy, identity appsv1.Identity) {
	w := newWorld(seed, aFleet(0).desired)
	j := &judge{t: t, seed: fmt.Sprintf("seed %d of %s/%s", seed, strategy, identity)}
	w.watch = j.watch
	w.desired.Identity = identity
	w.desired.Update = Update{
		Strategy: strategy, ProgressDeadline: time.Minute, ResizeDeadline: time.Minute,
		OnFailure:   []appsv1.FailureAction{appsv1.FailurePause, appsv1.FailureRollback}[w.rng.IntN(2)],
		UseEviction: w.chance(25),
	}
	w.drawBudget()
	// Drawn apart, so that all else is the same with and without an order.
	order := rand.New(rand.NewPCG(seed, 2))
	w.desired.Ordered = identity == appsv1.IdentityOrdinal && order.IntN(3) == 0
	w.desired.Replicas = w.rng.IntN(7)
	w.gated = w.chance(40)
	w.desired.MinReady = time.Duration(w.rng.IntN(3)) * 10 * time.Second
	w.desired.Terminating = Terminating{Timeout: 20 * time.Second, Policy: []appsv1.TerminatingPolicy{
		appsv1.TerminatingReplaceAtOnce, appsv1.TerminatingWait, appsv1.TerminatingAfterTimeout,
	}[w.rng.IntN(3)]}
	w.beginDrains(seed)
	for edits := 2 + w.rng.IntN(4); edits > 0; edits-- {
		for range 1 + w.rng.IntN(12) {
			j.step(w)
		}
		w.edit(func() {
			w.changeOfMind()
			if identity == appsv1.IdentityOrdinal && order.IntN(8) == 0 {
				w.desired.Ordered = !w.desired.Ordered
			}
			w.editDrains()
		})
	}
	for range w.rng.IntN(8) {
		j.step(w)
	}
	w.settleDown(strategy)
	j.expectRest(w, 600)
}

// drawBudget draws what a rollout may do.
func (w *world) drawBudget() {
	w.desired.Update.MaxUnavailable = w.rng.IntN(3)
	w.desired.Update.NoneUnavailable = w.desired.Update.MaxUnavailable == 0 && w.chance(50)
	w.desired.Update.MaxSurge = w.rng.IntN(4)
	w.desired.Update.Partition = max(0, w.rng.IntN(6)-2)
}

// changeOfMind is one edit of the spec.
func (w *world) changeOfMind() {
	switch w.rng.IntN(16) {
	case 15:
		w.recipe.nowhere = true
	case 0, 1:
		w.recipe.image = "v" + strconv.Itoa(1+w.rng.IntN(3))
	case 2, 3:
		w.recipe.shape = w.rng.IntN(3)
	case 4:
		w.recipe.image = brokenImage
	case 5:
		w.recipe.size = []int{0, 1, 2, 9}[w.rng.IntN(4)]
	case 6:
		w.recipe.label = w.rng.IntN(3)
	case 7, 8:
		w.desired.Replicas = w.rng.IntN(8)
	case 9:
		w.desired.Paused = !w.desired.Paused
	case 10:
		w.drawBudget()
	case 11:
		w.desired.Restart = w.now
	case 12:
		if w.desired.Identity == appsv1.IdentityOrdinal {
			w.desired.Reserved = [][]int{nil, {0}, {1, 3}, {0, 1, 2, 3, 4, 5}}[w.rng.IntN(4)]
		}
	case 13:
		w.desired.Update.Strategy = strategies[w.rng.IntN(3)]
	case 14:
		w.drawPin()
	}
}

// drawPin pins a revision by name or number, one that may not exist among them,
// for good or until the template changes.
func (w *world) drawPin() {
	w.desired.Pin, w.desired.PinWhile = "7", 0
	if n := len(w.revisions); n > 0 {
		r := w.revisions[w.rng.IntN(n)]
		w.desired.Pin = []string{r.Name, strconv.FormatInt(r.Number, 10)}[w.rng.IntN(2)]
	}
	if w.chance(50) {
		w.desired.PinWhile = int64(1 + w.rng.IntN(6))
	}
}

// settleDown ends the trouble, with a template that works, now and then still
// paused.
func (w *world) settleDown(strategy appsv1.UpdateStrategy) {
	w.edit(func() {
		w.calm, w.guarded = true, 0
		w.desired.Update.Strategy, w.desired.Pin = strategy, ""
		w.desired.Paused = w.desired.Paused && w.chance(30)
		w.desired.Update.ProgressDeadline = 10 * time.Minute
		if w.recipe.image == brokenImage {
			w.recipe.image = "v4"
		}
		w.recipe.size %= 9
		w.recipe.nowhere, w.curse = false, curse{}
	})
	w.endDrains()
	for _, b := range w.pods {
		b.sick, b.HoldDelete, b.HoldUpdate = 0, nil, nil
		b.down, b.unscheduled, b.lingers = 0, 0, 0
	}
}

// judge checks what happens in a world.
type judge struct {
	t     *testing.T
	seed  string
	blame blame
	backoffs
}

func (j *judge) errorf(format string, args ...any) {
	j.t.Helper()
	j.t.Errorf(j.seed+": "+format, args...)
}

// step lets some time pass, something go wrong, kubelets act, and the operator
// look.
func (j *judge) step(w *world) {
	w.now = w.now.Add(time.Duration(1+w.rng.IntN(15)) * time.Second)
	if w.chance(20) {
		w.mishap()
	}
	w.drain()
	w.forgetServing()
	if !w.calm {
		w.guarded = w.rng.IntN(w.desired.Replicas + 1)
	}
	w.kubelets(40)
	j.absence(w)
	j.blame.look(w)
	j.noteFailures(w)
	w.pass()
	if w.desired.Ordered {
		for _, broken := range outOfOrder(fleet{w.desired, w.seen}, w.last) {
			j.errorf("%s", broken)
		}
	}
	j.checkBlame(w)
	j.checkTold(w)
	for revision, times := range w.rollback {
		if times > 1 {
			j.errorf("revision %s was taken back %d times", revision, times)
		}
	}
}

// watch checks a write before it is carried out.
func (j *judge) watch(w *world, d *Decision, a Action) {
	s := w.scene()
	s.decision.UpdateRevision, s.decision.CurrentRevision = d.UpdateRevision, d.CurrentRevision
	switch a.Verb {
	case CreatePod:
		j.checkCreate(w, s, a)
	case DeletePod, EvictPod, ShutGate, UpdatePod, ResizePod:
		j.checkMove(w, s, a)
	}
}

func (j *judge) checkCreate(w *world, s *scene, a Action) {
	j.checkBackoff(w, a)
	if b := w.pods[a.Pod]; b != nil {
		j.errorf("%s: created while %s is there, terminating: %t", a.Pod, b.UID, b.Terminating)
	}
	for _, p := range s.live {
		if p.Slot == a.Slot {
			j.errorf("slot %d has %s and gets %s", a.Slot, p.Name, a.Pod)
		}
	}
	// Nor does a pod count that is scaled away: should its deletion fail, it holds
	// back no other slot.
	held := func(p *Pod) bool {
		return p.HoldDelete != nil || s.ordinal() && slices.ContainsFunc(w.last.Actions, func(d Action) bool {
			return d.Verb == DeletePod && d.Pod == p.Name && d.Why.Reason == appsv1.WhyScaleDown
		}) || w.desired.Ordered && s.position(p.Slot) >= w.desired.Replicas // it goes when its turn comes
	}
	if live := len(slices.DeleteFunc(slices.Clone(s.live), held)); live >= w.desired.Replicas+w.desired.MostSurge() {
		j.errorf("%s is created beside %d live ones, with %d replicas and a surge of %d", a.Pod, live, w.desired.Replicas, w.desired.MostSurge())
	}
	if w.desired.Terminating.Policy == appsv1.TerminatingWait && w.desired.Identity == appsv1.IdentityRandom {
		running := len(s.live)
		for _, p := range s.terminating {
			if !p.dead() {
				running++
			}
		}
		if running >= w.desired.Replicas+w.desired.MostSurge() {
			j.errorf("%s does not wait: %d pods are still there", a.Pod, running)
		}
	}
	needed := func(p *Pod) bool {
		restarts := w.uninterrupted() && w.stored[p.Revision].image != w.stored[s.decision.UpdateRevision].image
		return s.restartWanted(p) || s.resizeFailed(p) || p.Revision != s.decision.UpdateRevision && (restarts || !w.inPlace(s, p))
	}
	if a.Why.Reason == appsv1.WhyRolloutSurge && !slices.ContainsFunc(s.live, needed) {
		j.errorf("%s surges over pods that can be changed in place", a.Pod)
	}
}

// uninterrupted: the user wrote that no pod may be unavailable, and that more
// may be there.
func (w *world) uninterrupted() bool {
	u := &w.desired.Update
	return u.NoneUnavailable && u.MaxUnavailable == 0 && u.MaxSurge > 0
}

// inPlace: the world allows this pod to follow in place.
func (w *world) inPlace(s *scene, p *Pod) bool {
	c := changeBetween(w.stored[p.Revision], w.stored[s.decision.UpdateRevision])
	return c.Recreate == "" && w.desired.Update.Strategy != appsv1.UpdateRecreate
}

// rolling are the reasons that only a rollout has.
var rolling = []string{
	appsv1.WhyRolloutRecreate, appsv1.WhyRolloutInPlace, appsv1.WhyRestart, appsv1.WhyOutOfService,
	appsv1.WhyResizeDeferred, appsv1.WhyResizeInfeasible,
}

func (j *judge) checkMove(w *world, s *scene, a Action) {
	p, u := &w.pods[a.Pod].Pod, &w.desired.Update
	surplus := s.ordinal() && !s.inBase(p.Slot)
	if slices.Contains(rolling, a.Why.Reason) && !surplus {
		if w.desired.Paused || u.Strategy == appsv1.UpdateOnDelete {
			j.errorf("%s of %s for %s, paused: %t, strategy %s", a.Verb, a.Pod, a.Why.Reason, w.desired.Paused, u.Strategy)
		}
		j.checkPartition(w, s, p, a)
	}
	returns := s.partition() > 0 && p.Revision != s.decision.CurrentRevision && !s.serves(p)
	if a.Why.Reason == appsv1.WhyRolloutRecreate && w.inPlace(s, p) && !surplus && !returns {
		j.errorf("%s is recreated (%s), but can be changed in place", a.Pod, a.Why.Message)
	}
	restarts := a.Verb == UpdatePod && w.stored[a.Revision].image != w.pods[a.Pod].spec.image
	if restarts && (p.Gate == GateOpen || p.Gate == GateShut && p.Ready) {
		j.errorf("%s is changed in place while it is in service", a.Pod)
	}
	if a.Verb == UpdatePod && !restarts || a.Verb == ResizePod || !w.serves(p.Name) {
		return
	}
	j.checkTaken(w, a)
}

// checkPartition: what the partition keeps stays on its revision.
func (j *judge) checkPartition(_ *world, s *scene, p *Pod, a Action) {
	keep := s.partition()
	putsBack := a.Verb == ResizePod && a.Revision == p.Revision
	if keep == 0 || putsBack || p.Revision == s.decision.UpdateRevision || a.Why.Reason == appsv1.WhyRestart || s.resizeFailed(p) {
		return
	}
	inPlace := a.Verb == ResizePod || a.Verb == UpdatePod
	if p.Revision != s.decision.CurrentRevision && (!s.serves(p) || inPlace && a.Revision == s.decision.CurrentRevision) {
		return // it goes back to the old revision, which is what the partition is for
	}
	if s.ordinal() {
		if s.position(p.Slot) < keep {
			j.errorf("%s of %s, which the partition of %d keeps", a.Verb, a.Pod, keep)
		}
		return
	}
	old := 0
	for _, p := range s.live {
		if p.Revision != s.decision.UpdateRevision {
			old++
		}
	}
	if old <= keep {
		j.errorf("%s of %s, although only %d old pods are left and the partition is %d", a.Verb, a.Pod, old, keep)
	}
}

// expectRest plays on until nothing moves, and checks where the fleet rests.
func (j *judge) expectRest(w *world, steps int) {
	quiet := 0
	for range steps {
		j.step(w)
		if quiet++; len(w.last.Actions) > 0 || waits(w.last) || !j.rests(w) {
			quiet = 0
		}
		if quiet == 3 && !j.stands(w) || quiet == 12 {
			j.checkRest(w)
			return
		}
		if j.t.Failed() {
			return
		}
	}
	j.errorf("no rest after %d steps: %d actions, blocked %v, next look %s, rollout %+v, pods %s",
		steps, len(w.last.Actions), w.last.Blocked, w.last.NextLook, w.status.Rollout, w.table())
}

// rests: the next look is none, or one of those that a fleet at rest has.
func (j *judge) rests(w *world) bool {
	look := w.last.NextLook
	return look == 0 || j.stands(w) && look == safetyLook || w.desired.Disruption.AutoRebalance && look == spreadLook
}

func (j *judge) checkRest(w *world) {
	j.checkSpread(w)
	s := w.scene()
	s.decision = w.last
	s.live = slices.DeleteFunc(s.live, func(p *Pod) bool {
		// For a broken pod that the user keeps.
		return j.stands(w) && w.available() <= w.desired.Replicas && s.ordinal() && !s.inBase(p.Slot)
	})
	waits := j.stands(w) && slices.ContainsFunc(w.last.Blocked, func(b Blocked) bool { return b.By == appsv1.BlockedByOrder })
	if len(s.live) != w.desired.Replicas && !j.movesWait(w) && !waits || w.available() != w.desired.Replicas && !j.stands(w) {
		j.errorf("rests with %d pods, %d available, %d asked for", len(s.live), w.available(), w.desired.Replicas)
	}
	old := 0
	for _, p := range s.live {
		if !waits && s.ordinal() && !s.inBase(p.Slot) {
			j.errorf("%s is left over", p.Name)
		}
		if p.Gate != GateNone && p.Gate != GateOpen && p.Phase == corev1.PodRunning || p.Wanted != "" {
			j.errorf("%s rests with gate %s, wanted %q", p.Name, p.Gate, p.Wanted)
		}
		if size := w.pods[p.Name].spec.size; size != w.stored[p.Revision].size && !j.stands(w) {
			j.errorf("%s is on %s and has the size %d for ever", p.Name, p.Revision, size)
		}
		if s.updated(p) {
			continue
		}
		if old++; s.ordinal() && s.position(p.Slot) >= s.partition() && !j.stands(w) {
			j.errorf("%s is on %s for ever", p.Name, p.Revision)
		}
	}
	if old > s.partition() && !j.stands(w) {
		j.errorf("%d pods are on old revisions, the partition is %d", old, s.partition())
	}
	if w.last.UpdateRevision != w.recipe.revision() && w.status.Rollback == nil {
		j.errorf("the goal is %s, not %s", w.last.UpdateRevision, w.recipe.revision())
	}
	for _, c := range w.status.Conditions {
		if broken := slices.ContainsFunc(s.live, func(p *Pod) bool { return !s.available(p) }); j.stands(w) && broken {
			break // the user keeps them
		}
		if c.Type == appsv1.ConditionReconciling || c.Type == appsv1.ConditionStalled && c.Reason != appsv1.ReasonRolledBack {
			j.errorf("rests, but is %s: %s", c.Type, c.Message)
		}
	}
}

// movesWait: the user keeps broken pods, and those on reserved ordinals stay
// until enough are available without them.
func (j *judge) movesWait(w *world) bool {
	return j.stands(w) && slices.ContainsFunc(w.last.Blocked, func(b Blocked) bool {
		return b.Verb == DeletePod && b.By == appsv1.BlockedByBudget
	})
}

// stands: the user wants the rollout to stand still.
func (j *judge) stands(w *world) bool {
	return w.desired.Paused || w.desired.Update.Strategy == appsv1.UpdateOnDelete
}

// table lists the pods in a line each.
func (w *world) table() string {
	text := "\n"
	for _, b := range w.sorted() {
		text += fmt.Sprintf("  %s %s phase=%s ready=%t well=%t changing=%t gate=%s resize=%s runs=%v spec=%v terminating=%t\n",
			b.Name, b.Revision, b.Phase, b.Ready, b.well, b.Changing, b.Gate, b.Resize, b.runs, b.spec, b.Terminating)
	}
	return text
}
