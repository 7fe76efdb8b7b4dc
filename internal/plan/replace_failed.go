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
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// reasonEvicted is what the kubelet and the eviction API write into the
// status of a pod that had to go.
const reasonEvicted = "Evicted"

// replaceFailed makes room for the successors of pods that ended.
//
// The backoff is per revision: a successor waits for the backoff of the revision
// that it shares with the pod that failed, so the fix for a broken revision never
// waits. The first failure is repaired at once, the next after the initial wait,
// doubled from then on. The rule comes after those that stop a rollout, aim it at
// another revision or say how many pods it needs: only then is it known which
// successors there will be.
func replaceFailed(s *scene) bool {
	s.countFailures()
	if s.ordinal() {
		s.buryOrdinals()
	} else {
		s.buryBeyondLimit(s.olderPods() < s.partition())
	}
	return false
}

// countFailures updates the failure records: that of the goal and, as long as
// pods can come back on it, that of the revision before.
func (s *scene) countFailures() {
	d := &s.decision
	update, current := d.UpdateRevision, d.CurrentRevision
	ofUpdate, ofCurrent := s.failuresOf(update), s.failuresOf(current)
	if current == update || current == "" {
		ofCurrent = nil
	} else {
		if ofCurrent = s.counted(current, ofCurrent); s.desired.Update.Fixed {
			ofCurrent = nil // no pod comes back on it, and the status of such a kind has no place for it
		}
		if d.Failures != nil && d.Failures.Revision == current {
			d.Failures = nil // it has a place of its own while a rollout is under way
		}
	}
	d.CurrentFailures = ofCurrent
	if record := s.counted(update, ofUpdate); record != nil {
		d.Failures = record
	}
}

// failuresOf is what is remembered of the failures of a revision, or nil.
func (s *scene) failuresOf(revision string) *appsv1.FailureRecord {
	for _, record := range [...]*appsv1.FailureRecord{s.decision.CurrentFailures, s.decision.Failures} {
		if record != nil && record.Revision == revision {
			return record
		}
	}
	return nil
}

// counted is a revision's record with what failed since. A failure is new when
// it happened after the last one that was counted; several at once are one
// failure, or a single node's end would cost the longest backoff.
func (s *scene) counted(revision string, record *appsv1.FailureRecord) *appsv1.FailureRecord {
	last, least := s.lastFailure(revision)
	switch {
	case last.IsZero() || record != nil && last.Before(record.LastTime.Time):
		return record
	case record != nil && last.Equal(record.LastTime.Time):
		if retry := last.Add(least); record.RetryTime.Time.Before(retry) {
			patient := *record
			patient.RetryTime = metav1.NewTime(retry)
			return &patient
		}
		return record
	}
	failures := int32(1)
	if record != nil && last.Sub(record.LastTime.Time) <= 2*s.desired.FailedPods.Max {
		failures += record.Count
	}
	return &appsv1.FailureRecord{
		Revision:  revision,
		Count:     failures,
		LastTime:  metav1.NewTime(last),
		RetryTime: metav1.NewTime(last.Add(max(least, s.backoff(failures)))),
	}
}

// lastFailure is when a pod of a revision failed last, and how long its
// successor waits at least. Times are whole seconds: where a pod failed in the
// second in which it was made, a successor made in the same second could not be
// told from it, and successors would follow each other as fast as they fail.
func (s *scene) lastFailure(revision string) (last time.Time, least time.Duration) {
	for p := range s.corpses() {
		ended := p.endedAt()
		if p.Revision != revision || ended.Before(last) {
			continue
		}
		if ended.After(last) {
			last, least = ended, 0
		}
		if ended.Sub(p.Created) < time.Second {
			least = time.Second
		}
	}
	return last, least
}

// onOurClock puts a memory right that was written by a clock ahead of ours: our
// own before it was set back, or that of an operator elsewhere. What it says of
// the time to come is moved to the present, or replacements would wait until our
// clock has caught up. Times that pods name are corrected where they are read.
func (s *scene) onOurClock(record *appsv1.FailureRecord) *appsv1.FailureRecord {
	if record == nil || !record.LastTime.After(s.now) {
		return record
	}
	ahead := record.LastTime.Sub(s.moment().Time)
	moved := *record
	moved.LastTime = metav1.NewTime(record.LastTime.Add(-ahead))
	moved.RetryTime = metav1.NewTime(record.RetryTime.Add(-ahead))
	return &moved
}

// corpses are the pods whose end counts as a failure of their revision.
func (s *scene) corpses() iter.Seq[*Pod] {
	return func(yield func(*Pod) bool) {
		for _, p := range s.failed {
			if !yield(p) {
				return
			}
		}
		for _, p := range s.lost {
			if p.stillborn() && !yield(p) {
				return
			}
		}
	}
}

// endedAt is when a corpse failed: one that never ran failed when it was created.
func (p *Pod) endedAt() time.Time {
	if p.stillborn() {
		return p.Created
	}
	return p.FailedAt
}

func (s *scene) backoff(failures int32) time.Duration {
	if failures <= 1 {
		return 0
	}
	wait := s.desired.FailedPods.Initial
	for range failures - 2 {
		if wait *= 2; wait >= s.desired.FailedPods.Max {
			break
		}
	}
	return min(wait, s.desired.FailedPods.Max)
}

// backoffOf is the record that holds the successor of p back, or nil. The
// successor may be of the same revision where that is the goal, and where it is
// the revision before and the partition keeps the pod there, or the rollout
// stands still.
func (s *scene) backoffOf(p *Pod, partitioned bool) *appsv1.FailureRecord {
	record := s.failuresOf(p.Revision)
	switch {
	case record == nil || !s.now.Before(record.RetryTime.Time):
		return nil
	case p.Revision == s.decision.UpdateRevision:
		return record
	case p.Revision != s.decision.CurrentRevision || s.findRevision(p.Revision) == nil:
		return nil
	case partitioned || s.halted != "":
		return record
	}
	return nil
}

// olderPods counts those of the pods that a partition keeps, with random names, that are
// on the revision before. One in between gives way to them, unless the rollout stands
// still; and one that leaves its node has a successor of its own.
func (s *scene) olderPods() int {
	blocker, _ := s.stopped()
	n := 0
	for _, b := range s.staying() {
		if s.holdsPartition(b) && (blocker != "" || b.pod.Revision == s.decision.CurrentRevision) {
			n++
		}
	}
	return n
}

// buryOrdinals deletes failed pods, because their successors need the name.
// Those in a slot that gets no successor do not wait.
func (s *scene) buryOrdinals() {
	for p := range s.corpses() {
		if p.Membership == Orphan {
			continue
		}
		record := s.backoffOf(p, s.comesBackOld(p))
		switch {
		case record != nil && s.inBase(p.Slot):
			s.blockOnBackoff(p, record)
		case record != nil && s.mayStandIn(p.Slot) && s.maySurge():
			// Kept even where no more pods are needed now: they may be soon.
			s.surgeOnBackoff++
			s.blockOnBackoff(p, record)
		default:
			s.bury(p)
		}
	}
}

// comesBackOld: the partition keeps the ordinal on the revision before, or new pods that
// stand in are made on it.
func (s *scene) comesBackOld(p *Pod) bool {
	if s.inBase(p.Slot) {
		return s.position(p.Slot) < s.partition()
	}
	return p.Revision == s.standInRevision()
}

// bury deletes a pod that ended, or never began.
func (s *scene) bury(p *Pod) {
	if p.stillborn() {
		reason, message := lostWhy(p)
		s.deletePod(p, true, reason, message, nil)
		return
	}
	reason, message := failedWhy(p)
	s.deletePod(p, false, reason, message, nil)
}

// buryBeyondLimit keeps the newest failed pods for inspection. Their
// successors have other names and do not wait for them to go.
//
// A corpse that waits for the backoff is kept whatever the limit: it is all
// that remembers the hole it left, and without it the next pass would fill the
// hole at once. No more of them wait than pods are missing, because the others
// have their successors already.
func (s *scene) buryBeyondLimit(partitioned bool) {
	corpses := slices.SortedFunc(s.corpses(), func(a, b *Pod) int {
		return cmp.Or(b.endedAt().Compare(a.endedAt()), cmp.Compare(a.Name, b.Name))
	})
	missing := s.desired.Replicas + s.surge - len(s.live)
	room, kept := missing, 0
	if s.maySurge() && s.desired.Replicas > 0 {
		room = s.desired.Replicas + s.desired.MostSurge() - len(s.live) // more pods may be needed soon
	}
	for i, p := range corpses {
		record := s.backoffOf(p, partitioned)
		switch {
		case record != nil && s.onBackoff < missing:
			kept++
			s.blockOnBackoff(p, record)
		case record != nil && kept < room:
			kept++
			s.block(Blocked{
				Verb: DeletePod, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByBackoff, Until: record.RetryTime.Time,
				Message: "another pod may be needed soon, and would wait for the backoff",
			})
		case p.Membership == Orphan:
		case p.stillborn():
			s.bury(p) // there is nothing to inspect
		case p.DeleteRequested:
			s.obeyLabel(p)
		case i >= s.desired.FailedPods.Limit:
			_, message := failedWhy(p)
			s.deletePod(p, false, appsv1.WhyCorpseLimit,
				message+"; more failed pods than failedPods.limit are kept",
				map[string]int64{"failed": int64(len(corpses)), "limit": int64(s.desired.FailedPods.Limit)})
		}
	}
}

func (s *scene) blockOnBackoff(p *Pod, record *appsv1.FailureRecord) {
	s.onBackoff++
	s.backedOff = append(s.backedOff, p)
	s.block(Blocked{
		Verb: CreatePod, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByBackoff, Until: record.RetryTime.Time, Failures: int(record.Count),
		Message: fmt.Sprintf("pods of revision %s failed %s in a row, the last: %s",
			p.Revision, NumberOf(int(record.Count), "time"), lastWords(p)),
	})
}

// lastWords are a failed pod's name and reason.
func lastWords(p *Pod) string {
	if p.stillborn() {
		_, message := lostWhy(p)
		return p.Name + ", " + message
	}
	if p.Reason == "" {
		return p.Name
	}
	return p.Name + ", " + p.Reason
}

// failedWhy names only the pod's reason: its message is the program's own
// text and may hold private data.
func failedWhy(p *Pod) (reason, message string) {
	switch {
	case p.Reason == reasonEvicted:
		return appsv1.WhyEvicted, "the pod was evicted"
	case p.Phase == corev1.PodSucceeded:
		return appsv1.WhyPodFinished, "the pod's containers ended"
	case p.Reason != "":
		return appsv1.WhyPodFailed, "the pod failed: " + p.Reason
	}
	return appsv1.WhyPodFailed, "the pod failed"
}
