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
	b, forgiven := s.budgetFor(s.desired.Replicas), map[time.Time]int{}
	var waiting []leaver
	for _, l := range s.leavers {
		cost := s.priceOfLosing(l.pod)
		broken, known := forgiven[l.since]
		if !known {
			broken = s.brokenBefore(l.since)
			forgiven[l.since] = broken
		}
		switch {
		case s.gone[l.pod]:
		case s.inOrder || b.available+broken < cost.available || b.ready+broken < cost.ready:
			waiting = append(waiting, l)
		case s.held(l.pod, wantDelete) || !s.room(EvictPod, l.pod):
		default:
			b.pay(cost)
			s.remove(Action{Verb: EvictPod}, l.pod, l.reason, l.because+"; others carry its load", nil)
		}
	}
	room := !s.noOpenNode() || s.placedBeyond() > 0
	for _, l := range waiting {
		s.blockOnReplacement(l, room)
	}
	s.setSurge(s.surged) // those that go need no more replacements
	return false
}

// brokenBefore counts the pods that an eviction does not wait for: those that were
// there before it was requested and have not served since, through their own fault.
// There are no more of them than were missing then, as far as can be told: a pod that
// came later, and not to stand in, is the successor of one that served. None of them
// was made to stand in. One that cannot be scheduled is waited for, as the
// replacement is.
func (s *scene) brokenBefore(requested time.Time) int {
	if requested.IsZero() {
		return 0
	}
	broken, missing := 0, s.desired.Replicas
	for i := range s.briefs {
		b := &s.briefs[i]
		p, standIn := b.pod, !b.inFleet || b.pod.madeToStandIn()
		switch {
		case s.servedAt(b, standIn, requested):
			missing--
		case standIn || b.serving || s.gone[p] || !p.Created.Before(requested):
		case p.Waiting != "" && p.Node != "":
			broken++
		}
	}
	for _, p := range s.backedOff {
		if p.Created.Before(requested) && p.FailedAt.Before(requested) && !p.madeToStandIn() && (!s.ordinal() || s.inBase(p.Slot)) {
			broken++
		}
	}
	return max(0, min(broken, missing))
}

// servedAt: the pod served at a time, or the one whose successor it is.
func (s *scene) servedAt(b *brief, standIn bool, at time.Time) bool {
	switch p := b.pod; {
	case !p.Created.Before(at):
		return !standIn
	case b.serving:
		return !standIn || !p.ReadySince.After(at)
	default:
		return p.UnreadySince.After(at)
	}
}

// madeToStandIn: for others that a rollout or a drain takes.
func (p *Pod) madeToStandIn() bool {
	return p.Surge || p.Replaces == appsv1.WhyDisruptionSurge || p.Replaces == appsv1.WhyRolloutSurge
}

// blockOnReplacement says what a pod that leaves waits for, and whether that has room.
func (s *scene) blockOnReplacement(l leaver, room bool) {
	blocked := Blocked{
		Verb: EvictPod, Pod: l.pod.Name, Slot: l.slot, By: appsv1.BlockedByReplacement, Until: l.until, Count: 1,
		Message: l.because + "; it stays until a replacement is available",
	}
	if !s.now.Before(l.until) {
		blocked.Until = l.over
	}
	if !room {
		blocked.By = appsv1.BlockedByNodes
		blocked.Message = fmt.Sprintf("%s; no replacement can be scheduled: none of the %s that the template allows takes new pods",
			l.because, NumberOf(s.observed.Nodes.All, "node"))
	}
	s.block(blocked)
}
