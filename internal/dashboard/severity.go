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

package dashboard

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Severity is how much the users of a fleet lose.
type Severity string

const (
	// Stuck: no pod is available, or nothing moves without help.
	Stuck Severity = "stuck"
	// Short: fewer pods are available than the budget of the fleet allows.
	Short Severity = "short"
	// Moving: a change or a repair is under way, and enough pods serve.
	Moving Severity = "moving"
	// Held: a user stopped it.
	Held Severity = "held"
	// Fine: what was asked for is there.
	Fine Severity = "fine"
)

// stillAfter is for how long nothing may move before a fleet counts as stuck. It is
// longer than most pods take to start.
const stillAfter = 2 * time.Minute

// unseen is the state of what the operator has not looked at yet.
const unseen = "new"

// signs are what a severity follows from, besides the state and the counts.
type signs struct {
	// lost: fewer pods are available than a rollout has to leave.
	lost bool
	// pause is for how long pods have to be ready: nothing moves in that time.
	pause time.Duration
	// moved is when something last moved; the zero time where that is not recorded.
	moved time.Time
	// onPurpose: the rollout stands still because its user wants it.
	onPurpose bool
}

func signsOf(f *Fleet, st *appsv1.PodManagerStatus) signs {
	s := signs{lost: f.Desired > 0 && f.Ready == 0, onPurpose: st.Rollout != nil && st.Rollout.Waits}
	if available := meta.FindStatusCondition(st.Conditions, appsv1.ConditionAvailable); available != nil {
		s.lost = available.Status == metav1.ConditionFalse
		s.moved = f.Created
		for i := range st.Conditions {
			s.see(st.Conditions[i].LastTransitionTime.Time)
		}
	}
	for i := range st.History {
		s.see(st.History[i].Time.Time)
	}
	if st.Rollout != nil {
		s.see(st.Rollout.ProgressTime.Time)
	}
	return s
}

func (s *signs) see(t time.Time) {
	if t.After(s.moved) {
		s.moved = t
	}
}

// judge says how bad the state of a fleet is. A fleet that has no users yet, because it
// is being made or scaled up, is not short of pods while it moves.
func (f *Fleet) judge(now time.Time) {
	if f.State == "" || f.State == unseen {
		return
	}
	s := f.signs
	still := !s.moved.IsZero() && now.Sub(s.moved) > stillAfter+s.pause
	changes := f.State == appsv1.ConditionReconciling
	starts := changes && !still && (f.Reason == appsv1.ReasonScalingUp || now.Sub(f.Created) < stillAfter)
	switch {
	case f.State == appsv1.ConditionStalled,
		s.lost && !starts && f.Available == 0 && f.Ready == 0,
		changes && still && !s.onPurpose:
		f.Severity = Stuck
	case s.lost && !starts:
		f.Severity = Short
	case changes:
		f.Severity = Moving
	case f.State == appsv1.ConditionReady:
		f.Severity = Fine
	default:
		f.Severity = Held
	}
}
