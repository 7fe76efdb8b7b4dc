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

// What a workload waits for, besides the causes of a pod that does not run.
const (
	// Paused: a Deployment with spec.paused does not roll out.
	Paused Cause = "Paused"
	// Partition: a StatefulSet leaves the pods below it alone.
	Partition Cause = "Partition"
	// OnDelete: pods get the new template only when a client deletes them.
	OnDelete Cause = "OnDelete"
	// OrderedReady: a StatefulSet waits for a pod before it goes on.
	OrderedReady Cause = "OrderedReady"
	// DeadlineExceeded: a Deployment made no progress for progressDeadlineSeconds.
	DeadlineExceeded Cause = "DeadlineExceeded"
	// DisruptionBudget: a PodDisruptionBudget allows no eviction.
	DisruptionBudget Cause = "DisruptionBudget"
	// Autoscaler: a HorizontalPodAutoscaler cannot, or may not, scale.
	Autoscaler Cause = "Autoscaler"
	// Finalizer: a controller has not removed its finalizer.
	Finalizer Cause = "Finalizer"
	// Terminating: a pod ends for longer than its grace period.
	Terminating Cause = "Terminating"
	// ReadinessProbe: a container runs and is not ready.
	ReadinessProbe Cause = "ReadinessProbe"
	// ReadinessGate: a condition that the pod asks for is not true.
	ReadinessGate Cause = "ReadinessGate"
	// MinReady: pods are ready, and not yet for minReadySeconds.
	MinReady Cause = "MinReady"
	// NotSeen: the controller has not seen the latest spec.
	NotSeen Cause = "NotSeen"
	// Starting: pods are made, and do not run yet.
	Starting Cause = "Starting"
)

// Wait is something that should happen and does not.
type Wait struct {
	// What should happen, empty for everything; By holds it back, and Why is a sentence.
	What string
	By   Cause
	Why  string
	// Evidence is the record that says so.
	Evidence string
	// Until is when it ends by itself; zero where it does not.
	Until time.Time
	// Advice is what to do about it.
	Advice string
}

// waitRules look for what is held back. The order is that of the output: what holds
// the whole workload back comes first.
var waitRules = []func(*Facts) []Wait{
	notSeen, paused, byHand, waitsForCreation, ordered, waitsOfPods, waitsForEnd, waitsForBudget, waitsForAutoscaler, deadline,
}

// WhyNot is what the workload, or the pod that is asked for, waits for.
func WhyNot(f *Facts) []Wait {
	f.index()
	var waits []Wait
	for _, rule := range waitRules {
		waits = append(waits, rule(f)...)
	}
	return waits
}

// UnderWay says how far a rollout is; empty where none is.
func UnderWay(f *Facts) string {
	w := f.Workload
	switch {
	case w == nil:
		return ""
	case w.Updated < w.Desired && w.Kind != "ReplicaSet":
		return fmt.Sprintf("%d of %s are of the newest template, %d available", w.Updated, plural(int(w.Desired), "pod"), w.Available)
	case w.Current > w.Desired:
		return fmt.Sprintf("%s of %d too many", plural(int(w.Current-w.Desired), "pod"), w.Desired)
	case w.Available < w.Desired:
		return fmt.Sprintf("%d of %s are available", w.Available, plural(int(w.Desired), "pod"))
	}
	return ""
}

func notSeen(f *Facts) []Wait {
	if f.Workload == nil || f.Workload.Observed {
		return nil
	}
	return []Wait{{
		By: NotSeen, Why: "the controller has not seen the latest spec yet", Evidence: "status.observedGeneration is older than metadata.generation",
		Advice: "if it stays so, look whether kube-controller-manager runs",
	}}
}

// paused: a change of the template waits for the Deployment to be resumed. Without
// one nothing is held back.
func paused(f *Facts) []Wait {
	w := f.Workload
	if w == nil || !w.Paused {
		return nil
	}
	why := "the Deployment is paused"
	if c := find(w.Conditions, "Progressing"); c != nil && c.Reason == "DeploymentPaused" {
		why += " since " + stamp(c.Time)
	}
	if newest := f.newest(); newest != nil {
		template, err := asMap(w.Template)
		if err != nil || len(differences(newest.Template, template)) == 0 && w.Updated >= w.Desired {
			return nil
		}
	}
	for _, by := range writers(&w.Meta) {
		if by.owns("spec.paused") {
			why += ", by " + by.String()
		}
	}
	return []Wait{{
		What: "the rollout", By: Paused, Why: why, Evidence: "spec.paused",
		Advice: "kubectl rollout resume deployment/" + w.Meta.Name + " -n " + w.Meta.Namespace,
	}}
}

// byHand: pods that keep an older template because the strategy says so.
func byHand(f *Facts) []Wait {
	w := f.Workload
	if w == nil || w.Kind != "StatefulSet" && w.Kind != "DaemonSet" {
		return nil
	}
	old := f.outdated()
	if len(old) == 0 {
		return nil
	}
	what := "the update of " + some(podNames(old))
	if w.OnDelete {
		return []Wait{{
			What: what, By: OnDelete, Why: "updateStrategy is OnDelete: a pod gets the new template only when a client deletes it",
			Evidence: "spec.updateStrategy, and the revision in the labels of the pods", Advice: "kubectl delete pod " + old[0].Name + " -n " + w.Meta.Namespace + ", one by one",
		}}
	}
	below := slices.DeleteFunc(slices.Clone(old), func(p *corev1.Pod) bool { return ordinalOf(p.Name) >= int(w.Partition) })
	if w.Partition == 0 || len(below) == 0 {
		return nil
	}
	return []Wait{{
		What: "the update of " + some(podNames(below)), By: Partition,
		Why:      fmt.Sprintf("the partition is %d: pods with a lower ordinal keep their template", w.Partition),
		Evidence: "spec.updateStrategy.rollingUpdate.partition, and the revision in the labels of the pods", Advice: "lower the partition when the updated pods have proved themselves",
	}}
}

// outdated are the pods that are not of the newest revision.
func (f *Facts) outdated() []*corev1.Pod {
	newest := f.newest()
	if newest == nil {
		return nil
	}
	var old []*corev1.Pod
	for i := range f.Pods {
		if p := &f.Pods[i]; p.DeletionTimestamp == nil && !newest.made(p) && f.revisionOf(p) != nil {
			old = append(old, p)
		}
	}
	return old
}

// waitsForCreation: pods are refused.
func waitsForCreation(f *Facts) []Wait {
	a, ok := f.refusedNow()
	if !ok || f.Workload == nil || f.Pod != "" {
		return nil
	}
	w := Wait{What: "the creation of pods", By: a.Cause, Why: a.Text, Evidence: a.Evidence, Advice: "repair what the message names"}
	if a.Cause == Quota {
		w.Advice = "raise the quota, or make room in it: kubectl describe quota -n " + f.Workload.Meta.Namespace
		for i := range f.Quotas {
			if q := &f.Quotas[i]; strings.Contains(a.Text, "quota: "+q.Name+",") {
				w.Evidence += "; ResourceQuota " + q.Name + " now: " + used(q)
			}
		}
	}
	return []Wait{w}
}

func used(q *corev1.ResourceQuota) string {
	var words []string
	for name, hard := range q.Status.Hard {
		have := q.Status.Used[name]
		words = append(words, fmt.Sprintf("%s %s of %s", name, have.String(), hard.String()))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// ordered: an OrderedReady StatefulSet goes on only when each pod is ready, and
// its rollout does not replace a pod that was broken before.
func ordered(f *Facts) []Wait {
	w := f.Workload
	if w == nil || w.Kind != "StatefulSet" || !w.Ordered || f.Pod != "" {
		return nil
	}
	var first *corev1.Pod
	for i := range f.Pods {
		p := &f.Pods[i]
		if !ready(p) && (first == nil || ordinalOf(p.Name) < ordinalOf(first.Name)) {
			first = p
		}
	}
	missing := int(w.Desired) - len(f.Pods)
	old := f.outdated()
	if first == nil || missing <= 0 && len(old) == 0 {
		return nil
	}
	wait := Wait{
		What: "everything after " + first.Name, By: OrderedReady, Why: first.Name + " is not ready, and podManagementPolicy OrderedReady waits for it",
		Evidence: "spec.podManagementPolicy, and the condition Ready of " + first.Name,
	}
	if newest := f.newest(); newest != nil && !newest.made(first) && first.DeletionTimestamp == nil {
		wait.Why += "; it has an older template, and a template that repairs it does not reach it by itself"
		wait.Advice = "kubectl delete pod " + first.Name + " -n " + w.Meta.Namespace + ", if the new template repairs it"
	}
	return []Wait{wait}
}

// deadline: the controller gave the rollout up, and goes on all the same.
func deadline(f *Facts) []Wait {
	if f.Workload == nil {
		return nil
	}
	c := find(f.Workload.Conditions, "Progressing")
	if c == nil || c.True || c.Reason != "ProgressDeadlineExceeded" {
		return nil
	}
	return []Wait{{
		What: "the rollout", By: DeadlineExceeded, Why: c.Message + " (since " + stamp(c.Time) + ")", Evidence: "condition Progressing, reason " + c.Reason,
		Advice: "repair what its pods wait for, or go back: kubectl rollout undo deployment/" + f.Workload.Meta.Name + " -n " + f.Workload.Meta.Namespace,
	}}
}
