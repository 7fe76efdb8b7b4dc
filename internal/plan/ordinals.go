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
	"slices"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

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
	for _, b := range condemned {
		if !s.movers[b.pod] {
			s.condemn(b, numbers)
		}
	}
	s.moveAway(movers, numbers)
}

// outsideFleet are the members that are in no slot of the fleet and stand in for
// no other, the highest first.
func (s *scene) outsideFleet() []brief {
	var list []brief
	for _, b := range s.staying() {
		if !b.is(inFleet) && !b.is(isOrphan) && !s.extras[b.pod] {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b brief) int { return b.slot - a.slot })
	return list
}

func (s *scene) condemn(b brief, numbers map[string]int64) {
	if b.is(isHeld) && s.held(b.pod, wantDelete) || !s.room(DeletePod, b.pod) {
		return
	}
	reason, message := s.condemnWhy(b.pod)
	s.remove(Action{Verb: DeletePod}, b.pod, reason, message, numbers)
	if s.onReserved(b) {
		s.movedAway = append(s.movedAway, b.pod)
	}
}

// onReserved: its ordinal was reserved, so that its successor has another one.
func (s *scene) onReserved(b brief) bool { return b.slot >= 0 && s.position(b.slot) < 0 }

// findMovers chooses the pods on reserved ordinals that have successors to wait
// for, the lowest: as many as successors are missing or not available yet, and no
// more than there may be pods in all. A pod that does not serve waits for none,
// and one that is held may go at any time. A pod beyond replicas waits for none
// either: after a scale-down the pods that stay may need its room.
func (s *scene) findMovers(condemned []brief) []brief {
	var serving []brief
	for _, b := range condemned {
		if s.onReserved(b) && b.is(isServing) && b.pod.HoldDelete == nil {
			serving = append(serving, b)
		}
	}
	if len(serving) == 0 {
		return nil
	}
	oldest := slices.MinFunc(serving, func(a, b brief) int { return a.pod.Created.Compare(b.pod.Created) }).pod.Created
	there, successors := len(s.extras), s.desired.Replicas
	for _, b := range s.staying() {
		if !b.is(inFleet) {
			continue
		}
		there++
		if b.is(isAvailable) || !b.pod.Created.After(oldest) {
			successors--
		}
	}
	room := s.desired.Replicas + s.desired.Update.MaxSurge - there
	movers := serving[len(serving)-max(0, min(len(serving), successors, room)):]
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
	slices.SortStableFunc(movers, func(a, b brief) int { return first(!a.is(isAvailable), !b.is(isAvailable)) })
	var waiting []brief
	for _, b := range movers {
		cost := price{ready: 1}
		if b.is(isAvailable) {
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
