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
	"slices"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Span is a time in which no operator ran.
type Span struct{ From, To time.Time }

// fleetTrace is what F remembers of an owner since its template changed.
type fleetTrace struct {
	spec     *Spec
	template *corev1.PodTemplateSpec
	// pinned is the revision that a pin keeps the pods on, if not the template's.
	pinned string
	// stuck is for how long pods of a revision were stuck since the last progress,
	// and best how many of them were ready at most.
	stuck map[string]time.Duration
	best  map[string]int
	// goals are the revisions of the template: true for those that mean the same.
	goals map[string]bool
	// overdue is for how long the rollout has been stuck without any pod of it
	// becoming ready. settled: it is done, has failed, or there was nothing before
	// it.
	overdue time.Duration
	settled bool
	// told is the revision that the last status said has failed: it may say so
	// until more pods are available, and is judged once.
	told string
}

// checkBlame is F, of every version of an owner: "A rollout fails only because of
// its own pods", and it does fail: "ProgressDeadlineSeconds is for how long pods of
// a new revision may be there, be able to run and not become available before the
// rollout counts as failed. Every pod that becomes available begins it anew." A
// change of anything but the revision does not: the pods are the same.
func (c *checker) checkBlame(r *Revision, pm *appsv1.PodManager) {
	spec := SpecOf(pm)
	f, pinned := c.fleets[pm.UID], c.pinned(pm, spec)
	if f == nil || f.spec.Generation != spec.Generation && !SameTemplate(f.template, WantedTemplate(pm)) || f.pinned != pinned {
		fresh := &fleetTrace{
			template: WantedTemplate(pm), pinned: pinned, stuck: map[string]time.Duration{}, best: map[string]int{}, goals: map[string]bool{}, settled: f == nil,
		}
		f, c.fleets[pm.UID] = fresh, fresh
	}
	f.spec = spec
	failed := c.failedRevision(pm)
	f.settled = f.settled || failed != "" || pm.Status.Rollback != nil
	known := f.told == failed
	f.told = failed
	if failed == "" || known || r.Actor != Operator || r.Time.IsZero() || pm.Status.ObservedGeneration != pm.Generation {
		return
	}
	// Times are whole seconds, and an operator that takes over may not know that
	// the pods were well in between: a part of that time may count, as of an absence.
	deadline := spec.ProgressDeadline
	tolerance := 5*time.Second + time.Duration(c.rules.Lapses)*(deadline/4)
	if stuck := f.stuck[failed]; stuck < deadline-tolerance && !c.recovered(r, pm.UID, failed) {
		c.report(r, "F", "the rollout to %s failed, but its pods were stuck for %s, and the deadline is %s", failed, stuck, deadline)
	}
}

// pinned is the revision that a pin keeps an owner's pods on, if not the template's.
func (c *checker) pinned(pm *appsv1.PodManager, spec *Spec) string {
	if spec.Pin == "" {
		return ""
	}
	var stored []*kappsv1.ControllerRevision
	for _, r := range c.revisions {
		if controllerOf(r) == pm.UID {
			stored = append(stored, r)
		}
	}
	if g := goalAmong(pm, stored); g.overrides || g.lost {
		return spec.Pin
	}
	return ""
}

// recovered: a pod of the revision serves only since after the writer had looked.
func (c *checker) recovered(r *Revision, owner types.UID, revision string) bool {
	return slices.ContainsFunc(c.podsOf(owner), func(s *service) bool {
		return r.Seen > 0 && s.from > r.Seen && s.pod.Labels[appsv1.LabelRevision] == revision
	})
}

// failedRevision is the revision that the status says has failed, if it says so
// now.
func (c *checker) failedRevision(pm *appsv1.PodManager) string {
	if back := pm.Status.Rollback; back != nil && c.rollbacks[pm.UID] != back.Time {
		c.rollbacks[pm.UID] = back.Time
		return back.From
	}
	stalled := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled)
	if stalled != nil && stalled.Reason == appsv1.ReasonProgressDeadlineExceeded {
		return pm.Status.UpdateRevision
	}
	return ""
}

// passTime is for F: until this change, everything was as it is now.
func (c *checker) passTime(r *Revision) {
	from := c.now
	if c.now = r.Time; from.IsZero() || !r.Time.After(from) {
		return
	}
	for owner, f := range c.fleets {
		passed := r.Time.Sub(from) - c.absent(from, r.Time, f.spec.ProgressDeadline)
		for revision := range c.stuckRevisions(owner) {
			f.stuck[revision] += passed
		}
		c.progress(owner)
		c.checkHalted(r, owner, f, passed)
	}
}

// stuckRevisions are those of pods that are there, can run and are not ready, or
// failed by themselves and have no successor.
func (c *checker) stuckRevisions(owner types.UID) map[string]bool {
	stuck := map[string]bool{}
	for _, t := range c.traces {
		if t.owner != owner || t.endedAt > 0 && (!t.failed || c.succeeded(t)) || t.ready || t.node == "" || !c.nodes[t.node] {
			continue
		}
		stuck[t.revision] = true
	}
	return stuck
}

// longest is the multiple of the deadline after which a rollout that is stuck must
// have failed: generous, because the operator counts what it observes.
const longest = 3

// checkHalted is the other half of F: a rollout that is stuck is halted or rolled
// back, whatever else is edited meanwhile.
func (c *checker) checkHalted(r *Revision, owner types.UID, f *fleetTrace, passed time.Duration) {
	if f.settled || c.rules.split(r) || c.rules.Kind != Kind || !c.stuckForGood(owner, f) {
		return
	}
	// Whether the operator observed all of a time in which nothing is written, the
	// history does not tell.
	f.overdue += min(passed, f.spec.ProgressDeadline/4)
	if limit := longest*f.spec.ProgressDeadline + time.Minute; f.overdue > limit {
		f.settled = true
		c.report(r, "F", "the rollout of %s is stuck for %s and was not halted; the deadline is %s", f.spec.Name, f.overdue, f.spec.ProgressDeadline)
	}
}

// stuckForGood: a pod of the template's revision is on a node that responds and is
// not ready, and nothing that docs/rollouts.md lists keeps the deadline from
// running: a pause, a partition, OnDelete, a hold, a pin, a take-over.
func (c *checker) stuckForGood(owner types.UID, f *fleetTrace) bool {
	v := f.spec
	if v.Paused || v.Deleted || v.TakesOver || v.Partition > 0 || v.Pin != "" || v.Strategy == appsv1.UpdateOnDelete {
		return false
	}
	return slices.ContainsFunc(c.podsOf(owner), func(s *service) bool {
		pod := s.pod
		return !s.gone && pod.Spec.NodeName != "" && !Ready(pod) && c.responds(pod.Spec.NodeName) && c.isGoal(f, pod.Labels[appsv1.LabelRevision]) &&
			!Held(pod, appsv1.LabelHoldUpdate) && !Held(pod, appsv1.LabelHoldDelete)
	})
}

// responds: the node is there, and nothing says that it does not answer.
func (c *checker) responds(name string) bool {
	node := c.machines[name]
	if node == nil || len(node.Spec.Taints) > 0 {
		return false
	}
	return !slices.ContainsFunc(node.Status.Conditions, func(n corev1.NodeCondition) bool {
		return n.Type == corev1.NodeReady && n.Status != corev1.ConditionTrue
	})
}

// isGoal: the revision holds what the template asks for.
func (c *checker) isGoal(f *fleetTrace, revision string) bool {
	same, known := f.goals[revision]
	if template := c.templates[revision]; !known && template != nil {
		same = SameTemplate(template, f.template)
		f.goals[revision] = same
	}
	return same
}

// succeeded: a failed pod's slot has another one.
func (c *checker) succeeded(failed *trace) bool {
	for _, t := range c.traces {
		if t.endedAt == 0 && t.owner == failed.owner && t.slot == failed.slot {
			return true
		}
	}
	return false
}

// absent is how much of a time the operator was away, less what of it may count:
// "at most a minute, or a quarter of the deadline if that is less".
func (c *checker) absent(from, to time.Time, deadline time.Duration) time.Duration {
	var away time.Duration
	for _, span := range c.rules.Away {
		begin, end := span.From, span.To
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		if length := end.Sub(begin); length > 0 {
			away += max(0, length-min(time.Minute, deadline/4))
		}
	}
	return away
}

// progress begins the time of a revision anew when more of its pods are available
// than ever since the template changed: "Each additional available pod resets it."
func (c *checker) progress(owner types.UID) {
	f := c.fleets[owner]
	if f == nil {
		return
	}
	available, last := map[string]int{}, map[string]time.Time{}
	for _, s := range c.podsOf(owner) {
		at := s.began.Add(f.spec.MinReady)
		if !s.serves || at.After(c.now) {
			continue
		}
		revision := s.pod.Labels[appsv1.LabelRevision]
		available[revision]++
		if at.After(last[revision]) {
			last[revision] = at
		}
	}
	for revision, n := range available {
		if n > f.best[revision] {
			f.best[revision], f.stuck[revision] = n, min(f.stuck[revision], c.now.Sub(last[revision]))
		}
		if c.isGoal(f, revision) && n >= f.spec.Replicas {
			f.settled = true
		}
	}
}

// readyAgain: a pod of the template's revision became ready, which begins its time
// anew.
func (c *checker) readyAgain(before, pod *corev1.Pod) {
	owner, ok := owned(pod)
	if f := c.fleets[owner]; ok && f != nil && Ready(pod) && (before == nil || !Ready(before)) && c.isGoal(f, pod.Labels[appsv1.LabelRevision]) {
		f.overdue = 0
	}
}

// podsOf are the services of an owner's pods.
func (c *checker) podsOf(owner types.UID) []*service {
	var list []*service
	for _, s := range c.services {
		if s.owner == owner {
			list = append(list, s)
		}
	}
	return list
}
