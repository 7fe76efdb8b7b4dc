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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// checkLeaving is V: a ready pod of the base whose eviction waits goes only when as
// many others as replicas were ready when the writer looked, or since. A pod that
// a rollout replaces goes within the rollout's budget.
func (c *checker) checkLeaving(r *Revision, before, pod *corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	goes := before != nil && before.DeletionTimestamp == nil && (r.Gone || pod.DeletionTimestamp != nil)
	if ref == nil || r.Actor != Operator || r.Seen == 0 || c.rules.Split || !goes || !isReady(before) ||
		before.Annotations[appsv1.AnnotationEvictionRequested] == "" || before.Annotations[appsv1.AnnotationSurge] != "" {
		return
	}
	replicas, ok := c.surgesFirst(r, ref.UID)
	if !ok {
		return
	}
	ready := 0
	for uid, t := range c.traces {
		if t.owner != ref.UID || uid == pod.UID {
			continue
		}
		if t.revision != before.Labels[appsv1.LabelRevision] {
			return // a rollout
		}
		if t.ready || t.unreadyAt > r.Seen {
			ready++
		}
	}
	if ready < replicas {
		c.report(r, "V", "pod %s leaves its node with %d other pods ready, and %d have to be", pod.Name, ready, replicas)
	}
}

// surgesFirst: whichever version of the owner the writer acted on, it asked that
// pods are replaced before they go, and for the same number of pods.
func (c *checker) surgesFirst(r *Revision, owner types.UID) (replicas int, ok bool) {
	versions := c.owners[owner]
	if len(versions) == 0 {
		return 0, false
	}
	replicas = versions[len(versions)-1].replicas
	for i, v := range versions {
		if i+1 < len(versions) && versions[i+1].version <= r.Floor {
			continue
		}
		if !v.surgeFirst || v.replicas != replicas {
			return 0, false
		}
	}
	return replicas, true
}
