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
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Needless is N: the operator "changes as little as it can", so every create, delete,
// release and restart of a container has a cause that the history shows, and that docs/reference.md
// lists under "Why a pod was touched".
func Needless(history []Revision, rules Rules) []Violation {
	c := newChronicle(history)
	var found []Violation
	all := c.touches()
	for i := range all {
		a := &all[i]
		if rules.Kind != "" && rules.Kind != Kind || c.owners[a.owner] == nil {
			continue
		}
		for _, said := range c.needless(a, all, rules) {
			if said != "" {
				found = append(found, Violation{Rule: "N", Version: a.Version, Message: said})
			}
		}
	}
	return found
}

// needless is what is wrong with an act; what is empty is not.
func (c *chronicle) needless(a *touch, all []touch, rules Rules) []string {
	switch a.what {
	case appsv1.ReasonDeleted:
		return []string{c.goesWithoutCause(a, &rules), c.promoted(a, all, &rules)}
	case appsv1.ReasonCreated:
		return []string{c.comesWithoutCause(a, rules), c.comesBackElsewhere(a), c.strays(a, &rules)}
	case appsv1.ReasonReleased:
		if !c.letsGo(a) {
			return []string{fmt.Sprintf("pod %s is released, and it matches an owner that keeps its pods or deletes them", a.pod.Name)}
		}
	case appsv1.ReasonUpdated:
		if a.reshaped() && !c.follows(a) {
			return []string{fmt.Sprintf("pod %s is changed to what no revision asks for that it should be on", a.pod.Name), c.promoted(a, all, &rules)}
		}
		return []string{c.promoted(a, all, &rules)}
	}
	return nil
}

func (c *chronicle) goesWithoutCause(a *touch, rules *Rules) string {
	switch {
	case a.forced() && !c.nodeLost(a.before.Spec.NodeName, a.Version):
		return fmt.Sprintf("pod %s is removed before it has ended, and its node is there", a.before.Name)
	case len(c.causesToGo(a, rules)) == 0:
		return fmt.Sprintf("pod %s is deleted without a cause", a.before.Name)
	}
	return ""
}

func (c *chronicle) comesWithoutCause(a *touch, rules Rules) string {
	if len(c.causesToCome(a, rules)) == 0 {
		return fmt.Sprintf("pod %s is created without a cause", a.pod.Name)
	}
	return ""
}

func (c *chronicle) comesBackElsewhere(a *touch) string {
	if was := c.leftBehind(a); was != "" {
		return fmt.Sprintf("pod %s comes back on revision %s, and was on %s, which it had to stay on", a.pod.Name, a.pod.Labels[appsv1.LabelRevision], was)
	}
	return ""
}

// letsGo: a pod is released because "its labels were edited away", or because its owner goes
// and leaves its pods: by its policy, unless --cascade says otherwise, which "wins over the
// policy" (docs/concepts.md).
func (c *chronicle) letsGo(a *touch) bool {
	for _, m := range c.statesBefore(a) {
		if !c.matches(a.owner, m.object) {
			return true
		}
	}
	return slices.ContainsFunc(c.asks(a), func(owner moment[*appsv1.PodManager]) bool {
		spec := SpecOf(owner.object)
		return spec.Deleted && spec.Orphans
	})
}

// asks are the specs that the writer of an act may have acted on.
func (c *chronicle) asks(a *touch) []moment[*appsv1.PodManager] {
	known := c.known(a.Revision, a.owner)
	if len(known) == 0 { // it is gone, and the writer did not know yet
		for _, m := range c.owners[a.owner].moments {
			if m.there() {
				known = []moment[*appsv1.PodManager]{m}
			}
		}
	}
	return known
}

// order it deleted them.
func (c *chronicle) mostBefore(a *touch, counts func(other *touch) bool) int {
	most := 0
	for _, l := range c.pods {
		ever, deleted := false, false
		states := l.within(a.Seen, a.Version-1)
		for i, m := range states {
			is := owns(a.owner, m) && isLive(m)
			deleted = deleted || ever && !is && wrote(m.Revision) &&
				counts(&touch{Revision: m.Revision, pod: m.object, before: states[i-1].object, owner: a.owner})
			ever = ever || is
		}
		if ever && !deleted {
			most++
		}
	}
	return most
}

// wasInBase: the pod was one of the fleet at some time of its life, or was not made by
// the operator: it does not stand in for another.
func (c *chronicle) wasInBase(pod *corev1.Pod, ordinal int, until int64) bool {
	l := c.pods[pod.UID]
	if first := l.moments[0]; !wrote(first.Revision) || controllerOf(first.object) != controllerOf(pod) {
		return true
	}
	for _, m := range c.owners[controllerOf(pod)].within(l.moments[0].Floor, until) {
		if m.there() && SpecOf(m.object).InBase(ordinal) {
			return true
		}
	}
	return false
}

// goals are those of an owner: with what it said of a rollback, and with what it says
// next, because the status follows what was decided.
func (c *chronicle) goals(owner *appsv1.PodManager, version int64) []goal {
	list := []goal{c.goalOf(owner, version)}
	for _, m := range c.owners[owner.UID].moments {
		if back := m.object.Status.Rollback; back != nil {
			pm := owner.DeepCopy()
			pm.Status.Rollback = back
			list = append(list, c.goalOf(pm, version))
		}
	}
	return list
}

// recreates: the pod cannot follow in place, or the strategy is to recreate it. A pod
// that comes from no stored revision, or is not what its revision says, cannot.
func (c *chronicle) recreates(spec *Spec, g *goal, pod *corev1.Pod, version int64) bool {
	from := c.revisions[pod.Labels[appsv1.LabelRevision]].at(version)
	if spec.Strategy == appsv1.UpdateRecreate || !from.there() {
		return true
	}
	template := templateIn(from.object)
	return !inPlace(template, g.template)
}

// slotTwice: another pod of the owner lives in the slot.
func (c *chronicle) slotTwice(a *touch) bool {
	slot := a.before.Labels[appsv1.LabelSlot]
	for uid, l := range c.pods {
		for _, m := range l.within(a.Seen, a.Version-1) {
			if uid != a.before.UID && slot != "" && owns(a.owner, m) && isLive(m) && m.object.Labels[appsv1.LabelSlot] == slot {
				return true
			}
		}
	}
	return false
}

// causesToCome are the reasons for which a pod may be created: one of the base is
// missing, or another has to go and this one stands in for it.
func (c *chronicle) causesToCome(a *touch, rules Rules) []string {
	causes := map[string]bool{}
	for _, owner := range c.asks(a) {
		spec := SpecOf(owner.object)
		if spec.Deleted || spec.TakesOver {
			continue
		}
		ordinal, ok := ordinalOf(spec, a.pod)
		if spec.Random && c.liveBefore(a, rules) < spec.Replicas || !spec.Random && ok && spec.InBase(ordinal) {
			causes[appsv1.WhyMissing] = true
		} else if c.somethingGoes(a, owner.object, spec) {
			causes[appsv1.WhyRolloutSurge], causes[appsv1.WhyDisruptionSurge] = true, true
		}
	}
	return slices.Sorted(maps.Keys(causes))
}

// leftBehind is the revision of the pod that a created one follows, where a repair moved
// it to another: "Paused stops rollouts. Scaling and repair go on", and behind a partition
// pods stay on the old revision. Rollouts and restarts are no repairs. On the old one come
// back a pod behind the partition, "even if it had moved before", and one that was "on
// another revision than the template's".
func (c *chronicle) leftBehind(a *touch) string {
	before := c.lastOfName(a)
	if before.Revision == nil {
		return ""
	}
	was := before.object.Labels[appsv1.LabelRevision]
	for _, owner := range c.owners[a.owner].within(min(c.goesAt(before.object.UID), a.Floor), a.Version) {
		if !owner.there() || !c.keepsBehind(a, owner.object, before.object) {
			return ""
		}
	}
	if stored := c.revisions[was].at(a.Version); !stored.there() || was == a.pod.Labels[appsv1.LabelRevision] {
		return ""
	}
	return was
}

// lastOfName is the last state of the owner's pod that had the name before.
func (c *chronicle) lastOfName(a *touch) (last moment[*corev1.Pod]) {
	for uid, l := range c.pods {
		m := l.at(a.Version - 1)
		if uid != a.pod.UID && m.Revision != nil && m.object.Name == a.pod.Name && controllerOf(m.object) == a.owner && (last.Revision == nil || m.Version > last.Version) {
			last = m
		}
	}
	return last
}

// keepsBehind: what follows the pod has to be on its revision, as the owner says.
func (c *chronicle) keepsBehind(a *touch, owner *appsv1.PodManager, before *corev1.Pod) bool {
	spec := SpecOf(owner)
	goal := c.goalOf(owner, a.Version)
	ordinal, ok := spec.Ordinal(a.pod.Name)
	if !ok || !spec.InBase(ordinal) || spec.Strategy == appsv1.UpdateOnDelete || owner.Status.CurrentRevision == "" ||
		!stays(owner, before) || !goal.plain() {
		return false
	}
	comesBack := slices.Index(spec.Base(), ordinal) < spec.Partition || goal.name != before.Labels[appsv1.LabelRevision]
	return a.pod.Labels[appsv1.LabelRevision] != owner.Status.CurrentRevision || !comesBack
}

// goesAt is the version at which a pod began to go, failed, or was gone.
func (c *chronicle) goesAt(pod types.UID) int64 {
	for _, m := range c.pods[pod].moments {
		if m.Gone || !Live(m.object) {
			return m.Version
		}
	}
	return c.pods[pod].moments[0].Version
}

// liveBefore is how many pods of the owner the writer of an act knew to live: those it
// saw, and those it made since. A pod that no longer matches is to be released, and is
// none of the fleet.
func (c *chronicle) liveBefore(a *touch, rules Rules) int {
	live := 0
	for uid, l := range c.pods {
		states := l.within(a.Seen, a.Version-1)
		made := len(states) > 1 && states[0].Revision == nil && wrote(states[1].Revision) && !rules.Split
		if made {
			states = states[1:]
		}
		if uid != a.pod.UID && !slices.ContainsFunc(states, func(m moment[*corev1.Pod]) bool {
			return !owns(a.owner, m) || !isLive(m) || !c.matches(a.owner, m.object)
		}) {
			live++
		}
	}
	return live
}

// matches: the pod's label says that it belongs to the owner.
func (c *chronicle) matches(owner types.UID, pod *corev1.Pod) bool {
	return pod.Labels[appsv1.LabelName] == c.owners[owner].moments[0].object.Name
}

// somethingGoes: a pod of the fleet has to go, move or change, or is not back yet.
func (c *chronicle) somethingGoes(a *touch, owner *appsv1.PodManager, spec *Spec) bool {
	if spec.Rebalances {
		return true
	}
	for uid, l := range c.pods {
		for _, m := range l.within(a.Seen, a.Version-1) {
			if uid == a.pod.UID || !owns(a.owner, m) {
				continue
			}
			if m.object.DeletionTimestamp != nil || c.hasToGo(a, owner, spec, l, m) {
				return true
			}
		}
	}
	return false
}

func (c *chronicle) hasToGo(a *touch, owner *appsv1.PodManager, spec *Spec, l *life[*corev1.Pod], m moment[*corev1.Pod]) bool {
	causes := map[string]bool{}
	c.ownCauses(causes, l, m, a.Version)
	if len(causes) > 0 || !spec.Restart.IsZero() && m.object.CreationTimestamp.Time.Before(spec.Restart) ||
		spec.SurgeFirst && (m.object.Annotations[appsv1.AnnotationEvictionRequested] != "" || c.leaving(m.object.Spec.NodeName, a.Version)) {
		return true
	}
	if ordinal, ok := ordinalOf(spec, m.object); ok && slices.Contains(spec.Reserved, ordinal) {
		return true
	}
	for _, version := range []int64{a.Seen, a.Version} {
		for _, g := range c.goals(owner, version) {
			if !stays(owner, m.object) && !g.reached(m.object) {
				return true
			}
		}
	}
	return false
}

// follows: what a change in place changed is now as a revision asks for that the pod
// should be on, or its size is that of its own revision again.
func (c *chronicle) follows(a *touch) bool {
	var to []*corev1.PodTemplateSpec
	for _, owner := range c.asks(a) {
		if old := c.revisions[owner.object.Status.CurrentRevision].at(a.Version); old.there() && SpecOf(owner.object).Partition > 0 && !Serves(a.before) {
			to = append(to, templateIn(old.object)) // a pod in between "goes back to the old one"
		}
		if stays(owner.object, a.before) {
			continue
		}
		for _, version := range []int64{a.Seen, a.Version} {
			for _, g := range c.goals(owner.object, version) {
				if !g.lost {
					to = append(to, g.template)
				}
			}
		}
	}
	for _, label := range []string{a.before.Labels[appsv1.LabelRevision], a.pod.Labels[appsv1.LabelRevision]} {
		if own := c.revisions[label].at(a.Version); own.there() && sizesDiffer(a.before, a.pod) {
			to = append(to, templateIn(own.object))
		}
	}
	return slices.ContainsFunc(to, func(t *corev1.PodTemplateSpec) bool { return t != nil && changedAs(a, t) })
}

// changedAs: every image and size that is another now is the template's.
func changedAs(a *touch, t *corev1.PodTemplateSpec) bool {
	asked, was, is := images(&t.Spec), images(&a.before.Spec), images(&a.pod.Spec)
	for name, image := range is {
		if image != was[name] && image != asked[name] {
			return false
		}
	}
	return !sizesDiffer(a.before, a.pod) || !sizeDiffers(&t.Spec, &a.pod.Spec)
}

func sizesDiffer(a, b *corev1.Pod) bool {
	x, y := sizesOf(&a.Spec), sizesOf(&b.Spec)
	for what := range x {
		if x[what] != y[what] {
			return true
		}
	}
	return len(x) != len(y)
}
