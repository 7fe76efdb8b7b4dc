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

package small

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/pod-operator/internal/plan"
)

// What a kubelet has to do for a pod.
const (
	ends      = "ends"
	starts    = "starts"
	noRoom    = "finds no node"
	restarts  = "restarts"
	isResized = "is resized"
	turns     = "turns"
)

// unschedulable is what a pod waits for that finds no node.
const unschedulable = "Unschedulable"

// zone is where pods can run, and how many.
type zone struct {
	name string
	room int
}

// zoneKey is the node label that the pods are spread by.
const zoneKey = "topology.kubernetes.io/zone"

// work says what a pod's kubelet has to do, or nothing.
func (w *world) work(s *state, p *plan.Pod) string {
	broken := slices.Contains(s.Broken, p.Revision)
	switch {
	case p.NodeState != plan.NodePresent || p.NodeDown || s.Slow == p.Name:
		return ""
	case p.Terminating:
		if p.KeptBy != "" {
			return ""
		}
		return ends
	case p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded:
		return ""
	case p.Phase == corev1.PodPending:
		return w.schedule(s, p)
	case p.Changing:
		return restarts
	case p.Resize == plan.ResizeInProgress:
		return isResized
	case p.Ready != ((p.Gate == plan.GateNone || p.Gate == plan.GateOpen) && !broken):
		return turns
	}
	return ""
}

// schedule says what becomes of a pod that is pending.
func (w *world) schedule(s *state, p *plan.Pod) string {
	switch {
	case w.claimMissing(s, p) || w.starting(p):
		return ""
	case s.Closed || s.Full:
		if p.Waiting == unschedulable {
			return ""
		}
		return noRoom
	}
	return starts
}

// starting: the pod has a node and needs more time.
func (w *world) starting(p *plan.Pod) bool {
	return p.Phase == corev1.PodPending && !p.Terminating && now.Before(p.Created.Add(w.startup))
}

func (w *world) claimMissing(s *state, p *plan.Pod) bool {
	return slices.ContainsFunc(s.Desired.Claims.Templates, func(t string) bool { return s.claim(plan.ClaimName(t, p.Name)) == nil })
}

// act does a kubelet's next piece of work.
func (w *world) act(s *state, name string) *state {
	next := s.copy()
	next.Woken = true
	p := next.pod(name)
	broken := slices.Contains(s.Broken, p.Revision)
	switch w.work(s, p) {
	case ends:
		next.remove(name)
		return next
	case noRoom:
		p.Waiting = unschedulable
		return next
	case starts:
		p.Phase, p.Node, p.Waiting = corev1.PodRunning, "node-a", ""
		if len(w.zones) > 0 {
			at := w.placeFor(s, p)
			p.Node, p.Zone, p.Domains = "node-"+at, at, []string{at}
			next.Elsewhere = next.Elsewhere || p.RebalancedTo != "" && !p.Surge && p.RebalancedTo != zoneKey+"="+at
		}
		p.Ready = p.Gate == plan.GateNone && !broken
	case restarts:
		p.Changing, p.Ready = false, !broken && (p.Gate == plan.GateNone || p.Gate == plan.GateOpen)
	case isResized:
		p.Resize = plan.ResizeNone
	case turns:
		p.Ready = !p.Ready
	}
	if p.ReadySince, p.UnreadySince = now, (time.Time{}); !p.Ready {
		p.ReadySince, p.UnreadySince = time.Time{}, now
	}
	return next
}

// placeFor is the scheduler: of the zones with room that keep the spread, the one that is
// preferred, or else the one with the fewest. A pod that terminates takes room, and does not
// count for the spread.
func (w *world) placeFor(s *state, p *plan.Pod) string {
	var open []zone
	used, taken := map[string]int{}, map[string]int{}
	for i := range s.Pods {
		if used[s.Pods[i].Zone]++; !s.Pods[i].Terminating {
			taken[s.Pods[i].Zone]++
		}
	}
	least := len(s.Pods)
	for _, z := range w.zones {
		least = min(least, taken[z.name])
	}
	for _, z := range w.zones {
		if used[z.name] < z.room && taken[z.name]-least < 1 {
			open = append(open, z)
		}
	}
	if len(open) == 0 {
		return w.zones[0].name
	}
	return slices.MinFunc(open, func(a, b zone) int {
		wanted := func(z zone) int {
			if p.RebalancedTo == zoneKey+"="+z.name {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(wanted(a), wanted(b)), cmp.Compare(taken[a.name], taken[b.name]))
	}).name
}

// turn makes a pod unready; its kubelet will turn it back.
func (s *state) turn(name string) {
	p := s.pod(name)
	p.Ready, p.ReadySince, p.UnreadySince = false, time.Time{}, now
}

// end is a deletion by another than the operator.
func (s *state) end(name string) {
	p := s.pod(name)
	p.Terminating, p.DeletedAt = true, now
	if p.Phase == corev1.PodFailed { // "replaced at once"
		s.Dead = slices.DeleteFunc(s.Dead, func(d death) bool { return d.Slot == p.Slot })
	}
}

// waits: an eviction of the pod waits for its replacement.
func (s *state) waits(p *plan.Pod) bool {
	d := &s.Desired.Disruption
	return !p.EvictionRequested.IsZero() && !p.Terminating && p.NodeState == plan.NodePresent && p.Ready && d.SurgeFirst && d.MaxSurge > 0 &&
		s.Desired.Deletion == plan.DeletionNone && now.Before(p.EvictionRequested.Add(d.Deadline))
}

// window is for how long evictions are let through after the deadline: here less
// than the ten minutes that are documented, because no time is longer than long.
const window = 2 * time.Minute

// request is what the client that drains a pod's node does: it tries again until
// the webhook lets the eviction through and the PodDisruptionBudget allows it. Some
// time after the deadline its eviction is a new one.
func (w *world) request(s *state, p *plan.Pod) string {
	switch {
	case p.EvictionRequested.IsZero() || p.Terminating || s.waits(p) || p.NodeState != plan.NodePresent || s.Gone:
		return ""
	case w.budgetAllows(s, p):
		return "the client evicts " + p.Name
	case s.Desired.Disruption.SurgeFirst && !now.Before(s.windowEnd(p)):
		return "the client asks again for the eviction of " + p.Name
	}
	return ""
}

func (w *world) answer(s *state, name string) *state {
	next := s.copy()
	next.Woken = true
	if w.budgetAllows(s, s.pod(name)) {
		next.end(name)
	} else {
		next.pod(name).EvictionRequested = now
		next.Asked, next.Replaced = nil, nil // it is a new one
	}
	return next
}

func (s *state) windowEnd(p *plan.Pod) time.Time {
	return p.EvictionRequested.Add(s.Desired.Disruption.Deadline + window)
}

// budgetAllows: a PodDisruptionBudget does not count pods that are not ready.
func (w *world) budgetAllows(s *state, p *plan.Pod) bool {
	healthy := s.count(func(other *plan.Pod) bool { return other.Ready && !other.Terminating && other.Name != p.Name })
	return !p.Ready || healthy >= w.pdb
}

// collect is what the garbage collector does for an owner that is being deleted.
func (s *state) collect() []step {
	if s.Desired.Deletion == plan.DeletionNone {
		return nil
	}
	var list []step
	owned := 0
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.Membership == plan.Orphan {
			continue
		}
		owned++
		next := s.copy()
		next.Woken = true
		switch {
		case s.Cascade == metav1.FinalizerOrphanDependents:
			next.pod(p.Name).Membership = plan.Orphan
			list = append(list, step{text: "the garbage collector releases " + p.Name, next: next})
		case (s.Cascade == metav1.FinalizerDeleteDependents || s.Gone) && !p.Terminating:
			next.end(p.Name)
			list = append(list, step{text: "the garbage collector deletes " + p.Name, next: next})
		}
	}
	if s.Cascade != "" && owned == 0 {
		next := s.copy()
		next.Cascade, next.Woken = "", true
		next.Gone = next.Desired.Finalizer != plan.FinalizerPresent
		list = append(list, step{text: "the garbage collector is done", next: next})
	}
	return list
}

func (s *state) fail(name string) {
	p := s.pod(name)
	p.Phase, p.Ready, p.FailedAt, p.ReadySince = corev1.PodFailed, false, now, time.Time{}
	s.Dead = append(s.Dead, death{Slot: p.Slot, Revision: p.Revision, At: now})
	slices.SortFunc(s.Dead, func(a, b death) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// seeFailures counts the pods that failed since the operator looked before. One that others
// delete "does not count if the operator had not seen it fail", and several of a revision
// that it sees at once are one failure.
func (s *state) seeFailures() {
	counted := map[string]bool{}
	for i := range s.Dead {
		d := &s.Dead[i]
		if p := s.pod(plan.SlotName(&s.Desired, d.Slot)); d.Seen || p == nil || p.Terminating {
			continue
		}
		last := d.At
		for _, other := range s.Dead {
			if other.Revision == d.Revision && other.At.After(last) {
				last = other.At
			}
		}
		if !counted[d.Revision] {
			counted[d.Revision] = true
			s.countFailure(d.Revision, last)
		}
		d.Seen = true
	}
	for i := range s.Dead {
		if d := &s.Dead[i]; counted[d.Revision] && d.Seen && d.Until.IsZero() {
			at := slices.IndexFunc(s.Failed, func(f failures) bool { return f.Revision == d.Revision })
			d.Until = d.At.Add(s.backoff(s.Failed[at].Count))
		}
	}
}

// forgetFailures: an operator that dies before it wrote its status has not counted them.
func (s *state) forgetFailures(before *state) {
	s.Failed = slices.Clone(before.Failed)
	for i := range s.Dead {
		d := &s.Dead[i]
		if slices.ContainsFunc(before.Dead, func(was death) bool { return was.Slot == d.Slot && was.At.Equal(d.At) && !was.Seen }) {
			d.Seen, d.Until = false, time.Time{}
		}
	}
}

// countFailure notes one failure more of a revision, in a row or the first.
func (s *state) countFailure(revision string, at time.Time) {
	for i := range s.Failed {
		f := &s.Failed[i]
		if f.Revision != revision {
			continue
		}
		switch since := at.Sub(f.Last); {
		case since == 0:
		case since <= 2*s.Desired.FailedPods.Max:
			f.Count, f.Last = f.Count+1, at
		default:
			f.Count, f.Last = 1, at
		}
		return
	}
	s.Failed = append(s.Failed, failures{Revision: revision, Count: 1, Last: at})
}
