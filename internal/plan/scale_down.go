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
	"slices"
	"strconv"

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
		return false
	}
	numbers := map[string]int64{"live": int64(len(members)), "replicas": int64(s.desired.Replicas)}
	for _, v := range s.victims(podsIn(members), surplus) {
		if s.held(v.pod, wantDelete) {
			continue
		}
		s.deletePod(v.pod, false, appsv1.WhyScaleDown,
			fmt.Sprintf("%s, %d asked for; chosen because %s", NumberOf(len(members), "live pod"), s.desired.Replicas, v.because),
			numbers)
	}
	return false
}

// stayingMembers are the pods that stay and are ours already.
func (s *scene) stayingMembers() []brief {
	return slices.DeleteFunc(slices.Clone(s.staying()), func(b brief) bool { return b.orphan })
}

// victims are the least useful pods. In the middle of a rollout, when the new
// pods are not available yet, an available old one is kept that the order would
// give up, as long as the budget needs it.
func (s *scene) victims(members []*Pod, surplus int) []*victim {
	ranked := rankVictims(members, s.decision.UpdateRevision, s.leaves)
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

// sparing chooses victims and spares the available pods that the budget needs:
// never more than replicas, so enough are left to choose from.
func (s *scene) sparing(ranked []*victim, surplus int) []*victim {
	spare := s.newBudget(1).available
	needed := func(v *victim) bool {
		if !s.available(v.pod) {
			return false
		}
		spare--
		return spare < 0 && !v.pod.DeleteRequested
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
	case s.surge > 0 && s.mayStandIn(p.Slot) && !s.updated(p) && !s.serves(p):
		return appsv1.WhyRolloutRecreate, "recreated: the extra pod is on an old revision and does not serve"
	case p.Surge && s.mayStandIn(p.Slot) && s.desired.Disruption.MaxSurge > 0:
		return appsv1.WhySurgeOver, "it no longer stands in for another pod"
	case p.Surge && s.mayStandIn(p.Slot):
		return appsv1.WhySurgeOver, fmt.Sprintf("the rollout no longer needs more than %s", NumberOf(s.desired.Replicas, "pod"))
	}
	return appsv1.WhyScaleDown, s.beyondReplicas(p.Slot)
}

// beyondReplicas is said of every pod of a large scale-down: fmt would allocate
// each of its numbers.
func (s *scene) beyondReplicas(slot int) string {
	text := append(make([]byte, 0, 64), "ordinal "...)
	text = strconv.AppendInt(text, int64(slot), 10)
	text = append(text, " is not below replicas "...)
	return string(strconv.AppendInt(text, int64(s.desired.Replicas), 10))
}

// condemnOrdinals condemns the pods outside the fleet's ordinals, the highest
// first. Those whose ordinals were reserved have successors elsewhere in the
// fleet: as long as these are not available they go within the budget only. The
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
	if s.onReserved(b) {
		s.movedAway = append(s.movedAway, b.pod)
	}
}

// onReserved: its ordinal was reserved, so that its successor has another one.
func (s *scene) onReserved(b brief) bool {
	_, reserved := slices.BinarySearch(s.desired.Reserved, b.slot)
	return reserved
}

// findMovers chooses the pods on reserved ordinals that are still needed, the
// available ones and of these the lowest: as many as pods of the base are missing or not available, and no more
// than there may be pods in all. A pod that does not serve waits for none,
// and one that is held may go at any time. A pod beyond replicas waits for none
// either: after a scale-down the pods that stay may need its room.
func (s *scene) findMovers(condemned []brief) []brief {
	var serving []brief
	for _, b := range condemned {
		if s.onReserved(b) && b.serving && b.pod.HoldDelete == nil {
			serving = append(serving, b)
		}
	}
	if len(serving) == 0 {
		return nil
	}
	there, missing := len(s.extras), s.desired.Replicas
	for _, b := range s.staying() {
		if !b.inFleet {
			continue
		}
		there++
		if b.available {
			missing--
		}
	}
	slices.SortStableFunc(serving, func(a, b brief) int { return first(!a.available, !b.available) })
	room := s.desired.Replicas + s.desired.MostSurge() - there
	movers := serving[len(serving)-max(0, min(len(serving), missing, room)):]
	for _, b := range movers {
		mark(&s.movers, b.pod)
	}
	return movers
}

// moveAway condemns as many of the movers as the budget allows.
func (s *scene) moveAway(movers []brief, numbers map[string]int64) {
	if len(movers) == 0 {
		return
	}
	budget := s.newBudget(len(movers))
	slices.SortStableFunc(movers, func(a, b brief) int { return first(!a.available, !b.available) })
	var waiting []brief
	for _, b := range movers {
		cost := price{ready: 1}
		if b.available {
			cost.available = 1
		}
		if !budget.affords(cost) {
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
			Message: "the pods' successors have other ordinals; " + s.limits(budget),
		})
	}
}
