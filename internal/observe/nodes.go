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
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// nodes knows where pods run. It serves one look: many pods share a node, and
// each node is read once.
type nodes struct {
	cache, live client.Reader
	known       map[string]nodeFacts
	tolerations []corev1.Toleration // of the fleet's template
	spread      []plan.Spread
}

func newNodes(cache, live client.Reader, f desired.Fleet) *nodes {
	n := &nodes{cache: cache, live: live, known: map[string]nodeFacts{}, spread: f.Desired.Disruption.Spread}
	if f.Template != nil {
		n.tolerations = f.Template.Spec.Tolerations
	}
	return n
}

// nodeFacts is what a pod's node adds to its description.
type nodeFacts struct {
	zone  string
	state plan.NodeState
	// leaving is how the node announces that it goes. A pod that could come back to
	// the node is not moved away from it: it would be moved again and again.
	leaving string
	// domains are the values of the labels that the pods are spread by.
	domains []string
	down    bool
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
	p.Zone, p.NodeState, p.NodeDown, p.NodeLeaving, p.Domains = w.zone, w.state, w.down, w.leaving, w.domains
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
	w := nodeFacts{zone: node.Labels[corev1.LabelTopologyZone], down: down(&node), leaving: Leaving(&node)}
	for _, s := range n.spread {
		w.domains = append(w.domains, node.Labels[s.Key])
	}
	if Open(&node, n.tolerations) {
		w.leaving = ""
	}
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

// DefaultNotices are the taints and annotations with which known programs announce
// that a node goes.
var DefaultNotices = []string{
	"aws-node-termination-handler/spot-itn",
	"aws-node-termination-handler/scheduled-maintenance",
	"aws-node-termination-handler/asg-lifecycle-termination",
	"cloud.google.com/impending-node-termination",
	"karpenter.sh/disrupted",
	"ToBeDeletedByClusterAutoscaler",
}

// Leaving is how a node announces that it goes, or empty. Other programs' notices
// are in the same annotation once the node went through SlimNode.
func Leaving(node *corev1.Node) string { return node.Annotations[appsv1.AnnotationNodeLeaving] }

// notice is the first of the notices that a node carries.
func notice(node *corev1.Node, keys []string) string {
	if own, ok := node.Annotations[appsv1.AnnotationNodeLeaving]; ok {
		return cmp.Or(own, "annotation "+appsv1.AnnotationNodeLeaving)
	}
	for _, key := range keys {
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key }) {
			return "taint " + key
		}
		if _, ok := node.Annotations[key]; ok {
			return "annotation " + key
		}
	}
	return ""
}

// countNodes counts the nodes that could take a pod of the template, where one has
// to leave its node or the spread is to be kept. What a node has room for is the scheduler's business.
func (o *Observer) countNodes(ctx context.Context, f desired.Fleet, pods []plan.Pod) (*plan.Nodes, error) {
	if !needsNodes(&f, pods) {
		return nil, nil //nolint:nilnil // nothing is known, and nothing is asked
	}
	var list corev1.NodeList
	if err := o.cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsForbidden(err) {
			return nil, nil //nolint:nilnil // a person who may not read nodes
		}
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	affinity := nodeaffinity.NewRequiredNodeAffinity(f.Template.Spec.NodeSelector, f.Template.Spec.Affinity)
	nodes := &plan.Nodes{Domains: make([][]string, len(f.Desired.Disruption.Spread))}
	for n := range list.Items {
		node := &list.Items[n]
		if matches, err := affinity.Match(node); err != nil || !matches {
			continue
		}
		nodes.All++
		if Open(node, f.Template.Spec.Tolerations) && notice(node, nil) == "" {
			nodes.Open++
			for i, spread := range f.Desired.Disruption.Spread {
				if value, ok := node.Labels[spread.Key]; ok && !slices.Contains(nodes.Domains[i], value) {
					nodes.Domains[i] = append(nodes.Domains[i], value)
				}
			}
		}
	}
	for i := range nodes.Domains {
		slices.Sort(nodes.Domains[i])
	}
	return nodes, nil
}

// needsNodes: a pod has to leave its node, or the spread is to be restored. What was
// asked for long ago is not: its annotation stays, and every look would list all
// nodes. Without a time all of it counts.
func needsNodes(f *desired.Fleet, pods []plan.Pod) bool {
	d := &f.Desired.Disruption
	switch {
	case d.MaxSurge == 0:
		return false
	case len(d.Spread) > 0 && (f.Now.IsZero() || d.Rebalances(f.Now)):
		return true
	}
	return anyLeaves(f, pods)
}

// anyLeaves: a pod has to leave its node.
func anyLeaves(f *desired.Fleet, pods []plan.Pod) bool {
	return slices.ContainsFunc(pods, func(p plan.Pod) bool {
		return p.NodeLeaving != "" || f.Desired.Disruption.Remembers(p.EvictionRequested, f.Now)
	})
}

// Open reports whether the node takes new pods with these tolerations.
func Open(node *corev1.Node, tolerations []corev1.Toleration) bool {
	taints := node.Spec.Taints
	if node.Spec.Unschedulable {
		taints = append(slices.Clone(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	_, untolerated := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), taints, tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, true)
	return !untolerated
}

// NodeChanged reports whether a change of a node can change a plan: whether those
// who read the node have to be reconciled. It compares all that NewSlimNode keeps.
func NodeChanged(before, after *corev1.Node) bool {
	return !maps.Equal(before.Labels, after.Labels) || Leaving(before) != Leaving(after) ||
		before.Spec.Unschedulable != after.Spec.Unschedulable ||
		!slices.EqualFunc(before.Spec.Taints, after.Spec.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
}

// SlimNode is NewSlimNode with the notices that are known by default.
func SlimNode(obj any) (any, error) { return NewSlimNode(DefaultNotices)(obj) }

// NewSlimNode drops from a node what no planner reads: its heartbeats would
// otherwise fill the cache with images and addresses. What announces that the node
// goes becomes one annotation.
func NewSlimNode(notices []string) func(obj any) (any, error) {
	return func(obj any) (any, error) {
		node, ok := obj.(*corev1.Node)
		if !ok {
			return obj, nil
		}
		leaving := notice(node, notices)
		node.ManagedFields, node.Annotations = nil, nil
		if leaving != "" {
			node.Annotations = map[string]string{appsv1.AnnotationNodeLeaving: leaving}
		}
		node.Spec = corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable}
		node.Status = corev1.NodeStatus{}
		return node, nil
	}
}
