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
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/internal/plan"
)

// world is what does not change while it is explored.
type world struct {
	name string
	// changes lead from one revision to another.
	changes []plan.Change
	// templates are those of the revisions, and encoded as they are stored.
	templates map[string]*corev1.PodTemplateSpec
	encoded   map[string][]byte
	// gated: pods carry the readiness gate.
	gated bool
	// story is what happens besides accidents, in this order, each event at any
	// moment.
	story []event
	// more are the kinds of accidents that this world has besides the usual ones.
	more []accident
	// wrong is how many things may go wrong.
	wrong int
	// startup is how long a pod needs to start.
	startup time.Duration
	// pdb is how many pods a PodDisruptionBudget wants available.
	pdb int
	// zones are where pods can run, for worlds with a spread.
	zones []zone
	// past is the history of the state that was looked at last.
	past   *chronicle
	pastOf *state
	// misread, where set, is what the planner is told instead of what is asked for:
	// with it a test shows that a rule can be broken.
	misread func(*plan.Desired)
}

// event is one of a world's story. when, where set, is whether it can happen.
type event struct {
	text string
	when func(*state) bool
	do   func(*state)
}

// step is one thing that happens.
type step struct {
	text string
	next *state
	// fair: it is sure to happen some day, unless another step makes it needless.
	fair bool
	// acts: a kubelet, the garbage collector or a client does something.
	acts bool
	// broken are the rules that the step breaks, and wrote whether the operator
	// wrote something.
	broken []string
	wrote  bool
}

// steps is all that can happen next. A world at rest has no fair ones, or only
// those that lead round and round.
func (w *world) steps(s *state) []step {
	list, working := w.others(s)
	var decision plan.Decision
	switch d := w.untilNext(s); {
	case s.Gone:
	case s.Woken:
		next, decided, broken := w.look(s, trouble{})
		decision = decided
		list = append(list, step{text: lookText(&decided), next: next, fair: true, broken: broken, wrote: next.Woken})
	case d > 0 && !working:
		list = append(list, step{text: d.String() + " pass", next: w.wait(s, d), fair: true})
	}
	if s.Told < len(w.story) && (w.story[s.Told].when == nil || w.story[s.Told].when(s)) {
		next := s.copy()
		w.story[s.Told].do(next)
		next.Told, next.Woken = s.Told+1, true
		list = append(list, step{text: w.story[s.Told].text, next: next})
	}
	if s.Left > 0 && !s.Gone {
		list = append(list, w.accidents(s)...)
		list = append(list, edits(s)...)
		if s.Woken {
			list = append(list, w.badPasses(s, &decision)...)
		}
	}
	return list
}

// others is what kubelets, the garbage collector and clients have to do. working:
// so much that no time passes before it is done.
func (w *world) others(s *state) (list []step, working bool) {
	does := func(text string, next *state) {
		list = append(list, step{text: text, next: next, fair: true, acts: true})
	}
	if s.Slow != "" {
		next := s.copy()
		next.Slow = ""
		does("the kubelet of "+s.Slow+" goes on", next)
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if what := w.work(s, p); what != "" {
			working = true
			does(p.Name+" "+what, w.act(s, p.Name))
		}
		if p.NodeDown {
			next := s.copy()
			next.pod(p.Name).NodeDown, next.Woken = false, true
			does("the node of "+p.Name+" answers again", next)
		}
		if what := w.request(s, p); what != "" {
			working = true
			does(what, w.answer(s, p.Name))
			if w.budgetAllows(s, p) {
				list[len(list)-1].broken = s.judgeEvicted(p)
			}
		}
	}
	if s.Desired.TakeOver != "" && !s.Woken && int(s.Status.CurrentReplicas) == s.count(live) {
		next := s.copy()
		next.Desired.TakeOver, next.Woken = "", true
		does("the take-over ends", next)
	}
	for _, c := range s.collect() {
		working = true
		does(c.text, c.next)
	}
	return list, working
}

// untilNext is how long it is until something happens by itself: the operator
// looks, a pod has started, or an eviction need not wait any longer. 0 means never.
func (w *world) untilNext(s *state) time.Duration {
	d := s.Next
	sooner := func(at time.Time) {
		if left := at.Sub(now); left > 0 && (d == 0 || left < d) {
			d = left
		}
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if w.starting(p) {
			sooner(p.Created.Add(w.startup))
		}
		if s.waits(p) {
			sooner(p.EvictionRequested.Add(s.Desired.Disruption.Deadline))
		} else if !p.EvictionRequested.IsZero() && !p.Terminating && s.Desired.Disruption.SurgeFirst {
			sooner(s.windowEnd(p))
		}
	}
	return d
}

// wait lets time pass.
func (w *world) wait(s *state, d time.Duration) *state {
	next := s.copy()
	next.pass(d)
	next.Blame = next.Blame || next.slowed()
	if next.stuck() {
		next.Stuck = min(next.Stuck+d, long)
	}
	if next.Next -= d; next.Next <= 0 {
		next.Woken, next.Next = true, 0
	}
	return next
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
		text += fmt.Sprintf(", %s %s%s%s", a.Verb, a.Pod, a.Claim, revisionText(a))
	}
	return text
}

func revisionText(a plan.Action) string {
	if a.Verb == plan.CreatePod || a.Verb == plan.UpdatePod {
		return " of " + a.Revision
	}
	return ""
}

// badPasses are the looks of the operator in which it dies or a write does not
// work.
func (w *world) badPasses(s *state, d *plan.Decision) []step {
	var list []step
	for i, a := range d.Actions {
		for _, kind := range troublesOf(a) {
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

// troublesOf is what can go wrong with a write. Without its revision and its
// finalizer a fleet is nothing: these are not refused for ever.
func troublesOf(a plan.Action) []string {
	switch {
	case a.Slot == plan.NoSlot:
		return []string{dies, fails}
	case a.Verb == plan.ResizePod:
		return []string{dies, fails, refuses, tooLarge}
	}
	return []string{dies, fails, refuses}
}
