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
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// progress keeps the memory of a rollout: how many pods of the goal were
// available at most, when that last grew, and for how long pods of it were stuck
// since. At the deadline the rollout stops, or the last revision that was fully
// available becomes the goal again. That happens once: the record of it stands
// until the template changes.
//
// The first pods of a new fleet are a rollout too, with nothing to go back to.
func progress(s *scene) bool {
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
		if !s.moved(b) || !b.available || b.resizing {
			return false
		}
		if b.inFleet {
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

// recordProgress notes how far the rollout is. Every pod more begins a new time
// of the deadline, and so does an edit: what a scale-down or a restart takes
// away is not lost progress. Pods beyond replicas are none either. Pods that are
// gone are no longer done, so that their successors are progress; one that is
// there and comes back is none.
func (s *scene) recordProgress(update string) {
	most := int32(s.desired.Replicas)
	done, there := s.countMoved()
	record := appsv1.RolloutRecord{Revision: update, Done: min(done, most), ProgressTime: s.moment()}
	before := s.decision.Rollout
	switch {
	case before == nil || before.Revision != update:
	case record.Done > before.Done || before.Done > most || s.edited(before):
		record.ResizeRefused = before.ResizeRefused
	default:
		record = *before
		record.Done = min(before.Done, there)
	}
	record.Waits = s.waitsOnPurpose()
	s.runClock(&record)
	s.decision.Rollout = &record
}

// countMoved counts the pods on the goal that are available, and those that are
// there: also the ones that ended by themselves.
func (s *scene) countMoved() (available, there int32) {
	for _, b := range s.staying() {
		if !s.moved(b) {
			continue
		}
		there++
		if b.available {
			available++
		}
	}
	for _, p := range s.failed {
		if s.failedItself(p) {
			there++
		}
	}
	return available, there
}

// moment is now as a status can tell it: in whole seconds. So what is decided
// on it is the same before and after the API server has stored it.
func (s *scene) moment() metav1.Time { return metav1.NewTime(s.now.Truncate(time.Second)) }

// edited: the user has asked for something else since the last progress.
func (s *scene) edited(record *appsv1.RolloutRecord) bool {
	return s.observed.Status.ObservedGeneration != s.desired.Generation ||
		record.ProgressTime.Time.Before(s.desired.Restart) && !s.desired.Restart.After(s.now)
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
		case !s.moved(b) || !b.inFleet:
		case !b.available:
			return false
		default:
			moved++
		}
	}
	return keep > 0 && moved >= s.desired.Replicas-keep
}

// AfterOutcomes is the memory of the rollout with what the outcomes of a pass add:
// a resize that the API server refuses for one pod it refuses for all, and a
// rollout whose pods are all available waits for the holder or the budget that
// blocks it.
func AfterOutcomes(desired Desired, decision Decision, outcomes []Outcome, available int) *appsv1.RolloutRecord {
	if decision.Rollout == nil {
		return nil
	}
	record := *decision.Rollout
	for i := range outcomes {
		if o := &outcomes[i]; o.Action.Verb == ResizePod && o.Result == Refused && o.Cause == appsv1.WhyResizeInfeasible {
			record.ResizeRefused = o.Message
		}
	}
	record.Waits = record.Waits || available >= desired.Replicas && waitsForOthers(decision, outcomes)
	return &record
}

// waitsForOthers: nothing was moved, and what should have been was refused by a
// PodDisruptionBudget or is held.
func waitsForOthers(decision Decision, outcomes []Outcome) bool {
	waits := slices.ContainsFunc(decision.Blocked, func(b Blocked) bool { return b.By == appsv1.BlockedByHold })
	for i := range outcomes {
		switch o := &outcomes[i]; {
		case o.Action.Verb == EvictPod && o.Result == Refused:
			waits = true
		case o.Action.Verb.Facts().movesPods && o.Result == Done:
			return false
		}
	}
	return waits
}
