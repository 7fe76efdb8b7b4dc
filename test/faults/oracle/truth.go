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

// trace is what V, Q and F remember of a pod.
type trace struct {
	owner    types.UID
	revision string
	// ready: it is; unreadyAt is the version since which it is not.
	ready             bool
	bornAt, unreadyAt int64
	// endedAt is the version since which it does not live.
	endedAt int64
	node    string
	// failed: it is there and failed by itself; its slot has no other pod until its
	// successor is made.
	failed bool
	slot   string
}

// trace keeps the trace of a pod.
func (c *checker) trace(r *Revision, pod *corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		delete(c.traces, pod.UID)
		return
	}
	t := c.traces[pod.UID]
	if t == nil {
		t = &trace{unreadyAt: r.Version, bornAt: r.Version}
		c.traces[pod.UID] = t
	}
	t.owner, t.revision, t.node = ref.UID, pod.Labels[appsv1.LabelRevision], pod.Spec.NodeName
	ready := !r.Gone && Live(pod) && Ready(pod)
	if t.ready && !ready {
		t.unreadyAt = r.Version
	}
	t.ready = ready
	t.slot = pod.Labels[appsv1.LabelSlot]
	t.failed = !r.Gone && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == ""
	if ended := r.Gone || !Live(pod); ended && t.endedAt == 0 {
		t.endedAt = r.Version
	}
}
