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

package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// stalled finds what only help from outside can move. It warns once, when the
// cause appears or changes, however often the refused write is tried again.
func (r *reporter) stalled() *state {
	s := r.cutOff()
	if s == nil {
		s = r.refused()
	}
	if s == nil && r.desired.Deletion == plan.DeletionNone && !r.takingOver() {
		s = r.stalledCause()
	}
	if s == nil {
		return nil
	}
	before := meta.FindStatusCondition(r.previous.Conditions, appsv1.ConditionStalled)
	// tellFailures writes the events for failing pods.
	if s.reason != appsv1.ReasonPodsFailing && (before == nil || before.Reason != s.reason) {
		r.events = append(r.events, Event{
			Type: corev1.EventTypeWarning, Reason: appsv1.ReasonFailed, Action: "Stall",
			Note: s.reason + ": " + s.message,
		})
	}
	return s
}

// refused is the first refusal that no rule expects: a resize that is refused
// becomes a recreate, and a PodDisruptionBudget allows an eviction in time.
func (r *reporter) refused() *state {
	for i := range r.outcomes {
		o := &r.outcomes[i]
		if o.Result == plan.Refused && o.Cause != appsv1.WhyResizeInfeasible && o.Cause != appsv1.BlockedByDisruptionBudget {
			return &state{o.Cause, r.refusal(o.Cause, o.Message)}
		}
	}
	return r.stillRefused()
}

const notCreated = " cannot be created: "

// refusal is the API server's answer, after the number of pods that wait for another one
// where it refuses to create them.
func (r *reporter) refusal(cause, message string) string {
	missing := r.desired.Replicas - (r.counts.Live - r.counts.Extra)
	if cause != appsv1.ReasonPodsRefused && cause != appsv1.ReasonQuotaExceeded || missing <= 0 {
		return message
	}
	return fmt.Sprintf("%d of %d pods%s%s", missing, r.desired.Replicas, notCreated, message)
}

// stillRefused keeps the condition through a pass that did not come to what was
// refused, because something else failed before.
func (r *reporter) stillRefused() *state {
	before := meta.FindStatusCondition(r.previous.Conditions, appsv1.ConditionStalled)
	if before == nil || before.ObservedGeneration != r.desired.Generation {
		return nil
	}
	switch before.Reason {
	case appsv1.ReasonPodsRefused, appsv1.ReasonChangesRefused, appsv1.ReasonQuotaExceeded, appsv1.ReasonNamespaceTerminating:
	default:
		return nil
	}
	skipped := slices.ContainsFunc(r.outcomes, func(o plan.Outcome) bool { return o.Result == plan.Skipped })
	waits := r.looking && len(r.decision.Actions) > 0
	if !skipped && !waits {
		return nil
	}
	_, message, counted := strings.Cut(before.Message, notCreated)
	if !counted {
		message = before.Message
	}
	return &state{before.Reason, r.refusal(before.Reason, message)}
}

func (r *reporter) stalledCause() *state {
	if s := r.stalledByBlocker(); s != nil {
		return s
	}
	if s := r.stillFailing(); s != nil {
		return s
	}
	if back := r.decision.Rollback; back != nil && back.To == r.decision.UpdateRevision && r.goalReached() {
		return &state{appsv1.ReasonRolledBack, fmt.Sprintf(
			"%s; the pods are back on %s: change the template to try again", back.Message, back.To)}
	}
	return nil
}

// stalledByBlocker names the most telling blocker: a name that is taken says
// more than the deadline that passed because of it.
func (r *reporter) stalledByBlocker() *state {
	var deadline *state
	for _, b := range r.decision.Blocked {
		switch {
		case b.By == appsv1.BlockedByName:
			return &state{appsv1.ReasonNameTaken, b.Message}
		case b.By == appsv1.BlockedByMissingPin:
			return &state{appsv1.ReasonPinnedRevisionMissing, b.Message}
		case b.By == appsv1.BlockedByBackoff && b.Failures >= failingCount:
			return &state{appsv1.ReasonPodsFailing, b.Message + ", so replacements wait longer each time: see the failed pods' status and logs"}
		case b.By == appsv1.BlockedByDeadline && b.Pod == "":
			deadline = &state{appsv1.ReasonProgressDeadlineExceeded, b.Message + r.waiting()}
		}
	}
	return deadline
}

// stillFailing keeps the condition through the next try, which may well end as
// the others did: a condition that comes and goes with every try is no use to
// a client that waits for it. It goes when the pods are there, or with an edit.
func (r *reporter) stillFailing() *state {
	before := meta.FindStatusCondition(r.previous.Conditions, appsv1.ConditionStalled)
	if before == nil || before.Reason != appsv1.ReasonPodsFailing || before.ObservedGeneration != r.desired.Generation ||
		failuresIn(r.decision.Failures) < failingCount && failuresIn(r.decision.CurrentFailures) < failingCount || r.counts.Available >= r.desired.Replicas {
		return nil
	}
	return &state{before.Reason, before.Message}
}

func failuresIn(record *appsv1.FailureRecord) int32 {
	if record == nil {
		return 0
	}
	return record.Count
}
