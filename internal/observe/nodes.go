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

package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/plan"
)

// nodes knows where pods run. It serves one look: many pods share a node, and
// each node is read once.
type nodes struct {
	cache, live client.Reader
	known       map[string]nodeFacts
}

func newNodes(cache, live client.Reader) *nodes {
	return &nodes{cache: cache, live: live, known: map[string]nodeFacts{}}
}

// nodeFacts is what a pod's node adds to its description.
type nodeFacts struct {
	zone  string
	state plan.NodeState
	down  bool
}

// describe fills in the zone and whether the node can be trusted.
func (n *nodes) describe(ctx context.Context, p *plan.Pod) error {
	if p.Node == "" {
		return nil
	}
	w, ok := n.known[p.Node]
	if !ok {
		var err error
		if w, err = n.find(ctx, p.Node); err != nil {
			return fmt.Errorf("get node %s: %w", p.Node, err)
		}
		n.known[p.Node] = w
	}
	p.Zone, p.NodeState, p.NodeDown = w.zone, w.state, w.down
	return nil
}

// find reads a node. One that the cache does not have may be a new one that it
// has not seen yet, so only the API server's own word makes it gone.
func (n *nodes) find(ctx context.Context, name string) (nodeFacts, error) {
	var node corev1.Node
	key := client.ObjectKey{Name: name}
	err := n.cache.Get(ctx, key, &node, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		err = n.live.Get(ctx, key, &node)
	}
	if apierrors.IsNotFound(err) {
		return nodeFacts{state: plan.NodeGone}, nil
	}
	if err != nil {
		return nodeFacts{}, err
	}
	w := nodeFacts{zone: node.Labels[corev1.LabelTopologyZone], down: down(&node)}
	if OutOfService(&node) {
		w.state = plan.NodeOutOfService
	}
	return w, nil
}

// OutOfService reports whether a taint vouches that nothing runs on the node.
func OutOfService(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeOutOfService {
			return true
		}
	}
	return false
}

// down reports whether Kubernetes says that the node does not answer. It says so
// with a taint, which unlike the node's conditions is kept in the cache.
func down(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	return false
}

// SlimNode drops from a node what no planner reads: its heartbeats would
// otherwise fill the cache with images and addresses.
func SlimNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	node.ManagedFields = nil
	node.Annotations = nil
	node.Spec = corev1.NodeSpec{Taints: node.Spec.Taints}
	node.Status = corev1.NodeStatus{}
	return node, nil
}
