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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// place is what successors have in common: with ordinals the slot, and with
// random names the revision, because a successor has another name.
type place struct {
	owner types.UID
	slot  string
}

// fate is what became of the pods of a place.
type fate struct {
	revision string
	// failures is how many failed in a row, ended when the last did.
	failures int
	ended    time.Time
	// waiting are the failed pods that have no successor yet; succeeded: a pod
	// was made since the last failure.
	waiting   map[types.UID]bool
	succeeded bool
}

// placeOf is where the successors of a pod are looked for.
func (c *checker) placeOf(pod *corev1.Pod) (p place, random, ok bool) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || len(c.owners[ref.UID]) == 0 || pod.Labels[appsv1.LabelRevision] == "" {
		return place{}, false, false
	}
	versions := c.owners[ref.UID]
	random = versions[len(versions)-1].Random
	p = place{owner: ref.UID, slot: pod.Labels[appsv1.LabelSlot]}
	if random {
		p.slot = "of " + pod.Labels[appsv1.LabelRevision]
	}
	return p, random, true
}

// seeFailure notes that a pod failed, or that it was bound to a node that is not
// there.
func (c *checker) seeFailure(before, pod *corev1.Pod) {
	at, failed := c.failedAt(pod)
	p, _, ok := c.placeOf(pod)
	if !failed || !ok || pod.DeletionTimestamp != nil {
		return
	}
	if before != nil {
		if _, already := c.failedAt(before); already {
			return
		}
	}
	f := c.fates[p]
	if f == nil || f.revision != pod.Labels[appsv1.LabelRevision] || at.Sub(f.ended) > 2*c.specOf(p.owner).BackoffMax {
		f = &fate{revision: pod.Labels[appsv1.LabelRevision], waiting: map[types.UID]bool{}, succeeded: true}
		c.fates[p] = f
	}
	if f.succeeded && at.After(f.ended) {
		f.failures++
		f.succeeded = false
	}
	f.ended = at
	f.waiting[pod.UID] = true
}

// failedAt is when a pod failed, as far as its status tells. Where no node is
// known, none is missing.
func (c *checker) failedAt(pod *corev1.Pod) (time.Time, bool) {
	if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" && len(c.nodes) > 0 && !c.nodes[pod.Spec.NodeName] {
		return pod.CreationTimestamp.Time, true
	}
	if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		return time.Time{}, false
	}
	latest := pod.CreationTimestamp.Time
	for i := range pod.Status.Conditions {
		if at := pod.Status.Conditions[i].LastTransitionTime.Time; at.After(latest) {
			latest = at
		}
	}
	for i := range pod.Status.ContainerStatuses { // it may have been unready for longer
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil && end.FinishedAt.After(latest) {
			latest = end.FinishedAt.Time
		}
	}
	if !c.now.IsZero() && latest.After(c.now) {
		latest = c.now // the node's clock is ahead
	}
	return latest, true
}

// specOf is what an owner asks for now.
func (c *checker) specOf(owner types.UID) *Spec {
	versions := c.owners[owner]
	return versions[len(versions)-1].Spec
}

// checkBackoff is B. An operator that crashed may have forgotten a failure that
// it had not stored, and a leader that was deposed knows of none.
func (c *checker) checkBackoff(r *Revision, created *corev1.Pod) {
	p, random, ok := c.placeOf(created)
	f := c.fates[p]
	if !ok || f == nil || f.revision != created.Labels[appsv1.LabelRevision] || len(f.waiting) == 0 {
		return
	}
	least := c.specOf(p.owner).Backoff(f.failures - c.rules.Restarts)
	early := created.CreationTimestamp.Add(time.Second).Before(f.ended.Add(least)) // the API tells whole seconds
	if random {
		last := c.specOf(p.owner)
		early = early && c.liveOf(p.owner, last)+len(f.waiting) > last.bound()
	}
	if early {
		c.report(r, "B", "pod %s comes %s after the last of %d failures in a row, and has to wait %s",
			created.Name, created.CreationTimestamp.Sub(f.ended), f.failures, least)
	}
	f.succeeded = true
	for uid := range f.waiting {
		if !random || !early {
			delete(f.waiting, uid)
			break
		}
	}
}

// forgive: a user who deletes a failed pod does not want to wait.
func (c *checker) forgive(r *Revision, pod *corev1.Pod) {
	if p, _, ok := c.placeOf(pod); ok && r.Actor == "user" && c.fates[p] != nil {
		delete(c.fates[p].waiting, pod.UID)
	}
}
