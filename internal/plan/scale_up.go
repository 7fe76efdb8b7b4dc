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
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// scaleUp fills free slots, lowest first. With ordinals the slots are given,
// and one whose old pod is still there waits for it; otherwise any free slot
// will do.
func scaleUp(s *scene) bool {
	s.keepStandIns()
	f := s.newFilling()
	if f.complete() {
		return false
	}
	f.findHolders()
	for slot := 0; f.wants(slot); slot++ {
		if s.ordinal() && !s.inBase(slot) && !f.surges(slot) {
			continue
		}
		name, holder := f.place(slot)
		before := f.before(slot, name, holder)
		switch {
		case holder != nil:
			s.blockOnHolder(holder, slot)
			continue
		case s.leaving[name]:
			s.blockOnTermination(name, slot)
			continue
		case f.taken[name]:
			s.blockOnName(name, slot)
			continue
		case before != "":
			f.queue(slot, name)
			continue
		case f.crowded():
			s.blockOnMovers(name, slot)
			continue
		}
		claims, blocked := s.claimsFor(name, slot)
		if blocked {
			continue
		}
		pod := Pod{Name: name, Slot: slot}
		if !s.room(CreatePod, &pod) {
			break
		}
		f.fill(&pod, claims)
	}
	f.append()
	return false
}

// keepStandIns: an ordinal of the fleet may be filled already, by a pod that was made
// to stand in for others. It is one of the fleet's now, and its claims are after it:
// from then on it goes as the others do.
func (s *scene) keepStandIns() {
	if !s.ordinal() {
		return
	}
	var touched map[string]bool
	for _, b := range s.staying() {
		if !b.pod.Surge || !b.inFleet || b.orphan {
			continue
		}
		for i := range s.decision.Actions {
			mark(&touched, s.decision.Actions[i].Pod)
		}
		if !touched[b.pod.Name] && s.room(KeepPod, b.pod) {
			s.act(Action{
				Verb: KeepPod, Pod: b.pod.Name, UID: b.pod.UID, ResourceVersion: b.pod.ResourceVersion, Slot: b.slot, Revision: b.pod.Revision,
			}, appsv1.WhyScaleUp, fmt.Sprintf("the pod stood in for others, and ordinal %d is one of the fleet's now", b.slot), nil)
		}
	}
}

// append adds what was decided to the plan.
func (f *filling) append() {
	if f.queued.Count > 0 {
		f.block(f.queued)
	}
	s := f.scene
	if len(s.decision.Actions) == 0 && len(f.claims) == 0 {
		s.decision.Actions = f.creates
	} else {
		s.decision.Actions = append(append(s.decision.Actions, f.claims...), f.creates...)
	}
}

// filling is the state of one scaleUp.
type filling struct {
	*scene
	live, missing int
	// base counts the live pods whose places the fleet keeps, and extras those
	// beyond, with ordinals.
	base, extras int
	// adopted counts the pods beyond the fleet that this pass adopts. They go as
	// members in a later one, and take the places of a surge until then.
	adopted int
	// places is how many more pods there may be while others move away, and tooMany
	// says that more than that go in this pass: a new pod waits for one of them only,
	// so all wait for a pass that sees them gone. beyond says that pods hold places that
	// they have to give back.
	places          int
	tooMany, beyond bool
	// updated and old count the pods on the goal, and those that stay on the one before.
	updated, old int
	// slots and names find the pod that has a place. highest is the highest slot that
	// has one.
	slots   []*Pod
	names   map[string]*Pod
	highest int
	// taken are the names of pods outside the fleet and of those that this
	// pass creates: the suffixes of two slots can be the same.
	taken map[string]bool
	// going are the pods that this pass deletes and whose places others take,
	// under other names: so many of the new pods wait for them.
	going           []*Pod
	why, standsIn   Why
	claims, creates []Action
	// tally counts pods where the spread is being restored, once tallied.
	tally   *tally
	tallied bool
	// first is the first pod of the base that is not available, with OrderedReady,
	// and queued the pods that wait for it.
	first  string
	queued Blocked
}

func (s *scene) newFilling() filling {
	f := filling{scene: s, extras: len(s.extras), old: s.olderPods()}
	for _, name := range s.observed.HeldNames {
		mark(&f.taken, name)
	}
	for _, b := range s.staying() {
		f.live++
		if b.inFleet {
			f.base++
		}
		if b.excess() {
			f.adopted++
		}
		switch {
		case s.onGoal(b) && !s.ordinal() && s.leaves[b.pod]: // its successor is on the goal, too
		case s.onGoal(b):
			f.updated++
		}
	}
	f.missing = max(0, s.desired.Replicas+s.surge-f.live-s.waitedFor()-s.onBackoff)
	f.findGoing()
	f.countPlaces()
	return f
}

// countPlaces: a pod of the fleet that goes in this pass, or whose node is gone, keeps
// its place for its successor, and may yet stay if its eviction is refused. One that is
// adopted beyond the fleet has to go, too, in a later pass.
func (f *filling) countPlaces() {
	f.beyond = len(f.movers)+f.adopted > 0 || len(f.scene.extras) > f.desired.MostSurge()
	if !f.beyond && len(f.going) == 0 {
		return
	}
	f.places = f.desired.Replicas + f.desired.MostSurge()
	for _, b := range f.briefs {
		if b.inFleet || b.excess() || !f.gone[b.pod] && (f.scene.extras[b.pod] || f.movers[b.pod]) {
			f.places--
		}
	}
	for _, p := range f.lost {
		if f.inBase(p.Slot) {
			f.places--
		}
	}
	f.tooMany = f.ordinal() && len(f.going) > max(0, f.places)
}

// findGoing: with ordinals a successor waits for its name anyway, unless it gets
// another one, and an eviction that may be refused was not counted on.
func (f *filling) findGoing() {
	if f.ordinal() {
		f.going = f.movedAway
		for _, p := range f.lost {
			if f.gone[p] && !f.inBase(p.Slot) {
				f.going = append(f.going, p)
			}
		}
		return
	}
	if f.missing == 0 || len(f.gone) == 0 {
		return
	}
	buckets := [][]*Pod{f.scene.live, f.lost}
	if waitsForEnd(f.desired.Terminating.Policy) {
		buckets = buckets[1:] // the others still count as pods
	}
	for _, bucket := range buckets {
		for _, p := range bucket {
			if f.gone[p] && !f.evicting[p] {
				f.going = append(f.going, p)
			}
		}
	}
	// While there are too many, the new ones wait for a pass that sees all of those
	// gone: a deletion that fails would leave one too many.
	if f.live+len(f.going) > f.desired.Replicas+f.surge {
		f.block(Blocked{
			Verb: CreatePod, Slot: NoSlot, By: appsv1.BlockedByTermination, Count: f.missing,
			Message: "successors wait until the pods that are too many are gone",
		})
		f.missing = 0
		f.lookAfter(soon)
	}
}

// after is the pod that the next new one has to wait for, or empty: the first
// fill places that were free before, the others one each that gets free.
func (f *filling) after() string {
	free := f.missing
	if f.ordinal() {
		free = f.places
	}
	if len(f.going) == 0 || free >= len(f.going) {
		return ""
	}
	last := len(f.going) - 1
	name := f.going[last].Name
	f.going = f.going[:last]
	return name
}

// complete: no slot has to be looked at. With ordinals all that are asked for
// live, each as one pod's name, and the rollout needs no more.
func (f *filling) complete() bool {
	if !f.ordinal() {
		return f.missing == 0
	}
	return f.base == f.desired.Replicas && !f.shortOfSurge()
}

// explain says why pods are created: as the fleet was before the first of them.
func (f *filling) explain() {
	if f.why.Rule != "" {
		return
	}
	f.why = Why{
		Rule: f.rule, Reason: f.createWhy(),
		Numbers: map[string]int64{"live": int64(f.live), "replicas": int64(f.desired.Replicas)},
		Message: NumberOf(f.live-f.extras, "live pod") + ", " + strconv.Itoa(f.desired.Replicas) + " asked for",
	}
}

// surgeWhy is the same for all pods that stand in, as of the first.
func (f *filling) surgeWhy() Why {
	if f.standsIn.Rule != "" {
		return f.standsIn
	}
	f.standsIn = Why{
		Rule: f.rule, Reason: appsv1.WhyRolloutSurge, Numbers: f.why.Numbers,
		Message: "carries the load while others are recreated; maxSurge is " + strconv.Itoa(f.desired.Update.MaxSurge),
	}
	if f.stillLeaving() > 0 {
		f.standsIn.Reason = appsv1.WhyDisruptionSurge
		f.standsIn.Message = "carries the load while " + f.leaversText() + "; disruption.maxSurge is " + strconv.Itoa(f.desired.Disruption.MaxSurge)
	}
	return f.standsIn
}

// waitedFor is how many pods that go still count as pods: those whose successor
// has to wait for them, those whose eviction may be refused, and those that are adopted
// in this pass though their nodes are gone. No successor waits for a pod that ended.
func (s *scene) waitedFor() int {
	if s.ordinal() {
		return 0
	}
	policy := s.desired.Terminating.Policy
	waited, message := 0, "their eviction may be refused"
	for _, p := range s.live {
		if s.gone[p] && (waitsForEnd(policy) || s.evicting[p]) {
			waited++
		}
	}
	if waitsForEnd(policy) {
		waited += s.waitedForTerminating()
		message = "terminating.policy is " + string(policy)
	}
	for _, p := range s.lost {
		if p.Membership == Orphan { // the next pass deletes it
			waited++
			message = "those whose nodes are gone are adopted first"
		}
	}
	if waited > 0 && len(s.staying()) < s.desired.Replicas {
		s.block(Blocked{
			Verb: CreatePod, Slot: NoSlot, By: appsv1.BlockedByTermination, Count: waited,
			Message: "successors wait until the old pods are gone: " + message,
		})
	}
	return waited
}

func waitsForEnd(policy appsv1.TerminatingPolicy) bool {
	return policy == appsv1.TerminatingWait || policy == appsv1.TerminatingAfterTimeout
}

// waitedForTerminating counts the terminating pods whose time is not up.
func (s *scene) waitedForTerminating() int {
	waited := 0
	for _, p := range s.terminating {
		if s.gone[p] || p.dead() {
			continue
		}
		if s.desired.Terminating.Policy == appsv1.TerminatingAfterTimeout {
			left := p.DeletedAt.Add(s.desired.Terminating.Timeout).Sub(s.now)
			if left <= 0 {
				continue
			}
			s.lookAfter(left)
		}
		waited++
	}
	return waited
}

// wants says how far to walk.
func (f *filling) wants(slot int) bool {
	if f.ordinal() {
		return slot < f.desired.Replicas+len(f.desired.Reserved)+f.desired.MostSurge()
	}
	return f.missing > 0
}

// shortOfSurge: with ordinals, the rollout needs one more pod beyond replicas.
func (f *filling) shortOfSurge() bool {
	return f.extras+f.surgeOnBackoff < f.surge && f.extras+f.adopted < f.desired.MostSurge()
}

// surges: the rollout needs one more pod, and this may be its ordinal.
func (f *filling) surges(slot int) bool { return f.shortOfSurge() && f.mayStandIn(slot) }

// crowded: pods that move away, or are adopted to go, or stand in though fewer may now,
// still take the places of others.
func (f *filling) crowded() bool { return f.tooMany || f.beyond && f.places <= 0 }

func (f *filling) fill(pod *Pod, claims []Action) {
	f.explain()
	f.missing--
	f.places--
	revision, why, prefer := f.revisionFor(pod.Slot), f.why, f.prefers
	switch {
	case f.ordinal() && !f.inBase(pod.Slot):
		f.extras++
		revision, why, prefer = f.standInRevision(), f.surgeWhy(), f.shelters
	case !f.ordinal() && f.live >= f.desired.Replicas:
		why = f.surgeWhy()
	}
	if !f.ordinal() {
		mark(&f.taken, pod.Name)
	}
	f.live++
	if revision == f.decision.UpdateRevision {
		f.updated++
	} else {
		f.old++
	}
	for _, c := range claims {
		c.Why = Why{Rule: f.rule, Reason: appsv1.WhyClaimMissing, Message: "the pod " + pod.Name + " needs it"}
		f.claims = append(f.claims, c)
	}
	f.creates = append(f.creates, Action{
		Verb: CreatePod, Pod: pod.Name, Slot: pod.Slot, Revision: revision, Why: why,
		Surge: f.ordinal() && !f.inBase(pod.Slot), After: f.after(), Prefer: prefer(),
		Replaces: f.desired.Disruption.SurgeFirst && (why.Reason != appsv1.WhyScaleUp || f.succeeds(pod.Slot)),
	})
}

// succeeds: the name that goes with the slot was another pod's before, whatever the
// fleet grows by in this pass. A fleet grows at its end.
func (f *filling) succeeds(slot int) bool { return slot < f.highest }

// revisionFor is the revision of a new pod: the goal, unless the slot is
// behind the partition, or the rollout stands still and the pod that was there had
// not moved.
func (f *filling) revisionFor(slot int) string {
	current, update := f.decision.CurrentRevision, f.decision.UpdateRevision
	if current == "" || current == update || f.findRevision(current) == nil {
		return update
	}
	switch {
	case f.ordinal() && f.position(slot) < f.partition():
		return current
	case !f.ordinal() && f.old < f.partition():
		return current
	case f.halted != "" && !f.wasMoved(slot):
		return current
	}
	return update
}

// and both from a rollout, whose new pods take the place of others that go.
func (s *scene) createWhy() string {
	rolling := s.decision.CurrentRevision != "" && s.decision.Rollout != nil && s.halted == ""
	if rolling && len(s.live)+len(s.terminating) >= s.desired.Replicas {
		return appsv1.WhyRolloutRecreate
	}
	growing := meta.FindStatusCondition(s.observed.Status.Conditions, appsv1.ConditionReconciling)
	if s.observed.Status.ObservedGeneration != s.desired.Generation ||
		growing != nil && growing.Reason == appsv1.ReasonScalingUp {
		return appsv1.WhyScaleUp
	}
	if rolling {
		return appsv1.WhyRolloutRecreate
	}
	return appsv1.WhyMissing
}
