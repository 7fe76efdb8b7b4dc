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

// Package report turns a decision and the outcomes of its actions into the status,
// its conditions and history, and the events. It is pure, and decides nothing
// about pods.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// Event is something to tell the user's event stream.
type Event struct {
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	Action string    `json:"action"`
	Note   string    `json:"note"`
	Pod    string    `json:"pod,omitempty"`
	UID    types.UID `json:"uid,omitempty"`
}

// Reported is what Report says: the whole status and the events.
type Reported struct {
	Status appsv1.PodManagerStatus `json:"status"`
	Events []Event                 `json:"events,omitempty"`
	// Decisions are the history entries behind the first events, one each, with the names
	// of all their pods.
	Decisions []appsv1.Decision `json:"decisions,omitempty"`
	// LookAgain is when the status has more to say about pods that make no progress and
	// send no events; 0 means never.
	LookAgain time.Duration `json:"lookAgain,omitempty"`
}

// Report turns a decision and its outcomes into status and events. The counts
// are those of the observation moved by what was done, so one write tells the
// outcome of a pass and the pods' own events need not.
func Report(desired plan.Desired, observed plan.Observed, decision plan.Decision, outcomes []plan.Outcome, now time.Time) Reported {
	r := newReporter(desired, observed, decision, outcomes, now)
	var again time.Duration
	r.causes, again = causesAfter(patience, desired, observed.Pods, r.live, now)
	if again == 0 && r.created() {
		again = patience
	}
	r.status.ObservedGeneration = desired.Generation
	r.status.Selector = desired.Selector
	r.status.Failures = decision.Failures
	r.status.CurrentFailures = decision.CurrentFailures
	r.status.Rollout = plan.AfterOutcomes(desired, decision, outcomes, r.counts.Available)
	r.status.Rollback = decision.Rollback
	r.status.Rebalance = decision.Rebalance
	r.status.Held = decision.Held

	r.tellDone()
	r.tellRollback()
	r.tellFailures(decision.Failures)
	r.tellFailures(decision.CurrentFailures)
	r.setConditions()
	return Reported{Status: r.status, Events: r.events, Decisions: r.decisions, LookAgain: again}
}

// created: the pass made pods.
func (r *reporter) created() bool {
	return slices.ContainsFunc(r.outcomes, func(o plan.Outcome) bool { return o.Result == plan.Done && o.Action.Verb == plan.CreatePod })
}

// newReporter counts the fleet as it is after the outcomes.
func newReporter(desired plan.Desired, observed plan.Observed, decision plan.Decision, outcomes []plan.Outcome, now time.Time) *reporter {
	r := &reporter{desired: desired, decision: decision, outcomes: outcomes, pods: observed.Pods, now: now.Truncate(time.Second)}
	r.status = *observed.Status.DeepCopy()
	r.previous = &observed.Status
	r.counts, r.status.Nodes = r.settle(observed.Pods)
	r.status.Replicas = int32(r.counts.Live)
	r.status.CurrentReplicas = int32(r.counts.Live)
	r.status.ReadyReplicas = int32(r.counts.Ready)
	r.status.AvailableReplicas = int32(r.counts.Available)
	r.status.UpdatedReplicas = int32(r.counts.Updated)
	r.status.TerminatingReplicas = int32(r.counts.Terminating)
	r.status.UpdateRevision = decision.UpdateRevision
	r.status.CurrentRevision = decision.CurrentRevision
	return r
}

type reporter struct {
	desired  plan.Desired
	decision plan.Decision
	outcomes []plan.Outcome
	pods     []plan.Pod
	now      time.Time
	counts   plan.Counts
	// live are the live pods after the outcomes, and causes why some of them are not
	// available.
	live   []plan.LivePod
	causes []Cause
	// looking: the status is only looked at, and what the operator was refused is known
	// from the last one it wrote.
	looking bool
	// excess counts pods that were adopted and are beyond those asked for.
	excess   int
	previous *appsv1.PodManagerStatus

	status    appsv1.PodManagerStatus
	events    []Event
	decisions []appsv1.Decision
}

// ends is by how many pods a deletion changes the number of those that
// terminate. By force it ends them, unless a finalizer keeps the pod.
func ends(a *plan.Action, ending map[types.UID]*plan.Pod) int {
	p := ending[a.UID]
	switch {
	case !a.Force:
		return 1
	case p != nil && p.KeptBy == "":
		return -1
	}
	return 0
}

// settle moves the observed fleet by what was done. An orphan that was not
// adopted is not ours after all.
func (r *reporter) settle(pods []plan.Pod) (plan.Counts, []string) {
	left, adopted, ending := map[string]bool{}, map[string]bool{}, map[types.UID]*plan.Pod{}
	for i := range pods {
		if pods[i].Terminating {
			ending[pods[i].UID] = &pods[i]
		}
	}
	live := slices.Clone(r.decision.Live)
	places := make(map[string]int, len(live))
	for i := range live {
		places[live[i].Name] = i
	}
	terminating := r.decision.Counts.Terminating
	for i := range r.outcomes {
		o := &r.outcomes[i]
		if o.Result != plan.Done {
			if o.Action.Verb == plan.AdoptPod {
				left[o.Action.Pod] = true
			}
			continue
		}
		switch o.Action.Verb {
		case plan.CreatePod:
			live = append(live, plan.LivePod{
				Name: o.Action.Pod, Updated: o.Action.Revision == r.decision.UpdateRevision, Extra: o.Action.Surge,
			})
		case plan.UpdatePod, plan.ResizePod:
			if i, ok := places[o.Action.Pod]; ok && arrives(&o.Action) {
				live[i].Updated = o.Action.Revision == r.decision.UpdateRevision
				live[i].Available = live[i].Available && len(o.Action.Replaced) == 0
			}
		case plan.AdoptPod:
			adopted[o.Action.Pod] = true
			if _, ok := places[o.Action.Pod]; !ok && r.desired.Deletion == plan.DeletionNone {
				r.excess++ // adopted only to be deleted
			}
		case plan.ShutGate:
			if i, ok := places[o.Action.Pod]; ok {
				live[i].Available = false
			}
		case plan.DeletePod, plan.EvictPod:
			left[o.Action.Pod] = true
			terminating += ends(&o.Action, ending)
		case plan.OrphanPod, plan.ReleasePod:
			left[o.Action.Pod] = true
		}
	}
	r.leaveOut(live, adopted, left)
	live = slices.DeleteFunc(live, func(p plan.LivePod) bool { return left[p.Name] })
	slices.SortFunc(live, func(a, b plan.LivePod) int { return strings.Compare(a.Name, b.Name) })

	r.live = live
	counts := plan.CountLive(live)
	counts.Terminating, counts.Failed, counts.Lost = terminating, r.decision.Counts.Failed, r.decision.Counts.Lost
	counts.Following = r.decision.Counts.Following
	var names []string
	for _, p := range live[:min(len(live), appsv1.MaxStatusPods)] {
		names = append(names, p.Name)
	}
	return counts, names
}

// leaveOut adds the orphans that were not adopted: during a take-over the number of
// pods says how many are.
func (r *reporter) leaveOut(live []plan.LivePod, adopted, left map[string]bool) {
	for _, p := range live {
		if r.takingOver() && p.Orphan && !adopted[p.Name] {
			left[p.Name] = true
		}
	}
}

// arrives: with this change in place the pod is on its revision. A resize is mostly
// only the first half of one.
func arrives(a *plan.Action) bool { return a.Verb == plan.UpdatePod || a.From == a.Revision }

// tellDone writes one history entry and one event for each verb and reason,
// not one for each pod.
func (r *reporter) tellDone() {
	for v := range plan.Verbs {
		verb := &plan.Verbs[v]
		if verb.Word == "" {
			continue
		}
		var reasons []string
		groups := map[string][]*plan.Outcome{}
		for i := range r.outcomes {
			o := &r.outcomes[i]
			if o.Result != plan.Done || r.toldAs(i) != verb.Verb {
				continue
			}
			reason := o.Action.Why.Reason
			if groups[reason] == nil {
				reasons = append(reasons, reason)
			}
			groups[reason] = append(groups[reason], o)
		}
		for _, reason := range reasons {
			r.tellGroup(verb.Word, reason, groups[reason])
		}
	}
}

// toldAs is the verb that history and events show. A resize is the first write of
// an update, and not shown; where it is the only one, it is all of the update.
func (r *reporter) toldAs(outcome int) plan.Verb {
	a := &r.outcomes[outcome].Action
	if a.Verb != plan.ResizePod || a.From != a.Revision || slices.ContainsFunc(r.outcomes, func(o plan.Outcome) bool {
		return o.Action.Verb == plan.UpdatePod && o.Action.UID == a.UID
	}) {
		return a.Verb
	}
	return plan.UpdatePod
}

func (r *reporter) tellGroup(word, reason string, group []*plan.Outcome) {
	names := make([]string, 0, len(group))
	for _, o := range group {
		names = append(names, o.Action.Pod)
	}
	entry := appsv1.Decision{
		Time: metav1.NewTime(r.now), Generation: r.desired.Generation, Revision: r.decision.UpdateRevision,
		Action: word, Count: int32(len(group)), Pods: names, Reason: reason, Message: groupMessage(group),
	}
	r.remember(entry)
	r.decisions = append(r.decisions, entry)
	first := group[0]
	uid := first.Action.UID
	if uid == "" {
		uid = first.UID
	}
	r.events = append(r.events, Event{
		Type: corev1.EventTypeNormal, Reason: word, Action: string(first.Action.Verb), Pod: first.Action.Pod, UID: uid,
		Note: Note(entry),
	})
}

// Note is a history entry in a sentence.
func Note(d appsv1.Decision) string {
	d = named(d)
	listed := strings.Join(d.Pods, ", ")
	if more := int(d.Count) - len(d.Pods); more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s %s: %s (%s)", d.Action, plan.NumberOf(int(d.Count), "pod"), listed, d.Message)
}

// Alike reports whether two entries are of one decision: the same was done for the same
// reason, for the same spec and on the way to the same revision, at about the
// same time. A pin or a restart changes what is done, and no spec.
func Alike(older, newer appsv1.Decision) bool {
	return older.Action == newer.Action && older.Reason == newer.Reason && older.Generation == newer.Generation &&
		older.Revision == newer.Revision && newer.Time.Sub(older.Time.Time) <= mergeWindow
}

// Merge makes one entry of two that are alike: a rollout of a hundred pods
// is two lines of history, not two hundred. What is done to a pod for a second
// time is a second decision, so that no pod counts twice.
func Merge(older, newer appsv1.Decision) (merged appsv1.Decision, ok bool) {
	if !Alike(older, newer) || sets.New(older.Pods...).HasAny(newer.Pods...) {
		return older, false
	}
	older.Count += newer.Count
	older.Pods = slices.Concat(older.Pods, newer.Pods)
	older.Message = newer.Message
	return older, true
}

// named is an entry with as many names as the history keeps.
func named(d appsv1.Decision) appsv1.Decision {
	d.Pods = slices.Clip(d.Pods[:min(len(d.Pods), appsv1.MaxHistoryPods)])
	return d
}

// mergeWindow is for how long later entries are merged into a history entry.
const mergeWindow = 10 * time.Second

// groupMessage is the message that all of a group share, or the first few.
func groupMessage(group []*plan.Outcome) string {
	var messages []string
	for _, o := range group {
		if !slices.Contains(messages, o.Action.Why.Message) {
			messages = append(messages, o.Action.Why.Message)
			if len(messages) == 3 {
				break
			}
		}
	}
	return strings.Join(messages, "; ")
}

// tellRollback reports, once, that a revision was rolled back.
func (r *reporter) tellRollback() {
	back, before := r.decision.Rollback, r.previous.Rollback
	if back == nil || before != nil && before.From == back.From {
		return
	}
	message := fmt.Sprintf("rolled back from %s to %s: %s", back.From, back.To, back.Message)
	r.remember(appsv1.Decision{
		Time: metav1.NewTime(r.now), Generation: r.desired.Generation, Action: appsv1.ReasonRolledBack,
		Reason: appsv1.WhyProgressDeadline, Message: message,
	})
	r.events = append(r.events, Event{
		Type: corev1.EventTypeWarning, Reason: appsv1.ReasonRolledBack, Action: "RollBack", Note: message,
	})
}

// remember puts an entry on top of the history, or merges it into a recent one that is
// alike.
func (r *reporter) remember(entry appsv1.Decision) {
	at := slices.IndexFunc(r.status.History, func(e appsv1.Decision) bool { return Alike(e, entry) })
	if at >= 0 && !r.mayCount(r.status.History[at], entry.Pods) {
		if merged, ok := Merge(r.status.History[at], entry); ok {
			r.status.History[at] = named(merged)
			return
		}
	}
	history := slices.Insert(r.status.History, 0, named(entry))
	r.status.History = history[:min(len(history), appsv1.MaxHistory)]
}

// mayCount reports whether an entry may count one of the pods already. It names ten:
// of the others the ages of the pods tell. What is done to a pod that is older than
// the entry is done to it for the first time. A pod that is created a second time has
// been deleted meanwhile, so that there are fewer pods as young as the entry than it
// counts. How old it is by the API server's clock, the pods show that it names.
func (r *reporter) mayCount(entry appsv1.Decision, pods []string) bool {
	if slices.ContainsFunc(pods, func(pod string) bool { return slices.Contains(entry.Pods, pod) }) {
		return true
	}
	if int(entry.Count) <= len(entry.Pods) {
		return false
	}
	since := entry.Time.Time
	if entry.Action != appsv1.ReasonCreated {
		return slices.ContainsFunc(r.pods, func(p plan.Pod) bool { return !p.Created.Before(since) && slices.Contains(pods, p.Name) })
	}
	for i := range r.pods {
		if p := &r.pods[i]; p.Created.Before(since) && slices.Contains(entry.Pods, p.Name) {
			since = p.Created
		}
	}
	young := 0
	for i := range r.pods {
		if !r.pods[i].Created.Before(since) {
			young++
		}
	}
	return young < int(entry.Count)
}

// tellFailures reports the first of several failures in a row, which is
// repaired at once, and warns, once, when they do not stop.
func (r *reporter) tellFailures(now *appsv1.FailureRecord) {
	if now == nil || counts(r.previous.Failures, now) || counts(r.previous.CurrentFailures, now) {
		return
	}
	kind := corev1.EventTypeNormal
	switch now.Count {
	case 1:
	case failingCount:
		kind = corev1.EventTypeWarning
	default:
		return
	}
	note := fmt.Sprintf("Pods of revision %s failed, %s in a row; ", now.Revision, plan.NumberOf(int(now.Count), "time"))
	if wait := now.RetryTime.Sub(now.LastTime.Time); wait > 0 {
		note += fmt.Sprintf("the next replacement waits %s", wait)
	} else {
		note += "they are replaced at once"
	}
	r.events = append(r.events, Event{Type: kind, Reason: appsv1.ReasonFailed, Action: "ReplaceFailed", Note: note})
}

// counts: the record before has counted these failures already.
func counts(before, now *appsv1.FailureRecord) bool {
	return before != nil && now.Revision == before.Revision && now.LastTime.Equal(&before.LastTime)
}
