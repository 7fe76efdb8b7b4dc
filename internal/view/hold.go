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

package view

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// Hold is something that should happen and does not.
type Hold struct {
	// What is what should happen.
	What string `json:"what,omitempty"`
	// By is what holds it back, a documented reason, and Why a sentence.
	By  string `json:"by"`
	Why string `json:"why"`
	// Text is all of that in a sentence.
	Text string `json:"text"`
	// Until is how long the wait lasts, where it ends by itself.
	Until string `json:"until,omitempty"`
	// Advice is what to do about it.
	Advice string `json:"advice,omitempty"`
}

// Subject is the PodManager that advice is about.
type Subject struct {
	Name string
	// Flags are those that commands need to find it, " -n shop" say, or empty.
	Flags string
	// Unseen is the sentence of Unseen, or empty.
	Unseen string
}

// ByOperator is what holds a spec back that no operator has seen.
const ByOperator = "NotSeen"

// Unseen says that no operator has seen the latest spec of an object; empty where one has.
func Unseen(generation int64, status *appsv1.PodManagerStatus) string {
	if status.ObservedGeneration == generation {
		return ""
	}
	return fmt.Sprintf("the operator has not seen generation %d yet", generation)
}

// Begun leaves out the blockers by which one pod waits for another: where no operator has
// seen the spec, none has begun.
func (s Subject) Begun(blocked []plan.Blocked) []plan.Blocked {
	if s.Unseen == "" {
		return blocked
	}
	return slices.DeleteFunc(slices.Clone(blocked), func(b plan.Blocked) bool {
		return b.By == appsv1.BlockedByBudget || b.By == appsv1.BlockedByOrder || b.By == appsv1.BlockedByBatch
	})
}

// NewHold puts a blocker of a PodManager in words.
func NewHold(b plan.Blocked, about Subject, now time.Time) Hold {
	hold := Hold{What: b.Verb.Facts().Noun, By: b.By, Why: b.Message, Advice: Advice(b.By, about)}
	if hold.What == "" {
		hold.What = string(b.Verb)
	}
	switch {
	case b.Pod != "" && b.Count > 1:
		hold.What += fmt.Sprintf(" of %s and %d more", b.Pod, b.Count-1)
	case b.Pod != "":
		hold.What += " of " + b.Pod
	case b.Count > 0:
		hold.What += " of " + Count(b.Count, "pod")
	}
	hold.Text = sentence(hold.What, hold.By, hold.Why)
	if b.Until.After(now) {
		hold.Until = duration.HumanDuration(b.Until.Sub(now))
	}
	if waits := b.By == appsv1.BlockedByReplacement || b.By == appsv1.BlockedByNodes; waits && !b.Until.IsZero() {
		hold.Advice += letThrough
	}
	return hold
}

// letThrough is said of an eviction that waits. A pod that leaves because its node
// announced its end, or for a rebalance, has no deadline.
const letThrough = "; after spec.disruption.deadlineSeconds, or the operator's --max-eviction-hold where that is shorter, the eviction is let through"

// Holds are all that holds a fleet back: what stalls it, the planner's blockers, and
// what its pods cannot overcome.
func Holds(status *appsv1.PodManagerStatus, causes []report.Cause, blocked []plan.Blocked, about Subject, now time.Time) []Hold {
	holds := []Hold{}
	if about.Unseen != "" {
		holds = append(holds, Hold{
			What: "the latest spec", By: ByOperator, Why: about.Unseen, Advice: "kubectl podmanager doctor" + about.Flags + ": is an operator running?",
			Text: sentence("the latest spec", ByOperator, about.Unseen),
		})
	}
	stalled := meta.FindStatusCondition(status.Conditions, appsv1.ConditionStalled)
	if stalled != nil {
		holds = append(holds, Hold{
			By: stalled.Reason, Why: stalled.Message, Advice: Advice(stalled.Reason, about),
			Text: sentence("everything", stalled.Reason, stalled.Message),
		})
	}
	for _, c := range causes {
		if c.Trouble {
			holds = append(holds, heldBy(c, about))
		}
	}
	refused, why := report.RefusedEviction(status.Conditions)
	if refused != "" {
		holds = append(holds, NewHold(plan.Blocked{Verb: plan.EvictPod, Pod: refused, By: appsv1.BlockedByDisruptionBudget, Message: why}, about, now))
	}
	for _, b := range about.Begun(blocked) {
		if refused != "" && b.Pod == refused && b.By == appsv1.BlockedByTermination {
			continue // it does not terminate yet
		}
		hold := NewHold(b, about, now)
		if stalled == nil || stalled.Reason != hold.By || stalled.Message != hold.Why {
			holds = append(holds, hold)
		}
	}
	return holds
}

// heldBy puts the cause that keeps pods from being available in words.
func heldBy(c report.Cause, about Subject) Hold {
	pods, are := c.Pods[0], "is"
	if more := len(c.Pods) - 1; more > 0 {
		pods, are = fmt.Sprintf("%s and %d more", pods, more), "are"
	}
	return Hold{
		What: "the availability of " + pods, By: c.Reason, Why: c.String(), Advice: podAdvice(c.Reason, c.Pods[0], about),
		Text: fmt.Sprintf("%s %s not available (%s): %s", pods, are, c.Reason, c),
	}
}

func sentence(what, by, why string) string {
	return fmt.Sprintf("%s is held back by %s: %s", what, by, why)
}

// podAdvice is what a user can do for a pod that is not available.
func podAdvice(reason, pod string, about Subject) string {
	pod += about.Flags
	switch reason {
	case appsv1.UnavailableCrashing:
		return "repair what the container prints (kubectl logs --previous " + pod + "), or go back: kubectl podmanager rollout undo " + about.Name + about.Flags
	case appsv1.UnavailableImage:
		return "kubectl describe pod " + pod + ": repair the image's name, the registry or the pull secret"
	case appsv1.UnavailableContainer:
		return "kubectl describe pod " + pod + ": repair what the event names, often a ConfigMap or a Secret"
	case appsv1.UnavailableVolume:
		return "kubectl describe pvc" + about.Flags + ": create the volume, or repair the storage class"
	case appsv1.UnavailableUnschedulable:
		return "add room or nodes, or change the requests, selectors and tolerations of spec.template"
	case appsv1.UnavailableGated:
		return "the controller that set spec.schedulingGates has to remove them"
	case appsv1.UnavailableNodeDown:
		return "kubectl describe node: repair it, or delete it so that its pods are replaced"
	case appsv1.UnavailableResize:
		return "make room on the node, or wait for update.resizeDeadlineSeconds: then the pod is recreated"
	}
	return ""
}

// Advice is what a user can do about a blocker or a stall; empty where only time
// helps.
func Advice(by string, about Subject) string {
	rollout := func(verb string) string { return "kubectl podmanager rollout " + verb + " " + about.Name + about.Flags }
	switch by {
	case appsv1.BlockedByPause:
		return rollout("resume")
	case appsv1.BlockedByPartition:
		return "lower spec.update.partition when the updated pods have proved themselves"
	case appsv1.BlockedByOnDelete:
		return "kubectl podmanager delete-pod POD" + about.Flags + ", one by one"
	case appsv1.BlockedByDeadline:
		return "repair the template, or go back: " + rollout("undo")
	case appsv1.BlockedByBudget:
		return "wait until the pods that were changed are available, or raise spec.update.maxUnavailable"
	case appsv1.BlockedByBackoff, appsv1.ReasonPodsFailing:
		return "look at why the pods fail: kubectl logs" + about.Flags + ", kubectl describe pod" + about.Flags
	case appsv1.BlockedByName:
		return "delete the pod that has the name, or label it podmanager=" + about.Name + " to have it adopted"
	case appsv1.BlockedByHold:
		return "the owner of the hold label has to remove it from the pod"
	case appsv1.BlockedByDisruptionBudget:
		return "kubectl get pdb" + about.Flags + ": a budget allows no disruption now"
	case appsv1.BlockedByPin:
		return "follow the template again: " + rollout("undo") + " --clear"
	case appsv1.BlockedByMissingPin:
		return rollout("undo") + " --to-revision=N, or --clear"
	case appsv1.BlockedByOrder:
		return "wait for that pod, or set spec.podManagementPolicy to Parallel"
	case appsv1.BlockedByReplacement:
		return "wait for the replacement, or see what it waits for: kubectl podmanager status " + about.Name + about.Flags
	case appsv1.BlockedByNodes:
		return "uncordon a node or add one"
	case appsv1.BlockedByTakeOver:
		return "let kubectl podmanager migrate end, or take the annotation " + appsv1.AnnotationTakeOver + " off when all pods are adopted"
	case appsv1.ReasonQuotaExceeded:
		return "kubectl describe quota" + about.Flags + ": raise it, or ask for less"
	case appsv1.ReasonPodsRefused:
		return "repair what the message names in spec.template"
	case appsv1.ReasonChangesRefused:
		return "change the policy, webhook or role that the message names"
	}
	return ""
}
