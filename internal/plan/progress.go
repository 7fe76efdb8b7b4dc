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
	switch {
	case s.desired.Replicas == 0:
		s.decision.Rollout = nil // no pod, no proof of the revision
		return false
	case s.complete():
		s.decision.CurrentRevision = update
		s.decision.Rollout = nil
		return false
	case s.decision.CurrentRevision == update && s.decision.Rollout == nil && !slices.ContainsFunc(s.staying(), s.isStale):
		return false // a finished rollout that lost pods since is under repair
	case s.desired.Paused && s.halted == "":
		s.halted = appsv1.BlockedByPause
	}
	s.recordProgress(update)
	if s.halted == "" {
		s.checkDeadline()
	}
	return false
}

// complete: every pod is on the goal and available, and none is missing. With
// ordinals those count that stay when the rollout is over.
func (s *scene) complete() bool {
	there := 0
	for _, b := range s.staying() {
		if !s.moved(b) || !b.is(isAvailable) || b.is(isResizing) {
			return false
		}
		if b.is(inFleet) {
			there++
		}
	}
	return there >= s.desired.Replicas
}

// updated: the pod is on the goal, and newer than the last restart request.
func (s *scene) updated(p *Pod) bool {
	return p.Revision == s.decision.UpdateRevision && !s.restartWanted(p)
}

func (s *scene) restartWanted(p *Pod) bool {
	return p.Created.Before(s.desired.Restart) && !s.desired.Restart.After(s.now)
}

// recordProgress notes how far the rollout is. Its clock starts again with
// every pod more, after a wait on purpose, and when the user changes his mind:
// what a scale-down or a restart takes away is not lost progress. Pods beyond
// replicas are none either.
func (s *scene) recordProgress(update string) {
	most := int32(s.desired.Replicas)
	now := appsv1.RolloutRecord{Revision: update, ProgressTime: s.moment(), Waits: s.waitsOnPurpose()}
	for _, b := range s.staying() {
		if now.Done < most && s.moved(b) && b.is(isAvailable) {
			now.Done++
		}
	}
	before := s.decision.Rollout
	switch {
	case before == nil || before.Revision != update:
	case now.Done > before.Done || before.Done > most || s.edited(before):
		now.ResizeRefused = before.ResizeRefused
	case before.Waits != now.Waits:
		changed := *before
		if before.Waits {
			changed.ProgressTime = now.ProgressTime
		}
		changed.Waits = now.Waits
		now = changed
	default:
		return
	}
	s.decision.Rollout = &now
}

// moment is now as a status can tell it: in whole seconds. So what is decided
// on it is the same before and after the API server has stored it.
func (s *scene) moment() metav1.Time { return metav1.NewTime(s.now.Truncate(time.Second)) }

// edited: the user has asked for something else since the last progress.
func (s *scene) edited(record *appsv1.RolloutRecord) bool {
	return s.observed.Status.ObservedGeneration != s.desired.Generation ||
		record.ProgressTime.Time.Before(s.desired.Restart) && !s.desired.Restart.After(s.now)
}

// checkDeadline stops a rollout that got nowhere for too long. What waits on
// purpose, behind a partition or for somebody else, has no deadline.
func (s *scene) checkDeadline() {
	if s.desired.Update.ProgressDeadline <= 0 || s.decision.Rollout.Waits {
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
	if len(s.observed.HeldNames) > 0 {
		return false // it is not the revision that keeps the pods from being there
	}
	if s.desired.Update.OnFailure != appsv1.FailureRollback || s.decision.Rollback != nil || s.decision.Pinned != nil ||
		to == "" || to == s.decision.UpdateRevision || s.findRevision(to) == nil {
		return false
	}
	s.decision.Rollback = &appsv1.RollbackRecord{
		From: s.decision.UpdateRevision, To: to, Time: s.moment(), Message: message,
	}
	s.aimAt(to)
	s.recordProgress(to)
	return true
}

// waitsOnPurpose: the user stopped the rollout, or everything that may move has
// moved and is available.
func (s *scene) waitsOnPurpose() bool {
	if s.halted != "" || s.desired.Update.Strategy == appsv1.UpdateOnDelete {
		return true
	}
	keep, moved := s.partition(), 0
	for _, b := range s.staying() {
		switch {
		case !s.moved(b) || !b.is(inFleet):
		case !b.is(isAvailable):
			return false
		default:
			moved++
		}
	}
	return keep > 0 && moved >= s.desired.Replicas-keep
}
