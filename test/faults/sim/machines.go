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

package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// machines are the nodes, and what takes care of them.
type machines interface {
	// busy reports whether a pod needs them, and for what; step does it.
	busy(pod *corev1.Pod) string
	step(pod *corev1.Pod) error
	// next is when something is due that is not yet, or zero.
	next() time.Time
}

// tolerated is for how long a pod stays on a node that does not answer.
const tolerated = 300 * time.Second

// fleetOfNodes is the larger world of drawn runs: a scheduler that knows cordons,
// taints, spread and room, kubelets with probes, gates and resizes, and the
// controller that takes care of nodes which do not answer.
type fleetOfNodes struct {
	*kubelet
	// failing are the pods whose probe fails.
	failing map[types.UID]bool
	// slow is how long a container takes until its probe succeeds.
	slow time.Duration
	// resizes is what a node says to a resize, unless it does it.
	resizes map[string]string
	// room is how many pods a node takes; nil is any number.
	room map[string]int
}

func newFleetOfNodes(k *kubelet) *fleetOfNodes {
	k.most = 6 // a backoff for ever is no rest
	return &fleetOfNodes{kubelet: k, failing: map[types.UID]bool{}, resizes: map[string]string{}}
}

func (f *fleetOfNodes) node(name string) *corev1.Node {
	node, _ := f.server.objects[objectKey{kind: "Node", name: name}].(*corev1.Node)
	return node
}

func tainted(node *corev1.Node, key string) *corev1.Taint {
	if i := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key }); i >= 0 {
		return &node.Spec.Taints[i]
	}
	return nil
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	if i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind }); i >= 0 {
		return &pod.Status.Conditions[i]
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	c := condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func (f *fleetOfNodes) busy(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return f.waits(pod)
	}
	node := f.node(pod.Spec.NodeName)
	if node == nil {
		return ""
	}
	if down := tainted(node, corev1.TaintNodeUnreachable); down != nil {
		return f.lost(pod, node, down)
	}
	switch {
	case pod.DeletionTimestamp != nil || ended(pod) || pod.Status.ObservedGeneration != pod.Generation:
		return f.kubelet.busy(pod)
	case pod.Status.Phase == corev1.PodRunning && f.ready(pod) != isReady(pod):
		return "probes"
	case condition(pod, corev1.PodResizePending) != nil && f.resizes[node.Name] != condition(pod, corev1.PodResizePending).Reason:
		return "runs"
	}
	return ""
}

// waits: a pod without a node is bound, or learns why not.
func (f *fleetOfNodes) waits(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return ""
	}
	if f.hasClaims(pod) && f.place(pod) != "" {
		return "binds"
	}
	if condition(pod, corev1.PodScheduled) == nil {
		return "finds no node for"
	}
	return ""
}

// lost: of the pods of a node that does not answer others say that they are not ready,
// and delete them after a while; nothing ends them before the node is back, or a
// taint vouches that it is off.
func (f *fleetOfNodes) lost(pod *corev1.Pod, node *corev1.Node, down *corev1.Taint) string {
	switch {
	case pod.DeletionTimestamp != nil:
		if ended := ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0; !ended && tainted(node, corev1.TaintNodeOutOfService) != nil {
			return "is off and loses"
		}
	case isReady(pod):
		return "does not answer for"
	case !ended(pod) && !f.server.clock.Now().Before(down.TimeAdded.Add(tolerated)):
		return "gives up"
	}
	return ""
}

// next is when a probe succeeds, or a node has not answered for too long.
func (f *fleetOfNodes) next() time.Time {
	var first time.Time
	for _, obj := range f.server.objectsOf("Pod") {
		pod := obj.(*corev1.Pod)
		node := f.node(pod.Spec.NodeName)
		if node == nil || pod.DeletionTimestamp != nil || ended(pod) {
			continue
		}
		at := f.started(pod)
		if down := tainted(node, corev1.TaintNodeUnreachable); down != nil {
			at = down.TimeAdded.Add(tolerated)
		}
		if at.After(f.server.clock.Now()) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// started is when the probes of all containers may succeed.
func (f *fleetOfNodes) started(pod *corev1.Pod) time.Time {
	var last time.Time
	for i := range pod.Status.ContainerStatuses {
		if r := pod.Status.ContainerStatuses[i].State.Running; r != nil && r.StartedAt.Add(f.slow).After(last) {
			last = r.StartedAt.Add(f.slow)
		}
	}
	return last
}

// ready is what the kubelet says: containers that run and answer, and all gates.
func (f *fleetOfNodes) ready(pod *corev1.Pod) bool {
	if f.failing[pod.UID] || pod.Status.Phase != corev1.PodRunning || f.started(pod).After(f.server.clock.Now()) {
		return false
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Image == scenario.UnreadyImage {
			return false
		}
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if c := condition(pod, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			return false
		}
	}
	return true
}

func (f *fleetOfNodes) step(pod *corev1.Pod) error {
	pod = pod.DeepCopy()
	ctx := context.Background()
	switch f.busy(pod) {
	case "binds":
		return f.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: f.place(pod)}})
	case "finds no node for":
		f.set(pod, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable)
		condition(pod, corev1.PodScheduled).Message = "0/3 nodes are available: no room."
	case "does not answer for":
		f.set(pod, corev1.PodReady, corev1.ConditionFalse, "NodeNotReady")
	case "gives up":
		return f.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	case "is off and loses":
		return f.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	case "probes":
		f.probe(pod)
	case "runs":
		f.run(pod)
	default:
		return f.kubelet.step(pod)
	}
	return f.client.Status().Update(ctx, pod)
}

func (f *fleetOfNodes) set(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) {
	c := condition(pod, kind)
	if c == nil {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind})
		c = &pod.Status.Conditions[len(pod.Status.Conditions)-1]
	}
	if c.Status != status || c.Reason != reason {
		c.Status, c.Reason, c.LastTransitionTime = status, reason, metav1.NewTime(f.server.now().Add(f.ahead))
	}
}

func (f *fleetOfNodes) probe(pod *corev1.Pod) {
	status := corev1.ConditionFalse
	if f.ready(pod) {
		status = corev1.ConditionTrue
	}
	f.set(pod, corev1.ContainersReady, status, "")
	f.set(pod, corev1.PodReady, status, "")
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Ready = status == corev1.ConditionTrue
	}
}

// run follows the spec of a pod: containers whose image changed start again, and a
// new size is given or not.
func (f *fleetOfNodes) run(pod *corev1.Pod) {
	old, others := pod.Status.ContainerStatuses, pod.Status.Conditions
	f.kubelet.run(pod)
	for _, c := range others {
		if c.Type != corev1.PodScheduled && c.Type != corev1.PodReady {
			pod.Status.Conditions = append(pod.Status.Conditions, c)
		} else if c.Type == corev1.PodReady {
			*condition(pod, corev1.PodReady) = c
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		f.set(pod, corev1.PodReady, corev1.ConditionFalse, "")
		return
	}
	f.resize(pod, old)
	f.probe(pod)
}

// resize gives a pod the size that it asks for, unless its node says no.
func (f *fleetOfNodes) resize(pod *corev1.Pod, old []corev1.ContainerStatus) {
	no, pending := f.resizes[pod.Spec.NodeName], false
	for i := range pod.Spec.Containers {
		asked, status := pod.Spec.Containers[i].Resources.Requests, &pod.Status.ContainerStatuses[i]
		status.AllocatedResources = asked.DeepCopy()
		if i < len(old) && len(old[i].AllocatedResources) > 0 && no != "" && !same(old[i].AllocatedResources, asked) {
			status.AllocatedResources, pending = old[i].AllocatedResources, true
		}
		status.Resources = &corev1.ResourceRequirements{Requests: status.AllocatedResources.DeepCopy()}
	}
	if pending {
		f.set(pod, corev1.PodResizePending, corev1.ConditionTrue, no)
		condition(pod, corev1.PodResizePending).ObservedGeneration = pod.Generation
		return
	}
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizePending })
}

func same(a, b corev1.ResourceList) bool {
	for name, q := range a {
		if other, ok := b[name]; !ok || other.Cmp(q) != 0 {
			return false
		}
	}
	return len(a) == len(b)
}

// place is the node for a pod, of those that take it: what the pod prefers and how few
// of its kind are in the place weigh alike, as in the scheduler's own configuration; then
// that with the fewest pods.
func (f *fleetOfNodes) place(pod *corev1.Pod) string {
	var open []*corev1.Node
	var liked, crowd []int
	for _, obj := range f.server.objectsOf("Node") {
		if node := obj.(*corev1.Node); f.takes(node, pod) {
			open = append(open, node)
			liked, crowd = append(liked, preference(pod, node)), append(crowd, f.skew(pod, node))
		}
	}
	var best string
	var least [2]int
	for i, node := range open {
		cost := [2]int{share(crowd, i) - share(liked, i), len(f.podsOn(node.Name))}
		if best == "" || slices.Compare(cost[:], least[:]) < 0 {
			best, least = node.Name, cost
		}
	}
	return best
}

// share is where a number is between the least and the greatest of a list, from 0 to 1000.
func share(list []int, i int) int {
	least, most := slices.Min(list), slices.Max(list)
	if most == least {
		return 0
	}
	return 1000 * (list[i] - least) / (most - least)
}

func (f *fleetOfNodes) takes(node *corev1.Node, pod *corev1.Pod) bool {
	open := !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	})
	if !open {
		return false
	}
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	if err != nil || !matches {
		return false
	}
	return f.room == nil || len(f.podsOn(node.Name)) < f.room[node.Name]
}

func preference(pod *corev1.Pod, node *corev1.Node) int {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		if err != nil {
			panic(fmt.Sprintf("the affinity of pod %s: %v", pod.Name, err))
		}
		return int(terms.Score(node))
	}
	return 0
}

// skew is how many pods of the same spread are in the node's domain.
func (f *fleetOfNodes) skew(pod *corev1.Pod, node *corev1.Node) int {
	n := 0
	for _, c := range pod.Spec.TopologySpreadConstraints {
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			panic(fmt.Sprintf("the spread of pod %s: %v", pod.Name, err))
		}
		for _, obj := range f.server.objectsOf("Node") {
			if obj.GetLabels()[c.TopologyKey] != node.Labels[c.TopologyKey] {
				continue
			}
			for _, other := range f.podsOn(obj.GetName()) {
				if other.DeletionTimestamp == nil && selector.Matches(labels.Set(other.Labels)) {
					n++
				}
			}
		}
	}
	return n
}

// podsOn are the pods that take room on a node.
func (f *fleetOfNodes) podsOn(node string) []*corev1.Pod {
	var list []*corev1.Pod
	for _, obj := range f.server.objectsOf("Pod") {
		if pod := obj.(*corev1.Pod); pod.Spec.NodeName == node && !ended(pod) {
			list = append(list, pod)
		}
	}
	slices.SortFunc(list, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Probe implements scenario.Cluster.
func (w *World) Probe(pod types.UID, succeeds bool) { w.nodesOf().failing[pod] = !succeeds }

// Starts implements scenario.Cluster.
func (w *World) Starts(after time.Duration) { w.nodesOf().slow = after }

// Resizes implements scenario.Cluster.
func (w *World) Resizes(node, answer string) { w.nodesOf().resizes[node] = answer }

// Full implements scenario.Cluster: every node has as many pods as it takes.
func (w *World) Full(full bool) {
	f := w.nodesOf()
	f.room = nil
	if !full {
		return
	}
	f.room, w.crowded = map[string]int{}, true
	for _, obj := range w.server.objectsOf("Node") {
		f.room[obj.GetName()] = len(f.podsOn(obj.GetName()))
	}
}

// Refuse implements scenario.Cluster.
func (w *World) Refuse(verb, kind, how string) {
	w.server.rules = append(w.server.rules, &standing{Refusal: Refusal{Verb: verb, Kind: kind, How: How(how)}})
}

// Allow implements scenario.Cluster.
func (w *World) Allow() {
	for _, rule := range w.server.rules {
		rule.ended = true
	}
}

// Restart implements scenario.Cluster.
func (w *World) Restart(behind int, stuck string) {
	for _, p := range slices.Clone(w.processes) {
		w.end(p)
	}
	w.launch(max(0, len(w.server.log)-behind))
	if stuck != "" {
		w.processes[0].frozen[stuck] = true
	}
}

// Mend implements scenario.Cluster.
func (w *World) Mend() {
	f := w.nodesOf()
	f.slow, f.room = 0, nil
	clear(f.failing)
	clear(f.resizes)
	w.Allow()
}

func (w *World) nodesOf() *fleetOfNodes { return w.machines.(*fleetOfNodes) }
