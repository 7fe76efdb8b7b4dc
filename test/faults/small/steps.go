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
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mycompany/pod-operator/internal/plan"
)

// away is how long an operator is away.
const away = 2 * time.Hour

// world is what does not change while it is explored.
type world struct {
	name string
	// how are pods changed from one revision to another.
	how plan.Change
	// gated: pods carry the readiness gate.
	gated bool
	// misread, where set, is what the planner is told instead of what is asked for:
	// with it a test shows that a rule can be broken.
	misread func(*plan.Desired)
}

// step is one thing that happens.
type step struct {
	text string
	next *state
	// broken are the rules that the step breaks, and wrote whether the operator
	// wrote something.
	broken []string
	wrote  bool
}

// steps is all that can happen next. The first is what happens when nothing goes
// wrong; a world at rest has none but those that go wrong.
func (w *world) steps(s *state) []step {
	var list []step
	if s.Slow != "" {
		next := s.copy()
		next.Slow = ""
		list = append(list, step{text: "the kubelet of " + s.Slow + " goes on", next: next})
	}
	working := false // time passes when no kubelet has anything to do but one that is slow
	for i := range s.Pods {
		if what := w.work(s, &s.Pods[i]); what != "" {
			working = true
			list = append(list, step{text: s.Pods[i].Name + " " + what, next: w.act(s, s.Pods[i].Name)})
		}
	}
	if s.Desired.TakeOver != "" && !s.Woken && int(s.Status.CurrentReplicas) == s.count(live) {
		next := s.copy()
		next.Desired.TakeOver, next.Woken = "", true
		list = append(list, step{text: "the take-over ends", next: next})
	}
	var decision plan.Decision
	if s.Woken {
		next, d, broken := w.look(s, trouble{})
		decision = d
		list = append(list, step{text: lookText(&d), next: next, broken: broken, wrote: next.Woken})
	} else if s.Next > 0 && !working {
		next := s.copy()
		next.pass(s.Next)
		next.Blame = next.Blame || next.slowed()
		next.Woken, next.Next = true, 0
		list = append(list, step{text: s.Next.String() + " pass", next: next})
	}
	if s.Left > 0 {
		list = append(list, w.accidents(s)...)
		list = append(list, edits(s)...)
		if s.Woken {
			list = append(list, w.badPasses(s, &decision)...)
		}
	}
	return list
}

// slowed: a pod of the wanted revision is not what it should be, because its
// kubelet is slow. The operator cannot tell that from a pod that does not work.
func (s *state) slowed() bool {
	p := s.pod(s.Slow)
	return p != nil && !p.Terminating && p.Revision == s.wanted()
}

func lookText(d *plan.Decision) string {
	text := "the operator looks"
	for _, a := range d.Actions {
		text += fmt.Sprintf(", %s %s%s", a.Verb, a.Pod, a.Claim)
	}
	return text
}

// spoil makes a step that costs one of the things that may go wrong.
func (s *state) spoil(text string, change func(*state)) step {
	next := s.copy()
	next.Left--
	next.Woken = true
	change(next)
	return step{text: text, next: next}
}

// accidents happen to pods, claims, names and the operator.
func (w *world) accidents(s *state) []step {
	var list []step
	for i := range s.Pods {
		p := &s.Pods[i]
		name := p.Name
		if what := w.work(s, p); what != "" && s.Slow == "" {
			list = append(list, s.spoil("the kubelet of "+name+" is slow", func(n *state) {
				n.Slow = name
				n.Blame = n.Blame || n.slowed()
			}))
		}
		if !live(p) {
			continue
		}
		list = append(list,
			s.spoil(name+" fails a second later", func(n *state) {
				n.pass(time.Second)
				n.fail(name)
			}),
			s.spoil("the node of "+name+" is gone", func(n *state) {
				n.pod(name).NodeState, n.pod(name).Ready = plan.NodeGone, false
			}),
			s.spoil("a user deletes "+name, func(n *state) { n.pod(name).Terminating, n.pod(name).DeletedAt = true, now }),
			s.spoil("a user deletes "+name+", and a finalizer keeps it", func(n *state) {
				n.pod(name).Terminating, n.pod(name).DeletedAt, n.pod(name).KeptBy = true, now, "example.com/backup"
			}))
	}
	for _, c := range s.Claims {
		list = append(list, s.spoil("the claim "+c.Name+" is deleted by hand", func(n *state) {
			n.Claims = slices.DeleteFunc(n.Claims, func(other plan.Claim) bool { return other.Name == c.Name })
		}))
	}
	for _, slot := range s.base() {
		if name := plan.SlotName(&s.Desired, slot); s.pod(name) == nil && !slices.Contains(s.Foreign, name) {
			list = append(list, s.spoil("a foreign pod takes the name "+name, func(n *state) { n.Foreign = append(n.Foreign, name) }))
		}
	}
	return append(list, s.spoil("the operator is away for "+away.String(), func(n *state) { n.pass(away) }))
}

// edits are what a user may change his mind to.
func edits(s *state) []step {
	var list []step
	edit := func(text string, change func(*state)) {
		list = append(list, s.spoil("a user "+text, func(n *state) {
			change(n)
			n.Desired.Generation++
		}))
	}
	for n := range 4 {
		if n != s.Desired.Replicas {
			edit("scales to "+strconv.Itoa(n), func(next *state) { next.Desired.Replicas = n })
		}
	}
	if s.Template != revisionC && s.Desired.Pin == "" {
		edit("changes the template again", func(n *state) { n.Template, n.Blame = revisionC, false })
	}
	if s.Desired.Identity != "Random" && len(s.Desired.Reserved) == 0 {
		edit("reserves ordinal 0", func(n *state) { n.Desired.Reserved = []int{0} })
	}
	edit("pauses or resumes", func(n *state) { n.Desired.Paused = !n.Desired.Paused })
	if s.Desired.Pin != "" {
		return append(list, s.spoil("a user unpins", func(n *state) { n.Desired.Pin = "" }))
	}
	for _, r := range s.Revisions {
		for _, pin := range []string{r.Name, number(r)} {
			list = append(list, s.spoil("a user pins "+pin, func(n *state) { n.Desired.Pin = pin }))
		}
	}
	return list
}

// badPasses are the looks of the operator in which it dies or a write does not
// work.
func (w *world) badPasses(s *state, d *plan.Decision) []step {
	var list []step
	for i, a := range d.Actions {
		for _, kind := range []string{dies, fails, refuses} {
			if kind == refuses && a.Slot == plan.NoSlot {
				continue // without its revision and its finalizer a fleet is nothing
			}
			next, _, broken := w.look(s, trouble{kind, i})
			next.Left--
			text := fmt.Sprintf("the operator looks, and write %d (%s %s%s) %s", i+1, a.Verb, a.Pod, a.Claim, kind)
			if kind == dies {
				text = fmt.Sprintf("the operator dies after %d of %d writes", i, len(d.Actions))
			}
			list = append(list, step{text: text, next: next, broken: broken, wrote: next.Woken})
		}
	}
	return list
}
