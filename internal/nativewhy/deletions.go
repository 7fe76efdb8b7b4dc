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

package nativewhy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// gonePod is a pod of which only events are left.
type gonePod struct {
	name   string
	uid    types.UID
	events []Event
	// first and last are when they came.
	first, last time.Time
}

// gone are the pods of the workload that are no more, but have events.
func (f *Facts) gone() []gonePod {
	there := map[types.UID]bool{}
	for i := range f.Pods {
		there[f.Pods[i].UID] = true
	}
	at := map[types.UID]int{}
	var gone []gonePod
	for i := range f.Events {
		e := &f.Events[i]
		if e.Kind != "Pod" || e.UID == "" || there[e.UID] || !f.belongs(e.Name) {
			continue
		}
		if _, ok := at[e.UID]; !ok {
			at[e.UID] = len(gone)
			gone = append(gone, gonePod{name: e.Name, uid: e.UID, first: e.First})
		}
		gone[at[e.UID]].add(*e)
	}
	for i := range gone {
		for _, e := range f.of("Pod", gone[i].name) {
			if e.UID == "" && f.lastBefore(gone, i, e.Last) {
				gone[i].add(e)
			}
		}
	}
	return gone
}

func (g *gonePod) add(e Event) {
	g.events, g.last = append(g.events, e), latest(g.last, e.Last)
	if e.First.Before(g.first) {
		g.first = e.First
	}
}

// lastBefore reports whether a pod that is gone is the one that had its name at a time.
func (f *Facts) lastBefore(gone []gonePod, of int, at time.Time) bool {
	begun := func(first time.Time) bool { return !first.After(at.Add(clockStep)) }
	if !begun(gone[of].first) {
		return false
	}
	if next := f.successor(gone[of]); !next.IsZero() && begun(next) {
		return false
	}
	return !slices.ContainsFunc(gone, func(g gonePod) bool {
		return g.name == gone[of].name && g.first.After(gone[of].first) && begun(g.first)
	})
}

// belongs reports whether a pod of that name is, or was, the workload's.
func (f *Facts) belongs(pod string) bool {
	if f.Pod != "" {
		return pod == f.Pod
	}
	if f.Kind == "Deployment" {
		return slices.ContainsFunc(f.Revisions, func(r Revision) bool { return generated(pod, r.Meta.Name) })
	}
	if f.Kind == "StatefulSet" {
		return ordinal.MatchString(strings.TrimPrefix(pod, f.Name)) && strings.HasPrefix(pod, f.Name)
	}
	return generated(pod, f.Name)
}

var (
	ordinal = regexp.MustCompile(`^-\d+$`)
	suffix  = regexp.MustCompile(`^-[a-z0-9]{5}$`)
)

// generated: the API server made the pod's name from its owner's.
func generated(pod, owner string) bool {
	rest, ok := strings.CutPrefix(pod, owner)
	return ok && suffix.MatchString(rest)
}

// deletions are pods that are ending, or gone, without a disruption. Controllers
// record each pod that they delete, evictions and node controllers leave their
// condition or event; what is left is a client.
func deletions(f *Facts) []Answer {
	var answers []Answer
	removed := f.removed()
	complete := f.tellsAll()
	for i := range f.Pods {
		p := &f.Pods[i]
		if p.DeletionTimestamp == nil {
			continue
		}
		if _, ok := f.disrupted(p); ok {
			continue
		}
		// Of an owner of another kind no event is looked at.
		known := complete && (f.Kind != "" || metav1.GetControllerOf(p) == nil)
		e := end{pod: p.Name, at: p.DeletionTimestamp.Add(-graceOf(p)), born: p.CreationTimestamp.Time, exact: true}
		if a, ok := f.deleted(e, removed, known); ok {
			answers = append(answers, a)
		}
	}
	for _, g := range f.gone() {
		if _, ok := f.disruptedByEvent(g.events); ok || f.Kind == "" && f.Pod != g.name {
			continue
		}
		if a, ok := f.vanished(g, removed, complete && f.Kind != ""); ok {
			answers = append(answers, a)
		}
	}
	return answers
}

// end is the end of a pod that was no disruption.
type end struct {
	pod string
	// at is when, zero where that is not recorded; born when it was made, which exact says
	// is no later event of it; and until when it was gone at the latest.
	at, born, until time.Time
	exact           bool
}

// deleted is whose deletion the end of a pod was.
func (f *Facts) deleted(e end, removed []act, complete bool) (Answer, bool) {
	a := Answer{Time: e.at, Pods: []string{e.pod}}
	i := slices.IndexFunc(removed, func(d act) bool {
		return d.pod == e.pod && !d.at.Before(e.born.Add(-clockStep)) && (e.until.IsZero() || !d.first.After(e.until.Add(clockStep)))
	})
	switch {
	case i >= 0:
		a = f.byController(a, e, removed[i])
		// For the workload, the change of it that this came from is told already.
		return a, f.Pod != "" || a.Cause == FailedPod
	case f.Gone || f.Workload != nil && f.Workload.Meta.DeletionTimestamp != nil || f.LostOwner != "":
		return a, false // owners tells it
	case !complete:
		a.Cause, a.Certainty, a.Text = Deleted, NotRecorded, "deleted; by its controller or by a client is not recorded"
		a.Evidence = "it ends or is gone; the controller's events could not be read, or are more than it sends"
	default:
		a.Cause, a.Certainty, a.Text = Deleted, Likely, "deleted through the API by a client"
		a.Evidence = "it is ending, and neither its controller nor an eviction, the scheduler or a node's controller recorded that it was theirs; " +
			"which client is in the audit log only"
	}
	return a, true
}

// byController is a deletion that the controller recorded. A ReplicaSet that is not
// the newest makes room for the newest; a pod that came again under its name has
// a newer template; a place that is no more was scaled away.
func (f *Facts) byController(a Answer, was end, d act) Answer {
	a.Time, a.Evidence = d.at, "the event SuccessfulDelete of "+d.owner
	for i := range f.Events {
		e := &f.Events[i]
		if slices.Contains([]string{"RecreatingFailedPod", "RecreatingTerminatedPod", "FailedDaemonPod"}, e.Reason) && strings.Contains(e.Message, d.pod) {
			a.Cause, a.Certainty, a.Text = FailedPod, Sure, "replaced by its controller, because it had failed"
			a.Evidence += ", and its event " + e.Reason
			return a
		}
	}
	if f.Kind == "StatefulSet" && f.Workload != nil && f.inPlace(d.pod) && f.fresh(was) {
		a.Cause, a.Certainty, a.Text = FailedPod, Likely, "replaced by its controller, as one that failed is"
		a.Evidence += "; it was made from the newest revision, and its ordinal is still wanted"
		return a
	}
	if change, ok := f.changeBehind(was, d); ok {
		a.Cause, a.Certainty, a.Text = change.Cause, change.Certainty, "deleted by its controller, after this change: "+change.Text
		return a
	}
	a.Cause, a.Certainty, a.Text = Deleted, NotRecorded, "deleted by its controller; for which change is not recorded"
	return a
}

// changeBehind is the change of the workload for which a controller deleted a pod.
func (f *Facts) changeBehind(was end, d act) (Answer, bool) {
	newest := f.newest()
	changes := scalings(f)
	switch {
	case f.Workload == nil || newest == nil && f.Kind != "ReplicaSet":
		return Answer{}, false
	case f.Kind == "Deployment" && d.owner != "ReplicaSet "+newest.Meta.Name:
		changes = templates(f)
	case f.Kind == "StatefulSet" && f.inPlace(d.pod) || f.Kind == "DaemonSet":
		if !f.outlived(was, d) {
			return Answer{}, false
		}
		changes = templates(f)
	}
	var last Answer
	for _, change := range changes {
		if !change.Time.After(d.at.Add(clockStep)) && !change.Time.Before(last.Time) {
			last = change
		}
	}
	return last, last.Cause != ""
}

// inPlace reports whether a StatefulSet still wants a pod of this ordinal.
func (f *Facts) inPlace(pod string) bool {
	n := ordinalOf(pod) - int(f.Workload.First)
	return n >= 0 && n < int(f.Workload.Desired)
}

// outlived reports whether a pod was there when the newest revision came, and was
// deleted after it. Where its beginning is not recorded, or in the same moment, that is
// assumed of a deletion soon after.
func (f *Facts) outlived(was end, d act) bool {
	newest := f.newest()
	if newest == nil || len(f.Revisions) < 2 {
		return false
	}
	came := f.since(newest)
	if came.IsZero() || d.at.Before(came.Add(-clockStep)) || f.fresh(was) {
		return false
	}
	return was.born.Before(came) || d.at.Sub(came) < before
}

// fresh reports whether a pod was surely made from the newest revision: a moment after
// it came, because creation times have whole seconds.
func (f *Facts) fresh(was end) bool {
	newest := f.newest()
	switch {
	case newest == nil || !was.exact:
		return false
	case len(f.Revisions) == 1:
		return true
	}
	came := f.since(newest)
	return !came.IsZero() && was.born.After(came.Add(2*clockStep))
}

// vanished is the end of a pod of which only events are left.
func (f *Facts) vanished(g gonePod, removed []act, complete bool) (Answer, bool) {
	at := f.end(g)
	a, ok := f.deleted(end{pod: g.name, at: at, born: g.first, until: f.successor(g), exact: nodeOf(g.events) != ""}, removed, complete)
	if !ok || a.Cause != Deleted || a.Certainty != Likely {
		return a, ok
	}
	node := nodeOf(g.events)
	switch {
	case node != "" && slices.Contains(f.LostNodes, node):
		a.Cause, a.Text, a.Evidence = NodeLost, "went with its node "+node+", which is deleted", "the event Scheduled names the node, and it does not exist"
	case node != "" && f.cordonedBefore(node, at):
		_, by, _ := f.cordoned(node)
		a.Cause, a.Text = Evicted, "evicted by a drain of "+node+", which is cordoned"+by
		a.Evidence = "the event Scheduled names the node, its owner's events name no deletion, and the node was cordoned before"
	case node == "" || !f.Could(Nodes):
		a.Certainty = NotRecorded
		a.Text = "deleted or evicted; by whom is not recorded"
		a.Evidence = "its events end, and its node could not be looked at"
	default:
		a.Text = "deleted or evicted by a client"
		a.Evidence = "it is gone, its node is there and not cordoned, and neither its controller, the scheduler nor a node's controller recorded that it was " +
			"theirs; which client is in the audit log only"
	}
	return a, true
}

// end is when a pod went: its last container was stopped, or the next one was made
// in its place; zero where neither is recorded.
func (f *Facts) end(g gonePod) time.Time {
	for _, e := range g.events {
		if e.Reason == "Killing" && strings.HasPrefix(e.Message, "Stopping container") {
			return e.First
		}
	}
	next := f.successor(g)
	if !next.IsZero() {
		return next
	}
	var own act
	acts := f.made()
	for _, d := range acts {
		if d.pod == g.name {
			own = d
		}
	}
	var beside time.Time // one that was made together with it, or right after
	for _, d := range acts {
		switch {
		case d.owner != own.owner || d.pod == g.name || !d.at.After(g.last):
		case !d.at.After(own.at.Add(clockStep)):
			beside = d.at
		case next.IsZero() || d.at.Before(next):
			next = d.at
		}
	}
	if next.IsZero() {
		return beside
	}
	return next
}

// successor is when the pod was made that has the name now; zero where there is none.
func (f *Facts) successor(g gonePod) time.Time {
	for i := range f.Pods {
		if p := &f.Pods[i]; p.Name == g.name && p.UID != g.uid {
			return p.CreationTimestamp.Time
		}
	}
	return time.Time{}
}

// owners are pods that went with what owned them.
func owners(f *Facts) []Answer {
	var pods []string
	for i := range f.Pods {
		if f.Pods[i].DeletionTimestamp != nil {
			pods = append(pods, f.Pods[i].Name)
		}
	}
	for _, g := range f.gone() {
		pods = append(pods, g.name)
	}
	a := Answer{Cause: OwnerDeleted, Certainty: Sure, Pods: pods}
	switch {
	case f.LostOwner != "":
		a.Text, a.Evidence = "deleted with "+f.LostOwner+", its owner", "the owner reference names "+f.LostOwner+", which does not exist"
	case f.Gone:
		last := time.Time{}
		for _, e := range f.of(f.Kind, f.Name) {
			last = latest(last, e.Last)
		}
		a.Text, a.Evidence = f.Kind+" "+f.Name+" was deleted; by whom is in the audit log only", "it does not exist"
		if !last.IsZero() {
			a.Evidence += fmt.Sprintf(", and its last event is of %s", stamp(last))
		}
		if f.Pod == "" {
			a.Pods = nil
		}
	case f.Workload != nil && f.Workload.Meta.DeletionTimestamp != nil:
		a.Time = f.Workload.Meta.DeletionTimestamp.Time
		a.Text, a.Evidence = f.Kind+" "+f.Name+" is being deleted; by whom is in the audit log only", "its deletion timestamp"
		a.Pods = nil
	default:
		return nil
	}
	if len(a.Pods) == 0 && f.Pod != "" {
		if len(f.Pods) > 0 && (f.Workload == nil || f.Pods[0].DeletionTimestamp == nil) {
			return nil
		}
		a.Pods = []string{f.Pod}
	}
	return []Answer{a}
}

func graceOf(p *corev1.Pod) time.Duration {
	if p.DeletionGracePeriodSeconds != nil {
		return time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
	}
	return 0
}
