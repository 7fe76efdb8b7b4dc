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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// checkBound is S1: "maxSurge: how many pods, or which percentage of replicas
// rounded up, may exist beyond replicas", and for drains "at most as many as the
// greater of this and update.maxSurge".
func (c *checker) checkBound(r *Revision, created *corev1.Pod) {
	owner, ok := owned(created)
	if !ok || len(c.owners[owner]) == 0 {
		return
	}
	last := c.specOf(owner)
	if r.Actor == Late && last.Random {
		return // docs/reliability.md: a write that arrives after its sender died
	}
	bound := 0
	for _, v := range c.candidates(r, owner) {
		bound = max(bound, v.bound())
	}
	if live := c.liveOf(owner, last); live > bound {
		c.report(r, "S1", "with pod %s there are %d live pods, and no more than %d may be", created.Name, live, bound)
	}
}

func (s *Spec) bound() int { return s.Replicas + s.SurgeAllowed() }

// liveOf counts the live pods of an owner. Those that wait for their turn to go
// are too many already, and keep no other from coming; and "a pod whose node is gone before
// it ran" counts as failed.
func (c *checker) liveOf(owner types.UID, want *Spec) int {
	live := 0
	for _, pod := range c.pods {
		if uid, ok := owned(pod); ok && uid == owner && Live(pod) && !c.neverRan(pod) && !c.beyond(want, pod) && !keptBeyond(want, pod) {
			live++
		}
	}
	return live
}

// neverRan: the pod has not run, and its node is not there.
func (c *checker) neverRan(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodRunning && pod.Spec.NodeName != "" && len(c.nodes) > 0 && !c.nodes[pod.Spec.NodeName]
}

// keptBeyond: "With ordinals, a held pod that is not one of the fleet any more takes no
// place in it". With random names any pod is one of the fleet.
func keptBeyond(want *Spec, pod *corev1.Pod) bool {
	ordinal, ok := want.Ordinal(pod.Name)
	return !want.Random && Held(pod, appsv1.LabelHoldDelete) && (!ok || !want.InBase(ordinal))
}

// checkSlot is S2: a slot is one place in the fleet, and has one pod.
func (c *checker) checkSlot(r *Revision, pod *corev1.Pod) {
	owner, ok := owned(pod)
	slot := pod.Labels[appsv1.LabelSlot]
	if !ok || slot == "" || !Live(pod) {
		return
	}
	for _, other := range c.pods {
		uid, ok := owned(other)
		if other.UID != pod.UID && ok && uid == owner && Live(other) && other.Labels[appsv1.LabelSlot] == slot {
			c.report(r, "S2", "pods %s and %s both live in slot %s", other.Name, pod.Name, slot)
		}
	}
}
