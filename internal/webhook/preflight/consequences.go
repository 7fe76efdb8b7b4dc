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

package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/view"
)

const (
	// maxNames is how many pods a warning names.
	maxNames = 10
	// maxTaken is how many names that are taken get a warning each.
	maxTaken = 3
)

// foresee asks the planner what the change will do.
func (i *Inspector) foresee(ctx context.Context, c Change, after desired.Fleet) Findings {
	future, err := i.plan(ctx, after)
	if err != nil {
		return warn("what this does to the pods was not foreseen: %v", err)
	}
	var present plan.Decision
	if c.Old != nil {
		if present, err = i.plan(ctx, c.Kind.Fleet(c.Old)); err != nil {
			return warn("what this does to the pods was not foreseen: %v", err)
		}
	}
	warnings := consequences(present, future)
	if after.Desired.Replicas == 0 && (c.Old == nil || c.Kind.Fleet(c.Old).Desired.Replicas > 0) {
		warnings = append(warnings, "replicas is 0: no pod will run")
	}
	return Findings{Warnings: warnings}
}

// plan is the planner's decision with the budget and the order lifted. They spread
// what happens over time; what it is in the end is the same.
func (i *Inspector) plan(ctx context.Context, f desired.Fleet) (plan.Decision, error) {
	seen, err := i.observer.Observe(ctx, f)
	if err != nil {
		return plan.Decision{}, err
	}
	desired := f.Desired
	desired.Update.MaxUnavailable = desired.Replicas + len(seen.Observed.Pods)
	desired.Ordered = false
	if desired.Finalizer == plan.FinalizerMissing {
		desired.Finalizer = plan.FinalizerPresent // it will be there
	}
	return plan.Plan(desired, seen.Observed, i.clock.Now()), nil
}

// effect is what happens to a pod or a claim, in the words of a warning.
type effect int

const (
	deleted effect = iota
	recreated
	changedInPlace
	adopted
	claimDeleted
	unspoken // creations, revisions and other things that take nothing away
)

// kindOf sorts an action.
func kindOf(a *plan.Action) effect {
	switch a.Verb {
	case plan.DeletePod, plan.EvictPod:
		switch a.Why.Reason {
		case appsv1.WhyScaleDown, appsv1.WhySurgeOver, appsv1.WhyReserved, appsv1.WhyCorpseLimit:
			return deleted
		}
		return recreated
	case plan.UpdatePod, plan.ResizePod, plan.ShutGate:
		return changedInPlace
	case plan.AdoptPod:
		return adopted
	case plan.CondemnClaim:
		if a.UID == "" {
			return unspoken // it is looked for: there need be none
		}
		return claimDeleted // when its pod is gone
	case plan.DeleteClaim:
		return claimDeleted
	}
	return unspoken
}

// group are the pods to which the same happens for the same reason.
type group struct {
	effect effect
	why    string
	names  []string
}

// consequences are what future does and present does not, in sentences.
func consequences(present, future plan.Decision) []string {
	known := map[string]bool{}
	for n := range present.Actions {
		known[signature(&present.Actions[n])] = true
	}
	var groups []*group
	for n := range future.Actions {
		a := &future.Actions[n]
		kind := kindOf(a)
		if kind == unspoken || known[signature(a)] {
			continue
		}
		groups = add(groups, kind, a)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return int(a.effect - b.effect) })
	var sentences []string
	for _, g := range groups {
		sentences = append(sentences, g.sentence(future))
	}
	if present.Pinned.Overrides() && future.Pinned == nil {
		sentences = append(sentences, "the pin to revision "+present.Pinned.Revision+" ends: the pods follow the template again")
	}
	return append(sentences, heldBack(present, future)...)
}

// signature reports whether two plans do the same to a pod for the same reason.
func signature(a *plan.Action) string {
	return strings.Join([]string{string(a.Verb), a.Pod, a.Claim, a.Why.Message}, "\x00")
}

func add(groups []*group, kind effect, a *plan.Action) []*group {
	why := ""
	switch kind {
	case recreated:
		why = strings.TrimPrefix(a.Why.Message, "recreated: ")
	case changedInPlace:
		why = strings.TrimPrefix(a.Why.Message, "in place: ")
	}
	name := a.Pod
	if kind == claimDeleted {
		name = a.Claim
	}
	for _, g := range groups {
		if g.effect == kind && g.why == why {
			if !slices.Contains(g.names, name) { // a pod that is resized and updated
				g.names = append(g.names, name)
			}
			return groups
		}
	}
	return append(groups, &group{effect: kind, why: why, names: []string{name}})
}

func (g *group) sentence(future plan.Decision) string {
	count := number(len(g.names), future)
	switch g.effect {
	case deleted:
		return fmt.Sprintf("%s will be deleted: %s", count, list(g.names))
	case recreated:
		return fmt.Sprintf("%s will be recreated: %s", count, g.why)
	case changedInPlace:
		return fmt.Sprintf("%s will be changed in place: %s", count, g.why)
	case adopted:
		return fmt.Sprintf("%s without an owner will be taken in: %s", count, list(g.names))
	}
	whose := "their"
	if len(g.names) == 1 {
		whose = "its"
	}
	return fmt.Sprintf("%s will be deleted with %s data: %s", view.Count(len(g.names), "volume claim"), whose, list(g.names))
}

// number counts pods. One pass of the planner goes only so far.
func number(n int, d plan.Decision) string {
	more := slices.ContainsFunc(d.Blocked, func(b plan.Blocked) bool { return b.By == appsv1.BlockedByBatch })
	if more {
		return fmt.Sprintf("at least %d pods", n)
	}
	return view.Count(n, "pod")
}

func list(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// heldBack says what would happen if nothing blocked it.
func heldBack(present, future plan.Decision) []string {
	var sentences []string
	taken, takenOver := 0, false
	for _, b := range future.Blocked {
		if slices.ContainsFunc(present.Blocked, func(p plan.Blocked) bool { return p.By == b.By && p.Message == b.Message && p.Count == b.Count }) {
			continue
		}
		switch b.By {
		case appsv1.BlockedByMissingPin:
			sentences = append(sentences, b.Message)
		case appsv1.BlockedByTakeOver:
			if !takenOver {
				sentences = append(sentences, "no pod is created, changed or deleted yet: "+b.Message)
			}
			takenOver = true
		case appsv1.BlockedByName:
			if taken++; taken <= maxTaken {
				sentences = append(sentences, b.Message)
			}
		case appsv1.BlockedByPause, appsv1.BlockedByPartition, appsv1.BlockedByOnDelete, appsv1.BlockedByHold, appsv1.BlockedByPin:
			sentences = append(sentences, fmt.Sprintf("%s will not change yet: %s", number(max(1, b.Count), plan.Decision{}), b.Message))
		}
	}
	if taken > maxTaken {
		sentences = append(sentences, fmt.Sprintf("%d more names are taken", taken-maxTaken))
	}
	return sentences
}
