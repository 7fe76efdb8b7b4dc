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
	"math"
	"slices"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// rollout plays a Deployment forward. Scaling comes first and keeps the proportions of
// the ReplicaSets; then the new ReplicaSet grows as far as maxSurge allows, and the old
// ones shrink as far as maxUnavailable allows, pods that are not available first.
type rollout struct {
	plan *Plan
	d    *kappsv1.Deployment
	w    World

	replicas, surge, unavailable int
	// sets are the ReplicaSets, oldest first; fresh is the one of the template, nil
	// until it is there.
	sets  []*set
	fresh *set
	// underWay: pods of the template that are not ready now are assumed to become so.
	underWay bool
	// ready are the pods that are available.
	ready map[*corev1.Pod]bool
	wave  int
	// born is how many pods come in a wave.
	born map[int]int
	// removed: pods went in this wave.
	removed bool
	// crowd is how many pods each node has now.
	crowd map[string]int
}

// set is a ReplicaSet.
type set struct {
	name     string
	created  time.Time
	template *corev1.PodTemplateSpec
	replicas int
	// scaledFor and mostFor are the size and the most pods of the Deployment for
	// which it was scaled last; below 0 where that is not known.
	scaledFor, mostFor int
	// pods exist; coming and up are those that came since, not ready and ready.
	pods       []*corev1.Pod
	coming, up int
	came       []arrival
	gone       []departure
	// unsure: which of the pods go depends on what happens on the way.
	unsure bool
	// risky: pods that just came go again, or others that are not ready yet.
	risky bool
}

type arrival struct {
	wave, count int
	reason      string
}

type departure struct {
	pod    *corev1.Pod
	wave   int
	reason string
}

// play goes wave by wave, until nothing happens any more.
func (r *rollout) play() {
	for _, s := range r.sets { // what the ReplicaSets have not done yet
		if r.wave = 1; s.count() != s.replicas {
			r.fill(s, PodMissing)
		}
	}
	for r.wave = 1; ; {
		acted, before := false, r.count()-r.born[r.wave]
		for r.sync() {
			acted = true
		}
		r.plan.overlapped(before, r.born[r.wave])
		settled := r.settle()
		if acted || r.born[r.wave] > 0 {
			r.wave++
		}
		if !settled {
			return
		}
	}
}

// racing: paused half-way, with a new ReplicaSet that has its size and pods that are not ready.
// When they are, the old ReplicaSets go; until then there is room for the surge to be shared.
func (r *rollout) racing() bool {
	f := r.fresh
	return r.d.Spec.Paused && r.underWay && f != nil && f.replicas == r.replicas && r.availableOf(f) < r.replicas && r.specified() != r.replicas+r.surge &&
		r.d.Spec.Strategy.Type != kappsv1.RecreateDeploymentStrategyType
}

// sync is one pass of the controller; it reports whether it changed something.
func (r *rollout) sync() bool {
	if r.d.Spec.Paused || r.resized() {
		return r.scale()
	}
	if r.d.Spec.Strategy.Type == kappsv1.RecreateDeploymentStrategyType {
		return r.recreate()
	}
	return r.roll()
}

// resized: a ReplicaSet was scaled for another size of the Deployment.
func (r *rollout) resized() bool {
	return slices.ContainsFunc(r.active(), func(s *set) bool { return s.scaledFor >= 0 && s.scaledFor != r.replicas })
}

func (r *rollout) scale() bool {
	active := r.active()
	if len(active) < 2 {
		only := r.newest()
		if len(active) == 1 {
			only = active[0]
		}
		return only != nil && only.replicas != r.replicas && r.resize(only, r.replicas, scaleReason(r.replicas-only.replicas))
	}
	if f := r.fresh; f != nil && f.replicas == r.replicas && f.scaledFor == r.replicas && r.availableOf(f) == r.replicas {
		changed := false
		for _, s := range r.old() {
			changed = r.resize(s, 0, ScaleDown) || changed
		}
		return changed
	}
	if r.d.Spec.Strategy.Type == kappsv1.RecreateDeploymentStrategyType {
		return false
	}
	return r.proportional(active)
}

func scaleReason(more int) string {
	if more > 0 {
		return ScaleUp
	}
	return ScaleDown
}

// newest is the ReplicaSet of the template, or else the newest.
func (r *rollout) newest() *set {
	if r.fresh != nil || len(r.sets) == 0 {
		return r.fresh
	}
	return r.sets[len(r.sets)-1]
}

// proportional shares what comes or goes among the ReplicaSets by their sizes; what
// rounding leaves over is the largest one's.
func (r *rollout) proportional(active []*set) bool {
	most := 0
	if r.replicas > 0 {
		most = r.replicas + r.surge
	}
	have := 0
	for _, s := range active {
		have += s.replicas
	}
	more := most - have
	slices.SortStableFunc(active, func(a, b *set) int {
		age := cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name, b.name))
		if more > 0 {
			age = -age
		}
		return cmp.Or(cmp.Compare(b.replicas, a.replicas), age)
	})
	sizes, shared := make([]int, len(active)), 0
	for i, s := range active {
		share := 0
		if more != shared {
			share = r.share(s)
		}
		if more > 0 {
			share = min(share, more-shared)
		} else {
			share = max(share, more-shared)
		}
		sizes[i], shared = s.replicas+share, shared+share
	}
	sizes[0] = max(0, sizes[0]+more-shared)
	changed := false
	for i, s := range active {
		noted := s.scaledFor != r.replicas || s.mostFor != r.replicas+r.surge
		changed = r.resize(s, sizes[i], scaleReason(sizes[i]-s.replicas)) || noted || changed
	}
	return changed
}

// share is how much a ReplicaSet grows or shrinks to keep its proportion.
func (r *rollout) share(s *set) int {
	if r.replicas == 0 {
		return -s.replicas
	}
	before := s.mostFor
	if before <= 0 {
		before = r.count()
	}
	if before == 0 {
		return 0
	}
	return int(math.Round(float64(s.replicas*(r.replicas+r.surge))/float64(before))) - s.replicas
}

// recreate takes away all old pods, waits until they are gone, and makes the new ones.
func (r *rollout) recreate() bool {
	changed := false
	for _, s := range r.old() {
		changed = r.resize(s, 0, NewTemplate) || changed
	}
	if changed || r.removed {
		return changed
	}
	return r.resize(r.need(), r.replicas, r.arrivalReason())
}

// roll lets the new ReplicaSet grow, or else the old ones shrink.
func (r *rollout) roll() bool {
	f := r.need()
	switch room := r.replicas + r.surge - r.specified(); {
	case f.replicas > r.replicas:
		return r.resize(f, r.replicas, ScaleDown)
	case f.replicas < r.replicas && room > 0:
		return r.resize(f, f.replicas+min(room, r.replicas-f.replicas), r.arrivalReason())
	}
	return r.shrink()
}

// arrivalReason: the pods come for the template where there are others.
func (r *rollout) arrivalReason() string {
	if len(r.sets) == 1 {
		return ScaleUp
	}
	return NewTemplate
}

// shrink makes the old ReplicaSets smaller, oldest first: by their pods that are not
// available, and then by as many as are available beyond the fewest allowed.
func (r *rollout) shrink() bool {
	old := slices.DeleteFunc(r.old(), func(s *set) bool { return s.replicas == 0 })
	fewest := r.replicas - r.unavailable
	left := r.specified() - fewest - (r.fresh.replicas - r.availableOf(r.fresh))
	if len(old) == 0 || left <= 0 {
		return false
	}
	changed := false
	for _, s := range old {
		if n := min(left, s.replicas-r.availableOf(s)); n > 0 {
			left -= n
			changed = r.resize(s, s.replicas-n, NewTemplate) || changed
		}
	}
	spare := r.available() - fewest
	for _, s := range old {
		if n := min(spare, s.replicas); n > 0 {
			spare -= n
			changed = r.resize(s, s.replicas-n, NewTemplate) || changed
		}
	}
	return changed
}

// need makes the ReplicaSet of the template, where there is none.
func (r *rollout) need() *set {
	if r.fresh == nil {
		r.fresh = &set{template: &r.d.Spec.Template, created: r.w.Now, scaledFor: r.replicas, mostFor: r.replicas + r.surge}
		r.sets = append(r.sets, r.fresh)
	}
	return r.fresh
}
