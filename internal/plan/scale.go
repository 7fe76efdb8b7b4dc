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
	case p.Surge && s.mayStandIn(p.Slot):
		return appsv1.WhySurgeOver, fmt.Sprintf("the rollout no longer needs more than %s", count(s.desired.Replicas, "pod"))
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

// room keeps one pass within its bounds for each verb, and says so once.
func (s *scene) room(verb Verb, p *Pod) bool {
	most := MaxPodsPerPass
	if verb == DeletePod {
		most = maxDeletesPerPass
	}
	spent := s.spend(verb)
	if spent <= most {
		return true
	}
	if spent > most+1 {
		return false
	}
	s.block(Blocked{
		Verb: verb, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByBatch,
		Message: fmt.Sprintf("one pass touches %d pods at most, the rest follows", most),
	})
	s.lookAfter(soon)
	return false
}

// expense is how many pods a pass has done something to.
type expense struct {
	verb Verb
	pods int
}

// spend counts one more pod.
func (s *scene) spend(verb Verb) int {
	for i := range s.spent {
		if s.spent[i].verb == verb {
			s.spent[i].pods++
			return s.spent[i].pods
		}
	}
	s.spent = append(s.spent, expense{verb, 1})
	return 1
}
