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
	"strings"
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Pods whose spread is worse than the template's topology spread constraints
// allow, after a zone came back or a scale-down, are moved like pods that have to
// leave their nodes. The scheduler decides where a new pod runs; it is asked to
// prefer the place with the fewest. A pod that runs elsewhere all the same shows
// that there is no room: then the rebalance is given up.
//
// With ordinals the pods that stand in must not take the places of those that come
// back: few move at once, and what stands in for them should run where they leave,
// for one wave of moves only.

// A request to rebalance is over after rebalanceTime. An automatic rebalance that
// was given up is tried again after rebalancePause, and moves no pod twice within it:
// constraints can conflict, so that each move breaks another one.
const (
	rebalanceTime  = time.Hour
	rebalancePause = time.Hour
	// spreadLook is how often the spread is looked at, whatever wakes the fleet.
	spreadLook = 5 * time.Minute
)

// Rebalances reports whether pods may be moved now to restore the spread.
func (d *Disruption) Rebalances(now time.Time) bool {
	return len(d.Spread) > 0 && d.MaxSurge > 0 && (d.AutoRebalance || d.rebalanceAsked(now))
}

func (d *Disruption) rebalanceAsked(now time.Time) bool {
	return !d.Rebalance.IsZero() && !now.Before(d.Rebalance) && now.Before(d.Rebalance.Add(rebalanceTime))
}

// rebalances: no attempt was given up since it was asked for, and no rollout is
// under way, which moves pods anyway.
func (s *scene) rebalances() bool {
	d, failed := &s.desired.Disruption, s.decision.Rebalance
	if !d.Rebalances(s.now) || s.observed.Nodes == nil || s.decision.Rollout != nil {
		return false
	}
	return failed == nil || d.rebalanceAsked(s.now) && failed.Time.Time.Before(d.Rebalance) ||
		d.AutoRebalance && !s.now.Before(failed.Time.Add(rebalancePause))
}

// giveUp notes that a pod was made for a place and runs in another. One that was moved
// for an earlier request, or long ago, does not show whether there is room now, and one that
// stands in was not moved, even when it becomes one of the fleet's.
func (s *scene) giveUp() {
	failed := s.observed.Status.Rebalance
	if !s.desired.Disruption.Rebalances(s.now) {
		return
	}
	s.decision.Rebalance = failed
	for _, b := range s.staying() {
		p := b.pod
		if !b.inFleet || p.Surge || p.Node == "" || p.RebalancedTo == "" || !s.movedLately(p) || failed != nil && !p.Created.After(failed.Time.Time) {
			continue
		}
		for i, at := range p.Domains {
			key := s.desired.Disruption.Spread[i].Key
			if wanted, ok := strings.CutPrefix(p.RebalancedTo, key+"="); ok && wanted != at {
				s.decision.Rebalance = &appsv1.RebalanceRecord{
					Time:    s.moment(),
					Message: fmt.Sprintf("%s was made for %s and runs on node %s: there seems to be no room", p.Name, p.RebalancedTo, p.Node),
				}
				return
			}
		}
	}
}

// tallyOf counts the pods that the fleet keeps. With random names the newest of those
// that were made to stand in are not among them while there are too many.
func (s *scene) tallyOf(i int) *tally {
	t := newTally(s.desired.Disruption.Spread[i])
	beyond := s.standingIn()
	for _, b := range s.staying() {
		switch {
		case b.orphan || i >= len(b.pod.Domains) || b.pod.Domains[i] == "":
		case beyond[b.pod]:
			t.beyond[b.pod.Domains[i]]++
		default:
			t.pods[b.pod.Domains[i]] = append(t.pods[b.pod.Domains[i]], b)
		}
	}
	if i < len(s.observed.Nodes.Domains) {
		t.begin(s.observed.Nodes.Domains[i])
	}
	return t
}

// standingIn are the pods that the fleet does not keep.
func (s *scene) standingIn() map[*Pod]bool {
	beyond, made, members := map[*Pod]bool{}, []*Pod(nil), 0
	for _, b := range s.staying() {
		switch {
		case b.orphan:
		case !b.inFleet:
			beyond[b.pod] = true
		default:
			members++
			if !s.ordinal() && b.pod.RebalancedTo != "" {
				made = append(made, b.pod)
			}
		}
	}
	slices.SortFunc(made, func(a, b *Pod) int { return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.Name, b.Name)) })
	for _, p := range made[:max(0, min(len(made), members-s.desired.Replicas))] {
		beyond[p] = true
	}
	return beyond
}

// uneven are the pods that have to move for the first constraint that does not
// hold, with the reason.
func (s *scene) uneven() []leaver {
	if !s.rebalances() {
		return nil
	}
	for i := range s.desired.Disruption.Spread {
		t := s.tallyOf(i)
		if movers := s.moversOf(t, s.atOnce(t)); len(movers) > 0 {
			return movers
		}
	}
	return nil
}

// atOnce is how many pods may move together. With ordinals a pod stands in for each of
// them, in the same place at first: were there more pods in it, with those that come
// back, than in the place that they left, the scheduler would send them back there. So
// a wave ends when as many have moved as pods stand in, and the next begins when
// these are gone.
func (s *scene) atOnce(t *tally) int {
	if !s.ordinal() {
		return len(s.live)
	}
	most := max(1, (t.skew()+1)/3)
	if standIns, moved := s.wave(); moved > 0 {
		most = min(most, standIns-moved)
	}
	return most
}

// wave is how many pods stand in, and how many have left their places since the first
// of them was made.
func (s *scene) wave() (standIns, moved int) {
	var first time.Time
	moved = s.desired.Replicas
	for _, b := range s.staying() {
		switch {
		case b.orphan:
		case b.inFleet:
			moved--
		default:
			if standIns++; standIns == 1 || b.pod.Created.Before(first) {
				first = b.pod.Created
			}
		}
	}
	if standIns == 0 {
		return 0, 0
	}
	for _, b := range s.staying() {
		if b.inFleet && !b.orphan && b.pod.RebalancedTo != "" && b.pod.Created.After(first) {
			moved++
		}
	}
	return standIns, moved
}

func (s *scene) moversOf(t *tally, most int) []leaver {
	var movers []leaver
	sorted := map[string]bool{}
	for t.skew() > t.MaxSkew && len(movers) < most {
		from, to := t.fullest(), t.emptiest()
		if !sorted[from] {
			t.pods[from], sorted[from] = s.movable(t.pods[from]), true
		}
		if len(t.pods[from]) == 0 {
			break
		}
		movers = append(movers, leaver{brief: t.pods[from][0], reason: appsv1.WhyRebalance, from: &Place{Key: t.Key, Value: from}, because: fmt.Sprintf(
			"%s=%s has %s and %s %d, and maxSkew is %d", t.Key, from, NumberOf(t.count[from], "pod"), to, t.count[to], t.MaxSkew)})
		t.pods[from] = t.pods[from][1:]
		t.add(from, -1)
		t.add(to, 1)
	}
	return movers
}

// movable are the pods that may be moved, the one whose move costs least first: that
// with the lowest deletion cost, the newest, the one with the highest ordinal. One
// that does not serve is not moved.
func (s *scene) movable(pods []brief) []brief {
	list := slices.DeleteFunc(slices.Clone(pods), func(b brief) bool { return !b.serving || s.leaves[b.pod] || s.movedLately(b.pod) })
	slices.SortFunc(list, func(a, b brief) int {
		return cmp.Or(cmp.Compare(a.pod.DeletionCost, b.pod.DeletionCost), b.pod.Created.Compare(a.pod.Created), cmp.Compare(b.slot, a.slot),
			strings.Compare(b.pod.Name, a.pod.Name))
	})
	return list
}

// movedLately: the pod is newer than the request or, with AutoRebalance, was made for
// its place a short time ago.
func (s *scene) movedLately(p *Pod) bool {
	if d := &s.desired.Disruption; !d.AutoRebalance {
		return !p.Created.Before(d.Rebalance)
	}
	return p.RebalancedTo != "" && s.now.Before(p.Created.Add(rebalancePause))
}

// prefers is where the next new pod should run, or nil where it breaks the constraint
// nowhere. Each call counts one more pod there.
func (f *filling) prefers() *Place {
	if !f.tallied {
		f.tallied = true
		if i := f.restored(); i >= 0 {
			f.tally = f.tallyOf(i)
		}
	}
	if f.tally == nil || f.tally.skew() < f.tally.MaxSkew {
		return nil
	}
	to := f.tally.emptiest()
	f.tally.add(to, 1)
	return &Place{Key: f.tally.Key, Value: to}
}

// shelters is where the next pod that stands in should run: the place that a pod
// leaves, where none is to come.
func (f *filling) shelters() *Place {
	for i := range f.leavers {
		if l := &f.leavers[i]; l.from != nil && !f.gone[l.pod] {
			return l.from
		}
	}
	return nil
}

// restored is the constraint that is being restored, or -1: the first that does not
// hold or, while a pod stands in for one that comes back, that of the stand-in or one
// that the pod could break. A pod without a hint would show nothing if it ran in the
// wrong place, and be moved again.
func (s *scene) restored() int {
	if !s.rebalances() {
		return -1
	}
	spreads := s.desired.Disruption.Spread
	skew := func(i int) int { return s.tallyOf(i).skew() }
	for i := range spreads {
		if skew(i) > spreads[i].MaxSkew {
			return i
		}
	}
	standIns := slices.DeleteFunc(slices.Clone(s.staying()), func(b brief) bool { return b.inFleet })
	for i := range spreads {
		if slices.ContainsFunc(standIns, func(b brief) bool { return strings.HasPrefix(b.pod.RebalancedTo, spreads[i].Key+"=") }) {
			return i
		}
	}
	for i := range spreads {
		if len(standIns) > 0 && skew(i) == spreads[i].MaxSkew {
			return i
		}
	}
	return -1
}
