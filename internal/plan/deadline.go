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

package plan

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The deadline is a clock that runs only against the revision: it counts the
// time in which a pod of it was there, could run and did not become available.
// Not its fault, and not counted, is the wait for a predecessor that terminates,
// for a node, a quota, a hold or minReadySeconds, and the time in which the
// operator did not look.

// runClock counts the time since the last look for which pods of the goal were
// stuck. A rollout that waits on purpose begins anew afterwards, and the record of
// one that has failed stands.
func (s *scene) runClock(record *appsv1.RolloutRecord) {
	switch {
	case !s.timed(record):
		record.StuckSeconds, record.StuckTime = 0, nil
		return
	case s.timeLeft(record) <= 0:
		return
	}
	now, until := s.moment(), s.stuckUntil()
	if record.StuckTime != nil {
		gap := until.Sub(record.StuckTime.Time)
		record.StuckSeconds += int32(max(0, min(gap, s.longestGap())) / time.Second) //nolint:gosec // longestGap is minutes
	}
	record.StuckTime = nil
	if !until.Before(now.Time) {
		record.StuckTime = &now
	}
}

// timed: there is a deadline, and the rollout does not wait on purpose.
func (s *scene) timed(record *appsv1.RolloutRecord) bool {
	return s.desired.Update.ProgressDeadline > 0 && !record.Waits
}

// timeLeft is how much longer pods may be stuck.
func (s *scene) timeLeft(record *appsv1.RolloutRecord) time.Duration {
	return s.desired.Update.ProgressDeadline - time.Duration(record.StuckSeconds)*time.Second
}

// outOfTime: the rollout has failed, whatever it waits for by now.
func (s *scene) outOfTime(record *appsv1.RolloutRecord) bool {
	return s.desired.Update.ProgressDeadline > 0 && s.timeLeft(record) <= 0
}

// longestGap is how far apart two looks may be for the time between them to
// count: when they are further apart, the operator was away.
func (s *scene) longestGap() time.Duration {
	const most = 2 * safetyLook
	return max(time.Second, min(most, (s.desired.Update.ProgressDeadline/4).Truncate(time.Second)))
}

// stuckUntil is the time up to which pods of the goal have been stuck: now, where
// one that could run does not become available, and it is the pod's own doing. One
// that is ready and waits for minReadySeconds is not stuck. Where one has failed,
// the wait for its backoff counts, and not what comes after it: that its successor
// is refused, say. While there may be more pods, it may be one beyond replicas that
// is waited for, or one that such a pod stands in for.
func (s *scene) stuckUntil() time.Time {
	now := s.moment().Time
	for _, b := range s.staying() {
		if s.moved(b) && !b.orphan && b.pod.couldRun() && !b.pod.waitsForGate() && (!b.serving || b.pod.Resize == ResizeInProgress) {
			return now
		}
	}
	most := s.desired.Replicas + s.desired.MostSurge()
	if len(s.staying()) >= most || !slices.ContainsFunc(s.failed, s.failedItself) {
		return time.Time{}
	}
	goal := s.decision.UpdateRevision
	if record := s.counted(goal, s.failuresOf(goal)); record != nil && record.RetryTime.Time.Before(now) {
		return record.RetryTime.Time
	}
	return now
}

// couldRun: the pod has a node, and the node works.
func (p *Pod) couldRun() bool { return p.Node != "" && !p.NodeDown && p.NodeState == NodePresent }

// waitsForGate: the pod runs, and is not in service because we have not opened its
// gate: that write may be refused.
func (p *Pod) waitsForGate() bool {
	return (p.Gate == GateUnset || p.Gate == GateShut) && p.Phase == corev1.PodRunning && !p.Changing
}

// failedItself: a pod of the goal ended, and its node is not to blame.
func (s *scene) failedItself(p *Pod) bool {
	return p.Phase == corev1.PodFailed && s.updated(p) && p.couldRun() && !s.gone[p] && !slices.Contains(nodeReasons, p.Reason)
}

// nodeReasons are what kubelets write into the status of a pod that they ended
// for reasons of the node: eviction, shutdown and preemption by a pod that is
// critical.
var nodeReasons = []string{reasonEvicted, "Terminated", "NodeShutdown", "Preempting"}

// checkDeadline stops a rollout whose pods were stuck for too long.
func (s *scene) checkDeadline() {
	record := s.decision.Rollout
	if !s.timed(record) {
		return
	}
	if left := s.timeLeft(record); left > 0 {
		if record.StuckTime != nil {
			s.lookAfter(min(left, s.longestGap()))
		}
		return
	}
	message := fmt.Sprintf("revision %s made no progress for %s: %d of %d pods are available on it",
		s.decision.UpdateRevision, s.desired.Update.ProgressDeadline, s.decision.Rollout.Done, s.desired.Replicas)
	if s.rollBack(message) {
		return
	}
	s.halted = appsv1.BlockedByDeadline
	s.block(Blocked{Verb: UpdatePod, Slot: NoSlot, By: appsv1.BlockedByDeadline, Message: message})
}

// rollBack makes the last fully available revision the goal, if the user wants
// that, there is one, and this is not itself a way back.
func (s *scene) rollBack(message string) bool {
	to := s.decision.CurrentRevision
	if s.desired.Update.OnFailure != appsv1.FailureRollback || s.decision.Rollback != nil || s.decision.Pinned != nil ||
		to == "" || to == s.decision.UpdateRevision || s.findRevision(to) == nil {
		return false
	}
	s.decision.Rollback = &appsv1.RollbackRecord{
		From: s.decision.UpdateRevision, To: to, Time: s.moment(), Message: message,
	}
	s.decision.UpdateRevision = to
	s.recordProgress(to)
	return true
}
