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
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The reasons of the condition DisruptionTarget that Kubernetes names only where
// it sets them.
const (
	byEvictionAPI  = "EvictionByEvictionAPI"
	byTaintManager = "DeletionByTaintManager"
	byPodGC        = "DeletionByPodGC"
)

// disruptions are pods that something other than their controller ended: the
// condition DisruptionTarget, what a kubelet writes into the status, and the events
// that are left of pods that are gone.
func disruptions(f *Facts) []Answer {
	var answers []Answer
	for i := range f.Pods {
		p := &f.Pods[i]
		if a, ok := f.disrupted(p); ok {
			a.Pods = []string{p.Name}
			answers = append(answers, a)
		} else if a, ok := f.waitsForNode(p); ok {
			a.Pods = []string{p.Name}
			answers = append(answers, a)
		}
	}
	for _, g := range f.gone() {
		if a, ok := f.disruptedByEvent(g.events); ok {
			a.Pods = []string{g.name}
			answers = append(answers, a)
		}
	}
	return answers
}

func (f *Facts) disrupted(p *corev1.Pod) (Answer, bool) {
	c := podCondition(p, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue {
		if p.Status.Phase == corev1.PodFailed && p.Status.Reason == "Evicted" {
			return byKubelet(p, time.Time{}, "status.reason Evicted"), true
		}
		return f.disruptedByEvent(f.ofPod(p))
	}
	a := Answer{Time: c.LastTransitionTime.Time, Certainty: Sure, Evidence: "condition DisruptionTarget, reason " + c.Reason}
	switch c.Reason {
	case byEvictionAPI:
		a.Cause, a.Text = Evicted, "evicted through the Eviction API"
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			a.Certainty, a.Text = Likely, "an eviction was asked for, and the pod is not ending"
		}
		if at, by, cordoned := f.cordoned(p.Spec.NodeName); cordoned {
			a.Text += ", as a drain does: " + p.Spec.NodeName + " is cordoned" + by
			a.Evidence += "; spec.unschedulable of the node" + at
		}
	case corev1.PodReasonPreemptionByScheduler:
		a.Cause, a.Text = Preempted, "preempted by the scheduler for a pod of higher priority"
		if e, ok := preemption(f.ofPod(p)); ok {
			a = preempted(a, e)
		}
	case byTaintManager:
		return f.tainted(a, p.Spec.NodeName), true
	case byPodGC:
		a.Cause, a.Text = NodeLost, "its node "+p.Spec.NodeName+" was deleted"
	case corev1.PodReasonTerminationByKubelet:
		a = byKubelet(p, a.Time, a.Evidence)
	default:
		return Answer{
			Time: a.Time, Cause: Deleted, Certainty: NotRecorded, Evidence: a.Evidence,
			Text: "ended by a controller of another kind: " + c.Reason + ": " + c.Message,
		}, true
	}
	return a, true
}

// byKubelet is the end of a pod that its kubelet decided.
func byKubelet(p *corev1.Pod, at time.Time, evidence string) Answer {
	a := Answer{Time: at, Cause: NodePressure, Certainty: Sure, Evidence: evidence}
	if a.Time.IsZero() {
		a.Time = failedAt(p)
	}
	message := strings.TrimSpace(p.Status.Message)
	if c := podCondition(p, corev1.DisruptionTarget); message == "" && c != nil {
		message = c.Message
	}
	what := "ended by the kubelet of " + p.Spec.NodeName
	low := strings.ToLower(message)
	switch {
	case strings.Contains(low, "node shutdown"):
		a.Cause, what = NodeShutdown, "ended because node "+p.Spec.NodeName+" was shut down"
	case strings.Contains(low, "admit critical pod") || p.Status.Reason == "Preempting":
		a.Cause, what = Preempted, "preempted by the kubelet of "+p.Spec.NodeName+" for a critical pod"
	case strings.HasPrefix(low, "usage of emptydir") || strings.Contains(low, "exceeds the total limit of containers") ||
		strings.Contains(low, "exceeded its local ephemeral storage limit"):
		a.Cause, what = StorageLimit, "evicted by the kubelet for the storage that it used"
	case strings.Contains(low, "low on resource"):
		what = "evicted by the kubelet of " + p.Spec.NodeName + ", which ran short"
	}
	a.Text = what
	if message != "" {
		a.Text += ": " + message
	}
	return a
}

// tainted is a deletion by the controller of taints: for a node that does not
// report, or for another taint.
func (f *Facts) tainted(a Answer, node string) Answer {
	if slices.Contains(f.LostNodes, node) {
		a.Cause, a.Text = NodeLost, "its node "+node+" was lost, and is deleted now"
		return a
	}
	a.Cause, a.Text = TaintEviction, "its node "+node+" got a taint with the effect NoExecute that it does not tolerate"
	n := f.node(node)
	if n == nil {
		return a
	}
	var others []string
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		if t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNotReady {
			a.Cause, a.Text = NodeLost, "its node "+node+" stopped reporting"
			a.Evidence += "; the node's taint " + t.Key
			return a
		}
		others = append(others, t.Key)
	}
	if len(others) > 0 {
		a.Text = "its node " + node + " got the taint " + strings.Join(others, " or ") + ", which it does not tolerate"
		a.Evidence += "; the taints of the node"
	}
	return a
}

// disruptedByEvent is what is left of a disruption when the pod is gone.
func (f *Facts) disruptedByEvent(events []Event) (Answer, bool) {
	if e, ok := preemption(events); ok {
		return preempted(Answer{Time: e.Last, Cause: Preempted, Certainty: Sure}, e), true
	}
	for _, e := range events {
		if e.Reason == "TaintManagerEviction" && strings.HasPrefix(e.Message, "Marking for deletion") &&
			!slices.ContainsFunc(events, func(c Event) bool {
				return c.Reason == e.Reason && strings.HasPrefix(c.Message, "Cancelling") && !c.Last.Before(e.Last)
			}) {
			return f.tainted(Answer{Time: e.Last, Certainty: Sure, Evidence: "its event TaintManagerEviction"}, nodeOf(events)), true
		}
		if e.Reason == "Evicted" && e.Type == corev1.EventTypeWarning {
			p := &corev1.Pod{Status: corev1.PodStatus{Reason: "Evicted", Message: e.Message}, Spec: corev1.PodSpec{NodeName: nodeOf(events)}}
			return byKubelet(p, e.Last, "its event Evicted"), true
		}
	}
	return Answer{}, false
}

// preemption is the event by which the scheduler names whom it made room for. What
// it preempts in its memory only is not deleted.
func preemption(events []Event) (Event, bool) {
	i := slices.IndexFunc(events, func(e Event) bool {
		return e.Reason == "Preempted" && !strings.Contains(e.Message, "in kube-scheduler memory")
	})
	if i < 0 {
		return Event{}, false
	}
	return events[i], true
}

func preempted(a Answer, e Event) Answer {
	if a.Evidence != "" {
		a.Evidence += ", and "
	}
	a.Evidence += "its event Preempted"
	a.Text = "preempted by the scheduler for a pod of higher priority"
	if e.Other != "" {
		a.Text = "preempted by the scheduler for " + e.Other + ", of higher priority"
	} else if uid := Preemptor(e.Message); uid != "" {
		a.Text += ", of the UID " + uid
	}
	return a
}

// Preemptor is the UID of the pod that the scheduler made room for, as the message of
// its event has it. Some versions do not name the pod.
func Preemptor(message string) string {
	rest, ok := strings.CutPrefix(message, "Preempted by pod ")
	uid, _, _ := strings.Cut(rest, " ")
	if !ok {
		return ""
	}
	return uid
}

// nodeOf is the node that the scheduler's event names.
func nodeOf(events []Event) string {
	for _, e := range events {
		if _, node, ok := strings.Cut(e.Message, " to "); ok && e.Reason == "Scheduled" {
			return node
		}
	}
	return ""
}

// cordoned reports whether no pods are placed on a node, since when and by whom.
func (f *Facts) cordoned(name string) (at, by string, is bool) {
	n := f.node(name)
	if n == nil || !n.Spec.Unschedulable {
		return "", "", false
	}
	for _, w := range writers(&n.ObjectMeta) {
		if w.owns("spec.unschedulable") {
			return ", which " + w.name + " owns", fmt.Sprintf(" since %s by %s", stamp(w.at), w.name), true
		}
	}
	return "", "", true
}

// cordonedBefore reports whether a node was cordoned already at a time.
func (f *Facts) cordonedBefore(name string, at time.Time) bool {
	n := f.node(name)
	if n == nil || !n.Spec.Unschedulable {
		return false
	}
	for _, w := range writers(&n.ObjectMeta) {
		if w.owns("spec.unschedulable") {
			return !w.at.After(at.Add(clockStep))
		}
	}
	return false
}

// waitsForNode: the pod is there, and its node does not report.
func (f *Facts) waitsForNode(p *corev1.Pod) (Answer, bool) {
	n := f.node(p.Spec.NodeName)
	if n == nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		return Answer{}, false
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return Answer{
				Time: c.LastTransitionTime.Time, Cause: NodeNotReady, Certainty: Sure,
				Text: "not ready, because its node " + n.Name + " is not: " + c.Message, Evidence: "condition Ready of the node, reason " + c.Reason,
			}, true
		}
	}
	return Answer{}, false
}

// failedAt is when a failed pod ended.
func failedAt(p *corev1.Pod) time.Time {
	var last time.Time
	for i := range p.Status.ContainerStatuses {
		if t := p.Status.ContainerStatuses[i].State.Terminated; t != nil {
			last = latest(last, t.FinishedAt.Time)
		}
	}
	if c := podCondition(p, corev1.PodReady); last.IsZero() && c != nil {
		last = c.LastTransitionTime.Time
	}
	return last
}
