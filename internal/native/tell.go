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
	"cmp"
	"fmt"
	"slices"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// tell writes down what happened to the pods.
func (r *rollout) tell() {
	p := r.plan
	for _, s := range r.sets {
		r.tellGone(s)
		r.tellCame(s)
	}
	slices.SortStableFunc(p.Steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.What, b.What), cmp.Compare(a.Pod, b.Pod))
	})
	slices.Sort(p.Stay)
	p.Starts = len(r.born)
}

// tellGone names the pods that went, where it is certain that they do.
func (r *rollout) tellGone(s *set) {
	doubt := map[*corev1.Pod]bool{}
	if len(s.pods) > 0 && len(s.gone) > 0 {
		for _, pod := range r.doubtful(s) {
			doubt[pod] = true
		}
	}
	open := map[departure]int{}
	var among []string
	for _, d := range s.gone {
		if doubt[d.pod] {
			open[departure{nil, d.wave, d.reason}]++
			among = append(among, d.pod.Name)
			continue
		}
		r.plan.add(Step{Wave: d.wave, What: Deleted, Pod: d.pod.Name, Reason: d.reason, Why: r.why(d.reason)})
	}
	for _, pod := range s.pods {
		switch {
		case doubt[pod]:
			among = append(among, pod.Name)
		case s.risky && !ready(pod):
			r.plan.PassingAmong = append(r.plan.PassingAmong, pod.Name)
		default:
			r.plan.Stay = append(r.plan.Stay, pod.Name)
		}
	}
	slices.Sort(among)
	n := 0
	for d, count := range open {
		n += count
		r.plan.add(Step{Wave: d.wave, What: Deleted, Count: count, Reason: d.reason, Why: r.why(d.reason), Among: among})
	}
	if n > 0 {
		r.plan.unknown("which %d of the %s of %s go: their rank is the same, or is another in a moment", n, countPods(len(among)), s.name)
	}
}

// doubtful are the pods of which some go and some stay.
func (r *rollout) doubtful(s *set) []*corev1.Pod {
	all := slices.Clone(s.pods)
	for _, d := range s.gone {
		all = append(all, d.pod)
	}
	if s.unsure {
		return all
	}
	_, doubtful := victims(all, len(s.gone), r.crowd, r.w.Now)
	return doubtful
}

// tellCame counts the pods that came and stay. Those of an old template that a rollout
// takes away again may never come.
func (r *rollout) tellCame(s *set) {
	left := s.coming + s.up
	for _, a := range s.came {
		n := min(left, a.count)
		if left -= n; n > 0 {
			r.plan.add(Step{Wave: a.wave, What: Created, Count: n, Reason: a.reason, Why: r.whyCame(a.reason)})
		}
		r.plan.Passing += a.count - n
	}
}

func (r *rollout) why(reason string) string {
	switch {
	case reason == ScaleDown:
		return fmt.Sprintf("%s asked for", countPods(r.replicas))
	case r.d.Spec.Strategy.Type == kappsv1.RecreateDeploymentStrategyType:
		return "strategy Recreate: all old pods go before new ones come"
	}
	return "its template is not the one asked for"
}

func (r *rollout) whyCame(reason string) string {
	if reason == NewTemplate {
		return "with the template asked for"
	}
	return fmt.Sprintf("%s asked for", countPods(r.replicas))
}

// notes says what stops the rollout, and what is assumed.
func (r *rollout) notes(live *kappsv1.Deployment) {
	p := r.plan
	if p.Passing > 0 {
		p.unknown("whether up to %s more come and go again: the Deployment scales its ReplicaSets before it rolls out", countPods(p.Passing))
	}
	if len(p.PassingAmong) > 0 {
		p.unknown("whether %s, not ready yet, go in their place", strings.Join(p.PassingAmong, ", "))
	}
	if live == nil {
		return
	}
	if r.d.Spec.Paused {
		if !sameTemplate(&live.Spec.Template, &r.d.Spec.Template) || r.fresh == nil {
			p.add(Step{What: Held, Count: max(1, p.Available), Reason: Paused, Why: "the Deployment is paused: kubectl rollout resume lets the new template out"})
		}
		p.warn(Paused, "the Deployment is paused: it is scaled, but no template is rolled out until it is resumed")
	}
	if !r.underWay {
		return
	}
	p.warn(RolloutUnderWay, "a rollout is already under way: the pods are of %d templates", len(r.wasActive()))
	if p.Unforeseen {
		return
	}
	p.assume(r.unready())
	if p.Dip = r.dip(); p.Dip > 0 {
		p.unknown("whether for a moment %d fewer are available: if new pods become ready just then, the controller still counts those that it has scaled away", p.Dip)
	}
}

// dip counts the ready pods of old ReplicaSets that a scale-down takes at once, while pods of the
// new one are assumed to become ready: the rollout goes by what the ReplicaSets reported.
func (r *rollout) dip() int {
	n := 0
	for _, s := range r.old() {
		for _, d := range s.gone {
			if d.wave == 1 && d.reason == ScaleDown && ready(d.pod) && r.plan.Assumed > 0 {
				n++
			}
		}
	}
	return min(n, r.plan.FewestAvailable)
}

// wasActive are the ReplicaSets with pods at the beginning.
func (r *rollout) wasActive() []*set {
	return slices.DeleteFunc(slices.Clone(r.sets), func(s *set) bool { return len(s.pods)+len(s.gone) == 0 })
}

// unready are the pods of the template that are not ready now.
func (r *rollout) unready() int {
	n := 0
	if r.fresh == nil {
		return 0
	}
	for _, pod := range r.fresh.pods {
		if !ready(pod) {
			n++
		}
	}
	return n
}
