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
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// patience is how long a pod takes what every pod goes through, before a condition says
// so. A status is not written for each step of a pod that starts as it should.
const patience = 10 * time.Second

// failingCount is how many failures in a row count as stalled: the backoff
// goes on, but a user should look.
const failingCount = 3

// state is a reason with its sentence.
type state struct{ reason, message string }

// setConditions writes the conditions in the way that kstatus reads: Ready is
// always there; Reconciling and Stalled are there only while they are true,
// and never both, because a fleet that waits for help does not progress.
//
// Ready says that what this generation asks for is there, so that a client that
// waits for it need not look further; Available says whether enough pods serve.
func (r *reporter) setConditions() {
	stalled, reconciling := r.stalled(), (*state)(nil)
	if stalled == nil {
		reconciling = r.reconciling()
	}
	r.set(appsv1.ConditionStalled, stalled)
	r.set(appsv1.ConditionReconciling, reconciling)
	var paused *state
	if r.desired.Paused {
		paused = &state{appsv1.ReasonPaused, "spec.paused is true: rollouts stop, scaling and repair go on"}
	}
	r.set(appsv1.ConditionPaused, paused)
	r.set(appsv1.ConditionPinned, r.pinned())

	ready := metav1.Condition{
		Type: appsv1.ConditionReady, Status: metav1.ConditionTrue, Reason: appsv1.ReasonAvailable,
		Message: fmt.Sprintf("%d of %d pods are available", r.counts.Available, r.desired.Replicas),
	}
	for _, missing := range []*state{stalled, r.underWay(), r.leftBehind(), r.overridden()} {
		if missing != nil {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, missing.reason, missing.message
			break
		}
	}
	r.put(ready)
	r.setAvailable()
}

// setAvailable says whether as many pods are available as a rollout has to
// leave, whatever their revision.
func (r *reporter) setAvailable() {
	needed := max(0, r.desired.Replicas-r.desired.Update.MaxUnavailable)
	available := metav1.Condition{
		Type: appsv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: appsv1.ReasonMinimumAvailable,
		Message: fmt.Sprintf("%d of %d pods are available, at least %d must be", r.counts.Available, r.desired.Replicas, needed),
	}
	if r.counts.Available < needed {
		available.Status, available.Reason = metav1.ConditionFalse, appsv1.ReasonMinimumUnavailable
	}
	r.put(available)
}

// pinned reports a pin in force, and how to end it.
func (r *reporter) pinned() *state {
	if r.decision.Pinned == nil {
		return nil
	}
	return &state{appsv1.ReasonPinned, r.decision.Pinned.String() + ". To end the pin now: kubectl podmanager rollout undo " + r.desired.Name + " --clear"}
}

// overridden says that a pin keeps the pods from the template.
func (r *reporter) overridden() *state {
	if !r.decision.Pinned.Overrides() {
		return nil
	}
	return &state{appsv1.ReasonPinned, r.decision.Pinned.String()}
}

// set makes a condition True, or takes it away.
func (r *reporter) set(kind string, s *state) {
	if s == nil {
		meta.RemoveStatusCondition(&r.status.Conditions, kind)
		return
	}
	r.put(metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: s.reason, Message: s.message})
}

// maxMessage is the longest message of a condition that the API server takes, in bytes
// at least as many as characters.
const maxMessage = 32768

// Fit cuts a message that is too long: with it the whole status would be refused.
func Fit(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}

func (r *reporter) put(c metav1.Condition) {
	c.ObservedGeneration = r.desired.Generation
	c.Message = Fit(c.Message)
	c.LastTransitionTime = metav1.NewTime(r.now)
	meta.SetStatusCondition(&r.status.Conditions, c)
}

// goalReached: every pod that should be there is available and none has to
// move any more.
func (r *reporter) goalReached() bool {
	return r.counts.Live == r.desired.Replicas && r.counts.Extra == 0 && r.counts.Available >= r.desired.Replicas && !r.moving()
}

// moving: pods have to move to the goal and nothing stops them on purpose.
func (r *reporter) moving() bool {
	return r.decision.Counts.Stale > r.standing()
}

// noRollout: the user keeps pods from moving.
func (r *reporter) noRollout() bool {
	return r.desired.Paused || r.desired.Update.Strategy == appsv1.UpdateOnDelete
}

// standing counts the pods that stay on an old revision on purpose.
func (r *reporter) standing() int {
	standing := 0
	for _, b := range r.decision.Blocked {
		switch b.By {
		case appsv1.BlockedByPartition, appsv1.BlockedByPause, appsv1.BlockedByOnDelete, appsv1.BlockedByDeadline:
			standing += b.Count
		}
	}
	return standing
}

// waiting adds why pods are not available, where that is known.
func (r *reporter) waiting() string {
	if len(r.causes) == 0 {
		return ""
	}
	return "; " + Sentence(r.causes)
}

// notAvailable is why pods are not available or, where that is not known, how many are.
func (r *reporter) notAvailable() string {
	if len(r.causes) == 0 {
		return fmt.Sprintf("%d of %d pods are available", r.counts.Available, r.desired.Replicas)
	}
	return Sentence(r.causes)
}

// reconciling says what is under way, or nil when the goal is reached and
// nothing is left of the way to it.
func (r *reporter) reconciling() *state {
	if s := r.underWay(); s != nil {
		return s
	}
	if n := r.counts.Terminating; n > 0 {
		return &state{appsv1.ReasonScalingDown, plan.NumberOf(n, "pod") + " still terminating"}
	}
	return nil
}

// leaving says how far the pods are that leave their nodes, if any do.
func (r *reporter) leaving() *state {
	n := r.decision.Counts.Leaving + r.notAllowedToLeave()
	if n == 0 && r.decision.Counts.StandIns == 0 || r.moving() {
		return nil
	}
	message := "a pod stands in for another that left its node"
	if n > 0 {
		message = podsHave(n) + " to leave the node"
	}
	for _, b := range r.decision.Blocked {
		if b.By == appsv1.BlockedByReplacement || b.By == appsv1.BlockedByNodes {
			message += "; " + b.Pod + ": " + b.Message
			break
		}
	}
	return &state{appsv1.ReasonMovingPods, message + r.heldBack() + r.waiting()}
}

// underWay says what is missing of what was asked for and will come.
func (r *reporter) underWay() *state {
	c, want := r.counts, r.desired.Replicas
	switch {
	case r.desired.Deletion != plan.DeletionNone:
		return &state{appsv1.ReasonTerminating, r.terminatingMessage()}
	case r.takingOver():
		return &state{appsv1.ReasonTakingOver, fmt.Sprintf("taking over from %s: %d of %d pods adopted", r.desired.TakeOver, c.Live+r.excess, want)}
	}
	if s := r.leaving(); s != nil {
		return s
	}
	return r.missing()
}

// missing says which pods are missing, too many or not as they should be.
func (r *reporter) missing() *state {
	c, want := r.counts, r.desired.Replicas
	base := c.Live - c.Extra
	switch {
	case c.Live > want && r.noRollout():
		return &state{appsv1.ReasonScalingDown, fmt.Sprintf("%s, %d asked for", plan.NumberOf(c.Live, "live pod"), want)}
	case r.moving():
		return &state{appsv1.ReasonRollingOut, fmt.Sprintf("%s, %d available%s", r.progress(), c.Available, r.heldBack()) + r.waiting()}
	case c.Live+r.excess > want && base >= want:
		return &state{appsv1.ReasonScalingDown, fmt.Sprintf("%s, %d asked for", plan.NumberOf(c.Live+r.excess, "live pod"), want) + r.inOrder()}
	case c.Live > want:
		return &state{appsv1.ReasonScalingDown, fmt.Sprintf("%s, %d asked for", plan.NumberOf(c.Live, "live pod"), want)}
	case base < want && r.blockedBy(appsv1.BlockedByTermination):
		return &state{
			appsv1.ReasonWaitingForTermination,
			fmt.Sprintf("%d of %d pods live; successors wait for %s to be gone", base, want, r.predecessors()),
		}
	case base < want && (c.Failed > 0 || c.Lost > 0 || r.wasComplete()):
		return &state{appsv1.ReasonReplacing, fmt.Sprintf("%d of %d pods live; the others are being replaced", base, want) + r.inOrder() + r.waiting()}
	case base < want:
		return &state{appsv1.ReasonScalingUp, fmt.Sprintf("%d of %d pods live", base, want) + r.inOrder() + r.waiting()}
	case c.Following > 0 && r.decision.Rollout != nil:
		return &state{appsv1.ReasonRollingOut, fmt.Sprintf("%d of %d pods are on revision %s, the nodes of %d still follow",
			c.Updated, want, r.decision.UpdateRevision, c.Following) + r.waiting()}
	case c.Available < want:
		return &state{r.waitReason(), r.notAvailable()}
	case c.Updated < want-r.standing():
		return &state{appsv1.ReasonRollingOut, fmt.Sprintf("%d of %d pods are on revision %s", c.Updated, want, r.decision.UpdateRevision)}
	}
	return nil
}

// inOrder names the pod that others wait for, where pods come and go in order.
func (r *reporter) inOrder() string {
	for _, b := range r.decision.Blocked {
		if b.By == appsv1.BlockedByOrder {
			return "; " + b.Message
		}
	}
	return ""
}

// takingOver: pods of another workload are adopted, and nothing else is done.
func (r *reporter) takingOver() bool {
	return r.desired.TakeOver != "" && r.desired.Deletion == plan.DeletionNone
}

// predecessors are the pods that have to be gone before their successors come. Those
// that are not counted as terminating are lost with their node, or not ours.
func (r *reporter) predecessors() string {
	if r.counts.Terminating == 0 {
		return "their predecessors"
	}
	return plan.NumberOf(r.counts.Terminating, "terminating pod")
}

// leftBehind says that pods are on an old revision because the user keeps them
// there, by a pause or by the strategy. Those behind a partition are where they
// should be.
func (r *reporter) leftBehind() *state {
	for _, b := range r.decision.Blocked {
		if b.Verb != plan.UpdatePod || b.Count == 0 {
			continue
		}
		switch b.By {
		case appsv1.BlockedByPause:
			return &state{appsv1.ReasonPaused, fmt.Sprintf("%s to follow revision %s: %s", podsHave(b.Count), r.decision.UpdateRevision, b.Message)}
		case appsv1.BlockedByOnDelete:
			if r.desired.Update.Fixed {
				continue
			}
			return &state{appsv1.ReasonOnDelete, fmt.Sprintf("%s to follow revision %s: %s", podsHave(b.Count), r.decision.UpdateRevision, b.Message)}
		}
	}
	return nil
}

// heldBack names what the rollout waits for besides its own pods.
func (r *reporter) heldBack() string {
	if pod, why := r.refusedEviction(); pod != "" {
		return evictionRefused + pod + ": " + why
	}
	for _, b := range r.decision.Blocked {
		if b.By == appsv1.BlockedByHold {
			return "; " + b.Pod + ": " + b.Message
		}
	}
	return ""
}

// waitReason keeps a scale-up a scale-up until its pods are available.
func (r *reporter) waitReason() string {
	for i := range r.outcomes {
		if a := r.outcomes[i].Action; a.Verb == plan.CreatePod && a.Why.Reason == appsv1.WhyScaleUp {
			return appsv1.ReasonScalingUp
		}
	}
	before := meta.FindStatusCondition(r.previous.Conditions, appsv1.ConditionReconciling)
	if before != nil && before.ObservedGeneration == r.desired.Generation && before.Reason == appsv1.ReasonScalingUp {
		return appsv1.ReasonScalingUp
	}
	return appsv1.ReasonWaitingForPods
}

// wasComplete: the fleet was at its goal for this very spec, so what is
// missing now is a repair.
func (r *reporter) wasComplete() bool {
	ready := meta.FindStatusCondition(r.previous.Conditions, appsv1.ConditionReady)
	if ready == nil || ready.ObservedGeneration != r.desired.Generation {
		return false
	}
	return ready.Status == metav1.ConditionTrue || ready.Reason == appsv1.ReasonPaused || ready.Reason == appsv1.ReasonOnDelete ||
		ready.Reason == appsv1.ReasonPinned
}

func (r *reporter) blockedBy(by string) bool {
	for _, b := range r.decision.Blocked {
		if b.By == by {
			return true
		}
	}
	return false
}

func (r *reporter) terminatingMessage() string {
	for _, b := range r.decision.Blocked {
		if b.Verb == plan.RemoveFinalizer {
			return b.Message
		}
	}
	return "the PodManager is being deleted"
}
