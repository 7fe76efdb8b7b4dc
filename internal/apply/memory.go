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

package apply

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// How soon a refused write is tried again: no event says when a quota is raised,
// a budget allows an eviction or a policy is changed. And how soon after one
// that came too late, twice as long each time.
const (
	retryQuota   = 5 * time.Second
	retryRefusal = 15 * time.Second
	retryStale   = 20 * time.Millisecond
)

// Memory is what did not work in an owner's last passes. It is of one process:
// a new one asks for everything once. What was refused for good is asked for
// again after retryRefusal and answered from memory until then, so that a fleet
// with much going on does not ask at every event, and its status reports the
// refusal all the time. What the owner's own events may end, such as a full
// quota, is asked for at every look. A new spec clears the memory.
type Memory struct {
	owner      types.UID
	generation int64
	past       map[write]*try
	// late counts the passes in a row that came too late with a write.
	late int
}

// write is what is asked for.
type write struct {
	verb   plan.Verb
	object string
	uid    types.UID
}

func writeOf(a *plan.Action) write { return write{verb: a.Verb, object: a.Object(), uid: a.UID} }

// try is how a write ended, and when.
type try struct {
	plan.Outcome
	at time.Time
}

// young: too early to ask again.
func (t *try) young(now time.Time) bool {
	return t.lasts() && now.Sub(t.at) < retryRefusal && !now.Before(t.at)
}

// lasts: no event of the owner's can end it.
func (t *try) lasts() bool { return !shared(t.Cause) && t.Cause != appsv1.ReasonNameTaken }

// begin forgets what was of another owner, or of another spec.
func (m *Memory) begin(owner client.Object) {
	if m.owner != owner.GetUID() || m.generation != owner.GetGeneration() {
		*m = Memory{owner: owner.GetUID(), generation: owner.GetGeneration()}
	}
}

// recall finds how a write ended that did not work.
func (m *Memory) recall(a *plan.Action) *try { return m.past[writeOf(a)] }

// oldestFirst sorts by when a write was last tried, so that each has its turn.
func (m *Memory) oldestFirst(outcomes []*plan.Outcome) {
	slices.SortStableFunc(outcomes, func(a, b *plan.Outcome) int {
		return m.recall(&a.Action).at.Compare(m.recall(&b.Action).at)
	})
}

// note remembers what did not work, and forgets what did and what is no longer
// asked for.
func (m *Memory) note(outcomes []plan.Outcome, now time.Time) {
	past := m.past
	m.past = nil
	late := false
	for i := range outcomes {
		o := &outcomes[i]
		key := writeOf(&o.Action)
		t := past[key]
		switch {
		case o.Result == plan.Done:
			continue
		case o.Result == plan.Outdated:
			late = true
			continue
		case o.Result == plan.Refused && !o.Recalled, o.Result == plan.Failed:
			t = &try{Outcome: *o, at: now}
		case t == nil:
			continue
		}
		if m.past == nil {
			m.past = map[write]*try{}
		}
		m.past[key] = t
	}
	m.late++
	if !late {
		m.late = 0
	}
}

// Wait is how long until a look is worth while without an event, or 0 where
// nothing was refused and nothing came too late.
func (m *Memory) Wait(now time.Time) time.Duration {
	var wait time.Duration
	soonest := func(d time.Duration) {
		if wait == 0 {
			wait = d
		}
		wait = min(wait, d)
	}
	if m.late > 0 {
		soonest(min(retryStale<<min(m.late-1, 16), retryRefusal))
	}
	for _, t := range m.past {
		switch {
		case t.Result != plan.Refused:
		case t.Cause == appsv1.ReasonQuotaExceeded || t.Cause == appsv1.BlockedByDisruptionBudget:
			soonest(retryQuota)
		case t.young(now):
			soonest(t.at.Add(retryRefusal).Sub(now))
		default:
			soonest(retryRefusal)
		}
	}
	return wait
}
