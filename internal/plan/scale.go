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
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// honourLabel replaces pods that a user asked to go. A scale-down takes them
// first anyway, so there they are left to it; with ordinals a scale-down is
// bound to the highest, so the request stands beside it.
func honourLabel(s *scene) bool {
	if !s.ordinal() && len(s.staying()) > s.desired.Replicas {
		return false
	}
	for _, b := range s.staying() {
		if !b.is(isRequested|inFleet) || b.is(isOrphan) || s.held(b.pod, wantDelete) {
			continue
		}
		s.deletePod(b.pod, false, appsv1.WhyRequested, "the pod carries the label "+appsv1.LabelDelete+"=true", nil)
	}
	return false
}

// scaleDown condemns what is too many: with ordinals the pods from replicas
// upward, highest first, otherwise the least useful ones. What a rollout needs
// beyond replicas is not too many. An orphan is adopted first and counts only
// in a later pass, as a member: should the adoption fail, no member has been
// given up for it.
func scaleDown(s *scene) bool {
	if s.ordinal() {
		s.condemnOrdinals()
		return false
	}
	members := s.stayingMembers()
	surplus := len(members) - s.desired.Replicas - s.surge
	if surplus <= 0 {
		return false
	}
	numbers := map[string]int64{"live": int64(len(members)), "replicas": int64(s.desired.Replicas)}
	for _, v := range s.victims(podsIn(members), surplus) {
		if s.held(v.pod, wantDelete) {
			continue
		}
		s.deletePod(v.pod, false, appsv1.WhyScaleDown,
			fmt.Sprintf("%s, %d asked for; chosen because %s", count(len(members), "live pod"), s.desired.Replicas, v.because),
			numbers)
	}
	return false
}

// stayingMembers are the pods that stay and are ours already.
func (s *scene) stayingMembers() []brief {
	staying := s.staying()
	if !slices.ContainsFunc(staying, brief.orphan) {
		return staying
	}
	return slices.DeleteFunc(slices.Clone(staying), brief.orphan)
}

// victims are the least useful pods. In the middle of a rollout, when the new
// pods are not available yet, an available old one is kept that the order would
// give up, as long as the budget needs it.
func (s *scene) victims(members []*Pod, surplus int) []*victim {
	ranked := rankVictims(members, s.decision.UpdateRevision)
	chosen := ranked[:surplus]
	if s.decision.Rollout != nil {
		chosen = s.sparing(ranked, surplus)
	}
	goes := make(map[*victim]bool, len(chosen))
	for _, v := range chosen {
		goes[v] = true
	}
	explain(chosen, slices.DeleteFunc(slices.Clone(ranked), func(v *victim) bool { return goes[v] }))
	return chosen
}

// sparing chooses victims and spares the available pods that the budget needs.
func (s *scene) sparing(ranked []*victim, surplus int) []*victim {
	spare := s.newBudget(1).available
	needed := func(v *victim) bool {
		if !s.available(v.pod) {
			return false
		}
		spare--
		return spare < 0 && !v.pod.DeleteRequested
	}
	if kept := slices.DeleteFunc(slices.Clone(ranked), needed); len(kept) >= surplus {
		ranked = kept
	}
	return ranked[:surplus]
}

func (s *scene) condemnOrdinals() {
	var condemned []brief
	for _, b := range s.staying() {
		if !b.is(inFleet) && !b.is(isOrphan) && !s.extras[b.pod] {
			condemned = append(condemned, b)
		}
	}
	if len(condemned) == 0 {
		return
	}
	slices.SortFunc(condemned, func(a, b brief) int { return b.slot - a.slot })
	numbers := map[string]int64{"condemned": int64(len(condemned)), "replicas": int64(s.desired.Replicas)}
	for _, b := range condemned {
		if b.is(isHeld) && s.held(b.pod, wantDelete) || !s.room(DeletePod, b.pod) {
			continue
		}
		reason, message := s.condemnWhy(b.pod)
		s.remove(DeletePod, b.pod, false, reason, message, numbers)
	}
}

// condemnWhy tells a scale-down from the end of a surge.
func (s *scene) condemnWhy(p *Pod) (reason, message string) {
	place := s.position(p.Slot)
	switch {
	case p.Slot == NoSlot:
		return appsv1.WhyScaleDown, "the pod's name is none of this fleet's ordinals"
	case place < 0:
		return appsv1.WhyReserved, fmt.Sprintf("ordinal %d is reserved", p.Slot)
	case s.surge > 0 && s.mayStandIn(p.Slot) && !s.updated(p) && !s.serves(p):
		return appsv1.WhyRolloutRecreate, "recreated: the extra pod is on an old revision and does not serve"
	case p.Surge && s.mayStandIn(p.Slot):
		return appsv1.WhySurgeOver, fmt.Sprintf("the rollout no longer needs more than %s", count(s.desired.Replicas, "pod"))
	}
	return appsv1.WhyScaleDown, fmt.Sprintf("ordinal %d is not below replicas %d", p.Slot, s.desired.Replicas)
}

// scaleUp fills free slots, lowest first. With ordinals the slots are given,
// and one whose old pod is still there waits for it; otherwise any free slot
// will do.
func scaleUp(s *scene) bool {
	f := s.newFilling()
	for slot := 0; f.wants(slot); slot++ {
		if s.ordinal() && !s.inBase(slot) && !f.surges(slot) {
			continue
		}
		name, holder := f.place(slot)
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
	s.decision.Actions = append(append(s.decision.Actions, f.claims...), f.creates...)
	return false
}

// filling is the state of one scaleUp.
type filling struct {
	*scene
	live, missing int
	// extras counts the pods beyond the base, with ordinals.
	extras int
	// updated and old count the pods on the goal and on other revisions.
	updated, old int
	// slots and names find the pod that has a place.
	slots []*Pod
	names map[string]*Pod
	// taken are the names that somebody else's pod has, or one that this
	// pass creates: the suffixes of two slots can be the same.
	taken           map[string]bool
	why, surgeWhy   Why
	claims, creates []Action
}

func (s *scene) newFilling() *filling {
	f := &filling{scene: s, extras: len(s.extras)}
	for _, name := range s.observed.HeldNames {
		mark(&f.taken, name)
	}
	for _, b := range s.staying() {
		f.live++
		if s.onGoal(b) {
			f.updated++
		} else {
			f.old++
		}
	}
	f.missing = max(0, s.desired.Replicas+s.surge-f.live-s.waitedFor()-s.onBackoff)
	f.findHolders()
	return f
}

// explain says why pods are created: as the fleet was before the first of them.
func (f *filling) explain() {
	if f.why.Rule != "" {
		return
	}
	numbers := map[string]int64{"live": int64(f.live), "replicas": int64(f.desired.Replicas)}
	f.why = Why{
		Rule: f.rule, Reason: f.createWhy(), Numbers: numbers,
		Message: fmt.Sprintf("%s, %d asked for", count(f.live-f.extras, "live pod"), f.desired.Replicas),
	}
	f.surgeWhy = Why{
		Rule: f.rule, Reason: appsv1.WhyRolloutSurge, Numbers: numbers,
		Message: fmt.Sprintf("carries the load while others are recreated; maxSurge is %d", f.desired.Update.MaxSurge),
	}
}

// waitedFor is how many pods that go still count as pods: those whose successor
// has to wait for them, and those whose eviction may be refused. A pod that
// ended is waited for by nobody.
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
		most := f.desired.Replicas + len(f.desired.Reserved)
		if f.surge > 0 {
			most += f.desired.Update.MaxSurge
		}
		return slot < most
	}
	return f.missing > 0
}

// surges: the rollout needs one more pod, and this may be its ordinal.
func (f *filling) surges(slot int) bool { return f.extras < f.surge && f.mayStandIn(slot) }

func (f *filling) fill(pod *Pod, claims []Action) {
	f.explain()
	f.missing--
	mark(&f.taken, pod.Name)
	revision, why := f.revisionFor(pod.Slot), f.why
	switch {
	case f.ordinal() && !f.inBase(pod.Slot):
		f.extras++
		revision, why = f.decision.UpdateRevision, f.surgeWhy
	case !f.ordinal() && f.live >= f.desired.Replicas:
		why = f.surgeWhy
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
		Surge: f.ordinal() && !f.inBase(pod.Slot),
	})
}

// revisionFor is the revision of a new pod: the goal, unless the slot is
// behind the partition, or the rollout stands still and as many pods as had
// moved before are on the goal already.
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
	case f.halted != "" && f.updated >= int(f.observed.Status.UpdatedReplicas):
		return current
	}
	return update
}

// findHolders finds who has a place, dead or alive. An ordinal is its pod's
// name: those below the number of pods are found by it, the few beyond by name,
// so that nothing is as large as the replicas that were asked for. Otherwise any
// free slot will do, and none is looked for where no pod is missing.
func (f *filling) findHolders() {
	if !f.ordinal() {
		if f.missing > 0 {
			f.names = f.occupied()
		}
		return
	}
	f.slots = make([]*Pod, len(f.observed.Pods))
	for p := range f.holders() {
		switch {
		case p.Slot >= 0 && p.Slot < len(f.slots):
			f.slots[p.Slot] = p
		case f.names == nil:
			f.names = map[string]*Pod{p.Name: p}
		default:
			f.names[p.Name] = p
		}
	}
}

// place is the name that goes with a slot, and who has it.
func (f *filling) place(slot int) (name string, holder *Pod) {
	if slot < len(f.slots) && f.slots[slot] != nil {
		return f.slots[slot].Name, f.slots[slot]
	}
	name = SlotName(&f.desired, slot)
	return name, f.names[name]
}

// occupied maps every name to the pod that has it, dead or alive. A slot is
// free when its name is: so a Random pod whose slot label was edited keeps its
// place, and of two slots whose suffixes happen to be the same one is used.
func (s *scene) occupied() map[string]*Pod {
	names := make(map[string]*Pod, len(s.observed.Pods))
	for p := range s.holders() {
		names[p.Name] = p
	}
	return names
}

// holders are the pods that keep their names from others.
func (s *scene) holders() iter.Seq[*Pod] {
	return func(yield func(*Pod) bool) {
		for _, bucket := range [][]*Pod{s.live, s.failed, s.lost, s.terminating, s.drifted} {
			for _, p := range bucket {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// blockOnHolder tells that an ordinal waits for its old pod. A live pod is no
// blocker, and a failed one on backoff has said so already; a dead orphan is
// deleted once it is adopted.
func (s *scene) blockOnHolder(p *Pod, slot int) {
	switch {
	case p.Membership == Drifted && !p.Terminating:
		s.blockOnName(p.Name, slot)
	case p.Terminating || s.gone[p] || p.Membership == Orphan && p.dead():
		s.blockOnTermination(p.Name, slot)
	}
}

func (s *scene) blockOnTermination(name string, slot int) {
	if !s.ordinal() {
		return
	}
	s.block(Blocked{
		Verb: CreatePod, Pod: name, Slot: slot, By: appsv1.BlockedByTermination,
		Message: "the pod's name is free only when the old pod is gone",
	})
}

func (s *scene) blockOnName(name string, slot int) {
	if !s.ordinal() {
		return
	}
	s.block(Blocked{
		Verb: CreatePod, Pod: name, Slot: slot, By: appsv1.BlockedByName,
		Message: "a pod named " + name + " exists and is not this owner's: delete it, or label it so that it can be adopted",
	})
}

// createWhy tells a scale-up from a repair of a fleet that was complete, and
// both from a rollout, whose new pods take the place of others that go.
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

// room keeps one pass within its bounds for each verb, and says so once.
func (s *scene) room(verb Verb, p *Pod) bool {
	most := maxPodsPerPass
	if verb == DeletePod {
		most = maxDeletesPerPass
	}
	if s.spent == nil {
		s.spent = map[Verb]int{}
	}
	s.spent[verb]++
	if s.spent[verb] <= most {
		return true
	}
	if s.spent[verb] > most+1 {
		return false
	}
	s.block(Blocked{
		Verb: verb, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByBatch,
		Message: fmt.Sprintf("one pass touches %d pods at most, the rest follows", most),
	})
	s.lookAfter(soon)
	return false
}
