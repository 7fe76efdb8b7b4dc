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
	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// replaceLost deletes pods on nodes that are proved gone. No kubelet will
// confirm the deletion, so it is forced; without that proof nothing is. Those
// that never ran are left to the rule for failed pods.
func replaceLost(s *scene) bool {
	for _, p := range s.lost {
		if p.Membership == Orphan || p.stillborn() {
			continue
		}
		reason, message := lostWhy(p)
		s.deletePod(p, true, reason, message, nil)
	}
	s.forceLostTerminating()
	return false
}

// stillborn: the pod was bound to a node that is not there, and never ran. A
// template that names no existing node makes nothing else, so its pods are
// replaced with a backoff.
func (p *Pod) stillborn() bool {
	return p.NodeState != NodePresent && !p.Terminating && (p.Phase == corev1.PodPending || p.Phase == "")
}

// forceLostTerminating finishes the deletion of pods whose kubelet is gone. A hold
// came too late for them. Once that is done only a finalizer keeps them, and no other
// delete ends that.
func (s *scene) forceLostTerminating() {
	for _, p := range s.terminating {
		if p.NodeState == NodePresent || p.Ended {
			continue
		}
		if s.room(DeletePod, p) {
			reason, message := lostWhy(p)
			s.remove(Action{Verb: DeletePod, Force: true}, p, reason, message, nil)
		}
	}
}

func lostWhy(p *Pod) (reason, message string) {
	switch {
	case p.NodeState == NodeOutOfService:
		return appsv1.WhyNodeOutOfService, "node " + p.Node + " carries the out-of-service taint"
	case p.stillborn():
		return appsv1.WhyNodeGone, "node " + p.Node + " does not exist"
	}
	return appsv1.WhyNodeGone, "node " + p.Node + " no longer exists"
}
