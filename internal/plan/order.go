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

import appsv1 "github.com/mycompany/pod-operator/api/apps/v1"

// With podManagementPolicy OrderedReady pods come and go one at a time. A pod of
// the base is created when all lower ordinals are available, and one beyond it goes
// when all higher ones are gone and the base is available. What a rollout or a repair
// deletes, and the rollout's surge, keep their own rules: a pod of a broken revision
// does not wait for others to be fixed.

// inTurn: the pod is available, and stays so.
func (s *scene) inTurn(p *Pod) bool {
	return p != nil && !p.Terminating && !p.dead() && p.Membership != Drifted && !s.gone[p] && !s.restarting[p] && s.available(p)
}

// before is the pod that a slot waits for, or empty: the first of the base that is
// not available. Slots are asked for in their order.
func (f *filling) before(slot int, name string, holder *Pod) string {
	if !f.desired.Ordered || !f.inBase(slot) {
		return ""
	}
	before := f.first
	if before == "" && !f.inTurn(holder) {
		f.first = name
	}
	return before
}

// queue notes that the pod of a slot waits for its turn.
func (f *filling) queue(slot int, name string) {
	if f.queued.Count == 0 {
		f.queued = Blocked{
			Verb: CreatePod, Pod: name, Slot: slot, By: appsv1.BlockedByOrder,
			Message: "waiting for " + f.first + " to become available: pods start in order",
		}
	}
	f.queued.Count++
}

// goesInOrder: a pod beyond the base, and neither the rollout's nor on a reserved
// ordinal.
func (s *scene) goesInOrder(b brief) bool {
	return s.desired.Ordered && s.position(b.slot) >= s.desired.Replicas && (!b.pod.Surge || !b.standsIn)
}

// removeInOrder condemns the first of the pods, of which the highest is the first,
// if it is its turn.
func (s *scene) removeInOrder(pods []brief, numbers map[string]int64) {
	if len(pods) == 0 {
		return
	}
	wait := s.waitToRemove(pods[0])
	if wait == "" {
		s.condemn(pods[0], numbers)
		s.inOrder = s.gone[pods[0].pod]
		wait = "waiting until " + pods[0].pod.Name + " is gone"
		pods = pods[1:]
	}
	if len(pods) > 0 {
		s.block(Blocked{
			Verb: DeletePod, Pod: pods[0].pod.Name, Slot: pods[0].slot, By: appsv1.BlockedByOrder, Count: len(pods),
			Message: wait + ": pods are removed in order",
		})
	}
}

// waitToRemove says what has to happen before a pod may go, or nothing.
func (s *scene) waitToRemove(b brief) string {
	for _, bucket := range [][]*Pod{s.terminating, s.failed, s.lost} { // a dead pod may be held, too
		for _, p := range bucket {
			if p.Slot > b.slot {
				return "waiting until " + p.Name + " is gone"
			}
		}
	}
	there := make(map[int]bool, s.desired.Replicas)
	for _, other := range s.staying() {
		switch {
		case other.inFleet && other.available:
			there[other.slot] = true
		case other.slot > b.slot && s.extras[other.pod] && s.goesInOrder(other):
			return "waiting until " + other.pod.Name + " no longer stands in"
		}
	}
	for slot := 0; s.position(slot) < s.desired.Replicas; slot++ {
		if s.inBase(slot) && !there[slot] {
			return "waiting for " + SlotName(&s.desired, slot) + " to become available"
		}
	}
	return ""
}
