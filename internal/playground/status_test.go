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

package playground

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestStatusSaysWhyPodsWait: the nodes are full, and how many would do; or what the
// scheduler says.
func TestStatusSaysWhyPodsWait(t *testing.T) {
	node := corev1.Node{}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	nodes := []corev1.Node{node, node, node}
	lost := corev1.Pod{}
	lost.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"},
	}
	for name, test := range map[string]struct {
		running, lost int
		want          string
	}{
		"none": {running: 330},
		"full": {
			running: 330, lost: 170,
			want: "Pods without a node: 170. 3 nodes take 110 pods each. For more nodes: make down, then make up ARGS=--nodes=5",
		},
		"room, and yet": {running: 3, lost: 2, want: "Pods without a node: 2. The scheduler says: 0/3 nodes are available"},
	} {
		t.Run(name, func(t *testing.T) {
			pods := make([]corev1.Pod, test.running)
			for range test.lost {
				pods = append(pods, lost)
			}
			if got := waiting(nodes, pods); got != test.want {
				t.Errorf("it says %q, not %q", got, test.want)
			}
		})
	}
}
