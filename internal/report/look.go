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
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// A Snapshot is a fleet as it is seen now: what is shown beside its pods comes from the
// same look at them, and not from a status that may be older.
type Snapshot struct {
	// Status is what the operator would report now. Only what it alone knows is taken
	// from the last report: which generation it has seen, and what was refused.
	Status appsv1.PodManagerStatus
	Causes []Cause
	// Progress is how far a rollout or a restart is; nil without one.
	Progress *Progress
}

// Progress is how far a rollout or a restart is.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
	// Revision is where the pods move to; empty for a restart.
	Revision string `json:"revision,omitempty"`
}

// String is the progress in words.
func (p Progress) String() string {
	if p.Revision == "" {
		return fmt.Sprintf("%d of %d pods are restarted", p.Done, p.Total)
	}
	return fmt.Sprintf("%d of %d pods are on revision %s", p.Done, p.Total, p.Revision)
}

// Look takes a snapshot. An object that the operator has not looked at yet has no
// conditions.
func Look(desired plan.Desired, observed plan.Observed, decision plan.Decision, now time.Time) Snapshot {
	r := newReporter(desired, observed, decision, nil, now)
	r.looking = true
	r.causes, _ = causesAfter(0, desired, observed.Pods, r.live, now)
	if len(r.previous.Conditions) > 0 {
		r.setConditions()
	}
	s := Snapshot{Status: r.status, Causes: r.causes}
	rolls := decision.CurrentRevision != "" && decision.CurrentRevision != decision.UpdateRevision
	if rolls || r.outdated() > 0 {
		progress := r.progress()
		s.Progress = &progress
	}
	return s
}

// progress is how far the rollout or the restart is.
func (r *reporter) progress() Progress {
	if outdated := r.outdated(); outdated > 0 && r.decision.CurrentRevision == r.decision.UpdateRevision {
		newer := r.counts.Live - r.counts.Extra - outdated
		return Progress{Done: min(max(0, newer), r.desired.Replicas), Total: r.desired.Replicas}
	}
	return Progress{Done: r.counts.Updated, Total: r.desired.Replicas, Revision: r.decision.UpdateRevision}
}

// outdated counts the live pods that are older than the restart that was asked for.
func (r *reporter) outdated() int {
	if r.desired.Restart.IsZero() || r.desired.Restart.After(r.now) {
		return 0
	}
	lives, n := namesOf(r.live), 0
	for i := range r.pods {
		if p := &r.pods[i]; p.Created.Before(r.desired.Restart) && !p.Terminating && lives[p.Name] {
			n++
		}
	}
	return n
}

// cutOff keeps a condition that only the operator can know, while the status is only
// looked at.
func (r *reporter) cutOff() *state {
	before := meta.FindStatusCondition(r.previous.Conditions, appsv1.ConditionStalled)
	if !r.looking || before == nil || before.Reason != appsv1.ReasonTakesTooLong {
		return nil
	}
	return &state{before.Reason, before.Message}
}
