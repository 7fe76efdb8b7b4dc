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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// Span is a time in which no operator ran.
type Span struct{ From, To time.Time }

// trace is what T and F remember of a pod.
type trace struct {
	owner    types.UID
	revision string
	// ready: it is; unreadyAt is the version since which it is not.
	ready             bool
	bornAt, unreadyAt int64
	// endedAt is the version since which it does not live.
	endedAt int64
	node    string
	// failed: it is there and failed by itself; its slot has no other pod until its
	// successor is made.
	failed bool
	slot   string
}

// fleetTrace is what F remembers of an owner.
type fleetTrace struct {
	generation int64
	// stuck is for how long pods of a revision were stuck since the last edit or
	// progress, and best how many of them were ready at most.
	stuck map[string]time.Duration
	best  map[string]int
}

// trace keeps the trace of a pod.
func (c *checker) trace(r *Revision, pod *corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		delete(c.traces, pod.UID)
		return
	}
	t := c.traces[pod.UID]
	if t == nil {
		t = &trace{unreadyAt: r.Version, bornAt: r.Version}
		c.traces[pod.UID] = t
	}
	t.owner, t.revision, t.node = ref.UID, pod.Labels[appsv1.LabelRevision], pod.Spec.NodeName
	ready := !r.Gone && Live(pod) && isReady(pod)
	if t.ready && !ready {
		t.unreadyAt = r.Version
	}
	t.ready = ready
	t.slot = pod.Labels[appsv1.LabelSlot]
	t.failed = !r.Gone && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == ""
	if ended := r.Gone || !Live(pod); ended && t.endedAt == 0 {
		t.endedAt = r.Version
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// checkTold is T: where Ready is True for the newest generation, every pod is on
// the wanted revision, and each was ready when the writer looked, or since.
func (c *checker) checkTold(r *Revision, pm *appsv1.PodManager) {
	s := &pm.Status
	ready := meta.FindStatusCondition(s.Conditions, appsv1.ConditionReady)
	if r.Actor != Operator || r.Seen == 0 || c.rules.Split || ready == nil || ready.Status != metav1.ConditionTrue ||
		ready.ObservedGeneration != pm.Generation || pm.DeletionTimestamp != nil {
		return
	}
	want := desired.PodManager(pm).Desired
	live, unseen, ended, old := 0, 0, 0, 0
	for uid, t := range c.traces {
		switch {
		case t.owner != pm.UID:
		case t.endedAt > r.Seen:
			ended++
		case t.endedAt > 0:
		default:
			live++
			if t.bornAt > r.Seen { // the answer to its creation may be lost
				unseen++
			}
			if t.revision != s.UpdateRevision {
				old++
			}
			if !t.ready && t.unreadyAt <= r.Seen {
				c.report(r, "T", "Ready is True, and pod %s is not ready", c.pods[uid].Name)
			}
		}
	}
	switch {
	case live-unseen > want.Replicas || live+ended < want.Replicas:
		c.report(r, "T", "Ready is True with %d live pods of %d", live, want.Replicas)
	case old > want.Update.Partition:
		c.report(r, "T", "Ready is True, and %d pods are not on revision %s", old, s.UpdateRevision)
	}
}

// passTime is for F: until this change, everything was as it is now.
func (c *checker) passTime(r *Revision) {
	from := c.now
	if c.now = r.Time; from.IsZero() || !r.Time.After(from) {
		return
	}
	passed := r.Time.Sub(from)
	stuck := map[types.UID]map[string]bool{}
	for _, t := range c.traces {
		if t.endedAt > 0 && (!t.failed || c.succeeded(t)) || t.ready || t.node == "" || !c.nodes[t.node] {
			continue
		}
		if stuck[t.owner] == nil {
			stuck[t.owner] = map[string]bool{}
		}
		stuck[t.owner][t.revision] = true
	}
	for owner, revisions := range stuck {
		f := c.fleets[owner]
		if f == nil {
			continue
		}
		for revision := range revisions {
			f.stuck[revision] += passed - c.absent(from, r.Time, owner)
		}
	}
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

// absent is how much of a time the operator was away, less what of it may count.
func (c *checker) absent(from, to time.Time, owner types.UID) time.Duration {
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
			away += max(0, length-c.deadlines[owner]/4)
		}
	}
	return away
}

// checkBlame is F: a rollout fails only when pods of its revision were there,
// could run and were not ready for as long as the deadline. A pod that failed by
// itself counts until it has a successor.
func (c *checker) checkBlame(r *Revision, pm *appsv1.PodManager) {
	f := c.fleets[pm.UID]
	if f == nil || f.generation != pm.Generation {
		f = &fleetTrace{generation: pm.Generation, stuck: map[string]time.Duration{}, best: map[string]int{}}
		c.fleets[pm.UID] = f
	}
	deadline := desired.PodManager(pm).Desired.Update.ProgressDeadline
	c.deadlines[pm.UID] = deadline
	if r.Actor != Operator || r.Time.IsZero() || pm.Status.ObservedGeneration != pm.Generation {
		return
	}
	failed := ""
	if stalled := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled); stalled != nil && stalled.Reason == appsv1.ReasonProgressDeadlineExceeded {
		failed = pm.Status.UpdateRevision
	}
	if back := pm.Status.Rollback; back != nil && c.rollbacks[pm.UID] != back.Time {
		failed, c.rollbacks[pm.UID] = back.From, back.Time
	}
	// Times are whole seconds, and an operator that takes over may not know that
	// the pods were well in between: a part of that time may count, as of an absence.
	slack := 5*time.Second + time.Duration(c.rules.Lapses)*(deadline/4)
	if stuck := f.stuck[failed]; failed != "" && stuck < deadline-slack {
		c.report(r, "F", "the rollout to %s failed, but its pods were stuck for %s, and the deadline is %s", failed, stuck, deadline)
	}
}

// progress begins the time of a revision anew when more of its pods are ready
// than ever since the last edit.
func (c *checker) progress(owner types.UID) {
	f := c.fleets[owner]
	if f == nil {
		return
	}
	ready := map[string]int{}
	for _, t := range c.traces {
		if t.owner == owner && t.ready {
			ready[t.revision]++
		}
	}
	for revision, n := range ready {
		if n > f.best[revision] {
			f.best[revision], f.stuck[revision] = n, 0
		}
	}
}
