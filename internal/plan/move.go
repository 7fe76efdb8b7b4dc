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
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// move lets pods leave their nodes: each is evicted when as many others are
// available as the fleet has to have. So it is replaced before it goes, with random
// names by the new pod, with ordinals by one that stands in until the pod is back.
// It goes before the rollout and spends the same pods: both together leave as many
// available as each of them has to.
//
// The eviction API is used, so that PodDisruptionBudgets hold.
func move(s *scene) bool {
	if len(s.leavers) == 0 {
		return false
	}
	b := s.budgetFor(s.desired.Replicas)
	var waiting []leaver
	for _, l := range s.leavers {
		cost := price{ready: 1}
		if l.available {
			cost.available = 1
		}
		forgiven := s.brokenBefore(l.pod.EvictionRequested)
		switch {
		case s.gone[l.pod]:
		case b.available+forgiven < cost.available || b.ready+forgiven < cost.ready:
			waiting = append(waiting, l)
		case s.held(l.pod, wantDelete) || !s.room(EvictPod, l.pod):
		default:
			b.pay(cost)
			s.remove(Action{Verb: EvictPod}, l.pod, l.reason, l.because+"; others carry its load", nil)
		}
	}
	for _, l := range waiting {
		s.blockOnReplacement(l)
	}
	s.setSurge(s.surged) // those that go need no more replacements
	return false
}

// brokenBefore counts the pods that were there before an eviction was requested
// and are not available through their own fault, or for want of a node: it does not
// wait for them. Those that came later may be broken because of the drain.
func (s *scene) brokenBefore(requested time.Time) int {
	if requested.IsZero() {
		return 0
	}
	n := 0
	for _, b := range s.staying() {
		if b.inFleet && !b.serving && b.pod.Waiting != "" && b.pod.Created.Before(requested) {
			n++
		}
	}
	for _, p := range s.backedOff {
		if p.Created.Before(requested) && (!s.ordinal() || s.inBase(p.Slot)) {
			n++
		}
	}
	return n
}

// blockOnReplacement says what a pod that leaves waits for.
func (s *scene) blockOnReplacement(l leaver) {
	blocked := Blocked{
		Verb: EvictPod, Pod: l.pod.Name, Slot: l.slot, By: appsv1.BlockedByReplacement, Until: l.until, Count: 1,
		Message: l.because + "; it stays until a replacement is available",
	}
	if nodes := s.observed.Nodes; s.noOpenNode() && s.servingBeyond() == 0 {
		blocked.By = appsv1.BlockedByNodes
		blocked.Message = fmt.Sprintf("%s; no replacement can be scheduled: none of the %s that the template allows takes new pods",
			l.because, NumberOf(nodes.All, "node"))
	}
	s.block(blocked)
}
