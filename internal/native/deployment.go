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
	"slices"
	"strconv"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Annotations in which a Deployment remembers for which size it scaled a ReplicaSet.
const (
	scaledForAnnotation = "deployment.kubernetes.io/desired-replicas"
	mostForAnnotation   = "deployment.kubernetes.io/max-replicas"
)

// Deployment foresees a change of a Deployment. live is nil where it is new.
func Deployment(live, changed *kappsv1.Deployment, w World) Plan {
	p := newPlan()
	p.Replicas = int(ptr.Deref(changed.Spec.Replicas, 1))
	if live != nil && live.DeletionTimestamp != nil {
		p.warn(BeingDeleted, "the Deployment is being deleted: its controller does nothing more")
		return p
	}
	if missing(&p, w, Pods) || missing(&p, w, ReplicaSets) {
		return p
	}
	r := newRollout(&p, live, changed, w)
	if r.racing() {
		p.unforeseen("the Deployment is paused in the middle of a rollout: if its new pods become ready first, the old ones go, and otherwise all its ReplicaSets grow")
	} else {
		r.play()
		r.tell()
	}
	r.notes(live)
	surround(&p, w, &subject{
		kind: "Deployment", meta: &changed.ObjectMeta, selector: changed.Spec.Selector, template: &changed.Spec.Template,
		liveReplicas: liveReplicas(live), replicas: changed.Spec.Replicas, peak: r.peak(), deadline: changed.Spec.ProgressDeadlineSeconds,
		minReady: changed.Spec.MinReadySeconds, own: r.owners(live),
	})
	return p
}

func liveReplicas(live *kappsv1.Deployment) *int32 {
	if live == nil {
		return nil
	}
	return live.Spec.Replicas
}

// bounds are the pods over and under the number asked for: a percentage of maxSurge
// rounds up and of maxUnavailable down, and where both are 0 one pod may be
// unavailable.
func bounds(d *kappsv1.Deployment) (surge, unavailable int) {
	n := int(ptr.Deref(d.Spec.Replicas, 1))
	rolling := d.Spec.Strategy.RollingUpdate
	if d.Spec.Strategy.Type == kappsv1.RecreateDeploymentStrategyType || rolling == nil {
		return 0, 0
	}
	surge = scaled(rolling.MaxSurge, n, true)
	unavailable = scaled(rolling.MaxUnavailable, n, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, n)
}

// scaled counts a number or a percentage; what cannot be read is 0.
func scaled(value *intstr.IntOrString, of int, up bool) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(value, intstr.FromInt32(0)), of, up)
	if err != nil {
		return 0
	}
	return n
}

// newRollout sorts the pods by their ReplicaSets.
func newRollout(p *Plan, live, changed *kappsv1.Deployment, w World) *rollout {
	r := &rollout{plan: p, d: changed, w: w, replicas: p.Replicas, ready: map[*corev1.Pod]bool{}, born: map[int]int{}}
	r.surge, r.unavailable = bounds(changed)
	if live != nil {
		for i := range w.ReplicaSets {
			rs := &w.ReplicaSets[i]
			if metav1.IsControlledBy(rs, live) {
				r.sets = append(r.sets, r.setOf(rs))
			}
		}
	}
	slices.SortFunc(r.sets, func(a, b *set) int { return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name, b.name)) })
	at := slices.IndexFunc(r.sets, func(s *set) bool { return sameTemplate(s.template, &changed.Spec.Template) })
	if at >= 0 {
		r.fresh = r.sets[at]
	}
	r.underWay = len(r.active()) > 1
	r.rank()
	p.Available = r.available()
	p.FewestAvailable, p.MostPods = p.Available, r.count()
	return r
}

func (r *rollout) setOf(rs *kappsv1.ReplicaSet) *set {
	s := &set{
		name: rs.Name, created: rs.CreationTimestamp.Time, template: &rs.Spec.Template, replicas: int(ptr.Deref(rs.Spec.Replicas, 1)),
		scaledFor: number(rs.Annotations[scaledForAnnotation]), mostFor: number(rs.Annotations[mostForAnnotation]),
	}
	for _, pod := range owned(r.w.Pods, rs.UID) {
		if !active(pod) {
			continue
		}
		s.pods = append(s.pods, pod)
		r.ready[pod] = available(pod, r.d.Spec.MinReadySeconds, r.w.Now)
	}
	return s
}

// number is what an annotation says, or below 0 where it says nothing.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
