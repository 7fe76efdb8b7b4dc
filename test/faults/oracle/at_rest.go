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

package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// AtRest is L1: the state at rest is what the spec asks for, as far as the world lets
// it be: which pods there are, on which revision and of what, with which labels, and
// what the owner itself has. It is computed from the spec and from what stands in the
// way, not from another run. Where writes are still refused, P says what may be
// missing.
func AtRest(history []Revision, rules Rules, now time.Time) []Violation {
	c := newChronicle(history)
	if len(history) == 0 || rules.Kind != "" && rules.Kind != Kind {
		return nil
	}
	end := history[len(history)-1].Version
	var found []Violation
	for _, l := range c.owners {
		m := l.at(end)
		if !m.there() || m.object.DeletionTimestamp != nil {
			continue // R says what may be left of an owner that is deleted
		}
		r := &rest{chronicle: c, rules: rules, now: now, end: end, owner: m.object, spec: SpecOf(m.object), goal: c.goalOf(m.object, end)}
		r.judge()
		found = append(found, r.found...)
	}
	return found
}

// rest is one owner at the end.
type rest struct {
	*chronicle
	rules Rules
	now   time.Time
	end   int64
	owner *appsv1.PodManager
	spec  *Spec
	goal  goal
	// live are its pods that live, and bySlot those by their place. kept are others of
	// its pods that are still there, and taken the names of all pods.
	live   []*corev1.Pod
	bySlot map[int][]*corev1.Pod
	kept   []*corev1.Pod
	taken  map[string]*corev1.Pod
	// obstacle: something in the world keeps the fleet from its goal.
	obstacle bool
	found    []Violation
}

func (r *rest) report(format string, args ...any) {
	r.found = append(r.found, Violation{Rule: "L1", Version: r.end, Message: fmt.Sprintf(format, args...)})
}

func (r *rest) judge() {
	r.gather()
	r.strangers()
	if r.spec.TakesOver {
		return
	}
	if r.spec.Random {
		r.number()
	} else {
		r.ordinals()
	}
	r.corpses()
	for _, pod := range r.live {
		r.pod(pod)
	}
	r.ownerItself()
	r.readiness()
}

func (r *rest) gather() {
	r.bySlot, r.taken = map[int][]*corev1.Pod{}, map[string]*corev1.Pod{}
	for _, l := range r.pods {
		m := l.at(r.end)
		if !m.there() || m.object.Namespace != r.owner.Namespace {
			continue
		}
		r.taken[m.object.Name] = m.object
		switch {
		case !owns(r.owner.UID, m):
		case !Live(m.object):
			r.kept = append(r.kept, m.object)
		default:
			r.live = append(r.live, m.object)
			if slot, ok := r.slotOf(m.object); ok {
				r.bySlot[slot] = append(r.bySlot[slot], m.object)
			}
		}
	}
	slices.SortFunc(r.live, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

// slotOf is the place of a pod: "the slot is in the label" of one that was taken over
// and has a name that the operator did not give.
func (r *rest) slotOf(pod *corev1.Pod) (int, bool) { return ordinalOf(r.spec, pod) }

// strangers: pods without an owner that match are adopted, and pods that no longer match
// are released.
func (r *rest) strangers() {
	for _, pod := range r.taken {
		owner, owned := owned(pod)
		matches := pod.Labels[appsv1.LabelName] == r.owner.Name
		uid := types.UID(pod.Labels[appsv1.LabelUID])
		switch {
		case owned && owner == r.owner.UID && !matches && Live(pod) && !r.spec.TakesOver:
			r.report("pod %s is kept, and its label says that it belongs to %q", pod.Name, pod.Labels[appsv1.LabelName])
		case !owned && matches && Live(pod) && (uid == "" || uid == r.owner.UID):
			r.report("pod %s matches, has no owner, and is not adopted", pod.Name)
		}
	}
}

// number: with random names there are as many pods as asked for.
func (r *rest) number() {
	stuck := 0
	for _, pod := range r.live {
		if Held(pod, appsv1.LabelHoldDelete) || r.rules.Undeletable[pod.Name] {
			stuck++
		}
	}
	standIns := 0
	if r.keptByBudget() || slices.ContainsFunc(r.live, func(p *corev1.Pod) bool { return !Serves(p) && r.awaited(p) }) {
		standIns = r.spec.SurgeAllowed()
	}
	waiting := r.failing() || r.terminatingKeeps()
	switch n := len(r.live); {
	case n < r.spec.Replicas && !waiting:
		r.report("there are %d pods of %d", n, r.spec.Replicas)
	case n-stuck-standIns > r.spec.Replicas:
		r.report("there are %d pods, and %d are asked for", n, r.spec.Replicas)
	}
	r.obstacle = r.obstacle || waiting || len(r.live) > r.spec.Replicas
	for slot, pods := range r.bySlot {
		if len(pods) > 1 {
			r.report("%d pods live in slot %d", len(pods), slot)
		}
	}
}

// terminatingKeeps: "WaitForDeletion", and a pod that does not go.
func (r *rest) terminatingKeeps() bool {
	return r.spec.Terminating == appsv1.TerminatingWait && slices.ContainsFunc(r.kept, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// ordinals: every ordinal of the base has its pod, and no other has one.
func (r *rest) ordinals() {
	blocked := false
	for _, slot := range r.spec.Base() {
		pods := r.bySlot[slot]
		excused := r.excused(slot) || r.spec.Ordered && blocked || len(pods) == 0 && r.noRoom()
		switch {
		case len(pods) > 1:
			r.report("%d pods live in slot %d", len(pods), slot)
		case len(pods) == 0 && !excused:
			r.report("slot %d has no pod, and nothing stands in its way", slot)
		}
		blocked = blocked || excused || len(pods) == 0 || !Serves(pods[0])
		r.obstacle = r.obstacle || excused
	}
	r.obstacle = r.obstacle || r.surgeTaken()
	r.extras(blocked)
}

// surgeTaken: a pod of another has the name of one that would stand in.
func (r *rest) surgeTaken() bool {
	for ordinal, left := 0, r.spec.SurgeAllowed(); left > 0; ordinal++ {
		if r.spec.InBase(ordinal) || slices.Contains(r.spec.Reserved, ordinal) {
			continue
		}
		left--
		if pod := r.taken[r.spec.PodName(ordinal)]; pod != nil && controllerOf(pod) != r.owner.UID {
			return true
		}
	}
	return false
}

// noRoom: as many pods live as may, and one on a reserved ordinal has to go first.
func (r *rest) noRoom() bool {
	return r.spent() && len(r.live) >= r.spec.Replicas+r.spec.SurgeAllowed()
}

// spent: no pod that serves may go, because others do not serve: "the operator moves it to
// another ordinal, within maxUnavailable and maxSurge".
func (r *rest) spent() bool { return r.serving() <= r.spec.Replicas-r.spec.Unavailable() }

// heldBack: the pod serves, and a pod that does not serve, because it is held or finds no
// node, takes what "may be unavailable, including pods that a change in place restarts".
func (r *rest) heldBack(pod *corev1.Pod) bool {
	may := r.spec.UnavailableInPlace()
	if r.recreates(r.spec, &r.goal, pod, r.end) {
		may = r.spec.Unavailable()
	}
	return Serves(pod) && r.serving() <= r.spec.Replicas-may &&
		slices.ContainsFunc(r.live, func(p *corev1.Pod) bool {
			return !Serves(p) && (Held(p, appsv1.LabelHoldDelete) || Held(p, appsv1.LabelHoldUpdate) || p.Spec.NodeName == "")
		})
}

func (r *rest) serving() int {
	n := 0
	for _, pod := range r.live {
		if Serves(pod) {
			n++
		}
	}
	return n
}

// excused: a pod of another has the name, one that does not go has it, or the backoff of
// its failures has not passed.
func (r *rest) excused(slot int) bool {
	pod := r.taken[r.spec.PodName(slot)]
	if pod == nil {
		return r.failing()
	}
	owner, owned := owned(pod)
	switch {
	case !owned || owner != r.owner.UID:
		return true
	case pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0:
		return true
	case ended(pod):
		return r.failing() || Held(pod, appsv1.LabelHoldDelete)
	case pod.DeletionTimestamp != nil:
		return pod.Spec.NodeName == "" || !r.nodeLost(pod.Spec.NodeName, r.end)
	}
	return false
}

// failing: pods failed in a row, and the longest backoff may not have passed since the
// last of them.
func (r *rest) failing() bool {
	for _, l := range r.pods {
		for _, m := range l.moments {
			_, node := r.nodes[m.object.Spec.NodeName]
			nowhere := m.object.Spec.NodeName != "" && !node && len(r.nodes) > 0
			ours := controllerOf(m.object) == r.owner.UID
			if ours && (ended(m.object) || nowhere) && (r.now.IsZero() || m.Time.IsZero() || r.now.Sub(m.Time) < r.spec.BackoffMax+time.Minute) {
				return true
			}
		}
	}
	return false
}

// extras: beyond the base are only pods that are held or may not be deleted, pods that
// wait for their turn, pods that stand in for what an obstacle or a budget keeps, and
// those that are to stand in and find no node.
func (r *rest) extras(blocked bool) {
	beyond, turn := 0, false
	for _, pod := range slices.Backward(r.sortedBySlot()) {
		slot, ok := r.slotOf(pod)
		if ok && r.spec.InBase(slot) {
			continue
		}
		if Held(pod, appsv1.LabelHoldDelete) || r.rules.Undeletable[pod.Name] {
			turn = true
			r.obstacle = true
			continue
		}
		if r.spec.Ordered && (turn || blocked || r.higherEnds(slot)) {
			continue
		}
		if ok && slices.Contains(r.spec.Reserved, slot) && Serves(pod) && r.spent() {
			continue
		}
		if r.standsIn(pod) && beyond < r.spec.SurgeAllowed() {
			beyond++
			r.obstacle = true
			continue
		}
		if beyond++; !blocked && !r.halted() && !r.held() || beyond > r.spec.SurgeAllowed() {
			r.report("pod %s is beyond the fleet, and nothing keeps it", pod.Name)
		}
	}
}

// standsIn: the pod finds no node and is awaited, a pod that leaves its node waits until
// it is available, or a budget keeps one that it replaces.
func (r *rest) standsIn(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && r.awaited(pod) || !Serves(pod) && r.leaverWaits(pod) || r.keptByBudget()
}

// awaited: the fleet waits until the pod serves, because another one that does is to be
// moved to the goal, made anew or replaced before it leaves its node.
func (r *rest) awaited(pod *corev1.Pod) bool {
	return slices.ContainsFunc(r.live, func(other *corev1.Pod) bool {
		return other != pod && Serves(other) && (r.behind(other) || r.spec.SurgeFirst && r.leaving(other.Spec.NodeName, r.end))
	})
}

// leaverWaits: another pod serves and has to leave its node, which still says so. "When as
// many pods are available as replicas asks for without the one that leaves, the operator
// evicts it."
func (r *rest) leaverWaits(pod *corev1.Pod) bool {
	return r.spec.SurgeFirst && slices.ContainsFunc(r.live, func(other *corev1.Pod) bool {
		node := r.nodes[other.Spec.NodeName]
		return other != pod && Serves(other) && node.at(r.end).there() && announcesItsEnd(node.at(r.end).object)
	})
}

// behind: the pod is to be moved to the goal, or made anew.
func (r *rest) behind(pod *corev1.Pod) bool {
	return pod.Labels[appsv1.LabelRevision] != r.goal.name && !stays(r.owner, pod) || pod.CreationTimestamp.Time.Before(r.spec.Restart)
}

// keptByBudget: a pod has to leave its node, and a PodDisruptionBudget may refuse that, or
// refuses that one is made anew.
func (r *rest) keptByBudget() bool {
	return r.rules.Budget > 0 && slices.ContainsFunc(r.live, func(p *corev1.Pod) bool {
		return r.spec.SurgeFirst && r.leaving(p.Spec.NodeName, r.end) || r.evictionRefused(p)
	})
}

// evictionRefused: "recreate pods through the eviction API, which respects
// PodDisruptionBudgets", and no more pods serve than these keep.
func (r *rest) evictionRefused(pod *corev1.Pod) bool {
	if !r.spec.UseEviction || !Serves(pod) || !r.behind(pod) || r.serving() > r.rules.Budget {
		return false
	}
	return pod.CreationTimestamp.Time.Before(r.spec.Restart) || r.recreates(r.spec, &r.goal, pod, r.end)
}

// higherEnds: a pod of a higher ordinal is being deleted, or has failed and may not be
// deleted, and is still there: each goes "when all higher ones are gone".
func (r *rest) higherEnds(slot int) bool {
	return slices.ContainsFunc(r.kept, func(p *corev1.Pod) bool {
		ordinal, ok := r.slotOf(p)
		return ok && ordinal > slot && (p.DeletionTimestamp != nil || Held(p, appsv1.LabelHoldDelete) || r.rules.Undeletable[p.Name])
	})
}

func (r *rest) sortedBySlot() []*corev1.Pod {
	pods := slices.Clone(r.live)
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		x, _ := r.slotOf(a)
		y, _ := r.slotOf(b)
		return x - y
	})
	return pods
}

// held: a pod may not be changed or deleted, so a rollout cannot end.
func (r *rest) held() bool {
	return slices.ContainsFunc(r.live, func(p *corev1.Pod) bool {
		return Held(p, appsv1.LabelHoldDelete) || Held(p, appsv1.LabelHoldUpdate)
	})
}

// halted: the rollout failed and waits for a person. F says whether that is right.
func (r *rest) halted() bool {
	stalled := meta.FindStatusCondition(r.owner.Status.Conditions, appsv1.ConditionStalled)
	return stalled != nil && stalled.Reason == appsv1.ReasonProgressDeadlineExceeded
}

// corpses: "Limit is how many failed pods are kept for inspection." And "the operator obeys
// the delete label in any case", when the backoff of the pod's successor has passed.
func (r *rest) corpses() {
	n := 0
	for _, pod := range r.kept {
		if !ended(pod) || pod.DeletionTimestamp != nil || Held(pod, appsv1.LabelHoldDelete) || r.rules.Undeletable[pod.Name] {
			continue
		}
		if n++; DeleteRequested(pod) && !r.failing() {
			r.report("failed pod %s should go, by its label, and is there", pod.Name)
		}
	}
	if n > r.spec.FailedLimit && !r.failing() {
		r.report("%d failed pods are kept, and %d may be", n, r.spec.FailedLimit)
	}
}
