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

// How soon a refused write is tried again: no event says when a budget allows an
// eviction or a policy is changed. One that a quota refuses waits twice as long each
// time, because the event of a quota with more room ends the wait; what refuses like a
// quota and is none has no such event, so the wait has an end. And how soon after
// one that came too late, twice as long each time.
// What all pods share, such as a full quota, an event of the owner's may have ended:
// then it is tried sooner, but not at every event of a large fleet.
const (
	retrySooner  = 3 * time.Second
	retryQuota   = 5 * time.Second
	lastQuota    = 5 * time.Minute
	retryRefusal = 15 * time.Second
	retryStale   = 20 * time.Millisecond
)

// Memory is what did not work in an owner's last passes. It is of one process:
// a new one asks for everything once. What was refused is asked for again after a
// while and answered from memory until then, so that a fleet with much going on does
// not ask at every event, and its status reports the refusal all the time. A new
// spec clears the memory, but for how many writes were refused in the last minute.
type Memory struct {
	owner      types.UID
	generation int64
	past       map[write]*try
	// late counts the passes in a row that came too late with a write.
	late int
	// full counts the times in a row that a quota refused what is asked for, and let nothing through.
	full int
	// spent is how many refusals count still, and since when one less does.
	spent int
	since time.Time
	// suspect is when writes of a verb were last refused.
	suspect map[plan.Verb]time.Time
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
	// first: it was refused for the first time.
	first bool
}

// young: too early to ask again. A name that was taken is asked for at every look:
// the pod that has it may be gone.
func (m *Memory) young(t *try, now time.Time) bool {
	wait := retryRefusal
	switch {
	case t.Cause == appsv1.ReasonQuotaExceeded && m.full > 1:
		wait = m.quotaWait()
	case shared(t.Cause):
		wait = retrySooner
	case t.Cause == appsv1.ReasonNameTaken:
		return false
	}
	return now.Sub(t.at) < wait && !now.Before(t.at)
}

// due is in how long a write is asked for again, where no event comes before.
func (m *Memory) due(t *try, now time.Time) time.Duration {
	wait := retryRefusal
	switch t.Cause {
	case appsv1.ReasonQuotaExceeded:
		wait = m.quotaWait()
	case appsv1.BlockedByDisruptionBudget:
		wait = retryQuota
	}
	if left := t.at.Add(wait).Sub(now); left > 0 && left < wait {
		return left
	}
	return wait // the clock was set back, or others were tried in its place
}

// quotaWait is how long a write waits that a quota refused.
func (m *Memory) quotaWait() time.Duration {
	return min(retryQuota<<min(max(m.full-1, 0), 16), lastQuota)
}

// rests reports whether the writes of a verb that are tried for the first time, and
// those that were refused before, have to wait: a few were refused a moment ago, or
// one for a cause that all of them share.
func (m *Memory) rests(verb plan.Verb, now time.Time) (fresh, again bool) {
	firsts, all := 0, 0
	for key, t := range m.past {
		if key.verb != verb || t.Result != plan.Refused || !m.young(t, now) {
			continue
		}
		if shared(t.Cause) {
			return true, true
		}
		if all++; t.first {
			firsts++
		}
	}
	return firsts >= maxRefusals, all >= maxRefusals
}

// spend notes that a write was refused. However many were, the next may be within
// retryRefusal.
func (m *Memory) spend(verb plan.Verb, now time.Time) {
	m.spent = min(m.spent+1, maxInFlight+int(retryRefusal/refusalEvery)-1)
	if m.suspect == nil {
		m.suspect = map[plan.Verb]time.Time{}
	}
	m.suspect[verb] = now
}

// allowance is how many writes of a verb may be refused now. One that was not refused
// of late has a few in any case: it does not wait because others are refused.
func (m *Memory) allowance(verb plan.Verb, now time.Time) int {
	if m.spent == 0 || now.Before(m.since) {
		m.since = now
	}
	over := min(int(now.Sub(m.since)/refusalEvery), m.spent)
	m.spent, m.since = m.spent-over, m.since.Add(time.Duration(over)*refusalEvery)
	left := maxInFlight - m.spent
	if last, refused := m.suspect[verb]; !refused || now.Sub(last) >= time.Minute {
		left = max(left, maxRefusals)
	}
	return left
}

// begin forgets what was of another owner, or of another spec.
func (m *Memory) begin(owner client.Object) {
	if m.owner != owner.GetUID() || m.generation != owner.GetGeneration() {
		*m = Memory{owner: owner.GetUID(), generation: owner.GetGeneration(), spent: m.spent, since: m.since, suspect: m.suspect}
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
	late, full, asked, done := false, false, false, false
	for i := range outcomes {
		o := &outcomes[i]
		key := writeOf(&o.Action)
		t := past[key]
		switch {
		case o.Result == plan.Done:
			done = done || asksQuota(o.Action.Verb)
			continue
		case o.Result == plan.Outdated:
			late = true
			if !o.Action.Verb.Facts().AsRead {
				continue
			}
			t = &try{Outcome: *o, at: now} // others go first
		case o.Result == plan.Refused && !o.Recalled, o.Result == plan.Failed:
			t = &try{Outcome: *o, at: now, first: t == nil}
			full = full || o.Cause == appsv1.ReasonQuotaExceeded
		case t == nil:
			continue
		}
		if m.past == nil {
			m.past = map[write]*try{}
		}
		m.past[key] = t
		asked = asked || t.Cause == appsv1.ReasonQuotaExceeded
	}
	m.late++
	if !late {
		m.late = 0
	}
	if done || !asked {
		m.full = 0
	}
	if full {
		m.full++
	}
}

// asksQuota: a quota may refuse such a write.
func asksQuota(verb plan.Verb) bool {
	return verb == plan.CreatePod || verb == plan.CreateClaim || verb == plan.ResizePod
}

// Full reports whether a quota refuses writes.
func (m *Memory) Full() bool { return m.full > 0 }

// Room notes that a quota has more room: what it refused is asked for at once.
func (m *Memory) Room() {
	for key, t := range m.past {
		if t.Cause == appsv1.ReasonQuotaExceeded {
			delete(m.past, key)
		}
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
		if t.Result == plan.Refused {
			soonest(m.due(t, now))
		}
	}
	return wait
}
