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
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Told is T: every stored status is true. docs/api.md says what its fields count, and
// each number has to be right for a moment between what its writer had seen and the
// write. It is judged for every version of every owner, whatever Ready says.
func Told(history []Revision, rules Rules) []Violation {
	c := newChronicle(history)
	var found []Violation
	for _, l := range c.owners {
		for i, m := range l.moments {
			if i == 0 || !m.there() || !wrote(m.Revision) || equality.Semantic.DeepEqual(l.moments[i-1].object.Status, m.object.Status) {
				continue
			}
			t := &teller{chronicle: c, m: m, before: l.moments[i-1].object, from: m.Seen, to: m.Version, now: m.Time, rules: rules}
			t.judge()
			found = append(found, t.found...)
		}
	}
	slices.SortStableFunc(found, func(a, b Violation) int { return int(a.Version - b.Version) })
	return found
}

// ToldAtRest is T at the end, which is now: the status is exact, whichever reconcile
// wrote it, or found it to be right again.
func ToldAtRest(history []Revision, rules Rules, now time.Time) []Violation {
	c := newChronicle(history)
	if len(history) == 0 {
		return nil
	}
	end := history[len(history)-1].Version
	var found []Violation
	for _, l := range c.owners {
		m := l.at(end)
		if !m.there() || m.object.Status.ObservedGeneration < 0 {
			continue
		}
		t := &teller{chronicle: c, m: m, before: m.object, from: end, to: end, now: now, rules: rules, rest: true}
		t.judge()
		found = append(found, t.found...)
	}
	return found
}

// teller judges one status.
type teller struct {
	*chronicle
	rules Rules
	// m is the owner with the status, and before the owner before it was written.
	m      moment[*appsv1.PodManager]
	before *appsv1.PodManager
	// The status is about the cluster between these versions.
	from, to int64
	// now is when the status was said, or at rest when it is judged.
	now time.Time
	// rest: nothing moves any more, and the status is exact.
	rest  bool
	spec  *Spec
	found []Violation
}

func (t *teller) report(format string, args ...any) {
	t.found = append(t.found, Violation{Rule: "T", Version: t.to, Message: fmt.Sprintf(format, args...)})
}

func (t *teller) status() *appsv1.PodManagerStatus { return &t.m.object.Status }

func (t *teller) judge() {
	asked := t.askedFor()
	if asked == nil {
		t.report("observedGeneration %d is of no version of the owner that the writer can have seen", t.status().ObservedGeneration)
		return
	}
	t.spec = SpecOf(asked)
	if t.mixed() {
		return
	}
	t.conditions()
	if t.from > 0 {
		t.counters()
		t.names()
		t.revisions()
		t.lifted()
		t.entries()
	}
	t.selects()
}

// askedFor is the owner as it was when it had the generation of the status. The writer
// had seen it, or a later one.
func (t *teller) askedFor() *appsv1.PodManager {
	known := t.toldOwners()
	if t.rest {
		known = known[len(known)-1:]
	}
	for i := range known {
		if pm := known[len(known)-1-i].object; pm.Generation == t.status().ObservedGeneration {
			return pm
		}
	}
	return nil
}

// toldOwners are the versions of the owner that the status may be of.
func (t *teller) toldOwners() []moment[*appsv1.PodManager] {
	return t.known(&Revision{Floor: cmp.Or(t.m.Cached, t.m.Floor), Version: t.m.Version}, t.m.object.UID)
}

// mixed: another process wrote the status between what the writer knew of it and this
// write, which holds only the differences. docs/reliability.md says what becomes of such
// a mixture: it is read again and put right.
func (t *teller) mixed() bool {
	if t.rest || t.m.Floor == 0 {
		return false
	}
	list := t.owners[t.m.object.UID].within(cmp.Or(t.m.Cached, t.m.Floor), t.m.Version-1)
	for i := 1; i < len(list); i++ {
		if list[i-1].there() && wrote(list[i].Revision) && !equality.Semantic.DeepEqual(list[i-1].object.Status, list[i].object.Status) {
			return true
		}
	}
	return false
}

// counters: what is counted is what there was.
func (t *teller) counters() {
	s := t.status()
	for _, counter := range []struct {
		name string
		says int32
		is   func(moment[*corev1.Pod]) bool
	}{
		{"replicas", s.Replicas, isLive},
		{"currentReplicas", s.CurrentReplicas, isLive},
		{"readyReplicas", s.ReadyReplicas, func(m moment[*corev1.Pod]) bool { return isLive(m) && Ready(m.object) }},
		{"updatedReplicas", s.UpdatedReplicas, func(m moment[*corev1.Pod]) bool {
			return isLive(m) && m.object.Labels[appsv1.LabelRevision] == s.UpdateRevision
		}},
	} {
		least, most := t.count(t.m.object.UID, t.from, t.to, counter.is)
		if int(counter.says) < least || int(counter.says) > most {
			t.report("%s is %d, and it was %s", counter.name, counter.says, span(least, most))
		}
	}
	least, most := t.count(t.m.object.UID, t.from, t.to, func(m moment[*corev1.Pod]) bool { return m.object.DeletionTimestamp != nil })
	if says := int(s.TerminatingReplicas); says < least || says > most+t.goneAtOnce() {
		t.report("terminatingReplicas is %d, and it was %s", says, span(least, most+t.goneAtOnce()))
	}
	if t.spec.MinReady > 0 && t.now.IsZero() {
		return // it is not known when
	}
	least, most = t.countAvailable()
	if says := int(s.AvailableReplicas); says < least || says > most {
		t.report("availableReplicas is %d, and it was %s", says, span(least, most))
	}
}

// goneAtOnce counts pods that were deleted meanwhile and that no kubelet had to end:
// the answer to the deletion does not say that it does not terminate.
func (t *teller) goneAtOnce() int {
	n := 0
	for _, l := range t.pods {
		last := l.moments[len(l.moments)-1]
		if last.Gone && last.Version > t.from && last.Version <= t.to && last.object.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func span(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("between %d and %d", least, most)
}

func isLive(m moment[*corev1.Pod]) bool { return m.there() && Live(m.object) }

// countAvailable counts "the pods that have been ready for minReadySeconds", at least
// and at most. A second more or less is how exactly times are stored.
func (t *teller) countAvailable() (least, most int) {
	for _, l := range t.pods {
		always, ever := true, false
		for _, m := range l.within(t.from, t.to) {
			ready := owns(t.m.object.UID, m) && isLive(m) && Serves(m.object)
			lost := ready && !t.counts(t.m.object.UID, m, t.to)
			short := ready && t.servedFor(l, m, t.now) < t.spec.MinReady-time.Second
			long := ready && min(t.servedFor(l, m, t.seenAt()), t.knownFor(m)) > t.spec.MinReady+time.Second
			always, ever = always && ready && !lost && !unseen(m.object) && (long || t.spec.MinReady == 0), ever || ready && (!short || t.spec.MinReady == 0)
		}
		if always {
			least++
		}
		if ever {
			most++
		}
	}
	return least, most
}

// unseen: the pod was changed in place, and its status does not show yet "that the kubelet
// has seen the change".
func unseen(pod *corev1.Pod) bool {
	_, changed := pod.Annotations[appsv1.AnnotationInPlace]
	return changed && pod.Status.ObservedGeneration > 0 && pod.Status.ObservedGeneration < pod.Generation
}

// seenAt is the earliest time at which the writer can have looked: when the last change
// happened that it had seen.
func (t *teller) seenAt() time.Time {
	var at time.Time
	for i := range t.history {
		if t.history[i].Version <= t.from {
			at = t.history[i].Time
		}
	}
	return at
}

// knownFor is for how long the writer has known, at least, that a pod is ready whose
// node's clock is ahead: "A time in the future counts from the moment the operator first
// saw it", and a new process sees it anew. Where the clock is right, that is no limit.
func (t *teller) knownFor(m moment[*corev1.Pod]) time.Duration {
	if !t.spec.AvailableAt(m.object).After(t.now.Add(t.spec.MinReady + time.Second)) {
		return math.MaxInt64
	}
	var started int64
	for _, version := range t.rules.Starts {
		if version < t.m.Version {
			started = version
		}
	}
	for i := range t.history {
		if r := &t.history[i]; r.Version > started && r.Actor == Operator && r.Seen >= m.Version {
			return t.now.Sub(r.Time)
		}
	}
	return 0
}

// servedFor is for how long a pod has been serving with the containers that it has: "for
// a container that a change in place restarted, the time counts from its start". A change
// that was taken back before the kubelet followed restarted none.
func (t *teller) servedFor(l *life[*corev1.Pod], now moment[*corev1.Pod], until time.Time) time.Duration {
	since := now.Time
	for i := len(l.moments) - 1; i >= 0; i-- {
		m := l.moments[i]
		if m.Version > now.Version {
			continue
		}
		if !m.there() || !inService(m.object) || !sameContainers(m.object, now.object) {
			break
		}
		since = m.Time
	}
	return until.Sub(since)
}

func sameContainers(a, b *corev1.Pod) bool {
	return slices.EqualFunc(a.Status.ContainerStatuses, b.Status.ContainerStatuses, func(a, b corev1.ContainerStatus) bool {
		return a.ContainerID == b.ContainerID
	})
}

// names: "Nodes lists the names of the live pods, sorted, 100 at most."
func (t *teller) names() {
	s := t.status()
	if want := min(int(s.CurrentReplicas), appsv1.MaxStatusPods); len(s.Nodes) != want {
		t.report("nodes has %d names, and %d pods live", len(s.Nodes), s.CurrentReplicas)
	}
	if !slices.IsSorted(s.Nodes) {
		t.report("nodes is not sorted: %v", s.Nodes)
	}
	always, ever := map[string]bool{}, map[string]bool{}
	for _, l := range t.pods {
		all := true
		for _, m := range l.within(t.from, t.to) {
			is := owns(t.m.object.UID, m) && isLive(m)
			if all = all && is && t.counts(t.m.object.UID, m, t.to); is {
				ever[m.object.Name] = true
			}
		}
		if all {
			always[l.moments[0].object.Name] = true
		}
	}
	for _, name := range s.Nodes {
		if !ever[name] {
			t.report("nodes names %s, and no such pod lived", name)
		}
	}
	for name := range always {
		if len(s.Nodes) < appsv1.MaxStatusPods && !slices.Contains(s.Nodes, name) {
			t.report("nodes does not name %s, which lived", name)
		}
	}
}

// selects: "Selector finds the pods, as text": those with the label podmanager that is
// the owner's name.
func (t *teller) selects() {
	selector, err := labels.Parse(t.status().Selector)
	if err != nil || selector.Empty() || !selector.Matches(labels.Set{appsv1.LabelName: t.m.object.Name}) ||
		selector.Matches(labels.Set{appsv1.LabelName: t.m.object.Name + "-other"}) {
		t.report("selector %q does not find the pods of %s", t.status().Selector, t.m.object.Name)
	}
}

// revisions: updateRevision is "the revision that the pods move to: that of the template,
// unless another is pinned or a failed one was rolled back".
func (t *teller) revisions() {
	s := t.status()
	var names []string
	for _, m := range t.toldOwners() {
		pm := m.object.DeepCopy()
		pm.Status.Rollback = s.Rollback
		for _, v := range versionsOf[*kappsv1.ControllerRevision](t.history, t.from, t.to) {
			g := t.goalOf(pm, v)
			unstored := g.name == "" && find(t.storedAt(pm.UID, v), s.UpdateRevision) == nil
			if g.lost || g.name == s.UpdateRevision || unstored {
				return
			}
			names = append(names, g.name)
		}
	}
	if t.spec.Deleted || t.before.DeletionTimestamp != nil {
		return // its revisions go with it
	}
	t.report("updateRevision is %q, and the pods move to %q", s.UpdateRevision, slices.Compact(names))
}

// lifted: currentRevision is "the last revision on which the whole fleet was available", and
// a revision is "one stored version of the template, as a ControllerRevision with a
// number": adopted pods may name one that their new owner has not stored.
func (t *teller) lifted() {
	s := t.status()
	if t.spec.Deleted || t.spec.TakesOver || t.spec.Replicas == 0 {
		return
	}
	whole := slices.DeleteFunc(t.wholeOn(t.to, time.Second), func(name string) bool { return find(t.storedAt(t.m.object.UID, t.to), name) == nil })
	if t.rest && len(whole) > 0 && !slices.Contains(whole, s.CurrentRevision) {
		t.report("currentRevision is %q, and the whole fleet is available on %s", s.CurrentRevision, strings.Join(whole, " and "))
	}
	if was := t.before.Status.CurrentRevision; s.CurrentRevision == was || was == "" || s.CurrentRevision == "" {
		return
	}
	for _, v := range t.versionsOfPods(0, t.to) {
		if slices.Contains(t.wholeOn(v, -time.Second), s.CurrentRevision) {
			return
		}
	}
	t.report("currentRevision is %q, and the whole fleet was never available on it", s.CurrentRevision)
}

// edited: the writer may have acted on another spec than the newest.
func (t *teller) edited() bool { return len(t.toldOwners()) > 1 }

// versionsOfPods are those of changes of pods, and the first.
func (t *teller) versionsOfPods(from, to int64) []int64 {
	return versionsOf[*corev1.Pod](t.history, from, to)
}

// wholeOn are the revisions on which the whole fleet was available at a version: mostly one
// or none, and more where pods with random names stand in. With ordinals, pods beyond the
// fleet do not count; with random names, those that "stay on the old revision" by a partition
// are of the fleet, whichever others are too many. Slack is how much longer than
// minReadySeconds they have to have been ready.
func (t *teller) wholeOn(version int64, slack time.Duration) []string {
	on, live := map[string]int{}, map[string]bool{}
	for _, l := range t.pods {
		m := l.at(version)
		if owns(t.m.object.UID, m) && isLive(m) {
			live[m.object.Labels[appsv1.LabelRevision]] = true
		}
		if !owns(t.m.object.UID, m) || !isLive(m) || !Serves(m.object) ||
			t.spec.MinReady > 0 && t.servedFor(l, m, t.now) < t.spec.MinReady+slack {
			continue
		}
		if ordinal, ok := ordinalOf(t.spec, m.object); !t.spec.Random && (!ok || !t.spec.InBase(ordinal)) {
			continue
		}
		on[m.object.Labels[appsv1.LabelRevision]]++
	}
	kept := t.spec.Random && t.spec.Partition > 0 && len(live) > 1
	maps.DeleteFunc(on, func(revision string, n int) bool { return kept || n < t.spec.Replicas || revision == "" })
	return slices.Sorted(maps.Keys(on))
}
