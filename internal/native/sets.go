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
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// active are the ReplicaSets that ask for pods.
func (r *rollout) active() []*set {
	return slices.DeleteFunc(slices.Clone(r.sets), func(s *set) bool { return s.replicas == 0 })
}

// old are the ReplicaSets of other templates.
func (r *rollout) old() []*set {
	return slices.DeleteFunc(slices.Clone(r.sets), func(s *set) bool { return s == r.fresh })
}

// specified is how many pods the ReplicaSets ask for.
func (r *rollout) specified() int {
	n := 0
	for _, s := range r.sets {
		n += s.replicas
	}
	return n
}

func (r *rollout) available() int {
	n := 0
	for _, s := range r.sets {
		n += r.availableOf(s)
	}
	return n
}

func (r *rollout) availableOf(s *set) int {
	n := s.up
	for _, pod := range s.pods {
		if r.ready[pod] {
			n++
		}
	}
	return n
}

func (r *rollout) count() int {
	n := 0
	for _, s := range r.sets {
		n += s.count()
	}
	return n
}

func (s *set) count() int { return len(s.pods) + s.coming + s.up }

// resize scales a ReplicaSet, whose controller follows at once.
func (r *rollout) resize(s *set, to int, reason string) bool {
	changed := s.replicas != to
	s.replicas, s.scaledFor, s.mostFor = to, r.replicas, r.replicas+r.surge
	if changed {
		r.fill(s, reason)
	}
	return changed
}

// fill creates or deletes pods until there are as many as the ReplicaSet asks for.
func (r *rollout) fill(s *set, reason string) {
	switch more := s.replicas - s.count(); {
	case more > 0:
		s.coming += more
		if last := len(s.came) - 1; last >= 0 && s.came[last].wave == r.wave && s.came[last].reason == reason {
			s.came[last].count += more
		} else {
			s.came = append(s.came, arrival{r.wave, more, reason})
		}
		r.born[r.wave] += more
	case more < 0:
		r.remove(s, -more, reason)
	}
	r.plan.seen(r.available(), r.count())
}

// remove takes pods away: first those that just came, then by rank.
func (r *rollout) remove(s *set, n int, reason string) {
	r.removed = true
	young := min(n, s.coming)
	s.coming -= young
	n -= young
	s.risky = s.risky || young > 0
	if n == 0 {
		return
	}
	young = max(0, n-len(s.pods))
	if s.up > 0 && young < s.up || r.moving(s) || r.crowdUnknown() || len(s.gone) > 0 {
		s.unsure = true
	}
	s.up -= young
	n -= young
	for _, pod := range s.pods[:n] {
		s.gone = append(s.gone, departure{pod, r.wave, reason})
	}
	s.pods = s.pods[n:]
}

// moving: pods of a rollout under way are not ready yet, so that another order holds in
// a moment.
func (r *rollout) moving(s *set) bool {
	return s == r.fresh && r.underWay && slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool { return !ready(pod) })
}

// crowdUnknown: pods came whose nodes are not known.
func (r *rollout) crowdUnknown() bool {
	return slices.ContainsFunc(r.sets, func(s *set) bool { return s.coming+s.up > 0 })
}

// rank sorts the pods of every ReplicaSet as they would go.
func (r *rollout) rank() {
	r.crowd = map[string]int{}
	for _, s := range r.sets {
		for _, pod := range s.pods {
			r.crowd[pod.Spec.NodeName]++
		}
	}
	for _, s := range r.sets {
		s.pods, _ = victims(s.pods, len(s.pods), r.crowd, r.w.Now)
	}
}

// settle ends a wave: what came is available, and what went is gone. It reports
// whether that changed anything.
func (r *rollout) settle() bool {
	changed := r.removed
	r.removed = false
	for _, s := range r.sets {
		changed = changed || s.coming > 0
		s.up, s.coming = s.up+s.coming, 0
		for _, pod := range s.pods {
			if !r.ready[pod] && (settled(pod) || s == r.fresh && r.underWay) {
				r.ready[pod], changed = true, true
			}
		}
	}
	return changed
}

// peak is how many pods are there at most beyond those of now.
func (r *rollout) peak() int { return max(0, r.plan.MostPods-len(r.ready)) }

// owners are the controllers of the Deployment's pods.
func (r *rollout) owners(live *kappsv1.Deployment) []types.UID {
	var uids []types.UID
	for i := range r.w.ReplicaSets {
		if ref := r.w.ReplicaSets[i].OwnerReferences; live != nil && len(ref) > 0 && ref[0].UID == live.UID {
			uids = append(uids, r.w.ReplicaSets[i].UID)
		}
	}
	return uids
}
