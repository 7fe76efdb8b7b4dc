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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// The rules are those of test/faults/oracle, said of a state instead of a history
// of objects. They come from docs/reliability.md and from the comments of the API,
// not from the planner.

// judgeWrite looks at a write before it is carried out: S1, S2, the budget, B, D, V
// and O.
func (w *world) judgeWrite(s *state, a plan.Action) []string {
	if object := a.Verb.Facts().Object; s.Desired.TakeOver != "" && a.Verb != plan.AdoptPod && (object == plan.ObjectPod || object == plan.ObjectClaim) {
		return []string{fmt.Sprintf("O: %s of %s%s in the middle of a take-over", a.Verb, a.Pod, a.Claim)}
	}
	switch a.Verb {
	case plan.CreatePod:
		return append(s.judgeCreate(a), s.judgeOrder(a)...)
	case plan.DeletePod, plan.EvictPod, plan.ShutGate, plan.UpdatePod:
		return slices.Concat(s.judgeBudget(a), s.judgeLeaving(a), s.judgeOrder(a))
	case plan.DeleteClaim:
		if !slices.Contains(s.Condemned, a.Slot) {
			return []string{"D: " + a.Claim + " is deleted, and the operator never scaled its pod away"}
		}
	}
	return nil
}

func (s *state) judgeCreate(a plan.Action) (broken []string) {
	if s.count(func(p *plan.Pod) bool { return live(p) && p.Slot == a.Slot }) > 0 {
		broken = append(broken, fmt.Sprintf("S2: slot %d has a pod and gets %s", a.Slot, a.Pod))
	}
	if s.pod(a.Pod) != nil || slices.Contains(s.Foreign, a.Pod) {
		broken = append(broken, "S2: the name of "+a.Pod+" is taken")
	}
	if s.Desired.Identity != appsv1.IdentityOrdinal {
		return broken
	}
	for _, d := range s.Dead {
		if d.Slot == a.Slot && d.Revision == a.Revision && now.Before(d.Until) {
			broken = append(broken, fmt.Sprintf("B: %s follows a pod that failed, %s before its backoff ends", a.Pod, d.Until.Sub(now)))
		}
	}
	return broken
}

// judgeOrder is Q: a pod of the base comes when all lower ones are available, and a
// pod beyond goes when all higher ones are gone.
func (s *state) judgeOrder(a plan.Action) (broken []string) {
	if !s.Desired.Ordered {
		return nil
	}
	base := s.base()
	for _, slot := range base {
		p := s.pod(plan.SlotName(&s.Desired, slot))
		if a.Verb == plan.CreatePod && slices.Contains(base, a.Slot) && slot < a.Slot && (p == nil || !s.available(p)) {
			broken = append(broken, fmt.Sprintf("Q: %s is created, and slot %d is not available", a.Pod, slot))
		}
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		beyond := live(p) || p.Terminating && p.NodeState == plan.NodePresent
		if a.Verb == plan.DeletePod && a.Why.Reason == appsv1.WhyScaleDown && beyond && !p.Surge && p.Slot > a.Slot && !slices.Contains(s.Desired.Reserved, p.Slot) {
			broken = append(broken, fmt.Sprintf("Q: DeletePod of %s, and %s is there", a.Pod, p.Name))
		}
	}
	return broken
}

// backoff is the wait that the API's documentation promises: none for the first
// failure, initial for the second, and twice as long each time.
func (s *state) backoff(count int) time.Duration {
	if count < 2 {
		return 0
	}
	wait := s.Desired.FailedPods.Initial << (count - 2)
	return min(wait, s.Desired.FailedPods.Max)
}

// judgeBudget: a rollout leaves replicas less maxUnavailable available.
func (s *state) judgeBudget(a plan.Action) []string {
	p := s.pod(a.Pod)
	inPlace := a.Verb == plan.UpdatePod || a.Verb == plan.ShutGate
	if a.Why.Rule != "rollout" || p == nil || !s.available(p) || a.Verb == plan.UpdatePod && len(a.Replaced) == 0 {
		return nil
	}
	unavailable := s.Desired.Update.MaxUnavailable
	if unavailable == 0 && (s.Desired.Update.MaxSurge == 0 || inPlace) {
		unavailable = 1
	}
	left := s.count(func(p *plan.Pod) bool { return p.Name != a.Pod && s.available(p) })
	if floor := s.Desired.Replicas - unavailable; left < floor {
		return []string{fmt.Sprintf("budget: %s of %s leaves %d available, and %d have to be", a.Verb, a.Pod, left, floor)}
	}
	return nil
}

// judgeLeaving is V: a pod leaves its node when replicas others are available, save
// those that failed.
func (s *state) judgeLeaving(a plan.Action) []string {
	p := s.pod(a.Pod)
	if a.Why.Rule != "move" || p == nil || !s.available(p) {
		return nil
	}
	broken := func(other *plan.Pod) bool {
		return (other.Phase == corev1.PodFailed || other.Waiting != "") && other.Created.Before(p.EvictionRequested)
	}
	left := s.count(func(other *plan.Pod) bool { return other.Name != a.Pod && (s.available(other) || broken(other)) })
	if left < s.Desired.Replicas {
		return []string{fmt.Sprintf("V: %s leaves with %d others available, and %d have to be", a.Pod, left, s.Desired.Replicas)}
	}
	return nil
}

// judgePass looks at what a pass decided and wrote into the status: S1, F and T.
func (w *world) judgePass(before, after *state, d *plan.Decision) (broken []string) {
	most := max(before.count(live), after.Desired.Replicas+after.Desired.MostSurge())
	if after.Desired.Ordered { // pods that wait for their turn to go keep no other from coming
		most += after.count(func(p *plan.Pod) bool { return live(p) && !slices.Contains(after.base(), p.Slot) })
	}
	if n := after.count(live); n > most {
		broken = append(broken, fmt.Sprintf("S1: %d pods live, and no more than %d may", n, most))
	}
	works := func(revision string) bool { return !after.Blame && !slices.Contains(after.Broken, revision) }
	if works(after.wanted()) && slices.ContainsFunc(d.Blocked, func(b plan.Blocked) bool { return b.By == appsv1.BlockedByDeadline && b.Pod == "" }) {
		broken = append(broken, "F: the rollout is halted, and its revision is not at fault")
	}
	if back := after.Status.Rollback; back != nil && works(back.From) {
		broken = append(broken, "F: the rollout is rolled back, and its revision is not at fault")
	}
	return append(broken, w.judgeStatus(after)...)
}

// judgeStatus is T: what the status says is what the pods are.
func (w *world) judgeStatus(s *state) (broken []string) {
	is := func(kind string) bool { return meta.IsStatusConditionTrue(s.Status.Conditions, kind) }
	if is(appsv1.ConditionStalled) && is(appsv1.ConditionReconciling) {
		broken = append(broken, "T: Stalled and Reconciling")
	}
	if !is(appsv1.ConditionReady) {
		return broken
	}
	if n := s.count(s.available); n < s.Desired.Replicas {
		broken = append(broken, fmt.Sprintf("T: Ready, and %d of %d pods are available", n, s.Desired.Replicas))
	}
	return broken
}

// judgeRest looks at a world in which nothing will move any more: L1 and P.
func (w *world) judgeRest(s *state) string {
	if s.Desired.TakeOver != "" {
		return s.judgeTakeOver()
	}
	excused := s.excused
	wanted := s.wanted()
	if slices.Contains(s.Broken, wanted) || s.Status.Rollback != nil || s.Blame {
		return ""
	}
	trouble := len(s.Refused)+len(s.Foreign) > 0 || s.count(func(p *plan.Pod) bool { return p.KeptBy != "" }) > 0
	if s.Desired.Identity != appsv1.IdentityOrdinal {
		if n := s.count(s.available); n != s.Desired.Replicas && !trouble {
			return fmt.Sprintf("L1: rests with %d of %d pods", n, s.Desired.Replicas)
		}
		return s.judgeRevisions(wanted, trouble)
	}
	room := s.Desired.Replicas + s.Desired.MostSurge() - s.count(live)
	for _, slot := range s.base() {
		if p := s.pod(plan.SlotName(&s.Desired, slot)); excused(slot) && (p == nil || !live(p)) {
			room-- // it is kept for the pod that is refused
		}
	}
	for _, slot := range s.base() {
		if broken := s.judgeSlot(slot, room); broken != "" && !excused(slot) {
			return broken
		}
	}
	if n := s.count(live); n > s.Desired.Replicas && !trouble {
		return fmt.Sprintf("L1: rests with %d of %d pods", n, s.Desired.Replicas)
	}
	return s.judgeRevisions(wanted, trouble)
}

// excused: something outside keeps a pod from the slot or, in order, from a lower
// one.
func (s *state) excused(slot int) bool {
	name := plan.SlotName(&s.Desired, slot)
	kept := s.pod(name)
	return slices.Contains(s.Foreign, name) || kept != nil && kept.KeptBy != "" ||
		slices.ContainsFunc(s.Refused, func(w write) bool { return w.Slot == slot }) ||
		s.Desired.Ordered && slot > 0 && s.excused(slot-1)
}

// judgeTakeOver: a take-over rests only where an adoption is refused. Else it can
// be ended.
func (s *state) judgeTakeOver() string {
	if slices.ContainsFunc(s.Refused, func(w write) bool { return w.Verb == plan.AdoptPod }) {
		return ""
	}
	return fmt.Sprintf("O: the take-over rests with %d pods adopted, and %d live", s.Status.CurrentReplicas, s.count(live))
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
	case s.Desired.Paused && slices.Contains(s.Broken, p.Revision):
		return "" // nothing moves it to a revision that works
	case !s.available(p):
		return "L1: rests, and " + p.Name + " is not available"
	}
	return ""
}

func (s *state) judgeRevisions(wanted string, trouble bool) string {
	if trouble || s.Desired.Paused {
		return ""
	}
	if n := s.count(func(p *plan.Pod) bool { return live(p) && p.Revision != wanted }); n > 0 {
		return fmt.Sprintf("L1: rests with %d pods on another revision than %s", n, wanted)
	}
	if n := s.count(func(p *plan.Pod) bool { return live(p) && p.SizeOf != "" }); n > 0 {
		return fmt.Sprintf("C: rests with %d pods of the size of another revision", n)
	}
	if s.Status.ObservedGeneration != s.Desired.Generation {
		return "L1: rests, and the status is of another generation"
	}
	return ""
}
