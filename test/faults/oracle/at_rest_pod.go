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
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// pod judges a live pod of a fleet at rest: its labels, what its revision is, and
// whether it is that.
func (r *rest) pod(pod *corev1.Pod) {
	r.labels(pod)
	r.revision(pod)
	r.requests(pod)
}

// labels are those that docs/reference.md lists.
func (r *rest) labels(pod *corev1.Pod) {
	want := map[string]string{appsv1.LabelUID: string(r.owner.UID)}
	slot, ok := r.slotOf(pod)
	if !r.spec.Random && ok {
		want[appsv1.LabelSlot] = strconv.Itoa(slot)
	}
	for label, value := range want {
		if is := pod.Labels[label]; is != value {
			r.report("pod %s has the label %s=%q, not %q", pod.Name, label, is, value)
		}
	}
	if inBase := !r.spec.Random && ok && r.spec.InBase(slot); inBase && pod.Annotations[appsv1.AnnotationSurge] != "" {
		r.report("pod %s is one of the fleet, and is marked as one that stands in", pod.Name)
	}
	if wanted := pod.Labels[appsv1.LabelWanted]; wanted != "" && !Held(pod, appsv1.LabelHoldDelete) && !Held(pod, appsv1.LabelHoldUpdate) {
		r.report("pod %s is wanted for %s, and not held", pod.Name, wanted)
	}
}

// revision: the pod is on the revision that it should be on, by its label, and is what
// that revision asks for.
func (r *rest) revision(pod *corev1.Pod) {
	label := pod.Labels[appsv1.LabelRevision]
	stored := r.revisions[label].at(r.end)
	switch {
	case stays(r.owner, pod) || r.goal.lost || r.halted() || Held(pod, appsv1.LabelHoldUpdate) || Held(pod, appsv1.LabelHoldDelete):
		if !stored.there() {
			return // it comes from elsewhere, and stays as it is
		}
	case label != r.goal.name && !r.obstacle && !r.unmoved(pod) && !r.heldBack(pod) && !r.evictionRefused(pod):
		r.report("pod %s is on revision %q, and should be on %q", pod.Name, label, r.goal.name)
		return
	case !stored.there():
		if !r.obstacle && !r.unmoved(pod) && !r.heldBack(pod) {
			r.report("pod %s is on revision %q, which is not stored", pod.Name, label)
		}
		return
	}
	r.whole(pod, label, templateIn(stored.object))
}

// whole is C: no change is half done. A pod is what the revision that its label names asks
// for, and has its size, unless another client wrote that last: a change of an image and
// the label, or a resize and the label, are written one after the other.
func (r *rest) whole(pod *corev1.Pod, label string, template *corev1.PodTemplateSpec) {
	if at := departs(pod, template); at != "" && !r.rules.Mutated && wrote(lastLabel(r.pods[pod.UID], r.end)) {
		r.found = append(r.found, Violation{Rule: "C", Version: r.end, Message: fmt.Sprintf("pod %s is on revision %s, and its %s is another", pod.Name, label, at)})
	}
	if l := r.pods[pod.UID]; !keepsSize(r.spec) && sizeDiffers(&template.Spec, &pod.Spec) && lastResize(l, r.end).Actor != "" && wrote(lastResize(l, r.end)) {
		r.found = append(r.found, Violation{Rule: "C", Version: r.end, Message: fmt.Sprintf("pod %s is on revision %s, and has another size", pod.Name, label)})
	}
}

// keepsSize: "A paused fleet, and one with OnDelete, keeps the size."
func keepsSize(spec *Spec) bool { return spec.Paused || spec.Strategy == appsv1.UpdateOnDelete }

// lastLabel is the write that put a pod on its revision. A client that takes pods over
// may say itself of which revision they are.
func lastLabel(l *life[*corev1.Pod], version int64) *Revision {
	last := l.moments[0]
	for _, m := range l.moments {
		if m.Version <= version && m.object.Labels[appsv1.LabelRevision] != last.object.Labels[appsv1.LabelRevision] {
			last = m
		}
	}
	return last.Revision
}

// unmoved: with random names a partition keeps some pods on the old revision, whichever.
// Pods that stand in are on either.
func (r *rest) unmoved(pod *corev1.Pod) bool {
	slot, ok := r.slotOf(pod)
	if !r.spec.Random {
		return !ok || !r.spec.InBase(slot)
	}
	old := 0
	for _, p := range r.live {
		if p.Labels[appsv1.LabelRevision] != r.goal.name {
			old++
		}
	}
	return old <= r.spec.Partition
}

// requests: what a user asked of a pod is done.
func (r *rest) requests(pod *corev1.Pod) {
	if Held(pod, appsv1.LabelHoldDelete) || r.rules.Undeletable[pod.Name] || r.evictionRefused(pod) {
		return
	}
	// "The operator obeys the delete label in any case", also where something keeps the
	// fleet from its goal, other pods stand in, or this one does; with OrderedReady one
	// beyond the fleet may wait for its turn.
	if slot, ok := r.slotOf(pod); DeleteRequested(pod) && (!r.obstacle || !r.spec.Ordered || ok && r.spec.InBase(slot)) {
		r.report("pod %s should go, by its label, and is there", pod.Name)
	}
	if r.obstacle {
		return
	}
	moves := !r.spec.Paused && r.spec.Strategy != appsv1.UpdateOnDelete && !r.halted()
	// Where "the pinned revision is not stored", the operator "stops" (docs/rollouts.md).
	if moves && !r.goal.lost && pod.CreationTimestamp.Time.Before(r.spec.Restart) {
		r.report("pod %s is older than the restart that was asked for", pod.Name)
	}
	gated := slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == appsv1.GateInService })
	runs := pod.Status.Phase == corev1.PodRunning && condition(pod, corev1.ContainersReady) != corev1.ConditionFalse
	if gated && runs && moves && condition(pod, appsv1.GateInService) != corev1.ConditionTrue {
		r.report("pod %s stays out of service", pod.Name)
	}
}

// ownerItself: the finalizer "has to be there before any pod", the revision of the
// template is stored once, and no more old ones are kept than asked for.
func (r *rest) ownerItself() {
	if !slices.Contains(r.owner.Finalizers, appsv1.Finalizer) && len(r.live) > 0 && !r.rules.FinalizerStripped {
		r.report("owner %s has pods and no finalizer", r.owner.Name)
	}
	used := map[string]bool{r.owner.Status.UpdateRevision: true, r.owner.Status.CurrentRevision: true, r.goal.name: true}
	for _, pod := range slices.Concat(r.live, r.kept) {
		used[pod.Labels[appsv1.LabelRevision]] = true
	}
	alike, old := 0, 0
	for _, revision := range r.storedAt(r.owner.UID, r.end) {
		if SameTemplate(templateIn(revision), WantedTemplate(r.owner)) {
			alike++
		} else if !used[revision.Name] && r.spec.Pin == "" {
			old++
		}
	}
	switch {
	case alike != 1:
		r.report("%d stored revisions are that of the template", alike)
	case old > r.spec.HistoryLimit:
		r.report("%d old revisions are kept, and %d may be", old, r.spec.HistoryLimit)
	}
}

// waits: a pod does not serve or has to be made anew, also where the hold of a pod "whose
// node is gone" keeps its successor back. And "a paused fleet, and one with OnDelete, keeps
// the size and reports the pod as one that has to move".
func (r *rest) waits() bool {
	return slices.ContainsFunc(r.live, func(pod *corev1.Pod) bool {
		return !Serves(pod) || r.nodeLost(pod.Spec.NodeName, r.end) || pod.CreationTimestamp.Time.Before(r.spec.Restart) ||
			keepsSize(r.spec) && resizeWaits(pod)
	})
}

// resizeWaits: the node defers a resize of the pod, or can never do it.
func resizeWaits(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue
	})
}

// readiness: Ready is True exactly if the fleet is what this generation asks for.
func (r *rest) readiness() {
	s := &r.owner.Status
	if s.ObservedGeneration != r.owner.Generation {
		r.report("the status is of generation %d, and the spec of %d", s.ObservedGeneration, r.owner.Generation)
		return
	}
	if r.waits() {
		return
	}
	whole := len(r.found) == 0 && !r.obstacle && len(r.live) == r.spec.Replicas && r.moved() &&
		!r.goal.lost && !r.goal.overrides && !r.goal.back && r.spec.MinReady == 0
	for _, kind := range []string{appsv1.ConditionReconciling, appsv1.ConditionStalled} {
		if c := meta.FindStatusCondition(s.Conditions, kind); whole && c != nil && !r.terminating() {
			r.report("%s with the reason %s (%s), and the fleet is what was asked for", kind, c.Reason, c.Message)
		}
	}
	if ready := meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReady); whole && !ready {
		r.report("Ready is False, and the fleet is what was asked for")
	}
}

// moved: all pods are on the goal but those that the partition keeps, which with ordinals are
// those of the lowest.
func (r *rest) moved() bool {
	behind, mayBe := 0, r.spec.Partition
	if r.owner.Status.CurrentRevision == "" {
		mayBe = 0 // there is no old revision to stay on
	}
	for _, pod := range r.live {
		ordinal, _ := r.spec.Ordinal(pod.Name)
		switch {
		case pod.Labels[appsv1.LabelRevision] == r.goal.name:
		case r.spec.Random:
			behind++
		case !slices.Contains(r.spec.Base()[:min(mayBe, r.spec.Replicas)], ordinal):
			return false
		}
	}
	return behind <= mayBe
}

// terminating: a pod that goes is still there.
func (r *rest) terminating() bool {
	return slices.ContainsFunc(r.kept, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
}
