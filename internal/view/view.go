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

// Package view turns decisions and statuses into rows and sentences for
// people. The kubectl plugin and the dashboard show the same words because
// both take them from here. It is pure: objects in, words out.
package view

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// What would happen to a pod.
const (
	InPlace  = "in place"
	Recreate = "recreate"
	Move     = "move"
	Evict    = "evict"
	Create   = "create"
	Delete   = "delete"
	Adopt    = "adopt"
	Release  = "release"
	Held     = "held back"
)

// Step is what would happen to one pod, and why.
type Step struct {
	What     string `json:"what"`
	Pod      string `json:"pod,omitempty"`
	From     string `json:"from,omitempty"`
	Revision string `json:"revision,omitempty"`
	Reason   string `json:"reason"`
	Why      string `json:"why"`
	// Count is how many pods the line is about, where it is not one.
	Count int `json:"count,omitempty"`
	// Wave is when it happens: the pods of a wave change together, and the next
	// wave begins when they are available. What is held back has none.
	Wave int `json:"wave,omitempty"`
	// restarts: a change in place takes the pod out of service for a while.
	restarts bool
	// goal is the revision of the pod afterwards.
	goal string
}

// Preview is a forecast in words.
type Preview struct {
	Steps   []Step         `json:"steps"`
	Counts  map[string]int `json:"counts"`
	Summary string         `json:"summary"`
	// Disruptive: pods that run now would be recreated or deleted.
	Disruptive bool `json:"disruptive"`
	// Complete is false when the forecast was cut off.
	Complete bool `json:"complete"`
	// Waves is how many waves there are.
	Waves int `json:"waves"`
	// Estimate is how long they take; nil where nothing happens.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Warnings say where the pods of now speak against what is foreseen.
	Warnings []string `json:"warnings,omitempty"`
	// TemplateDiff is what changes in the pod template, as a unified diff of
	// YAML.
	TemplateDiff string `json:"templateDiff,omitempty"`
}

// NewPreview puts a forecast in words, pod by pod.
func NewPreview(f forecast.Run) Preview {
	p := Preview{Counts: map[string]int{}, Complete: f.Complete, Steps: []Step{}}
	var recreated []int // the steps of pods whose successor has not come
	for _, pass := range f.Passes {
		begun := false
		for _, a := range pass {
			if a.Verb == plan.CreatePod && p.succeeds(&recreated, a) {
				continue
			}
			step, ok := stepOf(a)
			if !ok {
				continue
			}
			if step.What == Recreate || step.What == Move {
				recreated = append(recreated, len(p.Steps))
			}
			if !begun {
				begun = true
				p.Waves++
			}
			step.Wave = p.Waves
			p.Steps = append(p.Steps, step)
		}
	}
	for _, b := range f.Blocked {
		p.Steps = append(p.Steps, Step{What: Held, Pod: b.Pod, Reason: b.By, Why: b.Message, Count: max(1, b.Count)})
	}
	p.sum()
	return p
}

// succeeds notes of which revision the successors of recreated pods are, and reports whether a
// pod that is created has the name of one. It is then part of the recreation and gets no line
// of its own.
func (p *Preview) succeeds(recreated *[]int, created plan.Action) bool {
	for _, i := range *recreated {
		p.Steps[i].goal = created.Revision
	}
	at := slices.IndexFunc(*recreated, func(i int) bool { return p.Steps[i].Pod == created.Pod })
	if at >= 0 {
		*recreated = slices.Delete(*recreated, at, at+1)
	}
	return at >= 0
}

// stepOf puts an action in words.
func stepOf(a plan.Action) (Step, bool) {
	step := Step{Pod: a.Pod, From: a.From, Revision: a.Revision, Reason: a.Why.Reason, Why: a.Why.Message}
	switch a.Verb {
	case plan.UpdatePod:
		step.What, step.restarts, step.goal = InPlace, len(a.Replaced) > 0, a.Revision
		step.Why += restarts(a.Replaced)
	case plan.DeletePod, plan.EvictPod:
		step.What = Delete
		if comesBack(a.Why.Reason) {
			step.What = Recreate
		}
		if moves(a.Why.Reason) {
			step.What = Move
		}
	case plan.CreatePod:
		step.What, step.goal = Create, a.Revision
	case plan.AdoptPod:
		step.What = Adopt
	case plan.ReleasePod, plan.OrphanPod:
		step.What = Release
	default:
		return step, false
	}
	return step, true
}

// restarts says which containers a change in place restarts.
func restarts(replaced []plan.ContainerMark) string {
	switch len(replaced) {
	case 0:
		return ""
	case 1:
		return "; container " + replaced[0].Name + " restarts"
	}
	names := make([]string, len(replaced))
	for i := range replaced {
		names[i] = replaced[i].Name
	}
	return "; containers " + strings.Join(names, ", ") + " restart"
}

// comesBack: a pod deleted for this reason gets a successor.
func comesBack(reason string) bool {
	switch reason {
	case appsv1.WhyScaleDown, appsv1.WhySurgeOver, appsv1.WhyReserved, appsv1.WhyCorpseLimit, appsv1.WhyOwnerDeleted:
		return false
	}
	return true
}

// moves: a pod that goes for this reason was replaced before.
func moves(reason string) bool {
	switch reason {
	case appsv1.WhyEvictionRequested, appsv1.WhyNodeLeaving, appsv1.WhyRebalance:
		return true
	}
	return false
}

// Summary is a sentence about how many pods each thing would happen to.
func Summary(counts map[string]int) string {
	words := []struct{ what, form string }{
		{InPlace, "%s will be changed in place"},
		{Recreate, "%s will be recreated"},
		{Move, "%s will be moved"},
		{Evict, "%s will be evicted at once"},
		{Create, "%s will be created"},
		{Delete, "%s will be deleted"},
		{Adopt, "%s will be adopted"},
		{Release, "%s will be released"},
		{Held, "%s held back"},
	}
	var parts []string
	for _, w := range words {
		if n := counts[w.what]; n > 0 {
			parts = append(parts, fmt.Sprintf(w.form, Count(n, "pod")))
		}
	}
	if len(parts) == 0 {
		return "Nothing would happen to any pod."
	}
	return strings.Join(parts, ", ") + "."
}

// Count is a number with its noun.
func Count(n int, noun string) string { return plan.NumberOf(n, noun) }

// Bar is a progress bar of a width in characters.
func Bar(done, total, width int) string {
	if total <= 0 {
		return strings.Repeat("-", width)
	}
	full := min(width, done*width/total)
	return strings.Repeat("#", full) + strings.Repeat("-", width-full)
}

// NotReady is the state of a PodManager that is not what was asked for and does
// not progress, because its user stopped it.
const NotReady = "Not ready"

// State is the condition that says most of a PodManager: what stalls it, what
// is under way, the pin that keeps it from its template, or whether it is ready.
// An object without conditions yet is new.
func State(status *appsv1.PodManagerStatus) (state, reason, message string) {
	for _, kind := range []string{appsv1.ConditionStalled, appsv1.ConditionReconciling, appsv1.ConditionReady} {
		for _, c := range status.Conditions {
			switch {
			case c.Type != kind:
			case kind == appsv1.ConditionReady && c.Reason == appsv1.ReasonPinned:
				return appsv1.ConditionPinned, c.Reason, c.Message
			case c.Type == appsv1.ConditionReady && c.Status != metav1.ConditionTrue:
				return NotReady, c.Reason, c.Message
			default:
				return c.Type, c.Reason, c.Message
			}
		}
	}
	return "new", "", "not reconciled yet"
}

// History lists the last decisions, newest first, as sentences.
func History(entries []appsv1.Decision) []string {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b appsv1.Decision) int { return b.Time.Compare(a.Time.Time) })
	lines := make([]string, 0, len(entries))
	for _, e := range entries {
		lines = append(lines, Sentence(e))
	}
	return lines
}

// Sentence puts one decision in words.
func Sentence(e appsv1.Decision) string {
	if len(e.Pods) == 0 {
		return fmt.Sprintf("%s: %s", e.Action, e.Message)
	}
	return fmt.Sprintf("%s [%s]", report.Note(e), e.Reason)
}
