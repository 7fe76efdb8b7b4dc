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
	"cmp"
	"fmt"
	"slices"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// scaleDown condemns surplus pods: with ordinals the pods from replicas upward,
// highest first, otherwise the least useful ones. Pods that a rollout needs
// beyond replicas are not surplus. An orphan is adopted first and counts only in
// a later pass, as a member: if the adoption fails, no member has been given up
// for it.
func scaleDown(s *scene) bool {
	if s.ordinal() {
		s.condemnOrdinals()
		return false
	}
	members := s.stayingMembers()
	surplus := len(members) - s.desired.Replicas - max(s.surge, s.standIns)
	if surplus <= 0 {
		s.deleteBesideSurge(members)
		return false
	}
	numbers := map[string]int64{"live": int64(len(members)), "replicas": int64(s.desired.Replicas)}
	for _, v := range s.victims(podsIn(members), surplus) {
		s.deletePod(v.pod, false, appsv1.WhyScaleDown,
			fmt.Sprintf("%s, %d asked for; chosen because %s", NumberOf(len(members), "live pod"), s.desired.Replicas, v.because),
			numbers)
	}
	return false
}

// deleteBesideSurge obeys the delete label while a surge stands in: none is too many
// then, and the label would wait for the end of the rollout or the drain.
func (s *scene) deleteBesideSurge(members []brief) {
	for _, b := range members {
		if b.requested {
			s.obeyLabel(b.pod)
		}
	}
}

// stayingMembers are the pods that stay and are ours already.
func (s *scene) stayingMembers() []brief {
	return slices.DeleteFunc(slices.Clone(s.staying()), func(b brief) bool { return b.orphan })
}

// victims are the least useful pods. One that serves is kept, though the order
// would give it up, as long as the budget needs it.
func (s *scene) victims(members []*Pod, surplus int) []*victim {
	ranked := rankVictims(members, s.updated, s.leaves)
	if keep := s.keptOld(); keep > 0 {
		ranked = rankVictims(members, s.keptByPartition(ranked, keep), s.leaves)
	}
	chosen := s.sparing(ranked, surplus)
	goes := make(map[*victim]bool, len(chosen))
	for _, v := range chosen {
		goes[v] = true
	}
	explain(chosen, slices.DeleteFunc(slices.Clone(ranked), func(v *victim) bool { return goes[v] }))
	for _, v := range chosen {
		if v.because == notReached && s.updated(v.pod) {
			v.because = "others stay on the old revision"
		}
	}
	return chosen
}

// keptByPartition are the pods that the partition, with random names, would have after
// the scale-down: so many of the old revision, those of the current one before those in
// between, and of those that have moved the others. None of them is less useful because
// the rollout has not reached it.
func (s *scene) keptByPartition(ranked []*victim, keep int) func(*Pod) bool {
	kept := map[*Pod]bool{}
	old, moved := keep, s.desired.Replicas-keep
	for _, current := range [...]bool{true, false} {
		for _, v := range slices.Backward(ranked) {
			left := &old
			if s.updated(v.pod) {
				left = &moved
			}
			if *left > 0 && (v.pod.Revision == s.decision.CurrentRevision) == current {
				*left--
				kept[v.pod] = true
			}
		}
	}
	return func(p *Pod) bool { return kept[p] }
}

// sparing chooses victims and spares the pods that the budget needs: never more
// than replicas, so enough are left to choose from. The user's own word, the delete
// label, is obeyed. One whose holder was told costs nothing as long as it is held.
func (s *scene) sparing(ranked []*victim, surplus int) []*victim {
	budget := s.scaleDownBudget(1)
	needed := func(v *victim) bool {
		cost := s.priceOfLosing(v.pod)
		if v.pod.told() {
			return false
		}
		if !v.pod.DeleteRequested && !budget.affords(cost) {
			return true
		}
		budget.pay(cost)
		return false
	}
	return slices.DeleteFunc(slices.Clone(ranked), needed)[:surplus]
}

// condemnWhy distinguishes a scale-down from the end of a surge.
func (s *scene) condemnWhy(p *Pod) (reason, message string) {
	place := s.position(p.Slot)
	switch {
	case p.Slot == NoSlot:
		return appsv1.WhyScaleDown, "the pod's name is none of this fleet's ordinals"
	case place < 0:
		return appsv1.WhyReserved, fmt.Sprintf("ordinal %d is reserved", p.Slot)
	case p.DeleteRequested && p.Surge:
		return appsv1.WhyRequested, carriesLabel
	case len(s.extras) < s.surge && s.mayStandIn(p.Slot) && !s.updated(p) && !s.serves(p):
		return s.recreateExtraWhy(p)
	case p.Surge && s.mayStandIn(p.Slot) && s.unplaced != "":
		return appsv1.WhySurgeOver, "it stands in for another pod, and may have the room that " + s.unplaced + " cannot be scheduled without"
	case p.Surge && s.mayStandIn(p.Slot) && (s.desired.Disruption.MaxSurge > 0 || p.Replaces == appsv1.WhyDisruptionSurge):
		return appsv1.WhySurgeOver, "it no longer stands in for another pod"
	case p.Surge && s.mayStandIn(p.Slot):
		return appsv1.WhySurgeOver, fmt.Sprintf("the rollout no longer needs more than %s", NumberOf(s.desired.Replicas, "pod"))
	}
	return appsv1.WhyScaleDown, s.beyondReplicas()
}

// recreateExtraWhy says why an extra pod that does not serve gives way to another.
func (s *scene) recreateExtraWhy(p *Pod) (reason, message string) {
	if p.Revision == s.decision.UpdateRevision {
		return appsv1.WhyRestart, "recreated: the extra pod does not serve, and a restart was asked for"
	}
	return appsv1.WhyRolloutRecreate, "recreated: the extra pod is on an old revision and does not serve"
}

// beyondReplicas is said of every pod of a large scale-down, so it is written once.
func (s *scene) beyondReplicas() string {
	if s.remains == "" {
		s.remains = s.whatRemains()
	}
	return s.remains
}

func (s *scene) whatRemains() string {
	last := s.desired.Replicas - 1
	for s.position(last) < s.desired.Replicas-1 {
		last++
	}
	switch {
	case s.desired.Replicas == 0:
		return "no pod remains at 0 replicas"
	case s.desired.Replicas == 1:
		return fmt.Sprintf("only ordinal %d remains at 1 replica", last)
	case last < s.desired.Replicas:
		return fmt.Sprintf("only ordinals 0 to %d remain at %d replicas", last, s.desired.Replicas)
	}
	return fmt.Sprintf("only ordinals 0 to %d, without the reserved ones, remain at %d replicas", last, s.desired.Replicas)
}

// condemnOrdinals condemns the pods outside the fleet's ordinals, the highest
// first. Where pods of the fleet are missing or not available, as many others stay
// for them: reserving an ordinal, or giving it free again, moves pods to other
// ordinals, and a scale-down may meet a drain. These go within the budget only. The
// others are too many.
func (s *scene) condemnOrdinals() {
	condemned := s.outsideFleet()
	if len(condemned) == 0 {
		return
	}
	s.decision.Actions = slices.Grow(s.decision.Actions, min(len(condemned), maxDeletesPerPass))
	numbers := map[string]int64{"condemned": int64(len(condemned)), "replicas": int64(s.desired.Replicas)}
	movers := s.findMovers(condemned)
	var inOrder []brief
	for _, b := range condemned {
		switch {
		case s.movers[b.pod]:
		case s.goesInOrder(b):
			inOrder = append(inOrder, b)
		default:
			s.condemn(b, numbers)
		}
	}
	s.removeInOrder(inOrder, numbers)
	s.moveAway(movers, numbers)
}

// outsideFleet are the members that are in no slot of the fleet and stand in for
// no other, the highest first.
func (s *scene) outsideFleet() []brief {
	var list []brief
	for _, b := range s.staying() {
		if !b.inFleet && !b.orphan && !s.extras[b.pod] {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b brief) int { return b.slot - a.slot })
	return list
}

func (s *scene) condemn(b brief, numbers map[string]int64) {
	if s.held(b.pod, wantDelete) || !s.room(DeletePod, b.pod) {
		return
	}
	reason, message := s.condemnWhy(b.pod)
	s.remove(Action{Verb: DeletePod}, b.pod, reason, message, numbers)
	s.movedAway = append(s.movedAway, b.pod) // new pods have other ordinals, and its deletion may fail
}

// findMovers chooses the pods that stand in for those of the fleet that are missing
// or not available: the available ones, and of these the lowest. A pod that does not
// serve waits for none, and one that is held may go at any time. One that goes in
// order waits for all of the fleet anyway.
func (s *scene) findMovers(condemned []brief) []brief {
	var serving []brief
	for _, b := range condemned {
		if b.serving && b.pod.HoldDelete == nil && !s.goesInOrder(b) {
			serving = append(serving, b)
		}
	}
	if len(serving) == 0 {
		return nil
	}
	missing := s.desired.Replicas
	for _, b := range s.staying() {
		if b.inFleet && b.available && !b.orphan {
			missing--
		}
	}
	// Those go first that cost least, and of these the highest.
	slices.SortStableFunc(serving, func(a, b brief) int {
		return cmp.Or(first(!a.available, !b.available), first(a.requested, b.requested))
	})
	movers := serving[len(serving)-max(0, min(len(serving), missing)):]
	for _, b := range movers {
		mark(&s.movers, b.pod)
	}
	return movers
}

// moveAway condemns as many of the movers as the budget allows, and those that the user
// wants deleted.
func (s *scene) moveAway(movers []brief, numbers map[string]int64) {
	if len(movers) == 0 {
		return
	}
	budget := s.scaleDownBudget(len(movers))
	var waiting []brief
	for _, b := range movers {
		cost := s.priceOfLosing(b.pod)
		if !b.requested && !budget.affords(cost) {
			waiting = append(waiting, b)
			continue
		}
		budget.pay(cost)
		s.condemn(b, numbers)
		delete(s.movers, b.pod)
	}
	if len(waiting) > 0 {
		s.block(Blocked{
			Verb: DeletePod, Pod: waiting[0].pod.Name, Slot: waiting[0].slot, By: appsv1.BlockedByBudget, Count: len(waiting),
			Until:   s.drained, // the budget is larger then
			Message: "pods on the fleet's ordinals are missing or not available; " + s.limits(budget),
		})
	}
}
