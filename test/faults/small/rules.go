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

	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// What a pass does to pods is judged by test/faults/oracle, from the objects as they
// would be stored. Here are the rules that need the memory of a state: what failed,
// what was scaled away, what was made for a drain. They come from docs/ and from the
// comments of the API, not from the planner.

// judgeWrite looks at a write before it is carried out: B, C, D, N, O, R and V.
func (w *world) judgeWrite(s *state, a plan.Action) []string {
	if s.Desired.TakeOver != "" && s.Desired.Deletion == plan.DeletionNone && a.Verb.Facts().Object == plan.ObjectClaim {
		return []string{fmt.Sprintf("O: %s of %s in the middle of a take-over", a.Verb, a.Claim)}
	}
	switch a.Verb {
	case plan.CreatePod:
		return s.judgeCreate(a)
	case plan.DeletePod, plan.EvictPod, plan.ShutGate, plan.UpdatePod, plan.ResizePod:
		return slices.Concat(s.judgeStandIn(a), s.judgeCause(a), w.judgeMeans(s, a))
	case plan.DeleteClaim:
		return s.judgeClaim(a)
	case plan.DeleteRevision:
		return s.judgePruned(a)
	}
	return nil
}

// judgePruned is R: a revision that is in use stays.
func (s *state) judgePruned(a plan.Action) []string {
	uses := s.count(func(p *plan.Pod) bool { return live(p) && (p.Revision == a.Revision || p.SizeOf == a.Revision) })
	if s.Desired.Deletion == plan.DeletionNone && (uses > 0 || a.Revision == s.wanted() || a.Revision == s.Template) {
		return []string{"R: the revision " + a.Revision + " is deleted, and it is in use"}
	}
	return nil
}

// judgeClaim is D.
func (s *state) judgeClaim(a plan.Action) []string {
	c := s.claim(a.Claim)
	users := s.count(func(p *plan.Pod) bool { return live(p) && plan.ClaimName("data", p.Name) == a.Claim })
	switch {
	case users > 0:
		return []string{"D: " + a.Claim + " is deleted, and a pod uses it"}
	case s.Desired.Deletion == plan.DeletionDelete && s.Desired.Claims.WhenDeleted == appsv1.ClaimDelete && c.Owner == s.Desired.UID:
		return nil
	case c.Surge && !slices.Contains(s.base(), a.Slot):
		return nil // it was made for a surge, and goes with the surge
	case !slices.Contains(s.Condemned, a.Slot):
		return []string{"D: " + a.Claim + " is deleted, and the operator never scaled its pod away"}
	}
	return nil
}

func (s *state) judgeCreate(a plan.Action) (broken []string) {
	if s.Desired.Finalizer != plan.FinalizerPresent {
		broken = append(broken, "R: "+a.Pod+" is made before the finalizer is there")
	}
	if s.pod(a.Pod) != nil || slices.Contains(s.Foreign, a.Pod) {
		broken = append(broken, "S2: the name of "+a.Pod+" is taken")
	}
	if s.Desired.Identity != appsv1.IdentityOrdinal {
		return broken
	}
	for _, d := range s.Dead {
		if d.Seen && d.Slot == a.Slot && d.Revision == a.Revision && now.Before(d.Until) {
			broken = append(broken, fmt.Sprintf("B: %s follows a pod that failed, %s before its backoff ends", a.Pod, d.Until.Sub(now)))
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

// judgeStandIn is V, too: what stands in for a pod that has to leave, and serves,
// stays until that pod is gone, also while its eviction is let through.
func (s *state) judgeStandIn(a plan.Action) []string {
	p := s.pod(a.Pod)
	if p == nil || a.Verb != plan.EvictPod && a.Verb != plan.DeletePod || !serves(p) || !s.isExtra(p.Name) || !s.surgesFirst() ||
		p.DeleteRequested || slices.Contains(s.Desired.Reserved, p.Slot) {
		return nil
	}
	leaving := func(p *plan.Pod) bool {
		return serves(p) && (s.Desired.Identity != appsv1.IdentityOrdinal || slices.Contains(s.base(), p.Slot)) && !p.EvictionRequested.IsZero() && now.Before(s.windowEnd(p)) && p.HoldDelete == nil
	}
	stay := s.count(func(other *plan.Pod) bool { return other.Name != p.Name && serves(other) && !leaving(other) })
	if !leaving(p) && s.count(leaving) > 0 && stay < s.Desired.Replicas {
		return []string{fmt.Sprintf("V: %s goes, and pods that it stands in for are still to leave", a.Pod)}
	}
	return nil
}

// surgesFirst: a pod that has to leave is replaced before it goes.
func (s *state) surgesFirst() bool {
	d := &s.Desired.Disruption
	return d.SurgeFirst && d.MaxSurge > 0 && s.Desired.Deletion == plan.DeletionNone
}

// judgeEvicted is V for an eviction that is let through at its deadline: the operator
// knew of it, and made a replacement if one could be made. After the deadline "no other is
// made", and what stands in for others has none.
func (s *state) judgeEvicted(p *plan.Pod) []string {
	if !s.surgesFirst() || !serves(p) || !slices.Contains(s.Asked, p.Name) || s.troubled() {
		return nil
	}
	member := s.Desired.Identity != appsv1.IdentityOrdinal || slices.Contains(s.base(), p.Slot)
	if member && !s.standsIn() && !slices.Contains(s.Replaced, p.Name) {
		return []string{"V: the eviction of " + p.Name + " is let through, and no replacement was made"}
	}
	return nil
}

// standsIn: there is a pod more than replicas, or one that was made to stand in.
func (s *state) standsIn() bool {
	return s.count(live) > s.Desired.Replicas || s.count(func(p *plan.Pod) bool { return s.isExtra(p.Name) }) > 0
}

// judgeMeans: the write does what it is for. A pod is moved to another revision in
// place only where that can be; no deletion is forced unless the node is gone; and a
// pod that leaves its node is evicted, so that PodDisruptionBudgets hold.
func (w *world) judgeMeans(s *state, a plan.Action) []string {
	p := s.pod(a.Pod)
	switch {
	case p == nil:
	case a.Verb == plan.UpdatePod && p.Revision != a.Revision && slices.ContainsFunc(w.changes, func(c plan.Change) bool { return c.Recreate != "" }):
		return []string{"C: " + a.Pod + " is moved to " + a.Revision + " in place, and cannot be"}
	case a.Force && p.NodeState == plan.NodePresent:
		return []string{"N: the deletion of " + a.Pod + " is forced, and its node is there"}
	case a.Verb == plan.DeletePod && s.Desired.Identity == appsv1.IdentityOrdinal && s.Desired.Deletion == plan.DeletionNone && s.waits(p) && serves(p) &&
		p.Revision == s.wanted() && slices.Contains(s.base(), p.Slot) && !p.DeleteRequested && !p.Created.Before(s.Desired.Restart) && p.SizeOf == "":
		return []string{"V: " + a.Pod + " leaves its node past the eviction API, and PodDisruptionBudgets"}
	}
	return nil
}

// judgeCause is N for pods that serve: none is deleted but for a scale-down, its
// revision, its size, a request or its node.
func (s *state) judgeCause(a plan.Action) []string {
	p := s.pod(a.Pod)
	switch {
	case p == nil || a.Verb != plan.DeletePod && a.Verb != plan.EvictPod:
		return nil
	case s.Desired.Deletion == plan.DeletionOrphan || s.Desired.Deletion == plan.DeletionCascadeOrphan:
		return []string{fmt.Sprintf("N: %s of %s, and the owner leaves its pods", a.Verb, a.Pod)}
	case !serves(p) || s.Desired.Deletion != plan.DeletionNone:
		return nil
	}
	surplus := s.count(live) > s.Desired.Replicas
	if s.Desired.Identity == appsv1.IdentityOrdinal {
		surplus = !slices.Contains(s.base(), p.Slot)
	}
	goals := []string{s.wanted()}
	if back := s.Status.Rollback; back != nil && back.From == s.wanted() && s.Desired.Pin == "" {
		goals = []string{back.To}
	}
	d := &s.Desired.Disruption
	switch {
	case surplus, !slices.Contains(goals, p.Revision), p.Created.Before(s.Desired.Restart), p.DeleteRequested:
	case d.SurgeFirst && (!p.EvictionRequested.IsZero() || p.NodeLeaving != ""), len(d.Spread) > 0:
	case p.SizeOf != "", p.Resize != plan.ResizeNone && !slices.Contains(s.Sized, p.Name):
	default:
		return []string{fmt.Sprintf("N: %s of %s, which serves, for no reason", a.Verb, a.Pod)}
	}
	return nil
}

// judgePass looks at what a pass decided and wrote into the status: F and T.
func (w *world) judgePass(after *state, d *plan.Decision) (broken []string) {
	works := func(revision string) bool { return !after.Blame && !slices.Contains(after.Broken, revision) }
	if works(after.wanted()) && slices.ContainsFunc(d.Blocked, func(b plan.Blocked) bool { return b.By == appsv1.BlockedByDeadline && b.Pod == "" }) {
		broken = append(broken, "F: the rollout is halted, and its revision is not at fault")
	}
	if back := after.Status.Rollback; back != nil && works(back.From) {
		broken = append(broken, "F: the rollout is rolled back, and its revision is not at fault")
	}
	deadline := after.Desired.Update.ProgressDeadline
	if stalled := meta.FindStatusCondition(after.Status.Conditions, appsv1.ConditionStalled); after.Stuck > deadline+deadline/2 && after.stuck() &&
		(stalled == nil || stalled.Reason != appsv1.ReasonProgressDeadlineExceeded && stalled.Reason != appsv1.ReasonRolledBack) {
		broken = append(broken, fmt.Sprintf("F: pods of the revision were stuck for %s, and the rollout goes on", after.Stuck))
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
