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
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Result says what became of an action.
type Result string

const (
	// Done: the API server has it.
	Done Result = "Done"
	// Refused: the API server said no and will say so again until something
	// outside changes; Cause says what.
	Refused Result = "Refused"
	// Failed: it did not work this time.
	Failed Result = "Failed"
	// Outdated: the pod has changed since it was read, so the action may no
	// longer be right; the next look decides anew.
	Outdated Result = "Outdated"
	// Skipped: an earlier action failed, or the owner asks for something else
	// by now, so this one was not tried.
	Skipped Result = "Skipped"
)

// Outcome is what became of one action.
type Outcome struct {
	Action Action `json:"action"`
	Result Result `json:"result"`
	// Cause is the documented reason of a refusal.
	Cause   string `json:"cause,omitempty"`
	Message string `json:"message,omitempty"`
	// Recalled: it was refused in an earlier pass, and not asked for again.
	Recalled bool `json:"recalled,omitempty"`
	// UID is the UID of a pod that was created.
	UID types.UID `json:"uid,omitempty"`
}

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
	// Deeds are the history entries behind the first events, one each.
	Deeds []appsv1.Decision `json:"deeds,omitempty"`
}

// Report turns a decision and its outcomes into status and events. The counts
// are those of the observation moved by what was done, so one write tells the
// outcome of a pass and the pods' own events need not.
func Report(desired Desired, observed Observed, decision Decision, outcomes []Outcome, now time.Time) Reported {
	r := &reporter{desired: desired, decision: decision, outcomes: outcomes, now: now.Truncate(time.Second)}
	r.status = *observed.Status.DeepCopy()
	r.previous = &observed.Status

	counts, names := r.settle(observed.Pods)
	r.counts = counts
	r.status.ObservedGeneration = desired.Generation
	r.status.Replicas = int32(counts.Live)
	r.status.CurrentReplicas = int32(counts.Live)
	r.status.ReadyReplicas = int32(counts.Ready)
	r.status.AvailableReplicas = int32(counts.Available)
	r.status.UpdatedReplicas = int32(counts.Updated)
	r.status.TerminatingReplicas = int32(counts.Terminating)
	r.status.UpdateRevision = decision.UpdateRevision
	r.status.CurrentRevision = decision.CurrentRevision
	r.status.Selector = desired.Selector
	r.status.Nodes = names
	r.status.Failures = decision.Failures
	r.status.CurrentFailures = decision.CurrentFailures
	r.status.Rollout = r.rollout()
	r.status.Rollback = decision.Rollback
	r.status.Held = decision.Held

	r.tellDone()
	r.tellRollback()
	r.tellFailures(decision.Failures)
	r.tellFailures(decision.CurrentFailures)
	r.setConditions()
	return Reported{Status: r.status, Events: r.events, Deeds: r.deeds}
}

type reporter struct {
	desired  Desired
	decision Decision
	outcomes []Outcome
	now      time.Time
	counts   Counts
	// excess counts pods that were adopted and are beyond those asked for.
	excess   int
	previous *appsv1.PodManagerStatus

	status appsv1.PodManagerStatus
	events []Event
	deeds  []appsv1.Decision
}

// ends is by how many pods a deletion changes the number of those that
// terminate.
func ends(a *Action, ending map[types.UID]bool) int {
	switch {
	case !a.Force:
		return 1
	case ending[a.UID]:
		return -1
	}
	return 0
}

// settle moves the observed fleet by what was done. An orphan that was not
// adopted is not ours after all.
func (r *reporter) settle(pods []Pod) (Counts, []string) {
	left, ending := map[string]bool{}, map[types.UID]bool{}
	for i := range pods {
		if pods[i].Terminating {
			ending[pods[i].UID] = true
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
		if o.Result != Done {
			if o.Action.Verb == AdoptPod {
				left[o.Action.Pod] = true
			}
			continue
		}
		switch o.Action.Verb {
		case CreatePod:
			live = append(live, LivePod{
				Name: o.Action.Pod, Updated: o.Action.Revision == r.decision.UpdateRevision, Extra: o.Action.Surge,
			})
		case UpdatePod:
			if i, ok := places[o.Action.Pod]; ok {
				live[i].Updated = o.Action.Revision == r.decision.UpdateRevision
				live[i].Available = live[i].Available && len(o.Action.Replaced) == 0
			}
		case AdoptPod:
			if _, ok := places[o.Action.Pod]; !ok && r.desired.Deletion == DeletionNone {
				r.excess++ // adopted only to be deleted
			}
		case ShutGate:
			if i, ok := places[o.Action.Pod]; ok {
				live[i].Available = false
			}
		case DeletePod, EvictPod:
			left[o.Action.Pod] = true
			terminating += ends(&o.Action, ending)
		case OrphanPod, ReleasePod:
			left[o.Action.Pod] = true
		}
	}
	live = slices.DeleteFunc(live, func(p LivePod) bool { return left[p.Name] })
	slices.SortFunc(live, func(a, b LivePod) int { return strings.Compare(a.Name, b.Name) })

	counts := countLive(live)
	counts.Terminating, counts.Failed, counts.Lost = terminating, r.decision.Counts.Failed, r.decision.Counts.Lost
	counts.Following = r.decision.Counts.Following
	var names []string
	for _, p := range live[:min(len(live), appsv1.MaxStatusPods)] {
		names = append(names, p.Name)
	}
	return counts, names
}

// tellDone writes one history entry and one event for each verb and reason,
// not one for each pod.
func (r *reporter) tellDone() {
	for v := range Verbs {
		verb := &Verbs[v]
		if verb.Word == "" {
			continue
		}
		var reasons []string
		groups := map[string][]*Outcome{}
		for i := range r.outcomes {
			o := &r.outcomes[i]
			if o.Result != Done || o.Action.Verb != verb.Verb {
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

func (r *reporter) tellGroup(word, reason string, group []*Outcome) {
	names := make([]string, 0, appsv1.MaxHistoryPods)
	for _, o := range group[:min(len(group), appsv1.MaxHistoryPods)] {
		names = append(names, o.Action.Pod)
	}
	entry := appsv1.Decision{
		Time: metav1.NewTime(r.now), Generation: r.desired.Generation, Revision: r.decision.UpdateRevision,
		Action: word, Count: int32(len(group)), Pods: names, Reason: reason, Message: groupMessage(group),
	}
	r.remember(entry)
	r.deeds = append(r.deeds, entry)
	first := group[0]
	uid := first.Action.UID
	if uid == "" {
		uid = first.UID
	}
	r.events = append(r.events, Event{
		Type: corev1.EventTypeNormal, Reason: word, Action: string(first.Action.Verb), Pod: first.Action.Pod, UID: uid,
		Note: DeedNote(entry),
	})
}

// DeedNote is a history entry in a sentence.
func DeedNote(d appsv1.Decision) string {
	listed := strings.Join(d.Pods, ", ")
	if more := int(d.Count) - len(d.Pods); more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s %s: %s (%s)", d.Action, count(int(d.Count), "pod"), listed, d.Message)
}

// Alike reports whether two entries are of one decision: the same was done for the same
// reason, for the same spec and on the way to the same revision, at about the
// same time. A pin or a restart changes what is done, and no spec.
func Alike(older, newer appsv1.Decision) bool {
	return older.Action == newer.Action && older.Reason == newer.Reason && older.Generation == newer.Generation &&
		older.Revision == newer.Revision && newer.Time.Sub(older.Time.Time) <= mergeWindow
}

// MergeDeeds makes one entry of two that are alike: a rollout of a hundred pods
// is two lines of history, not two hundred. What is done to a pod for a second
// time is a second decision, so that no pod counts twice.
func MergeDeeds(older, newer appsv1.Decision) (merged appsv1.Decision, ok bool) {
	again := slices.ContainsFunc(newer.Pods, func(pod string) bool { return slices.Contains(older.Pods, pod) })
	if !Alike(older, newer) || again {
		return older, false
	}
	older.Count += newer.Count
	for _, pod := range newer.Pods {
		if len(older.Pods) < appsv1.MaxHistoryPods {
			older.Pods = append(slices.Clip(older.Pods), pod)
		}
	}
	older.Message = newer.Message
	return older, true
}

// mergeWindow is for how long later entries are merged into a history entry.
const mergeWindow = 10 * time.Second

// groupMessage is the message that all of a group share, or the first few.
func groupMessage(group []*Outcome) string {
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

// rollout is the memory of the rollout, with what its outcomes add: a resize
// that the API server refuses for one pod it refuses for all, and a rollout whose
// pods are all well waits for the holder or the budget that blocks it.
func (r *reporter) rollout() *appsv1.RolloutRecord {
	record := r.decision.Rollout
	if record == nil {
		return nil
	}
	told := *record
	for i := range r.outcomes {
		if o := &r.outcomes[i]; o.Action.Verb == ResizePod && o.Result == Refused && o.Cause == appsv1.WhyResizeInfeasible {
			told.ResizeRefused = o.Message
		}
	}
	told.Waits = told.Waits || r.waitsForOthers()
	return &told
}

// waitsForOthers: every pod is available, nothing was moved, and what should
// have been was refused by a PodDisruptionBudget or is held.
func (r *reporter) waitsForOthers() bool {
	waits := r.blockedBy(appsv1.BlockedByHold)
	for i := range r.outcomes {
		switch o := &r.outcomes[i]; {
		case o.Action.Verb == EvictPod && o.Result == Refused:
			waits = true
		case o.Action.Verb.Facts().movesPods && o.Result == Done:
			return false
		}
	}
	return waits && r.counts.Available >= r.desired.Replicas
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

// remember puts an entry on top of the history, or merges it into a recent one
// that is alike.
func (r *reporter) remember(entry appsv1.Decision) {
	at := slices.IndexFunc(r.status.History, func(e appsv1.Decision) bool { return Alike(e, entry) })
	if at >= 0 {
		if merged, ok := MergeDeeds(r.status.History[at], entry); ok {
			r.status.History[at] = merged
			return
		}
	}
	history := slices.Insert(r.status.History, 0, entry)
	r.status.History = history[:min(len(history), appsv1.MaxHistory)]
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
	note := fmt.Sprintf("Pods of revision %s failed, %s in a row; ", now.Revision, count(int(now.Count), "time"))
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
