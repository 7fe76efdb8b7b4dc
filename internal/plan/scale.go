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
	for _, p := range s.staying() {
		if !p.DeleteRequested || p.Membership == Orphan || s.ordinal() && p.Slot >= s.desired.Replicas {
			continue
		}
		s.deletePod(p, false, appsv1.WhyRequested, "the pod carries the label "+appsv1.LabelDelete+"=true", nil)
	}
	return false
}

// scaleDown condemns what is too many: with ordinals the pods from replicas
// upward, highest first, otherwise the least useful ones. An orphan is adopted
// first and counts only in a later pass, as a member: should the adoption fail,
// no member has been given up for it.
func scaleDown(s *scene) bool {
	if s.ordinal() {
		s.condemnOrdinals()
		return false
	}
	members := slices.DeleteFunc(s.staying(), func(p *Pod) bool { return p.Membership == Orphan })
	surplus := len(members) - s.desired.Replicas
	if surplus <= 0 {
		return false
	}
	numbers := map[string]int64{"live": int64(len(members)), "replicas": int64(s.desired.Replicas)}
	for _, v := range rankVictims(members, s.decision.UpdateRevision)[:surplus] {
		s.deletePod(v.pod, false, appsv1.WhyScaleDown,
			fmt.Sprintf("%s, %d asked for; chosen because %s", count(len(members), "live pod"), s.desired.Replicas, v.because),
			numbers)
	}
	return false
}

func (s *scene) condemnOrdinals() {
	condemned := slices.DeleteFunc(s.staying(), func(p *Pod) bool {
		return p.Slot != NoSlot && p.Slot < s.desired.Replicas || p.Membership == Orphan
	})
	slices.SortFunc(condemned, func(a, b *Pod) int { return b.Slot - a.Slot })
	numbers := map[string]int64{"condemned": int64(len(condemned)), "replicas": int64(s.desired.Replicas)}
	for _, p := range condemned {
		message := fmt.Sprintf("ordinal %d is not below replicas %d", p.Slot, s.desired.Replicas)
		if p.Slot == NoSlot {
			message = "the pod's name is none of this fleet's ordinals"
		}
		s.deletePod(p, false, appsv1.WhyScaleDown, message, numbers)
	}
}

// scaleUp fills free slots, lowest first. With ordinals the slots are given,
// and one whose old pod is still there waits for it; otherwise any free slot
// will do.
func scaleUp(s *scene) bool {
	live := len(s.staying())
	missing := max(0, s.desired.Replicas-live)
	if !s.ordinal() {
		missing = max(0, missing-s.onBackoff)
	}
	occupied := s.occupied()
	held := make(map[string]bool, len(s.observed.HeldNames))
	for _, name := range s.observed.HeldNames {
		held[name] = true
	}
	reason := s.createWhy()
	message := fmt.Sprintf("%s, %d asked for", count(live, "live pod"), s.desired.Replicas)
	numbers := map[string]int64{"live": int64(live), "replicas": int64(s.desired.Replicas)}

	for slot := 0; s.wantsSlot(slot, missing); slot++ {
		name := SlotName(&s.desired, slot)
		switch holder := occupied[name]; {
		case holder != nil:
			s.blockOnHolder(holder, slot)
			continue
		case s.leaving[name]:
			s.blockOnTermination(name, slot)
			continue
		case held[name]:
			s.blockOnName(name, slot)
			continue
		}
		pod := &Pod{Name: name, Slot: slot}
		if !s.room(CreatePod, pod) {
			break
		}
		missing--
		occupied[name] = pod
		s.act(Action{Verb: CreatePod, Pod: name, Slot: slot, Revision: s.decision.UpdateRevision}, reason, message, numbers)
	}
	return false
}

// wantsSlot says how far scaleUp walks.
func (s *scene) wantsSlot(slot, missing int) bool {
	if s.ordinal() {
		return slot < s.desired.Replicas
	}
	return missing > 0
}

// occupied maps every name to the pod that has it, dead or alive. A slot is
// free when its name is: so a Random pod whose slot label was edited keeps its
// place, and of two slots whose suffixes happen to be the same one is used.
func (s *scene) occupied() map[string]*Pod {
	names := make(map[string]*Pod, len(s.observed.Pods))
	for _, bucket := range [][]*Pod{s.live, s.failed, s.lost, s.terminating, s.drifted} {
		for _, p := range bucket {
			names[p.Name] = p
		}
	}
	return names
}

// blockOnHolder tells that an ordinal waits for its old pod. A live pod is no
// blocker, and a failed one on backoff has said so already; a dead orphan is
// deleted once it is adopted.
func (s *scene) blockOnHolder(p *Pod, slot int) {
	switch {
	case p.Membership == Drifted && !p.Terminating:
		s.blockOnName(p.Name, slot)
	case p.Terminating || s.gone[p.Name] || p.Membership == Orphan && p.dead():
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

// createWhy tells a scale-up from a repair of a fleet that was complete.
func (s *scene) createWhy() string {
	growing := meta.FindStatusCondition(s.observed.Status.Conditions, appsv1.ConditionReconciling)
	if s.observed.Status.ObservedGeneration != s.desired.Generation ||
		growing != nil && growing.Reason == appsv1.ReasonScalingUp {
		return appsv1.WhyScaleUp
	}
	return appsv1.WhyMissing
}

// room keeps one pass within maxPodsPerPass for each verb, and says so once.
func (s *scene) room(verb Verb, p *Pod) bool {
	s.spent[verb]++
	if s.spent[verb] <= maxPodsPerPass {
		return true
	}
	if s.spent[verb] > maxPodsPerPass+1 {
		return false
	}
	s.block(Blocked{
		Verb: verb, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByBatch,
		Message: fmt.Sprintf("one pass touches %d pods at most, the rest follows", maxPodsPerPass),
	})
	s.lookAfter(soon)
	return false
}
