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
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// waitsOfPods are the pods that are not available, grouped by what keeps them.
func waitsOfPods(f *Facts) []Wait {
	var groups []Wait
	members := map[int][]string{}
	add := func(pod string, w Wait) {
		i := slices.IndexFunc(groups, func(g Wait) bool { return g.By == w.By && g.Why == w.Why && g.Evidence == w.Evidence })
		if i < 0 {
			i = len(groups)
			groups = append(groups, w)
		}
		members[i] = append(members[i], pod)
		groups[i].Until = latest(groups[i].Until, w.Until)
	}
	for i := range f.Pods {
		p := &f.Pods[i]
		if w, ok := f.waitOf(p); ok {
			add(p.Name, w)
		}
		if c := resizing(p); c != nil {
			add(p.Name, Wait{
				What: "the resize of ", By: Resized, Why: strings.TrimSpace(c.Reason + ": " + c.Message), Evidence: "condition " + string(c.Type),
				Advice: "make room on the node, or take the resize back",
			})
		}
	}
	for i := range groups {
		slices.Sort(members[i])
		groups[i].What += some(members[i])
	}
	return groups
}

// waitOf is what keeps one pod from being available.
func (f *Facts) waitOf(p *corev1.Pod) (Wait, bool) {
	const available = "the availability of "
	if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return Wait{}, false
	}
	if a, ok := notStarted(p); ok {
		return Wait{What: available, By: a.Cause, Why: a.Text, Evidence: a.Evidence, Advice: adviceFor(a.Cause, p)}, true
	}
	if a, ok := f.waitsForNode(p); ok {
		return Wait{What: available, By: a.Cause, Why: a.Text, Evidence: a.Evidence, Advice: "kubectl describe node " + p.Spec.NodeName}, true
	}
	if ready(p) {
		return f.waitsMinReady(p)
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting == nil && s.State.Terminated == nil || s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 {
			continue
		}
		if a, ok := f.lastEnd(p, &s); ok {
			return Wait{What: available, By: a.Cause, Why: a.Text, Evidence: a.Evidence, Advice: adviceFor(a.Cause, p)}, true
		}
	}
	return f.notReady(p), true
}

// notReady: all that can be said is that its containers are not ready yet.
func (f *Facts) notReady(p *corev1.Pod) Wait {
	w := Wait{What: "the availability of ", By: Starting, Why: "the pod is starting: images are pulled, volumes mounted or init containers run", Evidence: "status.phase"}
	if p.Status.Phase != corev1.PodRunning {
		if p.Spec.NodeName == "" {
			w.Why, w.Evidence = "no node is assigned yet", "spec.nodeName is empty"
		}
		for _, e := range f.ofPod(p) {
			if e.Reason == "FailedMount" || e.Reason == "FailedAttachVolume" || e.Reason == "FailedCreatePodSandBox" {
				w.By, w.Why, w.Evidence = ContainerConfig, e.Message, "its event "+e.Reason
			}
		}
		return w
	}
	for _, g := range p.Spec.ReadinessGates {
		c := podCondition(p, g.ConditionType)
		allReady := podCondition(p, corev1.ContainersReady)
		if (c == nil || c.Status != corev1.ConditionTrue) && allReady != nil && allReady.Status == corev1.ConditionTrue {
			return Wait{
				What: w.What, By: ReadinessGate, Why: "its readiness gate " + string(g.ConditionType) + " is not true", Evidence: "spec.readinessGates",
				Advice: "the controller that sets this condition has to set it",
			}
		}
	}
	w.By, w.Why, w.Evidence = ReadinessProbe, "it runs and is not ready", "condition Ready"
	var last time.Time
	for _, e := range f.ofPod(p) {
		if e.Reason == "Unhealthy" && e.Last.After(last) && (strings.HasPrefix(e.Message, "Readiness probe") || strings.HasPrefix(e.Message, "Startup probe")) {
			last, w.Why, w.Evidence = e.Last, "it runs and is not ready: "+e.Message, "its event Unhealthy"
		}
	}
	w.Advice = "kubectl logs " + p.Name + " -n " + p.Namespace
	return w
}

func (f *Facts) waitsMinReady(p *corev1.Pod) (Wait, bool) {
	if f.Workload == nil || f.Workload.MinReady == 0 {
		return Wait{}, false
	}
	until := podCondition(p, corev1.PodReady).LastTransitionTime.Add(f.Workload.MinReady)
	if !until.After(f.Now) {
		return Wait{}, false
	}
	return Wait{
		What: "the availability of ", By: MinReady, Why: fmt.Sprintf("it is ready and not yet available: minReadySeconds is %d", int(f.Workload.MinReady.Seconds())),
		Evidence: "condition Ready", Until: until,
	}, true
}

// waitsForEnd are objects that should be gone.
func waitsForEnd(f *Facts) []Wait {
	var waits []Wait
	if w := f.Workload; w != nil && w.Meta.DeletionTimestamp != nil && len(w.Meta.Finalizers) > 0 {
		waits = append(waits, finalized(w.Kind+" "+w.Meta.Name, w.Meta.Finalizers, w.Meta.DeletionTimestamp.Time))
	}
	for i := range f.Pods {
		p := &f.Pods[i]
		if p.DeletionTimestamp == nil || p.DeletionTimestamp.After(f.Now) {
			continue
		}
		if len(p.Finalizers) > 0 {
			waits = append(waits, finalized("pod "+p.Name, p.Finalizers, p.DeletionTimestamp.Add(-graceOf(p))))
			continue
		}
		if f.Now.Sub(p.DeletionTimestamp.Time) < reaction {
			continue
		}
		wait := Wait{
			What: "the end of pod " + p.Name, By: Terminating, Why: "its grace period was over at " + stamp(p.DeletionTimestamp.Time) + ", and its kubelet has not confirmed its end",
			Evidence: "its deletion timestamp", Advice: "kubectl describe node " + p.Spec.NodeName,
		}
		if a, ok := f.waitsForNode(p); ok {
			wait.Why, wait.Evidence = wait.Why+": "+a.Text, wait.Evidence+"; "+a.Evidence
		}
		waits = append(waits, wait)
	}
	return waits
}

func finalized(what string, finalizers []string, since time.Time) Wait {
	return Wait{
		What: "the end of " + what, By: Finalizer, Why: "it is being deleted since " + stamp(since) + ", and has the finalizers " + strings.Join(finalizers, ", "),
		Evidence: "metadata.finalizers", Advice: "the controllers of these finalizers have to remove them: look whether they run",
	}
}

// waitsForBudget: pods on a node that is drained, and no eviction is allowed.
func waitsForBudget(f *Facts) []Wait {
	var waits []Wait
	for i := range f.Budgets {
		b := &f.Budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || b.Status.DisruptionsAllowed > 0 {
			continue
		}
		var held []string
		for j := range f.Pods {
			p := &f.Pods[j]
			if _, _, cordoned := f.cordoned(p.Spec.NodeName); cordoned && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
				held = append(held, p.Name)
			}
		}
		if len(held) == 0 {
			continue
		}
		slices.Sort(held)
		waits = append(waits, Wait{
			What: "the eviction of " + some(held), By: DisruptionBudget,
			Why: fmt.Sprintf("PodDisruptionBudget %s allows none: %d of %d pods that it counts are healthy, and it wants %d",
				b.Name, b.Status.CurrentHealthy, b.Status.ExpectedPods, b.Status.DesiredHealthy),
			Evidence: "status.disruptionsAllowed of the budget, and spec.unschedulable of the node",
			Advice:   "wait until more pods are ready, add replicas, or change the budget",
		})
	}
	return waits
}

// waitsForAutoscaler: the number of pods is an autoscaler's, and it is at a bound or
// cannot tell.
func waitsForAutoscaler(f *Facts) []Wait {
	if f.Pod != "" {
		return nil
	}
	var waits []Wait
	for i := range f.Autoscalers {
		hpa := &f.Autoscalers[i]
		for _, c := range hpa.Status.Conditions {
			failed := c.Status == corev1.ConditionFalse && (c.Type == "ScalingActive" || c.Type == "AbleToScale")
			limited := c.Status == corev1.ConditionTrue && c.Type == "ScalingLimited" && c.Reason == "TooManyReplicas"
			if !failed && !limited {
				continue
			}
			waits = append(waits, Wait{
				What: "scaling by HorizontalPodAutoscaler " + hpa.Name, By: Autoscaler, Why: c.Message,
				Evidence: "its condition " + string(c.Type) + ", reason " + c.Reason, Advice: "kubectl describe hpa " + hpa.Name + " -n " + hpa.Namespace,
			})
		}
	}
	return waits
}

func adviceFor(cause Cause, p *corev1.Pod) string {
	at := " " + p.Name + " -n " + p.Namespace
	switch cause {
	case Crashed, Exited, OutOfMemory, LivenessProbe, StartupProbe, Killed:
		return "kubectl logs --previous" + at
	case ImagePull:
		return "kubectl describe pod" + at + ": repair the image's name, the registry or the pull secret"
	case ContainerConfig:
		return "kubectl describe pod" + at + ": repair what the event names, often a ConfigMap or a Secret"
	case Unschedulable:
		return "add room or nodes, or change the requests, selectors and tolerations of the template"
	case SchedulingGated:
		return "the controller that set spec.schedulingGates has to remove them"
	}
	return ""
}

func ready(p *corev1.Pod) bool {
	c := podCondition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
}

func podNames(pods []*corev1.Pod) []string {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(ordinalOf(a.Name), ordinalOf(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

// some names the first pods of many.
func some(names []string) string {
	const named = 2
	if len(names) <= named {
		return strings.Join(names, " and ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), len(names)-named)
}

func ordinalOf(pod string) int {
	n, err := strconv.Atoi(pod[strings.LastIndex(pod, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}

func asMap(template corev1.PodTemplateSpec) (map[string]any, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(raw, &m)
}
