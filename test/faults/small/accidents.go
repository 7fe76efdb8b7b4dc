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
	"slices"
	"strconv"
	"time"

	"k8s.io/utils/ptr"

	"github.com/mycompany/pod-operator/internal/plan"
)

// away is how long an operator is away.
const away = 2 * time.Hour

// accident is a kind of things that go wrong in some worlds only: every kind more
// makes a world larger.
type accident string

const (
	flaps     accident = "readiness flaps"
	down      accident = "a node does not answer"
	holds     accident = "pods are held"
	labels    accident = "labels are edited"
	resizes   accident = "nodes do not resize, and other clients do"
	evictions accident = "pods are evicted"
	crowding  accident = "the cluster is full, or cordoned"
	deletions accident = "the owner is deleted"
)

// spoil makes a step that costs one of the things that may go wrong.
func (s *state) spoil(text string, change func(*state)) step {
	next := s.copy()
	next.Left--
	change(next)
	next.Woken = true
	return step{text: text, next: next}
}

// accidents happen to pods, claims, names and the operator.
func (w *world) accidents(s *state) []step {
	var list []step
	for i := range s.Pods {
		list = append(list, w.accidentsOf(s, &s.Pods[i])...)
	}
	for _, c := range s.Claims {
		if !c.Terminating {
			list = append(list, s.spoil("the claim "+c.Name+" is deleted by hand", func(n *state) {
				n.claim(c.Name).Terminating = true
				n.freeClaims()
			}))
		}
	}
	for _, slot := range s.base() {
		if name := plan.SlotName(&s.Desired, slot); s.pod(name) == nil && !slices.Contains(s.Foreign, name) {
			list = append(list, s.spoil("a foreign pod takes the name "+name, func(n *state) { n.Foreign = append(n.Foreign, name) }))
		}
	}
	if slices.Contains(w.more, crowding) {
		list = append(list,
			s.spoil("the cluster fills up, or has room again", func(n *state) { n.Full = !n.Full }),
			s.spoil("all nodes are cordoned, or open again", func(n *state) { n.Closed = !n.Closed }))
	}
	return append(list, s.spoil("the operator is away for "+away.String(), func(n *state) {
		n.pass(away)
		n.Asked = nil // "all operators are down: evictions are let through at once"
	}))
}

func (w *world) accidentsOf(s *state, p *plan.Pod) []step {
	var list []step
	name := p.Name
	if what := w.work(s, p); what != "" && s.Slow == "" {
		list = append(list, s.spoil("the kubelet of "+name+" is slow", func(n *state) {
			n.Slow = name
			n.Blame = n.Blame || n.slowed()
		}))
	}
	if !live(p) {
		return list
	}
	list = append(list,
		s.spoil(name+" fails a second later", func(n *state) {
			n.pass(time.Second)
			n.fail(name)
		}),
		s.spoil("the node of "+name+" is gone", func(n *state) {
			n.pod(name).NodeState, n.pod(name).Ready = plan.NodeGone, false
		}),
		s.spoil("a user deletes "+name, func(n *state) { n.end(name) }),
		s.spoil("a user deletes "+name+", and a finalizer keeps it", func(n *state) {
			n.end(name)
			n.pod(name).KeptBy = "example.com/backup"
		}))
	for _, kind := range w.more {
		list = append(list, s.rare(kind, p)...)
	}
	return list
}

// rare are the accidents that only some worlds have.
func (s *state) rare(kind accident, p *plan.Pod) []step {
	name := p.Name
	switch {
	case kind == flaps && p.Ready:
		return []step{s.spoil(name+" is not ready for a moment", func(n *state) { n.turn(name) })}
	case kind == down && !p.NodeDown && p.Phase != "":
		return []step{s.spoil("the node of "+name+" does not answer", func(n *state) {
			n.turn(name)
			n.pod(name).NodeDown = true
		})}
	case kind == holds && p.HoldDelete == nil && p.HoldUpdate == nil:
		return []step{
			s.spoil("a holder keeps "+name+" from deletion", func(n *state) { n.pod(name).HoldDelete = ptr.To("backup") }),
			s.spoil("a holder keeps "+name+" from updates", func(n *state) { n.pod(name).HoldUpdate = ptr.To("backup") }),
		}
	case kind == labels && p.Membership == plan.Member:
		return []step{
			s.spoil("a user takes the label off "+name, func(n *state) { n.pod(name).Membership = plan.Drifted }),
			s.spoil("a user asks with a label for the end of "+name, func(n *state) { n.pod(name).DeleteRequested = true }),
		}
	case kind == resizes:
		return s.badSizes(p)
	case kind == evictions && p.EvictionRequested.IsZero() && p.Ready:
		return []step{s.spoil("the eviction of "+name+" is asked for", func(n *state) { n.pod(name).EvictionRequested = now })}
	}
	return nil
}

// badSizes: a node cannot resize a pod, and another client asks for a size that no
// node has.
func (s *state) badSizes(p *plan.Pod) []step {
	name := p.Name
	says := func(text string, what plan.ResizeState, another bool) step {
		return s.spoil(text, func(n *state) {
			n.pod(name).Resize, n.pod(name).ResizeSince = what, now
			if another {
				n.Sized = append(n.Sized, name)
			}
		})
	}
	switch {
	case p.Resize == plan.ResizeInProgress:
		return []step{
			says("the node of "+name+" defers the resize", plan.ResizeDeferred, false),
			says("the node of "+name+" can never resize it", plan.ResizeInfeasible, false),
		}
	case p.Resize == plan.ResizeNone && p.Ready && !slices.Contains(s.Sized, name):
		return []step{
			says("another client resizes "+name+", and its node defers that", plan.ResizeDeferred, true),
			says("another client resizes "+name+", and its node never can", plan.ResizeInfeasible, true),
		}
	}
	return nil
}

// edits are what a user may change his mind to.
func edits(s *state) []step {
	if s.Desired.Deletion != plan.DeletionNone {
		return nil
	}
	var list []step
	edit := func(text string, change func(*state)) {
		list = append(list, s.spoil("a user "+text, func(n *state) {
			change(n)
			n.Desired.Generation++
		}))
	}
	for n := range 4 {
		if n != s.Desired.Replicas {
			edit("scales to "+strconv.Itoa(n), scales(n))
		}
	}
	if s.Template != revisionC && s.Desired.Pin == "" {
		edit("changes the template again", means(revisionC))
	}
	if s.Desired.Identity != "Random" && len(s.Desired.Reserved) == 0 {
		edit("reserves ordinal 0", func(n *state) { n.Desired.Reserved = []int{0} })
	}
	edit("pauses or resumes", pauses)
	if s.Desired.Pin != "" {
		return append(list, s.spoil("a user unpins", func(n *state) { n.Desired.Pin, n.Froze, n.Stuck = "", nil, 0 }))
	}
	for _, r := range s.Revisions {
		for _, pin := range []string{r.Name, number(r)} {
			list = append(list, s.spoil("a user pins "+pin, func(n *state) { n.Desired.Pin, n.Froze, n.Stuck = pin, nil, 0 }))
		}
	}
	return list
}

// scales asks for so many pods, as a user does or an autoscaler. At 0 "no pod is left that
// could be stuck".
func scales(n int) func(*state) {
	return func(s *state) {
		if s.Desired.Replicas = n; n == 0 {
			s.Stuck = 0
		}
	}
}

// means has the template mean another revision. The pods behind the partition stay
// on the one that they have, but "one that is on a revision in between and does not serve"
// returns to the old one.
func means(revision string) func(*state) {
	return func(s *state) {
		s.Template, s.Blame, s.Stuck = revision, false, 0
		s.freeze(s.Desired.Update.Partition)
		s.Froze = slices.DeleteFunc(s.Froze, func(f frozen) bool {
			p := s.pod(plan.SlotName(&s.Desired, f.Slot))
			return f.Revision != s.Status.CurrentRevision && !serves(p)
		})
	}
}

// pauses stops the rollout or lets it go on, and its deadline begins anew. A pod that is
// replaced meanwhile comes back on the revision that it had.
func pauses(s *state) {
	s.Desired.Paused, s.Stuck = !s.Desired.Paused, 0
	if s.Froze = nil; s.Desired.Paused {
		s.freeze(len(s.base()))
	}
}

// freeze notes the revisions of the first slots of the fleet. That one has moved is
// known only if the operator has looked since.
func (s *state) freeze(slots int) {
	s.Froze = nil
	for _, slot := range s.base()[:min(slots, len(s.base()))] {
		if p := s.pod(plan.SlotName(&s.Desired, slot)); p != nil && live(p) && (!s.Woken || p.Revision != s.wanted()) {
			s.Froze = append(s.Froze, frozen{slot, p.Revision})
		}
	}
}
