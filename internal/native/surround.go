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
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// subject is what the surroundings of a workload are compared with.
type subject struct {
	kind     string
	meta     *metav1.ObjectMeta
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// liveReplicas and replicas are the sizes before and after; nil where there is
	// none.
	liveReplicas, replicas *int32
	// peak is how many pods come beyond those of now, at most at once.
	peak     int
	deadline *int32
	minReady int32
	// own are the UIDs of the controllers of its pods.
	own []types.UID
}

// missing notes that a source without which there is no plan could not be read.
func missing(p *Plan, w World, source string) bool {
	why, unread := w.Unread[source]
	if unread {
		p.unforeseen("the %s could not be read: %s", source, why)
	}
	return unread
}

// surround notes what surrounds a workload and stops or changes its rollout.
func surround(p *Plan, w World, s *subject) {
	s.autoscaled(p, w)
	s.quotas(p, w)
	s.deadlines(p)
	s.overlap(p, w)
	s.budgets(p, w)
	if ref := metav1.GetControllerOfNoCopy(s.meta); ref != nil {
		p.warn(Controlled, "%s %s controls this %s and may change it back", ref.Kind, ref.Name, s.kind)
	}
}

// autoscaled: an autoscaler owns the number of replicas.
func (s *subject) autoscaled(p *Plan, w World) {
	if why, unread := w.Unread[Autoscalers]; unread {
		p.unknown("whether a HorizontalPodAutoscaler changes the number of replicas: %s", why)
		return
	}
	for i := range w.Autoscalers {
		hpa := &w.Autoscalers[i]
		if to := hpa.Spec.ScaleTargetRef; to.Kind != s.kind || to.Name != s.meta.Name || s.replicas == nil {
			continue
		}
		lowest, highest := ptr.Deref(hpa.Spec.MinReplicas, 1), hpa.Spec.MaxReplicas
		switch {
		case s.liveReplicas != nil && *s.liveReplicas != *s.replicas:
			p.warn(Autoscaled, "HorizontalPodAutoscaler %s owns the replicas, and will set them again between %d and %d: leave spec.replicas out of the file", hpa.Name, lowest, highest)
		case *s.replicas < lowest || *s.replicas > highest:
			p.warn(Autoscaled, "HorizontalPodAutoscaler %s sets the replicas between %d and %d", hpa.Name, lowest, highest)
		}
	}
}

// quotas: there must be room for the pods that come before others go.
func (s *subject) quotas(p *Plan, w World) {
	if why, unread := w.Unread[Quotas]; unread {
		p.unknown("whether a ResourceQuota has room for the pods that come: %s", why)
		return
	}
	if s.peak <= 0 {
		return
	}
	for i := range w.Quotas {
		q := &w.Quotas[i]
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			p.unknown("whether ResourceQuota %s has room for the pods that come: it has scopes", q.Name)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			hard, need := q.Status.Hard[name], s.needs(name)
			if need == nil {
				continue
			}
			room := hard.DeepCopy()
			room.Sub(q.Status.Used[name])
			if room.Cmp(*need) < 0 {
				p.warn(QuotaTooSmall, "ResourceQuota %s leaves %s of %s, and %s more at once need %s: pods will be refused until there is room",
					q.Name, room.String(), name, countPods(s.peak), need.String())
			}
		}
	}
}

// needs is how much of a quota the pods at the peak take; nil where it is none of theirs.
func (s *subject) needs(name corev1.ResourceName) *resource.Quantity {
	total := resource.Quantity{}
	each := func(of func(corev1.ResourceRequirements) corev1.ResourceList, resourceName corev1.ResourceName) *resource.Quantity {
		for i := range s.template.Spec.Containers {
			amount := of(s.template.Spec.Containers[i].Resources)[resourceName]
			amount.Mul(int64(s.peak))
			total.Add(amount)
		}
		return &total
	}
	requests := func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }
	limits := func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }
	switch name {
	case corev1.ResourcePods, "count/pods":
		return resource.NewQuantity(int64(s.peak), resource.DecimalSI)
	case corev1.ResourceRequestsCPU, corev1.ResourceCPU:
		return each(requests, corev1.ResourceCPU)
	case corev1.ResourceRequestsMemory, corev1.ResourceMemory:
		return each(requests, corev1.ResourceMemory)
	case corev1.ResourceLimitsCPU:
		return each(limits, corev1.ResourceCPU)
	case corev1.ResourceLimitsMemory:
		return each(limits, corev1.ResourceMemory)
	}
	return nil
}

// deadlines: the deadline must be longer than a pod takes to be available.
func (s *subject) deadlines(p *Plan) {
	if s.deadline == nil || s.minReady == 0 {
		return
	}
	if *s.deadline <= s.minReady {
		p.warn(DeadlineTooShort, "progressDeadlineSeconds is %d and minReadySeconds %d: every rollout will be reported as failed", *s.deadline, s.minReady)
	}
}

// overlap: the selector catches pods that belong to others.
func (s *subject) overlap(p *Plan, w World) {
	if _, unread := w.Unread[Pods]; unread {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(s.selector)
	if err != nil {
		return
	}
	var orphans, others []string
	for i := range w.Pods {
		pod := &w.Pods[i]
		if !active(pod) || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		switch ref := metav1.GetControllerOfNoCopy(pod); {
		case ref == nil:
			orphans = append(orphans, pod.Name)
		case !slices.Contains(s.own, ref.UID):
			others = append(others, pod.Name)
		}
	}
	if len(others) > 0 {
		p.warn(SelectorOverlaps, "the selector also matches %s of another controller: %s", countPods(len(others)), someOf(others))
	}
	if len(orphans) > 0 {
		p.warn(SelectorOverlaps, "the selector also matches %s without a controller, which may be adopted: %s", countPods(len(orphans)), someOf(orphans))
		p.unknown("whether %s without a controller are adopted, and then count as pods of this %s", countPods(len(orphans)), s.kind)
	}
}

// someOf names a few.
func someOf(names []string) string {
	const most = 3
	slices.Sort(names)
	if len(names) <= most {
		return fmt.Sprint(names)
	}
	return fmt.Sprintf("%v and %d more", names[:most], len(names)-most)
}

// budgets: a rollout does not ask PodDisruptionBudgets, a drain on the way does.
func (s *subject) budgets(p *Plan, w World) {
	if !p.Touches() {
		return
	}
	for i := range w.Budgets {
		b := &w.Budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(s.template.Labels)) {
			continue
		}
		if p.FewestAvailable < int(b.Status.DesiredHealthy) {
			p.warn(NoDisruption, "a rollout does not ask PodDisruptionBudget %s, which wants %d healthy pods; on the way there are %d", b.Name, b.Status.DesiredHealthy, p.FewestAvailable)
		}
	}
}
