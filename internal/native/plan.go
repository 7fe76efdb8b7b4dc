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

package native

import (
	"fmt"
	"slices"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// What happens to a pod.
const (
	Created = "created"
	Deleted = "deleted"
	// Replaced: a pod goes, and one comes in its place: with its name in a
	// StatefulSet, on its node in a DaemonSet.
	Replaced = "replaced"
	// Held: it should happen, and something holds it back.
	Held = "held"
)

// Why it happens.
const (
	NewTemplate  = "NewTemplate"
	ScaleUp      = "ScaleUp"
	ScaleDown    = "ScaleDown"
	PodMissing   = "PodMissing"
	PodEnded     = "PodEnded"
	NodeMatches  = "NodeMatches"
	NodeExcluded = "NodeExcluded"
)

// What stops or changes a rollout.
const (
	Paused             = "Paused"
	OnDelete           = "OnDelete"
	Partition          = "Partition"
	PodNotReady        = "PodNotReady"
	QuotaTooSmall      = "QuotaTooSmall"
	DeadlineTooShort   = "DeadlineTooShort"
	Autoscaled         = "Autoscaled"
	RolloutUnderWay    = "RolloutUnderWay"
	SelectorOverlaps   = "SelectorOverlaps"
	Controlled         = "Controlled"
	ClaimsDeleted      = "ClaimsDeleted"
	TemplateNotApplied = "TemplateNotApplied"
	NoDisruption       = "NoDisruption"
	BeingDeleted       = "BeingDeleted"
)

// Step is what happens to a pod, or to so many that have no name yet.
type Step struct {
	// Wave is when; 0 where the controller defines no order, and where it is held.
	Wave   int
	What   string
	Pod    string
	Count  int
	Reason string
	Why    string
	// Among are the pods of which Count go, where it is not known which.
	Among []string
}

// Pods is how many pods a step is about.
func (s *Step) Pods() int { return max(1, s.Count) }

// Note is a warning or something unknown.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Plan is what a change does to the pods of a workload.
type Plan struct {
	Steps []Step
	// Waves is how many there are, and Starts in how many of them pods come.
	Waves  int
	Starts int
	// Stay are the pods that the change does not touch.
	Stay []string
	// FewestAvailable and MostPods are the bounds on the way. Pods that are
	// terminating do not count.
	FewestAvailable int
	MostPods        int
	// Overlap is how many more there may be for a moment, because pods come before
	// those go that were told to.
	Overlap int
	// Dip is how many fewer may be available for a moment, because the controller
	// counts pods that it has just scaled away.
	Dip int
	// Replicas is how many pods are asked for in the end, and Available how many are
	// available now.
	Replicas  int
	Available int
	// Passing is how many more pods may come for a moment and go again, and
	// PassingAmong the pods that may go in their place.
	Passing      int
	PassingAmong []string
	// Assumed is how many pods that are not ready now are assumed to become so.
	Assumed int
	// MayStop: the controller may stop on the way, until something else happens.
	MayStop bool
	// Unforeseen: there is no model for this change, and Unknown says why.
	Unforeseen bool
	Warnings   []Note
	Unknown    []string
}

// World is what surrounds a workload.
type World struct {
	Now time.Time
	// Pods are those of the namespace that its selector matches.
	Pods        []corev1.Pod
	ReplicaSets []kappsv1.ReplicaSet
	Revisions   []kappsv1.ControllerRevision
	Nodes       []corev1.Node
	Quotas      []corev1.ResourceQuota
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	Budgets     []policyv1.PodDisruptionBudget
	// Unread are the sources that could not be read, with the reason.
	Unread map[string]string
	// Minor is the API server's version, 37 for 1.37; 0 is unknown.
	Minor int
}

// Sources of a World that may be unreadable.
const (
	Pods        = "pods"
	ReplicaSets = "replicasets"
	Revisions   = "controllerrevisions"
	Nodes       = "nodes"
	Quotas      = "resourcequotas"
	Autoscalers = "horizontalpodautoscalers"
	Budgets     = "poddisruptionbudgets"
)

func newPlan() Plan {
	return Plan{Steps: []Step{}, Stay: []string{}, Warnings: []Note{}, Unknown: []string{}}
}

func (p *Plan) add(s Step) {
	p.Steps = append(p.Steps, s)
	p.Waves = max(p.Waves, s.Wave)
}

func (p *Plan) warn(code, format string, args ...any) {
	note := Note{Code: code, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(p.Warnings, note) {
		p.Warnings = append(p.Warnings, note)
	}
}

func (p *Plan) unknown(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.Unknown, text) {
		p.Unknown = append(p.Unknown, text)
	}
}

// unforeseen notes why there is no plan.
func (p *Plan) unforeseen(format string, args ...any) {
	p.Unforeseen = true
	p.unknown("what happens to the pods: "+format, args...)
}

// seen takes the bounds from a moment.
func (p *Plan) seen(available, pods int) {
	p.FewestAvailable = min(p.FewestAvailable, available)
	p.MostPods = max(p.MostPods, pods)
}

// overlapped takes in how many pods there are if what comes in a wave comes before
// anything goes.
func (p *Plan) overlapped(before, come int) {
	p.Overlap = max(p.Overlap, before+come-p.MostPods)
}

// Touches reports whether a pod that exists goes.
func (p *Plan) Touches() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.What == Deleted || s.What == Replaced })
}

// Count is how many pods a thing happens to.
func (p *Plan) Count(what string) int {
	n := 0
	for i := range p.Steps {
		if p.Steps[i].What == what {
			n += p.Steps[i].Pods()
		}
	}
	return n
}

// assume notes that pods of the template asked for become ready.
func (p *Plan) assume(n int) {
	if p.Assumed = n; n > 0 {
		p.unknown("whether %s of the template asked for that are not ready now become ready: it is assumed", countPods(n))
	}
}

// countPods is a number of pods.
func countPods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
