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

package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// act is what a write does to a pod that serves.
type act string

const (
	takes    act = "deleted"
	restarts act = "restarted"
)

// actOf is what the operator's write does to the pod's service: a deletion or an
// eviction ends it; another image of a container, a resize that restarts one, or a
// shut readiness gate interrupts it: "maxUnavailable: how many pods may be
// unavailable, including pods that a change in place restarts".
func actOf(r *Revision, before, after *corev1.Pod) act {
	switch {
	case r.Actor != Operator || before == nil || before.DeletionTimestamp != nil:
		return ""
	case r.Gone || after.DeletionTimestamp != nil:
		return takes
	case Serves(before) && !Serves(after), resizeRestarts(&before.Spec, &after.Spec):
		return restarts
	}
	return ""
}

// resizeRestarts: "resized through the resize subresource; no restart, unless the
// container's resizePolicy asks for one".
func resizeRestarts(before, after *corev1.PodSpec) bool {
	for _, b := range sized(before) {
		i := slices.IndexFunc(sized(after), func(c corev1.Container) bool { return c.Name == b.Name })
		if i < 0 {
			continue
		}
		a := sized(after)[i]
		for _, policy := range b.ResizePolicy {
			changed := !b.Resources.Requests.Name(policy.ResourceName, "").Equal(*a.Resources.Requests.Name(policy.ResourceName, "")) ||
				!b.Resources.Limits.Name(policy.ResourceName, "").Equal(*a.Resources.Limits.Name(policy.ResourceName, ""))
			if changed && policy.RestartPolicy == corev1.RestartContainer {
				return true
			}
		}
	}
	return false
}

// checkBudget is U, for every voluntary act whatever its cause:
//
//	update.maxUnavailable: "how many pods, or which percentage of replicas rounded
//	down, may be unavailable, including pods that a change in place restarts";
//	"The operator updates unavailable pods first and without using budget";
//	"reserveOrdinals: the operator moves it to another ordinal, within
//	maxUnavailable and maxSurge"; "If both are 0, one pod may be unavailable".
//
// So no serving pod goes when that leaves fewer serving pods than replicas less
// maxUnavailable, and no available one when that leaves fewer available. A pod
// that does not serve may always go, and so may one that a user marked with the
// delete label. An owner that is being deleted keeps no pod.
//
// The writer is bound by what it had read of the owner or could have since, and
// by the pods as they were when it looked: it is right if it is for one of these.
func (c *checker) checkBudget(r *Revision, before, after *corev1.Pod) {
	what := actOf(r, before, after)
	s := c.services[after.UID]
	if what == "" || s == nil || !c.sees(r) || !s.surelyServed(r) || DeleteRequested(before) {
		return
	}
	var worst *Spec
	for _, v := range c.candidates(r, s.owner) {
		if v.Deleted || c.affords(r, s, v.Spec, what) && c.sparesDrains(r, s, &v, what) {
			return
		}
		worst = v.Spec
	}
	if worst != nil && !c.mayLeave(r, s, what) {
		c.report(r, "U", "pod %s, which serves, is %s: %d others serve and %d are available, and %d have to (replicas %d, maxUnavailable %d)",
			after.Name, what, c.left(r, s, 0), c.left(r, s, worst.MinReady), worst.needs(what), worst.Replicas, worst.MaxUnavailable)
	}
}

// sparesDrains: while a pod has to leave, replicas others serve after a deletion,
// unless a rollout asks for it.
func (c *checker) sparesDrains(r *Revision, s *service, v *ownerVersion, what act) bool {
	leaver := c.drained(r, s.owner, v.Spec)
	if what != takes || leaver == nil || leaver == s || c.wantsGone(s, v) {
		return true
	}
	return c.left(r, s, 0) >= v.Replicas-c.broken(r, leaver, v.Spec)
}

// sees: the history says what the writer had seen of pods, and it was the only one.
func (c *checker) sees(r *Revision) bool {
	return r.Actor == Operator && r.Seen > 0 && !c.rules.split(r) && c.rules.Kind == Kind
}

func (s *Spec) needs(what act) int {
	if what == restarts {
		return s.Replicas - s.UnavailableInPlace()
	}
	return s.Replicas - s.Unavailable()
}

// affords: enough others serve, and enough are available where the pod is.
func (c *checker) affords(r *Revision, s *service, v *Spec, what act) bool {
	if c.left(r, s, 0) < v.needs(what) {
		return false
	}
	available := v.MinReady > 0 && r.Time.Sub(s.began) >= v.MinReady+slack
	return !available || c.left(r, s, v.MinReady) >= v.needs(what)
}

// mayLeave: the pod has to leave its node, and V says when it may: "another pod of
// the fleet is broken: it is not waited for".
func (c *checker) mayLeave(r *Revision, s *service, what act) bool {
	return what == takes && slices.ContainsFunc(c.candidates(r, s.owner), func(v ownerVersion) bool {
		return c.leaves(r, s, v.Spec) && c.carried(r, s, v.Spec)
	})
}

// wantsGone: a rollout of this version of the owner replaces the pod, so that the
// rollout's budget holds for it. A pod that a partition keeps is not replaced.
func (c *checker) wantsGone(s *service, v *ownerVersion) bool {
	pod := s.pod
	if v.Restart.After(pod.CreationTimestamp.Time) {
		return true
	}
	if ordinal, ok := v.Ordinal(pod.Name); ok && !v.Random && slices.Index(v.Base(), ordinal) < v.Partition && v.Partition > 0 {
		return false
	}
	template := c.templates[pod.Labels[appsv1.LabelRevision]]
	return template == nil || v.Pin != "" || v.rollback != nil || !SameTemplate(template, v.template)
}
