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

package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/apply"
	"github.com/mycompany/pod-operator/internal/controller/statuspatch"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/report"
)

// While a fleet moves, its counters and its history change with every pod.
// They are written at most once in a window that grows from the first to the
// last value; a change of anything else, and the goal, is written at once.
// The first status of a new owner waits as well: no client has read a status of
// it yet, and the first one written may already be its goal. It waits longer
// where many are new at once, because then each of them takes longer.
// A fleet that leaves its goal because pods go says so when their successors are
// made, or a moment later: making them comes first.
// Events of actions wait for more of their kind, longer each time, so that an
// event reports a decision and not a pod.
const (
	firstWindow = 500 * time.Millisecond
	lastWindow  = 5 * time.Second
	// A new owner waits for firstOwnWindow, longer for each other that waits,
	// up to newWindow.
	firstOwnWindow = 200 * time.Millisecond
	windowPerOwner = 10 * time.Millisecond
	newWindow      = 2 * time.Second
	leavingWindow  = 100 * time.Millisecond

	firstEventWindow = time.Second
	lastEventWindow  = 8 * time.Second
)

// statusWriter writes statuses, but only if they say something new, and sends
// events. What waits for its window is kept in memory and is what the planner
// remembers meanwhile; a crash loses a window's history, and nothing that
// decides about pods.
type statusWriter struct {
	client   client.Client
	ledger   apply.Ledger
	kind     desired.Kind
	memories *memories
	send     func(owner client.Object, e report.Event)
}

// draft is what an owner's status will say, and how often it says it.
type draft struct {
	// status waits to be written; nil when the API server has it.
	status *appsv1.PodManagerStatus
	last   time.Time
	window time.Duration
	// left is when the goal was left because pods go, if that is not written yet.
	left time.Time

	// events wait to be sent, with the history entries behind them.
	events    []report.Event
	decisions []appsv1.Decision
	since     time.Time
	// patience is how long they wait; zero means the first window.
	patience time.Duration
}

// reported is the status as it was last reported, written or not.
func (w *statusWriter) reported(owner client.Object) appsv1.PodManagerStatus {
	if d := &w.memories.of(owner).draft; d.status != nil {
		return *d.status
	}
	return w.kind.Status(owner)
}

// foreign reports whether another client changed the status. A write of ours
// whose answer is still on its way counts as foreign, which costs one look.
func (w *statusWriter) foreign(before, after client.Object) bool {
	return !equality.Semantic.DeepEqual(w.kind.Status(before), w.kind.Status(after)) && !w.memories.ours(after)
}

// write writes the reported status and events, or returns for how long they
// wait.
func (w *statusWriter) write(ctx context.Context, owner client.Object, reported report.Reported, now time.Time) (time.Duration, error) {
	memory := w.memories.of(owner)
	memory.draft.setBack(now)
	wait, err := w.writeStatus(ctx, owner, memory, reported.Status, now)
	memory.draft.take(reported, now)
	return soonest(wait, w.sendEvents(owner, &memory.draft, atGoal(reported.Status), now)), err
}

func (w *statusWriter) writeStatus(ctx context.Context, owner client.Object, memory *memory, status appsv1.PodManagerStatus, now time.Time) (time.Duration, error) {
	d := &memory.draft
	before := w.kind.Status(owner)
	after := w.with(owner, status)
	status = w.kind.Status(after)
	w.keep(memory, nil)
	if equality.Semantic.DeepEqual(before, status) {
		return 0, nil
	}
	if onlyClock(before, status) {
		d.status = &status // for the next look; nothing waits to be written
		return 0, nil
	}
	progress := onlyProgress(before, status)
	if isNew(before, status) {
		progress = true
		if d.last.IsZero() {
			d.last, d.window = now, w.memories.newWindow()
		}
	}
	wait := d.last.Add(d.window).Sub(now)
	if leaves(before, status) {
		if d.left.IsZero() {
			d.left = now
		}
		progress, wait = true, d.left.Add(leavingWindow).Sub(now)
	}
	if progress && !atGoal(status) && wait > 0 {
		w.keep(memory, &status)
		return wait, nil
	}
	d.left = time.Time{}
	patch, err := statuspatch.Between(owner, after)
	if err != nil {
		return 0, err
	}
	if err := w.client.Status().Patch(ctx, after, patch); err != nil {
		w.keep(memory, &status) // nothing is lost: the next pass tries again
		return 0, client.IgnoreNotFound(fmt.Errorf("write the status of %s %s: %w",
			w.kind.Name(), client.ObjectKeyFromObject(owner), err))
	}
	w.ledger.WroteOwner(after)
	// A patch says what changed. If another client wrote in between, for
	// example a predecessor whose last write came late, the two are mixed:
	// then the result is as foreign as a status that we did not write.
	if equality.Semantic.DeepEqual(w.kind.Status(after), status) {
		w.memories.wrote(memory, after.GetResourceVersion())
	}
	d.pace(now, progress)
	return 0, nil
}

// with is the owner with a status. A kind may keep less than the planner reports: only
// what it keeps can be new.
func (w *statusWriter) with(owner client.Object, status appsv1.PodManagerStatus) client.Object {
	after := owner.DeepCopyObject().(client.Object)
	w.kind.SetStatus(after, status)
	return after
}

// needsProof: the status is not what the owner says already, and the owner may be an
// older one than a predecessor of this process left.
func (w *statusWriter) needsProof(owner client.Object, status appsv1.PodManagerStatus) bool {
	return !w.ledger.Trusts(owner.GetUID()) && !equality.Semantic.DeepEqual(w.kind.Status(owner), w.kind.Status(w.with(owner, status)))
}

// keep lets a status wait, or none.
func (w *statusWriter) keep(of *memory, status *appsv1.PodManagerStatus) {
	of.draft.status = status
	w.memories.wait(of, status != nil)
}

// isNew reports whether this would be an owner's first status, with nothing in it
// that a person has to know or that a successor of this process needs.
func isNew(before, after appsv1.PodManagerStatus) bool {
	return before.ObservedGeneration <= 0 && after.Failures == nil && after.Rollback == nil && len(after.Held) == 0 &&
		!meta.IsStatusConditionTrue(after.Conditions, appsv1.ConditionStalled)
}

// leaves reports whether a fleet leaves its goal because pods go, and has
// nothing else to report.
func leaves(before, after appsv1.PodManagerStatus) bool {
	if !atGoal(before) || atGoal(after) || after.TerminatingReplicas == 0 || meta.IsStatusConditionTrue(after.Conditions, appsv1.ConditionStalled) {
		return false
	}
	before.Conditions, after.Conditions = nil, nil
	return onlyProgress(before, after)
}

// setBack begins windows anew that lie in the future, because the clock was set
// back: nothing waits for the clock to catch up.
func (d *draft) setBack(now time.Time) {
	for _, begin := range []*time.Time{&d.last, &d.left, &d.since} {
		if begin.After(now) {
			*begin = now
		}
	}
}

// pace makes the window longer while only progress is written.
func (d *draft) pace(now time.Time, progress bool) {
	d.last = now
	if progress && d.window > 0 {
		d.window = min(2*d.window, lastWindow)
	} else {
		d.window = firstWindow
	}
}

// take adds what was reported to what waits, merging entries that are alike.
func (d *draft) take(reported report.Reported, now time.Time) {
	if len(d.events) == 0 {
		d.since = now
	}
	for i, e := range reported.Events {
		decision := appsv1.Decision{}
		if i < len(reported.Decisions) {
			decision = reported.Decisions[i]
			if d.merge(decision) {
				continue
			}
		}
		d.events, d.decisions = append(d.events, e), append(d.decisions, decision)
	}
}

func (d *draft) merge(decision appsv1.Decision) bool {
	for i, older := range slices.Backward(d.decisions) {
		if !report.Alike(older, decision) {
			continue
		}
		merged, ok := report.Merge(older, decision)
		if ok {
			d.decisions[i], d.events[i].Note = merged, report.Note(merged)
		}
		return ok
	}
	return false
}

// sendEvents sends what has waited long enough, and everything at the goal. A
// warning does not wait, nor does what happened before it.
func (w *statusWriter) sendEvents(owner client.Object, d *draft, atGoal bool, now time.Time) time.Duration {
	if len(d.events) == 0 {
		return 0
	}
	warning := slices.ContainsFunc(d.events, func(e report.Event) bool { return e.Type == corev1.EventTypeWarning })
	patience := max(d.patience, firstEventWindow)
	if wait := d.since.Add(patience).Sub(now); wait > 0 && !atGoal && !warning {
		return wait
	}
	if d.patience = min(2*patience, lastEventWindow); atGoal {
		d.patience = 0
	}
	for _, e := range d.events {
		w.send(owner, e)
	}
	d.events, d.decisions = nil, nil
	return 0
}

// last sends the last events of an owner that is gone.
func (w *statusWriter) last(owner client.Object, reported report.Reported, now time.Time) {
	d := &w.memories.of(owner).draft
	d.take(reported, now)
	w.sendEvents(owner, d, true, now)
	w.memories.forget(owner.GetUID())
}

// onlyProgress reports whether two statuses differ in nothing but how far things
// are: how many pods are in which state, and what was done to get there.
func onlyProgress(a, b appsv1.PodManagerStatus) bool {
	return equality.Semantic.DeepEqual(withoutProgress(a), withoutProgress(b))
}

func withoutProgress(s appsv1.PodManagerStatus) appsv1.PodManagerStatus {
	c := *s.DeepCopy()
	c.Replicas, c.CurrentReplicas, c.ReadyReplicas, c.AvailableReplicas = 0, 0, 0, 0
	c.UpdatedReplicas, c.TerminatingReplicas, c.Nodes, c.History = 0, 0, nil, nil
	if c.Rollout != nil {
		c.Rollout.Done, c.Rollout.Moved, c.Rollout.ProgressTime = 0, "", metav1.Time{}
		c.Rollout.StuckSeconds, c.Rollout.StuckTime = 0, nil
	}
	for i := range c.Conditions {
		c.Conditions[i].Message = ""
		if c.Conditions[i].Type == appsv1.ConditionAvailable { // how far things are in one word
			c.Conditions[i] = metav1.Condition{Type: appsv1.ConditionAvailable}
		}
	}
	return c
}

// onlyClock reports whether two statuses differ in nothing but how long pods have
// been stuck, and by no more than a process that ends may forget: a minute, or a
// quarter of what is written.
func onlyClock(a, b appsv1.PodManagerStatus) bool {
	was, is := a.Rollout, b.Rollout
	if was == nil || is == nil || was.StuckTime == nil || is.StuckTime == nil {
		return false
	}
	grown := is.StuckSeconds - was.StuckSeconds
	if grown < 0 || grown > max(60, was.StuckSeconds/4) {
		return false
	}
	same := *is
	same.StuckSeconds, same.StuckTime = was.StuckSeconds, was.StuckTime
	b.Rollout = &same
	return equality.Semantic.DeepEqual(a, b)
}

func atGoal(s appsv1.PodManagerStatus) bool {
	return meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReady) &&
		!meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling)
}
