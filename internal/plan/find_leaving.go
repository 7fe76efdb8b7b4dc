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
	"slices"
	"strings"
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// findLeaving lists the pods that have to leave their nodes and serve, also to
// restore the spread of the fleet: each gets a replacement before it goes. One that
// does not serve needs none: its eviction costs nothing. An eviction waits no longer
// than the deadline; then it is let through, and the pod goes on to leave if it has a
// replacement: where that comes late, or a PodDisruptionBudget refuses, it is needed all
// the more.
func findLeaving(s *scene) bool {
	if s.desired.Disruption.MaxSurge == 0 {
		return false
	}
	s.giveUp()
	for _, b := range s.staying() {
		if b.orphan || !b.serving {
			continue
		}
		l, leaves := s.whyLeaving(b)
		if leaves {
			s.drain(l)
		}
		if leaves && b.inFleet {
			s.leavers = append(s.leavers, l)
			mark(&s.leaves, b.pod)
		}
	}
	for _, l := range s.uneven() {
		s.leavers = append(s.leavers, l)
		mark(&s.leaves, l.pod)
	}
	slices.SortStableFunc(s.leavers, func(a, b leaver) int {
		return cmp.Or(first(!a.until.IsZero(), !b.until.IsZero()), a.until.Compare(b.until), strings.Compare(a.pod.Name, b.pod.Name))
	})
	if s.mostReplacements() == 0 {
		s.leavers = nil // they have no replacements and get none
	}
	return false
}

// mostReplacements: after its deadline a pod gets no new replacement. Those that are
// there stay.
func (s *scene) mostReplacements() int {
	n := 0
	for i := range s.leavers {
		l := &s.leavers[i]
		if !s.gone[l.pod] && (l.until.IsZero() || s.now.Before(l.until) || l.pod.NodeLeaving != "") {
			n++
		}
	}
	return max(n, s.beyond(func(*Pod) bool { return true }))
}

// drain notes that a pod has to leave, and until when that is remembered: a node that
// goes is not forgotten.
func (s *scene) drain(l leaver) {
	switch {
	case l.over.IsZero() || s.draining && s.drained.IsZero():
		s.drained = time.Time{}
	case l.over.After(s.drained):
		s.drained = l.over
	}
	s.draining = true
}

// leaver is a pod that has to leave its node.
type leaver struct {
	brief
	reason, because string
	from            *Place // that is too full
	// since is when its eviction was requested, until when it is let through and
	// over when the request is forgotten; zero where none waits.
	since, until, over time.Time
}

// whyLeaving says why a pod has to leave its node, if it has to.
func (s *scene) whyLeaving(b brief) (leaver, bool) {
	p := b.pod
	if !s.desired.Disruption.SurgeFirst {
		return leaver{}, false
	}
	if since := p.EvictionRequested; !since.IsZero() {
		until := since.Add(s.desired.Disruption.Deadline)
		if over := until.Add(LetThrough + askedAnew); s.now.Before(over) {
			return leaver{brief: b, reason: appsv1.WhyEvictionRequested, because: requester(p), since: since, until: until, over: over}, true
		}
	}
	if p.NodeLeaving != "" {
		return leaver{brief: b, reason: appsv1.WhyNodeLeaving, because: "node " + p.Node + " goes: " + p.NodeLeaving}, true
	}
	return leaver{}, false
}

func requester(p *Pod) string {
	text := "an eviction from node " + p.Node + " was requested"
	if p.EvictionBy != "" {
		text += " by " + p.EvictionBy
	}
	return text
}

// stillLeaving counts the pods that leave and that this pass does not take down.
func (s *scene) stillLeaving() int {
	n := 0
	for i := range s.leavers {
		if !s.gone[s.leavers[i].pod] {
			n++
		}
	}
	return n
}

// leavingSurge is how many pods beyond replicas stand in for those that leave.
// Where no node takes new pods, none is made that could not be scheduled.
func (s *scene) leavingSurge() int {
	n := min(s.stillLeaving(), s.desired.Disruption.MaxSurge)
	if n == 0 {
		return 0
	}
	n = min(n, s.mostReplacements())
	if s.noOpenNode() {
		n = min(n, s.placedBeyond())
	}
	return n
}

// reservedSurge is how many of them a rollout has to leave alone. Only evictions
// that wait count, because they do so for a limited time.
func (s *scene) reservedSurge() int {
	n := 0
	for i := range s.leavers {
		if l := &s.leavers[i]; !s.gone[l.pod] && !l.until.IsZero() && l.pod.HoldDelete == nil {
			n++
		}
	}
	return min(n, s.leavingSurge())
}

// noOpenNode: every node that the template allows is cordoned or tainted.
func (s *scene) noOpenNode() bool { return s.observed.Nodes != nil && s.observed.Nodes.Open == 0 }

// placedBeyond counts the pods beyond replicas that have a node.
func (s *scene) placedBeyond() int { return s.beyond(func(p *Pod) bool { return p.Node != "" }) }

// beyond counts those of the pods beyond replicas.
func (s *scene) beyond(counts func(*Pod) bool) int {
	n := 0
	for _, b := range s.staying() {
		if counts(b.pod) && (!s.ordinal() || b.standsIn || s.stoodIn(b)) {
			n++
		}
	}
	if s.ordinal() {
		return n
	}
	return max(0, n-s.desired.Replicas)
}

// standInsForLeaving counts the pods beyond replicas that stand in for those that
// leave, or for one that left and is not back.
func (s *scene) standInsForLeaving() int {
	if s.desired.Disruption.MaxSurge == 0 || s.decision.Rollout != nil {
		return 0
	}
	if s.ordinal() {
		return len(s.extras)
	}
	return max(0, min(s.leavingSurge(), len(s.live)-s.desired.Replicas))
}

// maySurge: pods beyond replicas may be needed soon, or stand in for others that
// are not back yet.
func (s *scene) maySurge() bool {
	return s.decision.Rollout != nil || s.desired.Disruption.MaxSurge > 0
}

// standInRevision is the revision of new pods that stand in with ordinals of their
// own: a rollout that stands still, or that a partition keeps from the whole fleet, is
// not pushed on by them, and a restart does not wait for its revision. Nor does a pod
// behind the partition that leaves its node wait for a revision that is tried out.
func (s *scene) standInRevision() string {
	current := s.decision.CurrentRevision
	still := s.halted != "" || s.partition() == s.desired.Replicas || s.leavesFromBehind()
	if still && current != "" && s.findRevision(current) != nil {
		return current
	}
	return s.decision.UpdateRevision
}

// leavesFromBehind: a pod that the partition keeps on its revision has to leave.
func (s *scene) leavesFromBehind() bool {
	keep := s.partition()
	return slices.ContainsFunc(s.leavers, func(l leaver) bool { return !s.gone[l.pod] && s.position(l.slot) < keep })
}

// leaversText names the pods that leave, for a sentence.
func (s *scene) leaversText() string {
	var names []string
	for i := range s.leavers {
		if p := s.leavers[i].pod; !s.gone[p] {
			names = append(names, p.Name)
		}
	}
	const most = 3
	switch {
	case len(names) == 1:
		return names[0] + " leaves its node"
	case len(names) <= most:
		return strings.Join(names, ", ") + " leave their nodes"
	}
	return NumberOf(len(names), "pod") + " leave their nodes"
}
