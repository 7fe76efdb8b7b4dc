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
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// causesToGo are the reasons for which a pod may be deleted: all that hold for a moment
// that the writer may have seen.
func (c *chronicle) causesToGo(a *touch, rules *Rules) []string {
	causes := c.causesOfItsOwn(a, rules)
	for _, owner := range c.asks(a) {
		spec := SpecOf(owner.object)
		for _, m := range c.statesBefore(a) {
			c.causesBeyond(causes, a, spec, m.object, rules)
		}
	}
	return slices.Sorted(maps.Keys(causes))
}

// statesBefore is the pod of an act as the writer may have seen it.
func (c *chronicle) statesBefore(a *touch) []moment[*corev1.Pod] {
	l := c.pods[a.before.UID]
	states := append(l.within(a.Seen, a.Version-1), l.before(a.Revision))
	return slices.DeleteFunc(states, func(m moment[*corev1.Pod]) bool { return !m.there() })
}

// causesOfItsOwn are those but that there are too many pods.
func (c *chronicle) causesOfItsOwn(a *touch, rules *Rules) map[string]bool {
	causes := map[string]bool{}
	l, states := c.pods[a.before.UID], c.statesBefore(a)
	for _, m := range states {
		c.ownCauses(causes, l, m, a.Version)
	}
	for _, owner := range c.asks(a) {
		spec := SpecOf(owner.object)
		for _, m := range states {
			c.askedCauses(causes, a, owner.object, spec, m.object, rules)
		}
		if !spec.SurgeFirst && !spec.Rebalances {
			continue
		}
		for _, m := range states {
			if m.object.Annotations[appsv1.AnnotationEvictionRequested] != "" && spec.SurgeFirst {
				causes[appsv1.WhyEvictionRequested] = true
			}
			if spec.SurgeFirst && c.leaving(m.object.Spec.NodeName, a.Version) {
				causes[appsv1.WhyNodeLeaving] = true
			}
			if spec.Rebalances {
				causes[appsv1.WhyRebalance] = true
			}
		}
	}
	if c.slotTwice(a) {
		causes[appsv1.WhyDuplicateSlot] = true
	}
	return causes
}

// refusedSizes are the causes that the API server gave for a pod which is not what is
// asked for: it said of this very pod "that the new size is more than all of the pod's node
// can allocate", or "that no pod can have the new size".
func (r *Rules) refusedSizes(causes map[string]bool, a *touch, from int64) {
	for _, q := range r.Requests {
		if q.Version < from || q.Version >= a.Version {
			continue
		}
		if q.TooLarge && q.Name == a.before.Name {
			causes[appsv1.WhyResizeInfeasible] = true
		}
		if q.Invalid {
			causes[appsv1.WhyRolloutRecreate] = true
		}
	}
}

// ownCauses are what the pod itself and its node say.
func (c *chronicle) ownCauses(causes map[string]bool, l *life[*corev1.Pod], m moment[*corev1.Pod], until int64) {
	pod := m.object
	switch pod.Status.Phase {
	case corev1.PodFailed:
		causes[appsv1.WhyPodFailed], causes[appsv1.WhyCorpseLimit] = true, true
		if pod.Status.Reason != "" {
			causes[appsv1.WhyEvicted] = true
		}
	case corev1.PodSucceeded:
		causes[appsv1.WhyPodFinished], causes[appsv1.WhyCorpseLimit] = true, true
	}
	if pod.Labels[appsv1.LabelDelete] == "true" {
		causes[appsv1.WhyRequested] = true
	}
	if c.nodeLost(pod.Spec.NodeName, until) {
		causes[appsv1.WhyNodeGone], causes[appsv1.WhyNodeOutOfService] = true, true
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type != corev1.PodResizePending || condition.Status != corev1.ConditionTrue || !wrote(lastResize(l, m.Version)) {
			continue // "a size that … a person chose stays"
		}
		switch condition.Reason {
		case corev1.PodReasonInfeasible:
			causes[appsv1.WhyResizeInfeasible] = true
		case corev1.PodReasonDeferred:
			causes[appsv1.WhyResizeDeferred] = true
		}
	}
}

// lastResize is the last write that changed the size of a pod, up to a version.
func lastResize(l *life[*corev1.Pod], version int64) *Revision {
	last := &Revision{}
	for i := 1; i < len(l.moments) && l.moments[i].Version <= version; i++ {
		a := touch{pod: l.moments[i].object, before: l.moments[i-1].object}
		if sizesDiffer(a.before, a.pod) {
			last = l.moments[i].Revision
		}
	}
	return last
}

// nodeLost: the node is gone, or tainted out of service. Where no node is known, none
// is missing.
func (c *chronicle) nodeLost(name string, until int64) bool {
	if name == "" || len(c.nodes) == 0 {
		return false
	}
	l := c.nodes[name]
	if l == nil {
		return true
	}
	for _, m := range l.moments {
		if m.Version > until {
			break
		}
		if m.Gone || slices.ContainsFunc(m.object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }) {
			return true
		}
	}
	return false
}

// leaving: a notice on the node, or a taint that keeps pods away, was there.
func (c *chronicle) leaving(name string, until int64) bool {
	if c.nodes[name] == nil {
		return false
	}
	for _, m := range c.nodes[name].moments {
		if m.Version > until {
			break
		}
		if announcesItsEnd(m.object) {
			return true
		}
	}
	return false
}

// announcesItsEnd: the node carries the annotation, or one of the taints that the flag
// --node-notices names; the world has no others.
func announcesItsEnd(node *corev1.Node) bool {
	return node.Annotations[appsv1.AnnotationNodeLeaving] != "" || len(node.Spec.Taints) > 0
}

// askedCauses are what the owner asks for.
func (c *chronicle) askedCauses(causes map[string]bool, a *touch, owner *appsv1.PodManager, spec *Spec, pod *corev1.Pod, rules *Rules) {
	if spec.Deleted && !spec.Orphans {
		causes[appsv1.WhyOwnerDeleted] = true
	}
	if !spec.Restart.IsZero() && pod.CreationTimestamp.Time.Before(spec.Restart) && spec.Strategy != appsv1.UpdateOnDelete {
		causes[appsv1.WhyRestart] = true
	}
	for _, version := range []int64{a.Seen, a.Version} {
		for _, g := range c.goals(owner, version) {
			ordinal, ok := ordinalOf(spec, pod)
			standsIn := !spec.Random && ok && !spec.InBase(ordinal) // one that stands in is made anew, not changed
			if stays(owner, pod) {
				continue
			}
			if !g.reached(pod) && (standsIn || c.recreates(spec, &g, pod, version)) {
				causes[appsv1.WhyRolloutRecreate] = true
			}
			if !g.reached(pod) || !g.lost && sizeDiffers(&g.template.Spec, &pod.Spec) {
				rules.refusedSizes(causes, a, c.pods[a.before.UID].moments[0].Version)
			}
		}
	}
}

// causesBeyond: there are more pods than replicas, and with ordinals this one is none
// of the base.
func (c *chronicle) causesBeyond(causes map[string]bool, a *touch, spec *Spec, pod *corev1.Pod, rules *Rules) {
	if spec.Random {
		every := func(*touch) bool { return true }
		surplus := func(other *touch) bool { return len(c.causesOfItsOwn(other, rules)) == 0 }
		if c.mostBefore(a, every) > spec.Replicas || c.mostBefore(a, surplus) > spec.Replicas {
			causes[appsv1.WhyScaleDown], causes[appsv1.WhySurgeOver] = true, true
		}
		return
	}
	ordinal, ok := ordinalOf(spec, pod)
	switch {
	case ok && spec.InBase(ordinal):
		return
	case ok && slices.Contains(spec.Reserved, ordinal):
		causes[appsv1.WhyReserved] = true
	}
	causes[appsv1.WhyScaleDown] = true
	if ok && !c.wasInBase(pod, ordinal, cmp.Or(a.Seen, a.Version)) { // what was stored later, the writer did not know
		causes[appsv1.WhySurgeOver] = true
	}
}

// mostBefore is how many pods of the owner may have lived for all that the writer knew,
// without those that it has deleted itself since it looked, as far as they count. One that
// it deleted for another reason need not be one of those that were too many, in whatever
