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
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// checkLeaving is V: "When as many pods are available as replicas asks for without
// the one that leaves (minReadySeconds included), the operator evicts it."
//
// It holds for pods whose eviction waits and for those of a node that announces its
// end, "until the deadline". What a rollout replaces anyway goes within the
// rollout's budget, and a pod beyond replicas within U.
func (c *checker) checkLeaving(r *Revision, before, after *corev1.Pod) {
	s := c.services[after.UID]
	if actOf(r, before, after) != takes || s == nil || !c.sees(r) || !s.surelyServed(r) || DeleteRequested(before) {
		return
	}
	var worst *Spec
	for _, v := range c.candidates(r, s.owner) {
		if v.Deleted || !c.leaves(r, s, v.Spec) || !c.member(s, v.Spec) || c.wantsGone(s, &v) || c.carried(r, s, v.Spec) {
			return
		}
		worst = v.Spec
	}
	if worst != nil {
		c.report(r, "V", "pod %s leaves its node with %d other pods available, and %d have to be", after.Name,
			c.left(r, s, worst.MinReady), worst.Replicas-c.broken(r, s, worst))
	}
}

// letThrough is for how long after its deadline an eviction is let through: "let
// through with a warning, for 10 minutes; after that, an eviction is a new one".
const letThrough = 10 * time.Minute

// leaves: with policy SurgeFirst, an eviction of the pod waits or is let through, or
// its node announces that it goes and takes no new pods.
func (c *checker) leaves(r *Revision, s *service, v *Spec) bool {
	if !v.SurgeFirst {
		return false
	}
	at := evictionRequested(s.pod)
	deadline := min(v.DrainDeadline, cmp.Or(c.rules.MaxHold, time.Hour))
	if !at.IsZero() && r.Time.Before(at.Add(deadline+letThrough-slack)) {
		return true
	}
	node := c.machines[s.pod.Spec.NodeName]
	return node != nil && node.Annotations[appsv1.AnnotationNodeLeaving] != "" && node.Spec.Unschedulable
}

// member: the pod's place is not beyond replicas.
func (c *checker) member(s *service, v *Spec) bool {
	ordinal, ok := v.Ordinal(s.pod.Name)
	return v.Random || ok && v.InBase(ordinal)
}

// reserved: the pod's ordinal gets no pod.
func (c *checker) reserved(s *service, v *Spec) bool {
	ordinal, ok := v.Ordinal(s.pod.Name)
	return ok && slices.Contains(v.Reserved, ordinal)
}

// carried: as many others are available as replicas asks for, but for those that
// were broken before.
func (c *checker) carried(r *Revision, s *service, v *Spec) bool {
	return c.left(r, s, v.MinReady) >= v.Replicas-c.broken(r, s, v)
}

// broken is how many pods are not waited for: "another pod of the fleet is broken:
// it is not waited for". It has a node, was there before the eviction was asked for,
// did not serve then and has not since, and is none that was made for a drain or a
// surge. They are no more than were missing then.
func (c *checker) broken(r *Revision, s *service, v *Spec) int {
	asked := s.asked
	if asked == 0 {
		return 0
	}
	n := 0
	for _, other := range c.services {
		if other != s && other.owner == s.owner && !other.gone && !other.standsIn && other.pod.Spec.NodeName != "" && other.bornAt < asked && !other.served(r, 0) && other.until <= asked &&
			c.member(other, v) {
			n++
		}
	}
	return max(0, min(n, v.Replicas-int(s.then)))
}

// checkStandIn is V, too: "With ordinals, the pod is created again under its name on
// another node, and the one that stood in goes when it is available." So one that
// serves stays while more pods that serve have to leave than others stand in for. One
// whose ordinal was reserved since stands in for none: it "moves to another ordinal,
// within maxUnavailable and maxSurge".
func (c *checker) checkStandIn(r *Revision, before, after *corev1.Pod) {
	s := c.services[after.UID]
	if actOf(r, before, after) != takes || s == nil || !c.sees(r) || !s.surelyServed(r) || !s.standsIn || DeleteRequested(before) {
		return
	}
	for _, v := range c.candidates(r, s.owner) {
		if v.Deleted || v.Random || c.member(s, v.Spec) || c.wantsGone(s, &v) || c.reserved(s, v.Spec) || !c.needed(r, s, v.Spec) {
			return
		}
	}
	c.report(r, "V", "pod %s, which stands in and serves, is deleted, and pods that serve have to leave", after.Name)
}

// needed: of the pods that serve, more have to leave than others stand in for, as far
// as so many may stand in.
func (c *checker) needed(r *Revision, s *service, v *Spec) bool {
	leaving, standIns := 0, 0
	for _, other := range c.podsOf(s.owner) {
		switch {
		case other == s:
		case c.member(other, v) && other.surelyServed(r) && c.leaves(r, other, v) && other.asked <= r.Seen:
			leaving++
		case !c.member(other, v) && other.served(r, 0):
			standIns++
		}
	}
	return min(leaving, v.DrainSurge) > standIns
}

// drained is a pod that has to leave, and of which the writer knew: "While a pod has
// to leave, the operator takes no pod that serves when fewer than replicas would be
// left".
func (c *checker) drained(r *Revision, owner types.UID, v *Spec) *service {
	for _, s := range c.podsOf(owner) {
		if s.asked > 0 && s.asked <= r.Seen && s.surelyServed(r) && c.member(s, v) && c.leaves(r, s, v) {
			return s
		}
	}
	return nil
}

// madeToStandIn: a new pod is made for one that has to leave. With ordinals it is
// one beyond the base, or the successor of a pod that left; with random names any
// that is made while a pod has to leave.
func (c *checker) madeToStandIn(owner types.UID, pod *corev1.Pod) bool {
	versions := c.owners[owner]
	if len(versions) == 0 {
		return false
	}
	v := versions[len(versions)-1].Spec
	ordinal, ok := v.Ordinal(pod.Name)
	if !v.Random && (!ok || !v.InBase(ordinal)) {
		return true
	}
	for _, other := range c.services {
		left := other.asked > 0 && other.taken
		if other.owner == owner && (other.pod.Name == pod.Name && left || v.Random && other.asked > 0 && (!other.gone || left)) {
			return true
		}
	}
	return false
}
