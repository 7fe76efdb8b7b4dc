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
	"maps"
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

// A request to rebalance is over after rebalanceTime. An automatic rebalance that
// was given up is tried again after rebalancePause, and moves no pod twice within it:
// constraints can conflict, so that each move breaks another one.
const (
	rebalanceTime  = time.Hour
	rebalancePause = time.Hour
	// spreadLook is how often the spread is looked at: nodes that come wake no
	// fleet.
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

// giveUp notes that a pod was made for a place and runs in another.
func (s *scene) giveUp() {
	failed := s.observed.Status.Rebalance
	if !s.desired.Disruption.Rebalances(s.now) {
		return
	}
	s.decision.Rebalance = failed
	for _, b := range s.staying() {
		p := b.pod
		if p.Node == "" || p.RebalancedTo == "" || failed != nil && !p.Created.After(failed.Time.Time) {
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

// tally counts pods by the value of a node label.
type tally struct {
	Spread
	pods map[string][]brief
	open []string // the values that nodes have which take new pods
}

// tallyOf counts the pods that the fleet keeps. With random names the newest of those
// that were made to stand in are not among them while there are too many.
func (s *scene) tallyOf(i int) tally {
	t := tally{Spread: s.desired.Disruption.Spread[i], pods: map[string][]brief{}}
	if i < len(s.observed.Nodes.Domains) {
		t.open = slices.Sorted(slices.Values(s.observed.Nodes.Domains[i]))
	}
	counted := slices.DeleteFunc(slices.Clone(s.staying()), func(b brief) bool { return !b.inFleet || b.orphan })
	if !s.ordinal() {
		made := slices.DeleteFunc(slices.Clone(counted), func(b brief) bool { return b.pod.RebalancedTo == "" })
		slices.SortFunc(made, func(a, b brief) int {
			return cmp.Or(b.pod.Created.Compare(a.pod.Created), strings.Compare(a.pod.Name, b.pod.Name))
		})
		standIns := made[:max(0, min(len(made), len(counted)-s.desired.Replicas))]
		counted = slices.DeleteFunc(counted, func(b brief) bool { return slices.Contains(standIns, b) })
	}
	for _, b := range counted {
		if i < len(b.pod.Domains) && b.pod.Domains[i] != "" {
			t.pods[b.pod.Domains[i]] = append(t.pods[b.pod.Domains[i]], b)
		}
	}
	return t
}

// fullest and emptiest are the place with the most pods and, of those that take new
// ones, the place with the fewest; the first by name of several.
func (t *tally) fullest() string {
	places := slices.Sorted(maps.Keys(t.pods))
	if len(places) == 0 {
		return ""
	}
	return slices.MinFunc(places, func(a, b string) int { return cmp.Compare(len(t.pods[b]), len(t.pods[a])) })
}

func (t *tally) emptiest() string {
	if len(t.open) == 0 {
		return ""
	}
	return slices.MinFunc(t.open, func(a, b string) int { return cmp.Compare(len(t.pods[a]), len(t.pods[b])) })
}

// skew is how many more pods the fullest place has than the emptiest.
func (t *tally) skew() int { return len(t.pods[t.fullest()]) - len(t.pods[t.emptiest()]) }

// uneven are the pods that have to move for the first constraint that does not
// hold, with the reason.
func (s *scene) uneven() []leaver {
	if !s.rebalances() {
		return nil
	}
	for i := range s.desired.Disruption.Spread {
		t := s.tallyOf(i)
		if len(t.open) == 0 {
			continue
		}
		var movers []leaver
		for t.skew() > t.MaxSkew {
			from, to := t.fullest(), t.emptiest()
			because := fmt.Sprintf("%s=%s has %s and %s %d, and maxSkew is %d", t.Key, from, NumberOf(len(t.pods[from]), "pod"), to, len(t.pods[to]), t.MaxSkew)
			b, ok := s.mostMovable(t.pods[from])
			if !ok {
				break
			}
			movers = append(movers, leaver{brief: b, reason: appsv1.WhyRebalance, because: because})
			t.pods[from] = slices.DeleteFunc(t.pods[from], func(other brief) bool { return other.pod == b.pod })
			t.pods[to] = append(t.pods[to], b)
		}
		if len(movers) > 0 {
			return movers
		}
	}
	return nil
}

// mostMovable is the pod whose move costs least: the one with the lowest deletion
// cost, the newest, the one with the highest ordinal. One that does not serve is not
// moved.
func (s *scene) mostMovable(pods []brief) (brief, bool) {
	movable := slices.DeleteFunc(slices.Clone(pods), func(b brief) bool { return !b.serving || s.leaves[b.pod] || s.movedLately(b.pod) })
	if len(movable) == 0 {
		return brief{}, false
	}
	return slices.MinFunc(movable, func(a, b brief) int {
		return cmp.Or(cmp.Compare(a.pod.DeletionCost, b.pod.DeletionCost), b.pod.Created.Compare(a.pod.Created), cmp.Compare(b.slot, a.slot),
			strings.Compare(b.pod.Name, a.pod.Name))
	}), true
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
	if f.tally == nil {
		f.tally = []tally{}
		if i := f.restored(); i >= 0 {
			f.tally = append(f.tally, f.tallyOf(i))
		}
	}
	for i := range f.tally {
		t := &f.tally[i]
		if to := t.emptiest(); to != "" && t.skew() >= t.MaxSkew {
			t.pods[to] = append(t.pods[to], brief{})
			return &Place{Key: t.Key, Value: to}
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
	skew := func(i int) int {
		t := s.tallyOf(i)
		if len(t.open) == 0 {
			return 0
		}
		return t.skew()
	}
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
