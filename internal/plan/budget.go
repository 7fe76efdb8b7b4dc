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

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// budget is how many serving pods may still be taken out of service.
type budget struct {
	left           int
	maxUnavailable int
	available      int
}

// newBudget counts what serves and will go on to: an ordinal that only its
// holder keeps from the scale-down is no reason to take another. Where nothing
// is recreated there is no surge, and a budget of nothing at all means one pod,
// or no rollout would ever move.
func (s *scene) newBudget(recreate int) budget {
	unavailable := s.desired.Update.MaxUnavailable
	if unavailable == 0 && (s.desired.Update.MaxSurge == 0 || recreate == 0) {
		unavailable = 1
	}
	b := budget{maxUnavailable: unavailable}
	for _, p := range s.staying() {
		condemned := s.ordinal() && !s.inBase(p.Slot) && !s.inSurge(p.Slot)
		if s.available(p) && !condemned {
			b.available++
		}
	}
	b.left = b.available - (s.desired.Replicas - unavailable)
	return b
}

// surgeKept is how many pods beyond replicas there may be now: as many as have
// to be recreated, and with ordinals also those that stand in for pods which
// were recreated and are not available yet.
func (s *scene) surgeKept(recreate int) int {
	surge := min(s.desired.Update.MaxSurge, recreate)
	if !s.ordinal() || s.decision.CurrentRevision == s.decision.UpdateRevision && !s.restarting() {
		return surge
	}
	existing, unavailable := 0, s.desired.Replicas
	for _, p := range s.staying() {
		switch {
		case !s.inBase(p.Slot):
			existing++
		case s.available(p):
			unavailable--
		}
	}
	standIns := min(existing, s.desired.Update.MaxSurge, recreate+unavailable)
	return max(surge, standIns)
}

// restarting: the user asked for a restart, and nothing else since. Without
// that last part a restart of long ago would keep pods from a scale-down for as
// long as others are broken.
func (s *scene) restarting() bool {
	return !s.desired.Restart.IsZero() && s.observed.Status.ObservedGeneration == s.desired.Generation
}

// move starts as many moves as the budget allows, and goes on with those that
// are under way. The first pod that the budget holds back ends it: a cheaper
// one behind it must not overtake for ever.
func (s *scene) move(pods []*stalePod, b budget) {
	for i, p := range pods {
		underWay := p.Gate == GateShut && p.inPlace()
		cost := 1
		if p.free() || underWay {
			cost = 0
		}
		if cost > 0 && cost > b.left { // what is free goes also when the budget is overdrawn
			s.blockPods(appsv1.BlockedByBudget, fmt.Sprintf(
				"%d of %d pods are available and maxUnavailable is %d", b.available, s.desired.Replicas, b.maxUnavailable), pods[i:])
			return
		}
		if s.moveOne(p) {
			b.left -= cost
		}
	}
}

// moveOne moves a pod, one step at a time, and tells whether it did.
func (s *scene) moveOne(p *stalePod) bool {
	numbers := map[string]int64{"replicas": int64(s.desired.Replicas)}
	if !p.inPlace() {
		return s.recreate(p, numbers)
	}
	if s.held(p.Pod, wantUpdate) {
		return false
	}
	if !s.room(UpdatePod, p.Pod) {
		return false
	}
	if p.change.Restarts && (p.Gate == GateOpen || p.Gate == GateShut && p.Ready) {
		s.takeOutOfService(p)
		return true
	}
	action := Action{Verb: ResizePod, Pod: p.Name, UID: p.UID, Slot: p.Slot, From: p.Revision, Revision: s.decision.UpdateRevision}
	if len(p.change.Resize) > 0 {
		s.act(action, p.reason, p.because, numbers)
	}
	action.Verb = UpdatePod
	for _, mark := range p.Containers {
		if slices.Contains(p.change.Images, mark.Name) {
			action.Replaced = append(action.Replaced, mark)
		}
	}
	s.act(action, p.reason, p.because, numbers)
	return true
}

// takeOutOfService shuts the gate, and waits until the pod is out of service.
func (s *scene) takeOutOfService(p *stalePod) {
	if p.Gate == GateShut {
		s.block(Blocked{
			Verb: UpdatePod, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByContainer, Count: 1,
			Message: "waiting until the pod is out of service",
		})
		return
	}
	s.act(Action{Verb: ShutGate, Pod: p.Name, UID: p.UID, Slot: p.Slot, Revision: p.Revision},
		appsv1.WhyOutOfService, p.because, nil)
}

func (s *scene) recreate(p *stalePod, numbers map[string]int64) bool {
	verb := DeletePod
	if s.desired.Update.UseEviction {
		verb = EvictPod
	}
	return !s.held(p.Pod, wantDelete) && s.takeDown(verb, p.Pod, false, p.reason, "recreated: "+p.because, numbers)
}

// openGates puts pods in service that carry our gate and are not about to
// change: new ones, those whose change is done, and those whose change was
// called off or is held.
func openGates(s *scene) bool {
	moving := map[string]bool{}
	if blocker, _ := s.stopped(); blocker == "" {
		inScope, _ := s.inScope()
		for _, p := range inScope {
			moving[p.Name] = p.inPlace() && p.Gate == GateShut && !s.wanted[p.Name]
		}
	}
	for i := range s.decision.Actions {
		if a := &s.decision.Actions[i]; a.Verb == UpdatePod {
			moving[a.Pod] = true
		}
	}
	for _, p := range s.staying() {
		if p.Gate != GateUnset && p.Gate != GateShut || p.Changing || moving[p.Name] || p.Membership == Orphan {
			continue
		}
		s.act(Action{Verb: OpenGate, Pod: p.Name, UID: p.UID, Slot: p.Slot, Revision: p.Revision},
			appsv1.WhyInService, "nothing is to be changed in place", nil)
	}
	return false
}
