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
	"time"

	corev1 "k8s.io/api/core/v1"
)

// orderOf is what Q judges by, or nil: an owner that asked for order in every
// version that the writer may have acted on, and for the same ordinals.
func (c *checker) orderOf(r *Revision, pod *corev1.Pod) *Spec {
	owner, ok := owned(pod)
	if !ok || !c.sees(r) || len(c.owners[owner]) == 0 {
		return nil
	}
	last := c.specOf(owner)
	for _, v := range c.candidates(r, owner) {
		if !v.Ordered || v.Deleted || v.Replicas != last.Replicas || !slices.Equal(v.Reserved, last.Reserved) || v.MinReady != last.MinReady {
			return nil
		}
	}
	return last
}

// checkStart is Q: "The operator creates a pod only when the pods of all lower
// ordinals are available, also a pod that replaces a failed one or one that a rollout
// deleted." They were when the writer looked, or since.
func (c *checker) checkStart(r *Revision, pod *corev1.Pod) {
	want := c.orderOf(r, pod)
	if want == nil {
		return
	}
	ordinal, ok := want.Ordinal(pod.Name)
	if !ok || !want.InBase(ordinal) {
		return
	}
	for _, lower := range want.Base() {
		if lower >= ordinal {
			break
		}
		if !c.available(r, pod, want.PodName(lower), want.MinReady) {
			c.report(r, "Q", "pod %s is created, and the pod of ordinal %d is not available", pod.Name, lower)
		}
	}
}

// available: a pod of this name and the same owner is, or was when the writer
// looked.
func (c *checker) available(r *Revision, pod *corev1.Pod, name string, length time.Duration) bool {
	owner, _ := owned(pod)
	for _, s := range c.services {
		if s.owner == owner && s.pod.Name == name && s.served(r, length) {
			return true
		}
	}
	return false
}

// checkRemoval is Q: "A scale-down deletes one pod at a time, the highest ordinal
// first: each when all higher ones are gone and the pods that stay are available."
func (c *checker) checkRemoval(r *Revision, before, pod *corev1.Pod) {
	want := c.orderOf(r, pod)
	s := c.services[pod.UID]
	if want == nil || s == nil || before == nil || before.DeletionTimestamp != nil || !r.Gone && pod.DeletionTimestamp == nil ||
		DeleteRequested(before) || ended(s.pod) || c.lost(s.pod) || !c.waitsForTurn(want, s) {
		return
	}
	ordinal, _ := want.Ordinal(pod.Name)
	for _, other := range c.services {
		if higher, ok := want.Ordinal(other.pod.Name); ok && other.owner == s.owner && higher > ordinal && c.waitsForTurn(want, other) {
			c.report(r, "Q", "pod %s is removed, and pod %s is there", pod.Name, other.pod.Name)
		}
	}
	for _, base := range want.Base() {
		if name := want.PodName(base); !c.available(r, pod, name, want.MinReady) {
			c.report(r, "Q", "pod %s is removed, and pod %s, which stays, is not available", pod.Name, name)
		}
	}
}

// waitsForTurn: a pod that a scale-down left beyond the base, which is not gone: also one
// that has failed or whose node is gone, as long as it is held. "Its surge pods come and go as it needs them": a
// pod that was made beyond the base and never belonged to it is a rollout's or a
// drain's, as long as so many may be beyond.
func (c *checker) waitsForTurn(want *Spec, s *service) bool {
	pod := s.pod
	ordinal, ok := want.Ordinal(pod.Name)
	if !ok || c.pods[pod.UID] == nil || want.InBase(ordinal) || slices.Contains(want.Reserved, ordinal) {
		return false
	}
	return s.inBase || !want.mayStandIn(ordinal)
}

// mayStandIn: surge pods "get the ordinals from replicas upward", as many as may be.
func (s *Spec) mayStandIn(ordinal int) bool {
	return !s.InBase(ordinal) && (&Spec{Replicas: s.Replicas + s.SurgeAllowed(), Reserved: s.Reserved}).InBase(ordinal)
}

// beyond: with OrderedReady a pod outside the base that belonged to it, or whose
// ordinal no surge pod gets, waits for its turn to go, and does not keep another one
// from coming: "A missing lower ordinal comes first", and when ordinals change "all new pods come first, one
// after the other, and then the others go, so that there may be more than maxSurge
// pods too many for a while".
func (c *checker) beyond(want *Spec, pod *corev1.Pod) bool {
	s := c.services[pod.UID]
	ordinal, ok := want.Ordinal(pod.Name)
	return want.Ordered && (!ok || !want.InBase(ordinal)) && (!ok || !want.mayStandIn(ordinal) || s != nil && s.inBase)
}
