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
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// reasonEvicted is what the kubelet and the eviction API write into the
// status of a pod that had to go.
const reasonEvicted = "Evicted"

// replaceLost deletes pods on nodes that are proved gone. No kubelet will
// confirm the deletion, so it is forced; without that proof nothing is.
func replaceLost(s *scene) bool {
	for _, p := range s.lost {
		if p.Membership == Orphan {
			continue
		}
		reason, message := lostWhy(p)
		s.deletePod(p, true, reason, message, nil)
	}
	s.forceLostTerminating()
	return false
}

// forceLostTerminating finishes the deletion of pods whose kubelet is gone.
func (s *scene) forceLostTerminating() {
	for _, p := range s.terminating {
		if p.NodeState == NodePresent {
			continue
		}
		reason, message := lostWhy(p)
		s.deletePod(p, true, reason, message, nil)
	}
}

func lostWhy(p *Pod) (reason, message string) {
	if p.NodeState == NodeOutOfService {
		return appsv1.WhyNodeOutOfService, "node " + p.Node + " carries the out-of-service taint"
	}
	return appsv1.WhyNodeGone, "node " + p.Node + " no longer exists"
}

// replaceFailed makes room for the successors of pods that ended.
//
// The backoff is per revision: only pods of the revision that successors will
// have count, so the fix for a broken revision never waits. The first failure
// is repaired at once, the next after the initial wait, doubled from then on.
func replaceFailed(s *scene) bool {
	s.countFailures()
	retry := s.retryTime()
	if s.ordinal() {
		s.buryOrdinals(retry)
	} else {
		s.buryBeyondLimit(retry)
	}
	return false
}

// countFailures updates the failure record. A failure is new when it happened
// after the last one that was counted; several at once are one failure, or a
// single node's end would cost the longest backoff.
func (s *scene) countFailures() {
	record := s.decision.Failures
	update := s.decision.UpdateRevision
	if record != nil && record.Revision != update {
		record = nil
	}
	last, least := s.lastFailure(update)
	switch {
	case last.IsZero() || record != nil && last.Before(record.LastTime.Time):
		return
	case record != nil && last.Equal(record.LastTime.Time):
		if retry := last.Add(least); record.RetryTime.Time.Before(retry) {
			patient := *record
			patient.RetryTime = metav1.NewTime(retry)
			s.decision.Failures = &patient
		}
		return
	}
	failures := int32(1)
	if record != nil && last.Sub(record.LastTime.Time) <= 2*s.desired.FailedPods.Max {
		failures += record.Count
	}
	s.decision.Failures = &appsv1.FailureRecord{
		Revision:  update,
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
	for _, p := range s.failed {
		if p.Revision != revision || p.FailedAt.Before(last) {
			continue
		}
		if p.FailedAt.After(last) {
			last, least = p.FailedAt, 0
		}
		if p.FailedAt.Sub(p.Created) < time.Second {
			least = time.Second
		}
	}
	return last, least
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

// retryTime is when the next replacement of the update revision may be made;
// zero or past means now.
func (s *scene) retryTime() time.Time {
	if f := s.decision.Failures; f != nil && f.Revision == s.decision.UpdateRevision {
		return f.RetryTime.Time
	}
	return time.Time{}
}

// waits tells whether the successor of p is held back by the backoff.
func (s *scene) waits(p *Pod, retry time.Time) bool {
	return p.Revision == s.decision.UpdateRevision && s.now.Before(retry)
}

// buryOrdinals deletes failed pods, because their successors need the name.
// Those in no slot below replicas have no successor and do not wait.
func (s *scene) buryOrdinals(retry time.Time) {
	for _, p := range s.failed {
		if p.Membership == Orphan {
			continue
		}
		if s.inBase(p.Slot) && s.waits(p, retry) {
			s.blockOnBackoff(p, retry)
			continue
		}
		reason, message := failedWhy(p)
		s.deletePod(p, false, reason, message, nil)
	}
}

// buryBeyondLimit keeps the newest failed pods for inspection. Their
// successors have other names and do not wait for them to go.
//
// A corpse that waits for the backoff is kept whatever the limit: it is all
// that remembers the hole it left, and without it the next pass would fill the
// hole at once. No more of them wait than pods are missing, because the others
// have their successors already.
func (s *scene) buryBeyondLimit(retry time.Time) {
	corpses := slices.Clone(s.failed)
	slices.SortFunc(corpses, func(a, b *Pod) int {
		return cmp.Or(b.FailedAt.Compare(a.FailedAt), cmp.Compare(a.Name, b.Name))
	})
	missing := s.desired.Replicas - len(s.live)
	for i, p := range corpses {
		if s.onBackoff < missing && s.waits(p, retry) {
			s.blockOnBackoff(p, retry)
			continue
		}
		if i < s.desired.FailedPods.Limit || p.Membership == Orphan {
			continue
		}
		_, message := failedWhy(p)
		s.deletePod(p, false, appsv1.WhyCorpseLimit,
			message+"; more failed pods than failedPods.limit are kept",
			map[string]int64{"failed": int64(len(corpses)), "limit": int64(s.desired.FailedPods.Limit)})
	}
}

func (s *scene) blockOnBackoff(p *Pod, retry time.Time) {
	s.onBackoff++
	s.block(Blocked{
		Verb: CreatePod, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByBackoff, Until: retry,
		Message: fmt.Sprintf("pods of revision %s failed %s in a row, the last: %s",
			p.Revision, count(int(s.decision.Failures.Count), "time"), lastWords(p)),
	})
}

// lastWords are a failed pod's name and reason.
func lastWords(p *Pod) string {
	if p.Reason == "" {
		return p.Name
	}
	return p.Name + ", " + p.Reason
}

// failedWhy names only the pod's reason: its message is the program's own
// text and may hold what nobody else should read.
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
