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
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The part of N about fleets whose pods are told apart by nothing but their revision:
// what a partition, a pause and a rollout that failed keep is a number of pods. An
// autoscaler that changes replicas changes nothing of it.

// promoted: "partition: how many pods stay on the old revision", and in a scale-down "as
// many as it keeps stay on the old revision, and while a rollout is paused or has failed,
// one does; pods of the new one are deleted before these". So the operator takes no pod of
// the old revision that nothing else takes, when fewer than these are left beside pods of
// the new one that might have gone.
func (c *chronicle) promoted(a *touch, all []touch, rules *Rules) string {
	old, goal, keep := c.keptOld(a, rules)
	if keep == 0 || a.what == appsv1.ReasonDeleted && a.forced() || a.before.Labels[appsv1.LabelRevision] != old || a.what == appsv1.ReasonUpdated && a.pod.Labels[appsv1.LabelRevision] == old {
		return ""
	}
	if a.what == appsv1.ReasonDeleted && slices.ContainsFunc(c.statesBefore(a), func(m moment[*corev1.Pod]) bool {
		return !Serves(m.object) || !c.undisturbed(a, m)
	}) {
		return ""
	}
	last := a.Version // of what the operator does in one pass, whose order means nothing
	for i := range all {
		if b := &all[i]; b.owner == a.owner && b.Seen == a.Seen {
			last = max(last, b.Version)
		}
	}
	left, others := c.beside(a, old, goal, last)
	if left >= keep || a.what == appsv1.ReasonDeleted && others == 0 {
		return ""
	}
	return fmt.Sprintf("pod %s leaves revision %s, on which %d pods have to stay: %d are left, beside %d on the new one", a.before.Name, old, keep, left, others)
}

// beside counts the pods of the old revision that a pass leaves there, up to its last
// write, and those of the new one that might go in their place.
func (c *chronicle) beside(a *touch, old, goal string, last int64) (left, others int) {
	for _, l := range c.pods {
		states := l.within(a.Seen, last)
		is := func(revision string) func(moment[*corev1.Pod]) bool {
			return func(m moment[*corev1.Pod]) bool {
				return owns(a.owner, m) && isLive(m) && m.object.Labels[appsv1.LabelRevision] == revision
			}
		}
		taken := slices.ContainsFunc(states[1:], func(m moment[*corev1.Pod]) bool { return wrote(m.Revision) && !is(old)(m) })
		if slices.ContainsFunc(states, is(old)) && !taken {
			left++
		}
		if !slices.ContainsFunc(states, func(m moment[*corev1.Pod]) bool { return !is(goal)(m) || !Serves(m.object) || !c.undisturbed(a, m) }) {
			others++
		}
	}
	return left, others
}

// keptOld is the old revision, the goal, and how many pods the partition, a pause or a
// failure keeps on the old one, for all that the writer may have known.
func (c *chronicle) keptOld(a *touch, rules *Rules) (old, goal string, keep int) {
	asks := c.asks(a)
	for i, owner := range asks {
		spec, g := SpecOf(owner.object), c.goalOf(owner.object, a.Version)
		current := owner.object.Status.CurrentRevision
		if !spec.Random || !c.rollsOut(spec, &g, current, a.Version) {
			return "", "", 0
		}
		if i > 0 && (current != old || g.name != goal) {
			return "", "", 0
		}
		kept := spec.Partition
		if spec.Paused || a.what == appsv1.ReasonDeleted && c.failed(owner, a, g.name, rules) {
			kept = max(kept, 1)
		}
		if i == 0 || kept < keep {
			keep = kept
		}
		old, goal = current, g.name
	}
	if next := c.nextStatus(a); next != nil && next.CurrentRevision != old && next.CurrentRevision != goal {
		return "", "", 0 // the writer had found that another revision is the one to go back to
	}
	return old, goal, keep
}

// rollsOut: the fleet goes from a revision that is stored to another.
func (c *chronicle) rollsOut(spec *Spec, g *goal, current string, at int64) bool {
	return !spec.Deleted && !spec.TakesOver && !spec.Rebalances && g.plain() && g.name != "" && current != g.name && c.revisions[current].at(at).there()
}

// nextStatus is what the operator said after an act.
func (c *chronicle) nextStatus(a *touch) *appsv1.PodManagerStatus {
	for _, m := range c.owners[a.owner].moments {
		if m.Version > a.Version && wrote(m.Revision) && m.there() {
			return &m.object.Status
		}
	}
	return nil
}

// undisturbed: nothing but the number of pods is a reason for this one to go.
func (c *chronicle) undisturbed(a *touch, m moment[*corev1.Pod]) bool {
	causes := map[string]bool{}
	c.ownCauses(causes, c.pods[m.object.UID], m, a.Version)
	if len(causes) > 0 || Held(m.object, appsv1.LabelHoldDelete) || Held(m.object, appsv1.LabelHoldUpdate) {
		return false
	}
	return !slices.ContainsFunc(c.asks(a), func(owner moment[*appsv1.PodManager]) bool {
		spec := SpecOf(owner.object)
		return c.hasToLeave(spec, m.object, a.Version) || m.object.CreationTimestamp.Time.Before(spec.Restart)
	})
}

// hasToLeave: the pod is replaced before it goes.
func (c *chronicle) hasToLeave(spec *Spec, pod *corev1.Pod, until int64) bool {
	return spec.SurgeFirst && (pod.Annotations[appsv1.AnnotationEvictionRequested] != "" || c.leaving(pod.Spec.NodeName, until))
}

// strays: "A pod that is replaced during a pause, or after a rollout has failed, comes back
// on the revision that it had; additional pods get the old one." So a pod that comes does
// not make more pods of the new revision than there were when the operator last saw the
// fleet whole; nor of the others, but for as many as were added to replicas since.
func (c *chronicle) strays(a *touch, rules *Rules) string {
	whole := c.lastWhole(a, rules)
	if whole.Revision == nil {
		return ""
	}
	goal := c.goalOf(whole.object, a.Version)
	on := func(m moment[*corev1.Pod]) bool { return m.object.Labels[appsv1.LabelRevision] == goal.name }
	before := SpecOf(whole.object)
	_, moved := c.count(a.owner, whole.Seen, whole.Version, func(m moment[*corev1.Pod]) bool { return isLive(m) && on(m) })
	_, others := c.count(a.owner, whole.Seen, whole.Version, func(m moment[*corev1.Pod]) bool { return isLive(m) && !on(m) })
	for _, owner := range c.asks(a) {
		others = max(others, others+SpecOf(owner.object).Replicas-before.Replicas, SpecOf(owner.object).Partition)
	}
	same := 1 // the new one
	for uid, l := range c.pods {
		states := l.within(a.Seen, a.Version-1)
		if len(states) > 1 && states[0].Revision == nil && wrote(states[1].Revision) {
			states = states[1:] // the operator made it itself since it looked
		}
		if uid != a.pod.UID && !slices.ContainsFunc(states, func(m moment[*corev1.Pod]) bool {
			return !owns(a.owner, m) || !isLive(m) || !c.matches(a.owner, m.object) || c.hasToLeave(before, m.object, a.Version) ||
				m.object.Labels[appsv1.LabelRevision] != goal.name != (a.pod.Labels[appsv1.LabelRevision] != goal.name)
		}) {
			same++
		}
	}
	switch isNew := a.pod.Labels[appsv1.LabelRevision] == goal.name; {
	case isNew && same > moved:
		return fmt.Sprintf("pod %s comes on revision %s, whose rollout stands still: %d pods are on it, and %d were when the fleet was whole", a.pod.Name, goal.name, same, moved)
	case !isNew && same > others:
		return fmt.Sprintf("pod %s comes back on revision %s though the rollout stands still: %d pods are not on %s, and %d were when the fleet was whole",
			a.pod.Name, a.pod.Labels[appsv1.LabelRevision], same, goal.name, others)
	}
	return ""
}

// lastWhole is the last status before an act by a writer that had seen as many pods as were
// asked for, of a rollout that stood still from then on.
func (c *chronicle) lastWhole(a *touch, rules *Rules) (whole moment[*appsv1.PodManager]) {
	if a.Seen == 0 || a.Actor == Late || rules.Split || rules.Jumped {
		return whole
	}
	for _, m := range slices.Backward(c.owners[a.owner].moments) {
		if m.Version > min(a.Seen, a.Floor) || !wrote(m.Revision) || m.Seen == 0 || !m.there() || m.object.Status.ObservedGeneration != m.object.Generation {
			continue
		}
		least, _ := c.count(a.owner, m.Seen, m.Version, isLive)
		if least >= SpecOf(m.object).Replicas {
			whole = m
			break
		}
	}
	if whole.Revision == nil || !c.standsStill(whole, a) {
		return moment[*appsv1.PodManager]{}
	}
	return whole
}

// standsStill: from a status until an act, the rollout was paused, or had failed.
func (c *chronicle) standsStill(from moment[*appsv1.PodManager], a *touch) bool {
	goal := c.goalOf(from.object, a.Version)
	if !goal.plain() || goal.name == "" {
		return false
	}
	paused := true
	for _, m := range c.owners[a.owner].within(from.Version, a.Version) {
		spec, current := SpecOf(m.object), m.object.Status.CurrentRevision
		if !m.there() || !spec.Random || spec.Deleted || spec.TakesOver || spec.Rebalances || spec.Strategy == appsv1.UpdateOnDelete ||
			current == goal.name || !c.revisions[current].at(a.Version).there() || c.goalOf(m.object, a.Version).name != goal.name || !c.goalOf(m.object, a.Version).plain() {
			return false
		}
		paused = paused && spec.Paused
	}
	if next := c.nextStatus(a); next != nil && next.CurrentRevision == goal.name {
		return false // the writer had found that the rollout is done
	}
	return paused || c.failedBefore(from, a, goal.name)
}

// failed: the rollout had, as the writer knew.
func (c *chronicle) failed(owner moment[*appsv1.PodManager], a *touch, goal string, rules *Rules) bool {
	return a.Seen > 0 && a.Actor != Late && !rules.Split && !rules.Jumped && c.failedBefore(owner, a, goal)
}

// failedBefore: the operator had said that the rollout failed, and nothing happened since
// that begins the deadline anew: "Each additional available pod resets it; so do another
// revision, a restart request and a pause. Other edits do not, so an autoscaler that changes
// replicas does not keep a broken revision alive."
func (c *chronicle) failedBefore(from moment[*appsv1.PodManager], a *touch, goal string) bool {
	var failed moment[*appsv1.PodManager]
	for _, m := range c.owners[a.owner].within(0, from.Version) {
		if m.Revision == nil || !m.there() || !wrote(m.Revision) {
			continue
		}
		stalled := meta.FindStatusCondition(m.object.Status.Conditions, appsv1.ConditionStalled)
		if stalled != nil && stalled.Reason == appsv1.ReasonProgressDeadlineExceeded && m.object.Status.UpdateRevision == goal {
			failed = m
		}
	}
	if failed.Revision == nil {
		return false
	}
	for _, m := range c.owners[a.owner].within(failed.Version, a.Version) {
		spec := *m.object.Spec.DeepCopy()
		spec.Replicas = failed.object.Spec.Replicas
		if !reflect.DeepEqual(failed.object.Spec, spec) || SpecOf(m.object).Paused || SpecOf(m.object).Restart != SpecOf(failed.object).Restart {
			return false
		}
	}
	return !c.comesToServe(a.owner, goal, failed.Seen, a.Version, SpecOf(failed.object).MinReady > 0)
}

// comesToServe: a pod of a revision began to serve between two versions, or served at all
// where it has to do so for longer.
func (c *chronicle) comesToServe(owner types.UID, revision string, from, to int64, longer bool) bool {
	for _, l := range c.pods {
		served := !longer
		for _, m := range l.within(from, to) {
			serves := owns(owner, m) && m.object.Labels[appsv1.LabelRevision] == revision && Serves(m.object)
			if serves && !served {
				return true
			}
			served = serves && !longer
		}
	}
	return false
}
