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
	if s.desired.Replicas == 0 {
		s.forgetUnlessFailed(update)
		return false
	}
	before, stale := s.decision.CurrentRevision, slices.ContainsFunc(s.staying(), s.isStale)
	whole := s.wholeOn()
	if whole != "" {
		s.decision.CurrentRevision = whole
	}
	switch {
	case whole == update && !stale && !slices.ContainsFunc(s.staying(), s.settles):
		s.decision.Rollout = nil
		return false
	case before == update && s.decision.Rollout == nil && !stale:
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

// forgetUnlessFailed: no pod, no proof of the revision. That it has failed is not
// forgotten, also where it waits for a holder since: an autoscaler that scales to
// nothing and back is no person.
func (s *scene) forgetUnlessFailed(update string) {
	record := s.decision.Rollout
	if record == nil || record.Revision != update || !s.outOfTime(record) {
		s.decision.Rollout = nil
		return
	}
	failed := *record
	failed.Done, failed.Moved = 0, ""
	s.decision.Rollout = &failed
}

// wholeOn is the revision on which the whole fleet is available, with as many of its
// pods as there have to be, or none. What is asked of them does not matter, be it
// another template, a pause or a restart; nor do pods that are to go, and are held or
// could not be deleted. Where there are pods enough on several, while some stand in, it
// is the goal, or the one that it was, or the newest.
func (s *scene) wholeOn() string {
	available := map[string]int{}
	for _, b := range s.briefs { // one that goes in this pass was available before
		if b.inFleet && b.available && !b.resizing && !b.missized {
			available[b.pod.Revision]++
		}
	}
	if s.keepsOlder() {
		return "" // of the others only those that stand in make as many
	}
	for _, name := range [...]string{s.decision.UpdateRevision, s.decision.CurrentRevision} {
		if available[name] >= s.desired.Replicas {
			return name
		}
	}
	var newest *Revision
	for i := range s.observed.Revisions {
		r := &s.observed.Revisions[i]
		if available[r.Name] >= s.desired.Replicas && (newest == nil || r.newerThan(newest)) {
			newest = r
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Name
}

// keepsOlder: with random names, pods stay on the revision before, as long as there are
// any, however many more than replicas there are now.
func (s *scene) keepsOlder() bool {
	return !s.ordinal() && s.keptOld() > 0 &&
		slices.ContainsFunc(s.staying(), func(b brief) bool { return b.pod.Revision == s.decision.CurrentRevision })
}

// keptOld is how many pods a scale-down leaves on the old revision: as many as the
// partition keeps, and one while the rollout is paused or has failed. Of a fleet without
// any, the new revision would be the current one: an autoscaler had finished the rollout.
func (s *scene) keptOld() int {
	record := s.decision.Rollout
	failed := record != nil && record.Revision == s.decision.UpdateRevision && s.outOfTime(record)
	if s.staysOld() && (s.desired.Paused || failed) {
		return max(s.partition(), 1)
	}
	return s.partition()
}

// settles: the pod has moved, and is not available yet. With random names it may be one
// that others stand in for.
func (s *scene) settles(b brief) bool {
	return b.inFleet && s.moved(b) && (!b.available || b.resizing)
}

// updated: the pod is on the goal, and newer than the last restart request.
func (s *scene) updated(p *Pod) bool {
	return p.Revision == s.decision.UpdateRevision && !s.restartWanted(p)
}

func (s *scene) restartWanted(p *Pod) bool {
	return p.Created.Before(s.desired.Restart) && !s.desired.Restart.After(s.now)
}

// recordProgress notes how far the rollout is. Every pod more begins a new time
// of the deadline, and so does a restart. An edit of anything but the revision does
// not: an autoscaler would keep a broken revision alive. Pods beyond replicas are no
// progress. Pods that are gone, also through a scale-down, are no longer done, so that
// their successors are progress; one that is there and comes back is none.
func (s *scene) recordProgress(update string) {
	most := int32(s.desired.Replicas)
	done, there := s.countMoved()
	record := appsv1.RolloutRecord{Revision: update, Done: min(done, most), ProgressTime: s.moment()}
	before := s.decision.Rollout
	switch {
	case before == nil || before.Revision != update:
	case record.Done > before.Done || s.restartedSince(before):
		record.ResizeRefused, record.SmallNodes = before.ResizeRefused, before.SmallNodes
	default:
		record = *before
		record.Done = min(before.Done, there, most)
	}
	record.Moved = s.listMoved(before, update)
	record.Waits = s.waitsOnPurpose(&record)
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

// restartedSince: the user has asked for a restart since the last progress.
func (s *scene) restartedSince(record *appsv1.RolloutRecord) bool {
	return record.ProgressTime.Time.Before(s.desired.Restart) && !s.desired.Restart.After(s.now)
}

// waitsOnPurpose: the user stopped the rollout, or everything that may move has
// moved and is available. Where a scale-down leaves no more pods than the partition
// keeps, nothing may move, and a revision that has failed has not come to work.
func (s *scene) waitsOnPurpose(record *appsv1.RolloutRecord) bool {
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
	return keep > 0 && moved >= s.desired.Replicas-keep && (keep < s.desired.Replicas || !s.outOfTime(record))
}

// AfterOutcomes is the memory of the rollout with what the outcomes of a pass add:
// a resize that the API server rules out for one pod it rules out for all, but for
// one that is beyond the pod's node; and a
// rollout whose pods are all available waits for the holder or the budget that
// blocks it.
func AfterOutcomes(desired Desired, decision Decision, outcomes []Outcome, available int) *appsv1.RolloutRecord {
	if decision.Rollout == nil {
		return nil
	}
	record := *decision.Rollout
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Action.Verb != ResizePod || o.Result != Refused || o.Cause != appsv1.WhyResizeInfeasible:
		case o.Node == "":
			record.ResizeRefused = o.Message
		case !slices.Contains(record.SmallNodes, o.Node) && len(record.SmallNodes) < appsv1.MaxStatusPods:
			record.SmallNodes = append(slices.Clone(record.SmallNodes), o.Node)
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
