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
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// retry is how soon a write that failed is tried again, at the latest.
const retry = 30 * time.Second

func number(r plan.Revision) string { return strconv.FormatInt(r.Number, 10) }

// observed is what the planner sees. how says what changes between revisions.
func (s *state) observed(how plan.Change) plan.Observed {
	o := plan.Observed{
		Pods: s.Pods, HeldNames: s.Foreign, Claims: s.Claims, NewRevision: s.Template,
		Revisions: slices.Clone(s.Revisions), Status: *s.Status.DeepCopy(),
	}
	for i := range o.Revisions {
		o.Revisions[i].Equal = o.Revisions[i].Name == s.Template
	}
	names := []string{revisionA, revisionB, revisionC}
	for _, from := range names {
		for _, to := range names {
			if from != to {
				how.From, how.To = from, to
				o.Changes = append(o.Changes, how)
			}
			o.Changes = append(o.Changes, sizedChanges(how, from, to, names)...)
		}
	}
	return o
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
)

// look is one pass of the operator. It returns what was decided, and the rules
// that were broken.
func (w *world) look(s *state, t trouble) (next *state, decision plan.Decision, broken []string) {
	next = s.copy()
	seen := s.observed(w.how)
	asked := s.Desired
	if w.misread != nil {
		w.misread(&asked)
	}
	decision = plan.Plan(asked, seen, now)
	if t.kind == refuses && t.at < len(decision.Actions) {
		a := decision.Actions[t.at]
		next.Refused = append(next.Refused, write{a.Verb, a.Slot})
	}
	var outcomes []plan.Outcome
	done := 0
	for i, a := range decision.Actions {
		if t.kind == dies && i >= t.at {
			next.Woken = true
			return next, decision, broken
		}
		o := plan.Outcome{Action: a, Result: plan.Failed, Message: "the API server is busy"}
		if t.kind != fails || t.at != i {
			broken = append(broken, w.judgeWrite(next, a)...)
			o = next.attempt(a, outcomes, w.gated)
		}
		if o.Result == plan.Done {
			done++
		}
		outcomes = append(outcomes, o)
	}
	next.Status = stored(report.Report(s.Desired, seen, decision, outcomes, now).Status)
	for i := range next.Failed {
		next.Failed[i].Seen = true
	}
	next.Woken, next.Next = done > 0, decision.NextLook
	if done < len(outcomes) && (next.Next == 0 || next.Next > retry) {
		next.Next = retry
	}
	return next, decision, append(broken, w.judgePass(s, next, &decision)...)
}

// attempt is what becomes of a write. What needs a write that did not work is not
// tried: a pod its claims, a change the one before it in the same slot. Nor is a
// pod created for which a deletion that did not work had to make room.
func (s *state) attempt(a plan.Action, before []plan.Outcome, gated bool) plan.Outcome {
	skipped := plan.Outcome{Action: a, Result: plan.Skipped}
	for i := range before {
		o := &before[i]
		undeleted := o.Result != plan.Done && (o.Action.Verb == plan.DeletePod || o.Action.Verb == plan.EvictPod)
		if a.Verb == plan.CreatePod && undeleted && s.count(live) >= s.Desired.Replicas+s.Desired.MostSurge() {
			return skipped
		}
		if o.Result != plan.Done && a.Slot != plan.NoSlot && o.Action.Slot == a.Slot {
			return skipped
		}
		if o.Result != plan.Done && o.Action.Verb == plan.CreateRevision {
			return skipped
		}
	}
	if slices.Contains(s.Refused, write{a.Verb, a.Slot}) {
		return plan.Outcome{Action: a, Result: plan.Refused, Cause: appsv1.ReasonPodsRefused, Message: "a policy refuses it"}
	}
	s.carryOut(a, gated)
	return plan.Outcome{Action: a, Result: plan.Done, UID: a.UID}
}

func (s *state) carryOut(a plan.Action, gated bool) {
	p := s.pod(a.Pod)
	switch a.Verb {
	case plan.AddFinalizer:
		s.Desired.Finalizer = plan.FinalizerPresent
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
		s.claim(a.Claim).CondemnedBy = s.Desired.UID
		if s.pod(plan.SlotName(&s.Desired, a.Slot)) != nil && !slices.Contains(s.base(), a.Slot) {
			s.condemn(a.Slot) // its pod goes already, and has no successor
		}
	case plan.AdoptPod:
		p.Membership = plan.Member
	case plan.CreatePod:
		s.create(a, gated)
	case plan.DeletePod, plan.EvictPod:
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
	if s.Desired.Identity == appsv1.IdentityOrdinal && !slices.Contains(s.base(), p.Slot) {
		s.condemn(p.Slot)
	}
	if force {
		s.remove(p.Name)
		return
	}
	p.Terminating, p.DeletedAt = true, now
}

// work says what a pod's kubelet has to do, or nothing.
func (w *world) work(s *state, p *plan.Pod) string {
	broken := slices.Contains(s.Broken, p.Revision)
	switch {
	case p.NodeState != plan.NodePresent || s.Slow == p.Name:
		return ""
	case p.Terminating:
		if p.KeptBy != "" {
			return ""
		}
		return "ends"
	case p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded:
		return ""
	case p.Phase == corev1.PodPending:
		if w.claimMissing(s, p) {
			return ""
		}
		return "starts"
	case p.Changing:
		return "restarts"
	case p.Resize == plan.ResizeInProgress:
		return "is resized"
	case p.Ready != ((p.Gate == plan.GateNone || p.Gate == plan.GateOpen) && !broken):
		return "turns"
	}
	return ""
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
	case "ends":
		next.remove(name)
		return next
	case "starts":
		p.Phase, p.Node = corev1.PodRunning, "node-a"
		p.Ready = p.Gate == plan.GateNone && !broken
	case "restarts":
		p.Changing, p.Ready = false, !broken && (p.Gate == plan.GateNone || p.Gate == plan.GateOpen)
	case "is resized":
		p.Resize = plan.ResizeNone
	case "turns":
		p.Ready = !p.Ready
	}
	if p.ReadySince = (time.Time{}); p.Ready {
		p.ReadySince = now
	}
	return next
}

func (s *state) fail(name string) {
	p := s.pod(name)
	p.Phase, p.Ready, p.FailedAt, p.ReadySince = corev1.PodFailed, false, now, time.Time{}
	row := s.countFailure(p.Revision)
	s.Dead = append(s.Dead, death{p.Slot, p.Revision, now.Add(s.backoff(row))})
	slices.SortFunc(s.Dead, func(a, b death) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// countFailure counts how often in a row pods of a revision failed. Several that
// the operator meets in one look are one failure.
func (s *state) countFailure(revision string) int {
	for i := range s.Failed {
		f := &s.Failed[i]
		if f.Revision != revision {
			continue
		}
		switch since := now.Sub(f.Last); {
		case since == 0:
		case !f.Seen:
			f.Last = now
		case since <= 2*s.Desired.FailedPods.Max:
			f.Count, f.Last, f.Seen = f.Count+1, now, false
		default:
			f.Count, f.Last, f.Seen = 1, now, false
		}
		return f.Count
	}
	s.Failed = append(s.Failed, failures{Revision: revision, Count: 1, Last: now})
	return 1
}
