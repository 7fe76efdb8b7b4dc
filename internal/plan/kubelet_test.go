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

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// place is where a pod runs, or not yet: what keeps its kubelet from the next
// step, and how far a step goes. The model's kubelets take all steps at once;
// those of the simulated world take their time.
type place interface {
	// down: the node does not answer for the moment.
	down() bool
	// lingers: the pod was deleted and has not ended yet.
	lingers() bool
	// unplaced: no node takes the pod yet.
	unplaced() bool
	// fails: the pod ends now.
	fails() bool
	// runs lets the containers take a step, and reports whether they are ready.
	runs() bool
}

// kubelet is what a node does for a pod in one step. It reports whether the pod
// is gone.
func kubelet(p *Pod, at place, now time.Time) (gone bool) {
	switch {
	case p.NodeState != NodePresent:
		// No kubelet is there to act. What has no owner is left to Kubernetes' own
		// garbage collector of pods.
		return p.Terminating && p.Membership == Orphan && !at.lingers()
	case at.down():
	case p.Terminating:
		return !at.lingers()
	case p.dead(), at.unplaced():
	case at.fails():
		p.Phase, p.Ready, p.FailedAt = corev1.PodFailed, false, now.Truncate(time.Second)
	default:
		tellReady(p, at.runs(), now)
	}
	return false
}

// tellReady: a pod is ready when its containers are and its gate, where it has
// one, is open.
func tellReady(p *Pod, containers bool, now time.Time) {
	ready := containers && (p.Gate == GateNone || p.Gate == GateOpen)
	switch {
	case ready && !p.Ready:
		p.ReadySince, p.UnreadySince = now, time.Time{}
	case !ready && p.Ready:
		p.UnreadySince = now
	}
	p.Ready = ready
}
