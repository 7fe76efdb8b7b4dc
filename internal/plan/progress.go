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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// watchProgress keeps the memory of a rollout: how many pods of the goal were
// available at most, and when that last grew. Past the deadline the rollout
// stops, or the last revision that was fully available becomes the goal again.
// That happens once: the record of it stands until the template changes.
//
// The first pods of a new fleet are a rollout too, with nothing to go back to.
func watchProgress(s *scene) bool {
	update := s.decision.UpdateRevision
	if s.complete() {
		s.decision.CurrentRevision = update
		s.decision.Rollout = nil
		return false
	}
	if s.decision.CurrentRevision == update {
		// A finished rollout that lost pods since is under repair.
		s.decision.Rollout = nil
		return false
	}
	s.recordProgress(update)
	if s.halted != "" {
		return false
	}
	if s.desired.Paused {
		s.halted = appsv1.BlockedByPause
		return false
	}
	s.checkDeadline()
	return false
}

// complete: every pod is on the goal and available, and none is missing.
func (s *scene) complete() bool {
	staying := s.staying()
	if len(staying) < s.desired.Replicas {
		return false
	}
	for _, p := range staying {
		if !s.updated(p) || !s.available(p) {
			return false
		}
	}
	return true
}

// updated: the pod is on the goal, and newer than the last restart request.
func (s *scene) updated(p *Pod) bool {
	return p.Revision == s.decision.UpdateRevision && !s.restartWanted(p)
}

func (s *scene) restartWanted(p *Pod) bool {
	return p.Created.Before(s.desired.Restart) && !s.desired.Restart.After(s.now)
}

func (s *scene) recordProgress(update string) {
	var done int32
	for _, p := range s.staying() {
		if s.updated(p) && s.available(p) {
			done++
		}
	}
	// Pods beyond replicas are no progress, and after a scale-down the number
	// could never grow again.
	most := int32(s.desired.Replicas)
	done = min(done, most)
	record := s.decision.Rollout
	switch {
	case record == nil || record.Revision != update:
		s.decision.Rollout = &appsv1.RolloutRecord{Revision: update, Done: done, ProgressTime: metav1.NewTime(s.now)}
	case done > record.Done || record.Done > most:
		grown := *record
		grown.Done, grown.ProgressTime = done, metav1.NewTime(s.now)
		s.decision.Rollout = &grown
	}
}

// checkDeadline stops a rollout that got nowhere for too long. What waits on
// purpose, behind a partition or for the user, has no deadline.
func (s *scene) checkDeadline() {
	if s.desired.Update.ProgressDeadline <= 0 || s.waitsOnPurpose() {
		return
	}
	late := s.now.Sub(s.decision.Rollout.ProgressTime.Time) - s.desired.Update.ProgressDeadline
	if late < 0 {
		s.lookAfter(-late)
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
	if s.desired.Update.OnFailure != appsv1.FailureRollback || s.decision.Rollback != nil || s.desired.Pin != "" ||
		to == "" || s.findRevision(to) == nil {
		return false
	}
	s.decision.Rollback = &appsv1.RollbackRecord{
		From: s.decision.UpdateRevision, To: to, Time: metav1.NewTime(s.now), Message: message,
	}
	s.decision.UpdateRevision = to
	s.recordProgress(to)
	return true
}

// waitsOnPurpose: everything that may move has moved and is available.
func (s *scene) waitsOnPurpose() bool {
	if s.desired.Update.Strategy == appsv1.UpdateOnDelete {
		return true
	}
	moved := 0
	for _, p := range s.staying() {
		if s.updated(p) {
			if !s.available(p) {
				return false
			}
			moved++
		}
	}
	return moved >= s.desired.Replicas-s.partition()
}
