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

	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// judgeRest looks at a world in which nothing will move any more: C, K, L1, O, P
// and R.
func (w *world) judgeRest(s *state) []string {
	switch {
	case s.Gone:
		return s.judgeGone()
	case s.Desired.Deletion != plan.DeletionNone:
		return s.judgeWaiting()
	case s.Desired.TakeOver != "":
		return s.judgeTakeOver()
	case slices.Contains(s.Broken, s.wanted()) || s.Blame:
		return nil
	}
	if w.pdb > 0 && s.Desired.Replicas+s.Desired.Disruption.MaxSurge <= w.pdb {
		return nil // the PodDisruptionBudget lets no pod go
	}
	broken := slices.Concat(s.judgePods(), s.judgeFrozen(), s.judgeHistory(), s.judgeHolders(), s.judgeLabels())
	if s.troubled() {
		return broken
	}
	broken = slices.Concat(broken, w.atRest(s), s.judgeRevisions(), s.judgeStored(), s.judgeClaims(), w.judgePlaces(s))
	if s.Status.ObservedGeneration != s.Desired.Generation {
		broken = append(broken, "L1: rests, and the status is of another generation")
	}
	return broken
}

// troubled: something outside keeps the fleet from what it should be.
func (s *state) troubled() bool {
	return len(s.Refused)+len(s.Foreign) > 0 || s.Closed || s.Full || s.count(func(p *plan.Pod) bool {
		return p.KeptBy != "" || p.HoldDelete != nil || p.HoldUpdate != nil
	}) > 0
}

// judgeGone is R for an owner that is gone, and K for what it leaves.
func (s *state) judgeGone() (broken []string) {
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Membership != plan.Orphan && (s.Desired.Deletion != plan.DeletionOrphan || !p.Terminating) {
			broken = append(broken, "R: the owner is gone, and its pod "+p.Name+" is not")
		}
	}
	for _, c := range s.Claims {
		used := s.count(func(p *plan.Pod) bool { return plan.ClaimName("data", p.Name) == c.Name }) > 0
		if s.Desired.Deletion == plan.DeletionDelete && s.Desired.Claims.WhenDeleted == appsv1.ClaimDelete && c.Owner == s.Desired.UID && !used {
			broken = append(broken, "K: the owner is gone, and its claim "+c.Name+" is left")
		}
	}
	if s.Desired.Deletion == plan.DeletionCascadeOrphan && len(s.Revisions) > 0 {
		broken = append(broken, "R: the owner is gone, and its revisions are left")
	}
	return broken
}

// judgeWaiting is R for an owner that waits for ever.
func (s *state) judgeWaiting() []string {
	if s.troubled() || s.count(func(p *plan.Pod) bool { return p.NodeState != plan.NodePresent }) > 0 {
		return nil
	}
	return []string{"R: the owner waits for ever to be gone"}
}

// judgePods looks at the slots of the fleet and at what is beyond them.
func (s *state) judgePods() []string {
	if s.Desired.Identity != appsv1.IdentityOrdinal {
		if n := s.count(s.available); n != s.Desired.Replicas && !s.troubled() {
			return []string{fmt.Sprintf("L1: rests with %d of %d pods", n, s.Desired.Replicas)}
		}
		return nil
	}
	// "As many live as may, because others cannot be deleted": one on a node that is gone, too.
	room := s.Desired.Replicas + s.Desired.MostSurge() - s.count(func(p *plan.Pod) bool { return live(p) || p.NodeState != plan.NodePresent && !p.Terminating })
	for _, slot := range s.base() {
		if p := s.pod(plan.SlotName(&s.Desired, slot)); s.excused(slot) && (p == nil || !live(p)) {
			room-- // it is kept for the pod that is refused
		}
	}
	for _, slot := range s.base() {
		if broken := s.judgeSlot(slot, room); broken != "" && !s.excused(slot) {
			return []string{broken}
		}
	}
	if n := s.count(live); n > s.Desired.Replicas && !s.troubled() {
		return []string{fmt.Sprintf("L1: rests with %d of %d pods", n, s.Desired.Replicas)}
	}
	return nil
}

// judgeSlot looks at one ordinal of a world at rest in which there is room for so
// many pods more.
func (s *state) judgeSlot(slot, room int) string {
	p := s.pod(plan.SlotName(&s.Desired, slot))
	switch {
	case (p == nil || !live(p)) && room <= 0:
		return "" // what could not be deleted or made has its place
	case p == nil || !live(p):
		return fmt.Sprintf("P: rests without a pod in slot %d, which nothing keeps from it", slot)
	case (s.Desired.Paused || s.Desired.Update.Strategy == appsv1.UpdateOnDelete) && slices.Contains(s.Broken, p.Revision):
		return "" // nothing moves it to a revision that works
	case !s.available(p):
		return "L1: rests, and " + p.Name + " is not available"
	}
	return ""
}

// excused: something outside keeps a pod from the slot or, in order, from a lower
// one.
func (s *state) excused(slot int) bool {
	name := plan.SlotName(&s.Desired, slot)
	p := s.pod(name)
	return slices.Contains(s.Foreign, name) || p != nil && (p.KeptBy != "" || p.HoldDelete != nil || p.Waiting == unschedulable && (s.Closed || s.Full)) ||
		slices.ContainsFunc(s.Refused, func(w write) bool { return w.Slot == slot }) ||
		s.Desired.Ordered && slot > 0 && s.excused(slot-1)
}

// judgeTakeOver: a take-over rests only where an adoption is refused. Else it can
// be ended.
func (s *state) judgeTakeOver() []string {
	if slices.ContainsFunc(s.Refused, func(w write) bool { return w.Verb == plan.AdoptPod }) {
		return nil
	}
	return []string{fmt.Sprintf("O: the take-over rests with %d pods adopted, and %d live", s.Status.CurrentReplicas, s.count(live))}
}

// judgeRevisions: every pod is on the wanted revision and has its size, but for
// those that the partition keeps.
func (s *state) judgeRevisions() (broken []string) {
	if s.Desired.Paused || s.Desired.Update.Strategy == appsv1.UpdateOnDelete {
		return nil
	}
	wanted, old := s.wanted(), 0
	if back := s.Status.Rollback; back != nil && back.From == wanted && s.Desired.Pin == "" {
		return nil // what it went back to is another matter
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if !live(p) || p.Revision == wanted {
			continue
		}
		old++
		if at := slices.Index(s.base(), p.Slot); s.Desired.Identity == appsv1.IdentityOrdinal && at >= s.Desired.Update.Partition {
			broken = append(broken, fmt.Sprintf("L1: rests with %s on another revision than %s", p.Name, wanted))
		}
	}
	if old > s.Desired.Update.Partition {
		broken = append(broken, fmt.Sprintf("L1: rests with %d pods on another revision than %s, and the partition is %d", old, wanted, s.Desired.Update.Partition))
	}
	if n := s.count(func(p *plan.Pod) bool { return live(p) && p.SizeOf != "" }); n > 0 {
		broken = append(broken, fmt.Sprintf("C: rests with %d pods of the size of another revision", n))
	}
	if n := s.count(func(p *plan.Pod) bool {
		return live(p) && p.Resize != plan.ResizeNone && !slices.Contains(s.Sized, p.Name)
	}); n > 0 {
		broken = append(broken, fmt.Sprintf("C: rests with %d pods whose resize is not done", n))
	}
	if n := s.count(func(p *plan.Pod) bool { return live(p) && p.Created.Before(s.Desired.Restart) }); n > 0 {
		broken = append(broken, fmt.Sprintf("L1: rests with %d pods older than the restart that was asked for", n))
	}
	return broken
}

// judgeStored: no more revisions are left than the limit allows, besides those in
// use.
func (s *state) judgeStored() []string {
	unused := 0
	for _, r := range s.Revisions {
		used := s.count(func(p *plan.Pod) bool { return p.Revision == r.Name || p.SizeOf == r.Name }) > 0
		if !used && r.Name != s.wanted() && r.Name != s.Template && r.Name != s.Status.CurrentRevision {
			unused++
		}
	}
	if unused > s.Desired.RevisionHistoryLimit {
		return []string{fmt.Sprintf("R: rests with %d revisions that are not in use, and the limit is %d", unused, s.Desired.RevisionHistoryLimit)}
	}
	return nil
}

// judgeHolders: the holder of a pod that is to go is told so, and one of a pod that
// may stay is not.
func (s *state) judgeHolders() (broken []string) {
	if s.Desired.Identity != appsv1.IdentityOrdinal {
		return nil
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if !live(p) || p.Membership != plan.Member {
			continue
		}
		if slices.ContainsFunc(s.Refused, func(w write) bool { return w.Verb == plan.TellHolder && w.Slot == p.Slot }) {
			continue
		}
		goes := !slices.Contains(s.base(), p.Slot) || p.DeleteRequested || !s.Desired.Paused && (p.Revision != s.wanted() || p.SizeOf != "")
		listed := slices.ContainsFunc(s.Status.Held, func(h appsv1.HeldPod) bool { return h.Pod == p.Name })
		switch {
		case p.HoldDelete != nil && !slices.Contains(s.base(), p.Slot) && (p.Wanted != "delete" || !listed):
			broken = append(broken, "G: rests, and the holder of "+p.Name+" is not told that it is to go")
		case p.Wanted != "" && !goes && s.Desired.Update.Partition == 0:
			broken = append(broken, "G: rests, and the holder of "+p.Name+" is told that it is to go, or to change")
		}
	}
	return broken
}

// judgeLabels: a pod whose labels were edited away is let go, and one that a user
// asked to delete is replaced.
func (s *state) judgeLabels() (broken []string) {
	for i := range s.Pods {
		p := &s.Pods[i]
		refused := slices.ContainsFunc(s.Refused, func(w write) bool { return w.Slot == p.Slot })
		switch {
		case refused || !live(p):
		case p.Membership == plan.Drifted:
			broken = append(broken, "L1: rests, and "+p.Name+" is still ours without its labels")
		case p.DeleteRequested && p.HoldDelete == nil:
			broken = append(broken, "L1: rests with "+p.Name+", which a user asked to delete")
		}
	}
	return broken
}

// judgeFrozen: a pod that is replaced in a rollout that is paused, or behind the
// partition, comes back on the revision that its slot had.
func (s *state) judgeFrozen() (broken []string) {
	if s.Desired.Identity != appsv1.IdentityOrdinal || s.wanted() != s.Template {
		return nil
	}
	for _, f := range s.Froze {
		p := s.pod(plan.SlotName(&s.Desired, f.Slot))
		if p != nil && live(p) && slices.Contains(s.base(), f.Slot) && p.Revision != f.Revision {
			broken = append(broken, fmt.Sprintf("L1: a pause or the partition keeps %s, and it went from %s to %s", p.Name, f.Revision, p.Revision))
		}
	}
	return broken
}

// judgeClaims is K: the claims at rest are those that spec and retention policy
// name.
func (s *state) judgeClaims() (broken []string) {
	for _, template := range s.Desired.Claims.Templates {
		for _, slot := range s.base() {
			name := plan.ClaimName(template, plan.SlotName(&s.Desired, slot))
			if c := s.claim(name); c == nil || !c.Terminating && (c.Owner != s.Desired.UID || c.CondemnedBy != "" || c.Surge) {
				broken = append(broken, "K: rests, and the claim "+name+" is missing, condemned or another's")
			}
		}
	}
	for _, c := range s.Claims {
		switch {
		case slices.Contains(s.base(), c.Slot) || c.Owner != s.Desired.UID:
		case c.Surge:
			broken = append(broken, "K: rests, and the claim "+c.Name+" is left of a surge")
		case s.Desired.Claims.WhenScaled == appsv1.ClaimDelete && slices.Contains(s.Condemned, c.Slot):
			broken = append(broken, "K: rests, and the claim "+c.Name+" is left of a pod that was scaled away")
		case c.CondemnedBy != "":
			broken = append(broken, "K: rests, and the claim "+c.Name+" is condemned though whenScaled is Retain")
		}
	}
	return broken
}

// judgePlaces: no pod is left on a node that goes, and none of the places has more
// pods than the spread allows.
func (w *world) judgePlaces(s *state) (broken []string) {
	d := &s.Desired.Disruption
	for i := range s.Pods {
		if p := &s.Pods[i]; d.SurgeFirst && d.MaxSurge > 0 && p.NodeLeaving != "" && serves(p) {
			broken = append(broken, "L1: rests, and "+p.Name+" is on a node that leaves")
		}
	}
	if s.Elsewhere && s.Left < w.wrong {
		return broken // what went wrong took the place of a pod: the attempt is given up for an hour
	}
	if len(d.Spread) == 0 || s.count(func(p *plan.Pod) bool { return p.Revision != s.wanted() }) > 0 {
		return broken // "a rollout takes precedence, even while it is paused"
	}
	pods, lately := map[string]int{}, map[string]int{}
	for i := range s.Pods {
		if !live(&s.Pods[i]) {
			continue
		}
		pods[s.Pods[i].Zone]++
		if s.Pods[i].RebalancedTo != "" {
			lately[s.Pods[i].Zone]++
		}
	}
	most, least := 0, len(s.Pods)
	for _, z := range w.zones {
		if pods[z.name] > lately[z.name] { // no pod is moved twice within an hour
			most = max(most, pods[z.name])
		}
		if pods[z.name] < z.room {
			least = min(least, pods[z.name])
		}
	}
	if most-least > d.Spread[0].MaxSkew {
		broken = append(broken, fmt.Sprintf("L1: rests with a skew of %d, and there is room", most-least))
	}
	return broken
}

// judgeHistory: the revision to which a rollback goes is the last on which the
// fleet was whole.
func (s *state) judgeHistory() []string {
	whole := s.Desired.Replicas > 0 && meta.FindStatusCondition(s.Status.Conditions, appsv1.ConditionReady) != nil
	for _, slot := range s.base() {
		p := s.pod(plan.SlotName(&s.Desired, slot))
		whole = whole && p != nil && s.available(p) && p.Revision == s.wanted() && p.Membership == plan.Member &&
			(p.Resize == plan.ResizeNone || slices.Contains(s.Sized, p.Name))
	}
	if s.Desired.Identity == appsv1.IdentityOrdinal && whole && s.Status.CurrentRevision != s.wanted() {
		return []string{fmt.Sprintf("T: every pod of the fleet is on %s and available, and currentRevision is %s", s.wanted(), s.Status.CurrentRevision)}
	}
	return nil
}
