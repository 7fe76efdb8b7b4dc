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

// budget is how many pods may still be taken out of service. What is ready and
// not available yet serves too: taking it costs no available pod, but it must
// not leave fewer ready ones than have to serve.
type budget struct {
	available, ready int
	// have and needed are the available pods that there are and have to be.
	have, needed int
}

// price is what moving a pod takes from the budget.
type price struct{ available, ready int }

func (b *budget) affords(p price) bool {
	return (p.available == 0 || b.available >= p.available) && (p.ready == 0 || b.ready >= p.ready)
}

func (b *budget) pay(p price) {
	b.available -= p.available
	b.ready -= p.ready
}

// priceOf: a pod that does not serve, or goes on serving, costs nothing, also
// when the budget is overdrawn.
func (s *scene) priceOf(p *stalePod) price {
	if p.inPlace() && !p.change.Restarts {
		return price{}
	}
	return s.priceOfLosing(p.pod)
}

// priceOfLosing is the price of a pod that goes, or restarts.
func (s *scene) priceOfLosing(p *Pod) price {
	switch {
	case s.available(p):
		return price{available: 1, ready: 1}
	case s.serves(p):
		return price{ready: 1}
	}
	return price{}
}

// uninterrupted: the user wrote that no pod may be unavailable. Then a change in
// place that restarts a container is surged over, too, as far as there may be more
// pods: the pod does not serve meanwhile.
func (s *scene) uninterrupted() bool {
	return s.desired.Update.NoneUnavailable && s.desired.Update.MaxUnavailable == 0
}

// newBudget is the rollout's. A budget of nothing at all means one pod, or no
// rollout would ever move. That is so, too, where a percentage rounds down to none
// and no pod is surged over: a small fleet that says nothing of its budget is
// changed in place one pod at a time, though not in the pass that takes another pod
// that serves. What stands in for pods that leave their
// nodes is not spent: a rollout would keep them waiting to its end.
func (s *scene) newBudget(surged int) budget {
	unavailable := s.desired.Update.MaxUnavailable
	if unavailable == 0 && (s.desired.Update.MaxSurge == 0 || surged == 0 && !s.uninterrupted() && !s.takesServing()) {
		unavailable = 1
	}
	b := s.budgetFor(s.desired.Replicas - unavailable)
	reserved := s.reservedSurge()
	b.available -= max(0, min(reserved, b.available))
	b.ready -= max(0, min(reserved, b.ready))
	return b
}

// takesServing: an earlier rule takes a pod that serves.
func (s *scene) takesServing() bool {
	for p := range s.gone {
		if s.serves(p) {
			return true
		}
	}
	return false
}

// scaleDownBudget is that of pods that are too many: the rollout's, and none while
// pods have to leave their nodes.
func (s *scene) scaleDownBudget(surged int) budget {
	if s.draining {
		return s.budgetFor(s.desired.Replicas)
	}
	return s.newBudget(surged)
}

// budgetFor counts what serves and will go on to: an ordinal that only its
// holder keeps from the scale-down is no reason to take another.
func (s *scene) budgetFor(needed int) budget {
	available, ready := 0, 0
	for _, b := range s.staying() {
		if !b.inFleet && !s.extras[b.pod] && !s.movers[b.pod] || b.orphan {
			continue // should the adoption fail, nothing was taken down on its word
		}
		if b.serving {
			ready++
		}
		if b.available {
			available++
		}
	}
	return budget{available: available - needed, ready: ready - needed, have: available, needed: needed}
}

// limits says what the budget was made from.
func (s *scene) limits(b budget) string {
	return fmt.Sprintf("%s available, at least %d must be (replicas %d, maxUnavailable %d)",
		podsAre(b.have), max(0, b.needed), s.desired.Replicas, s.desired.Replicas-b.needed)
}

// setSurge decides how many pods there may be beyond replicas: as many as others
// have to stand in for. With ordinals it also chooses which of those that are there
// stay, the available ones first: as many as that, and while a rollout is under
// way, or pods are replaced before they leave, also those that serve, or are about
// to, for pods of the base which are not available. They give way within the budget
// when such a pod could not be scheduled for as long as a drain may take: they may
// have the room that it needs.
// An extra pod of an old revision that does not serve is of no use. An extra
// ordinal is made to be deleted in the end: none is, as long as pods may be
// unavailable and the rollout moves without it.
func (s *scene) setSurge(surged int) {
	s.surged = surged
	s.surge = min(s.desired.Update.MaxSurge, surged)
	if s.ordinal() && s.desired.Update.MaxUnavailable > 0 {
		s.surge = 0
	}
	s.surge = min(s.desired.MostSurge(), s.surge+s.leavingSurge())
	if !s.ordinal() {
		s.standIns = s.countStandIns()
		return
	}
	s.chooseExtras()
}

// chooseExtras chooses the pods beyond replicas that stay.
func (s *scene) chooseExtras() {
	var extras []brief
	short, leaving, roomy := s.desired.Replicas, 0, true
	s.unplaced = ""
	for _, b := range s.staying() {
		switch {
		case b.inFleet && b.available && !b.orphan && s.leaves[b.pod]:
			short--
			leaving++ // another has to stand in for it
		case b.inFleet && b.available && !b.orphan:
			short--
		case b.inFleet && b.pod.Node == "" && b.pod.Waiting != "":
			roomy = false
			s.waitForRoom(b.pod)
		case b.requested: // the user's own word
		case (b.standsIn || s.stoodIn(b)) && s.useful(b) && (b.pod.Surge || s.surplusStandsIn()):
			extras = append(extras, b)
		}
	}
	if !s.maySurge() {
		short, leaving = 0, 0
	}
	s.keepExtras(extras, short+leaving, roomy)
}

// stoodIn: fewer may stand in now, and the pod is beyond them. While one has to leave, it
// stays rather than another that does not serve.
func (s *scene) stoodIn(b brief) bool {
	return s.draining && !s.desired.Ordered && b.serving && !b.inFleet && s.position(b.slot) >= 0
}

// surplusStandsIn: a pod that is surplus now may stand in, too. A rebalance moves what
// serves, and asks for no more than the pods that it makes.
func (s *scene) surplusStandsIn() bool {
	return s.decision.Rollout != nil || s.draining || s.desired.Disruption.SurgeFirst
}

// useful: the pod stands in, or will soon. One that waits to serve and is older than a
// restart that is under way never moves, and would keep its place from one that does; but
// a drain, which has a deadline, goes on with the one that it has. With OnDelete, and
// while a rollout is paused, pods keep their revision.
func (s *scene) useful(b brief) bool {
	blocker, _ := s.stopped()
	switch {
	case s.moved(b) || b.serving || blocker == appsv1.BlockedByOnDelete || blocker == appsv1.BlockedByPause:
		return true
	case s.restarts(b) && !s.draining:
		return false
	}
	return b.pod.Revision == s.standInRevision() || s.partition() > 0 && b.pod.Revision == s.decision.CurrentRevision
}

// keepExtras keeps as many as the surge allows, and those that serve or will soon
// while so many pods need one that stands in.
func (s *scene) keepExtras(extras []brief, needed int, roomy bool) {
	slices.SortFunc(extras, func(a, b brief) int {
		return cmp.Or(first(a.available, b.available), first(a.serving, b.serving), cmp.Compare(a.slot, b.slot))
	})
	s.extras = nil
	for i, b := range extras[:min(len(extras), max(s.surge, needed, 0))] {
		if i < s.surge || b.serving && s.unplaced == "" || roomy && b.pod.aboutToServe() {
			mark(&s.extras, b.pod)
		}
	}
}

// waitForRoom notes a pod that could not be scheduled for too long, or when that will be.
func (s *scene) waitForRoom(p *Pod) {
	if s.desired.Disruption.MaxSurge == 0 {
		return
	}
	if left := p.Created.Add(s.desired.Disruption.Deadline).Sub(s.now); left > 0 {
		s.lookAfter(left)
	} else if s.unplaced == "" {
		s.unplaced = p.Name
	}
}

// aboutToServe: the pod was made for one that had to leave its node, and starts.
// What became of that one makes no difference.
func (p *Pod) aboutToServe() bool {
	return p.Replaces == appsv1.WhyDisruptionSurge && p.Node != "" && p.Waiting == ""
}

// countStandIns is how many pods beyond replicas stand in, with random names, for
// pods that are changed in place and not available again. One that cannot run is
// not on its way back, and after the deadline none is: those are the first that a
// scale-down takes.
func (s *scene) countStandIns() int {
	if !s.uninterrupted() || s.decision.Rollout == nil || s.halted == appsv1.BlockedByDeadline {
		return 0
	}
	n := 0
	for _, b := range s.staying() {
		if s.moved(b) && !b.available && b.pod.Node != "" && b.pod.Waiting == "" {
			n++
		}
	}
	return min(n, s.desired.Update.MaxSurge)
}
