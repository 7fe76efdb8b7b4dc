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
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// retry is how soon a write that failed is tried again, at the latest.
const retry = 10 * time.Second

func number(r plan.Revision) string { return strconv.FormatInt(r.Number, 10) }

// observed is what the planner sees.
func (s *state) observed(w *world) plan.Observed {
	o := plan.Observed{
		Pods: s.Pods, HeldNames: s.Foreign, Claims: s.Claims, NewRevision: s.Template,
		Revisions: slices.Clone(s.Revisions), Status: *s.Status.DeepCopy(), Changes: w.changes,
	}
	if len(s.Sized) > 0 {
		o.Pods = slices.Clone(s.Pods)
		for i := range o.Pods { // a resize that another client asked for is not the operator's to see
			if slices.Contains(s.Sized, o.Pods[i].Name) {
				o.Pods[i].Resize, o.Pods[i].ResizeSince = plan.ResizeNone, time.Time{}
			}
		}
	}
	for i := range o.Revisions {
		o.Revisions[i].Equal = o.Revisions[i].Name == s.Template
	}
	if s.Desired.Disruption.MaxSurge > 0 {
		o.Nodes = &plan.Nodes{Open: 2, All: 2}
		if s.Closed {
			o.Nodes.Open = 0
		}
		for _, z := range w.zones {
			o.Nodes.Domains = [][]string{append(slices.Concat(o.Nodes.Domains...), z.name)}
		}
	}
	return o
}

// allChanges lead from every revision to every other. how says what they change.
func allChanges(how plan.Change) []plan.Change {
	var list []plan.Change
	names := []string{revisionA, revisionB, revisionC}
	for _, from := range names {
		for _, to := range names {
			if from != to {
				how.From, how.To = from, to
				list = append(list, how)
			}
			list = append(list, sizedChanges(how, from, to, names)...)
		}
	}
	return list
}

// sizedChanges are the changes of pods that have the size of another revision.
func sizedChanges(how plan.Change, from, to string, names []string) []plan.Change {
	var changes []plan.Change
	for _, size := range names {
		if len(how.Resize) == 0 || size == from {
			continue
		}
		c := how
		c.From, c.To, c.SizeOf = from, to, size
		if size == to {
			c.Resize = nil
		}
		if from == to {
			c.Metadata = false
		}
		changes = append(changes, c)
	}
	return changes
}

// trouble is what goes wrong in one pass of the operator. At is the write, from 0;
// beyond the last one, nothing goes wrong.
type trouble struct {
	kind string
	at   int
}

const (
	nothing = ""
	dies    = "dies after" // the operator dies after so many writes, and its status is lost
	fails   = "fails"      // a write fails once
	refuses = "is refused" // a write is refused from now on
	// tooLarge: the API server says of a resize that no node could hold it.
	tooLarge = "is refused: no node could hold it"
)

// look is one pass of the operator. It returns what was decided, in the order in
// which it is carried out, and the rules that were broken.
func (w *world) look(s *state, t trouble) (next *state, decision plan.Decision, broken []string) {
	next = s.copy()
	next.seeFailures()
	seen := s.observed(w)
	asked := s.Desired
	if w.misread != nil {
		w.misread(&asked)
	}
	decision = plan.Plan(asked, seen, now)
	slices.SortStableFunc(decision.Actions, func(a, b plan.Action) int { return a.Verb.Order() - b.Verb.Order() })
	if (t.kind == refuses || t.kind == tooLarge) && t.at < len(decision.Actions) {
		a := decision.Actions[t.at]
		next.Refused = append(next.Refused, write{a.Verb, a.Slot, t.kind == tooLarge})
	}
	pass := &pass{world: w, state: next, trouble: t}
	if t.kind != dies && slices.ContainsFunc(decision.Actions, isJudged) { // one that dies writes no other than one that does not
		pass.chronicle = w.begin(s)
	}
	for i, a := range decision.Actions {
		if t.kind == dies && i >= t.at {
			next.Woken = true
			next.forgetFailures(s)
			return next, decision, pass.judge()
		}
		pass.do(i, a)
	}
	if next.Gone {
		next.Woken, next.Next, next.Status = false, 0, appsv1.PodManagerStatus{}
		return next, decision, append(pass.judge(), next.judgeGone()...)
	}
	next.Status = stored(report.Report(s.Desired, seen, decision, pass.outcomes, now).Status)
	next.note()
	next.Woken, next.Next = pass.done > 0, decision.NextLook
	if pass.done < len(pass.outcomes) && (next.Next == 0 || next.Next > retry) {
		next.Next = retry
	}
	return next, decision, append(pass.judge(), w.judgePass(next, &decision)...)
}

// note remembers what the operator has seen of pods.
func (s *state) note() {
	for i := range s.Pods {
		p := &s.Pods[i]
		if s.waits(p) && !slices.Contains(s.Asked, p.Name) {
			s.Asked = append(s.Asked, p.Name)
		}
		if s.waits(p) && s.standsIn() && !slices.Contains(s.Replaced, p.Name) {
			s.Replaced = append(s.Replaced, p.Name)
		}
		if len(s.Desired.Claims.Templates) > 0 && slices.Contains(s.base(), p.Slot) && !slices.Contains(s.Joined, p.Name) {
			s.Joined = append(s.Joined, p.Name)
		}
	}
}

// pass carries out what the operator decided.
type pass struct {
	*world
	state    *state
	trouble  trouble
	undone   plan.Undone
	outcomes []plan.Outcome
	done     int
	broken   []string
	// chronicle is what the judge reads; nil where no pod is touched.
	chronicle *chronicle
}

// judge is what the pass broke.
func (p *pass) judge() []string {
	if p.chronicle == nil {
		return p.broken
	}
	return append(p.broken, p.chronicle.violations()...)
}

// do tries a write, unless it needs one that did not work.
func (p *pass) do(i int, a plan.Action) {
	o := plan.Outcome{Action: a, Result: plan.Failed, Message: "the API server is busy"}
	switch {
	case p.undone.HoldsBack(&a):
		o = plan.Outcome{Action: a, Result: plan.Skipped}
	case p.trouble.kind != fails || p.trouble.at != i:
		o = p.attempt(a)
	}
	if o.Result == plan.Done {
		p.done++
	} else {
		p.undone.Add(&a)
	}
	p.outcomes = append(p.outcomes, o)
}

// attempt is what the API server says to a write. It is judged where it is carried
// out.
func (p *pass) attempt(a plan.Action) plan.Outcome {
	s := p.state
	refused := func(cause, message string) plan.Outcome {
		return plan.Outcome{Action: a, Result: plan.Refused, Cause: cause, Message: message}
	}
	switch {
	case slices.Contains(s.Refused, write{a.Verb, a.Slot, false}):
		return refused(appsv1.ReasonPodsRefused, "a policy refuses it")
	case slices.Contains(s.Refused, write{a.Verb, a.Slot, true}):
		return refused(appsv1.WhyResizeInfeasible, "no node could hold it")
	case a.Verb == plan.EvictPod && !p.budgetAllows(s, s.pod(a.Pod)):
		return refused(appsv1.BlockedByDisruptionBudget, "a PodDisruptionBudget refuses it")
	}
	p.broken = append(p.broken, p.judgeWrite(s, a)...)
	var before *plan.Pod
	if pod := s.pod(a.Pod); pod != nil {
		before = ptr.To(*pod)
	}
	s.carryOut(a, p.gated)
	if p.chronicle != nil {
		p.chronicle.wrote(before, s, a)
	}
	return plan.Outcome{Action: a, Result: plan.Done, UID: a.UID}
}

func (s *state) carryOut(a plan.Action, gated bool) {
	switch a.Verb {
	case plan.AddFinalizer:
		s.Desired.Finalizer = plan.FinalizerPresent
	case plan.RemoveFinalizer:
		s.Desired.Finalizer = plan.FinalizerMissing
		s.Gone = s.Cascade == ""
	case plan.CreateRevision:
		s.Revisions = append(s.Revisions, plan.Revision{Name: a.Revision, Number: a.Number})
	case plan.RenumberRevision:
		for i := range s.Revisions {
			if s.Revisions[i].Name == a.Revision {
				s.Revisions[i].Number = a.Number
			}
		}
	case plan.DeleteRevision:
		s.Revisions = slices.DeleteFunc(s.Revisions, func(r plan.Revision) bool { return r.Name == a.Revision })
	case plan.CreateClaim:
		s.Claims = append(s.Claims, plan.Claim{Name: a.Claim, UID: types.UID("made-" + a.Claim), Slot: a.Slot, Owner: s.Desired.UID, Surge: a.Surge})
		slices.SortFunc(s.Claims, func(a, b plan.Claim) int { return strings.Compare(a.Name, b.Name) })
	case plan.DeleteClaim:
		s.Claims = slices.DeleteFunc(s.Claims, func(c plan.Claim) bool { return c.Name == a.Claim })
	case plan.AdoptClaim:
		c := s.claim(a.Claim)
		c.Owner, c.CondemnedBy, c.Surge = s.Desired.UID, "", false
	case plan.CondemnClaim:
		if c := s.claim(a.Claim); c != nil {
			c.CondemnedBy = s.Desired.UID
		}
		if s.pod(plan.SlotName(&s.Desired, a.Slot)) != nil && !slices.Contains(s.base(), a.Slot) {
			s.condemn(a.Slot) // its pod goes already, and has no successor
		}
	default:
		s.carryOutOnPod(a, gated)
	}
}

// carryOutOnPod is carryOut for pods.
func (s *state) carryOutOnPod(a plan.Action, gated bool) {
	p := s.pod(a.Pod)
	switch a.Verb {
	case plan.AdoptPod:
		p.Membership = plan.Member
	case plan.ReleasePod, plan.OrphanPod:
		s.Foreign = append(s.Foreign, p.Name)
		s.remove(p.Name)
	case plan.KeepPod:
		p.Surge, p.RebalancedTo = false, ""
	case plan.TellHolder:
		p.Wanted = a.Wanted
	case plan.CreatePod:
		s.create(a, gated)
	case plan.DeletePod, plan.EvictPod:
		if a.Verb == plan.EvictPod {
			s.Drained = append(s.Drained, a.Slot)
		}
		s.delete(p, a.Force)
	case plan.OpenGate:
		p.Gate = plan.GateOpen
	case plan.ShutGate:
		p.Gate = plan.GateShut
	case plan.ResizePod:
		p.Resize, p.ResizeSince, p.SizeOf = plan.ResizeInProgress, now, a.Revision
		settleSize(p)
	case plan.UpdatePod:
		p.Revision, p.Changing = a.Revision, len(a.Replaced) > 0
		s.Sized = slices.DeleteFunc(s.Sized, func(name string) bool { return name == p.Name })
		settleSize(p)
	default:
		panic("the small world does not know how to " + string(a.Verb))
	}
}

// settleSize: a size is told only where it is another revision's.
func settleSize(p *plan.Pod) {
	if p.SizeOf == p.Revision {
		p.SizeOf = ""
	}
}

func (s *state) create(a plan.Action, gated bool) {
	p := plan.Pod{
		Name: a.Pod, UID: types.UID("uid-" + a.Pod), ResourceVersion: "1", Membership: plan.Member, Slot: a.Slot, Surge: a.Surge,
		Revision: a.Revision, Created: now, Phase: corev1.PodPending, Containers: []plan.ContainerMark{{Name: "app"}},
	}
	if gated {
		p.Gate = plan.GateUnset
	}
	if a.Replaces {
		p.Replaces = a.Why.Reason
	}
	if a.Prefer != nil {
		p.RebalancedTo = a.Prefer.String()
	}
	beyond := s.count(live) >= s.Desired.Replicas
	if s.Desired.Identity == appsv1.IdentityOrdinal {
		beyond = !slices.Contains(s.base(), a.Slot)
	}
	if beyond || slices.Contains(s.Drained, a.Slot) {
		s.Extra = append(s.Extra, p.Name)
	}
	s.Drained = slices.DeleteFunc(s.Drained, func(slot int) bool { return slot == a.Slot })
	s.Pods = append(s.Pods, p)
	slices.SortFunc(s.Pods, func(a, b plan.Pod) int { return strings.Compare(a.Name, b.Name) })
	// A pod that only stands in does not bring back a slot that was scaled away.
	s.Condemned = slices.DeleteFunc(s.Condemned, func(slot int) bool { return slot == a.Slot && slices.Contains(s.base(), slot) })
	s.Dead = slices.DeleteFunc(s.Dead, func(d death) bool { return d.Slot == a.Slot })
}

// condemn notes that the operator scaled a slot away.
func (s *state) condemn(slot int) {
	if !slices.Contains(s.Condemned, slot) {
		s.Condemned = append(s.Condemned, slot)
		slices.Sort(s.Condemned)
	}
}

func (s *state) delete(p *plan.Pod, force bool) {
	// What a pod that stood in for others found there was not its own.
	if s.Desired.Identity == appsv1.IdentityOrdinal && !slices.Contains(s.base(), p.Slot) && slices.Contains(s.Joined, p.Name) {
		s.condemn(p.Slot)
	}
	if force && p.KeptBy == "" {
		s.remove(p.Name)
		return
	}
	p.Ended = force
	p.Terminating, p.DeletedAt = true, now
}
