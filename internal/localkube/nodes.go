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

package localkube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// NodeOptions say how many nodes kwok plays and how large they are.
type NodeOptions struct {
	// Count of nodes; 0 means 3, a negative number none.
	Count int
	// Prefix of their names; empty means "node-". They are numbered from 1.
	Prefix string
	// CPU and Memory of each node as quantities; empty means "8" and "32Gi". The
	// scheduler scores in whole percents of a node and counts a pod without
	// requests as a tenth of a core: on much larger nodes a few such pods weigh
	// nothing, and may all land on one.
	CPU, Memory string
	// Pods is how many fit on a node; 0 means 110, as with a kubelet.
	Pods int
	// Zones to spread the nodes over, named zone-a, zone-b …; 0 means 3.
	Zones int
	// Labels and Taints on every node.
	Labels map[string]string
	Taints []corev1.Taint
}

const nodeWorkers = 16

func (o NodeOptions) complete(kwok bool) (NodeOptions, error) {
	switch {
	case o.Count < 0 || !kwok:
		o.Count = 0
	case o.Count == 0:
		o.Count = 3
	}
	if o.Prefix == "" {
		o.Prefix = "node-"
	}
	if o.CPU == "" {
		o.CPU = "8"
	}
	if o.Memory == "" {
		o.Memory = "32Gi"
	}
	if o.Pods == 0 {
		o.Pods = 110
	}
	if o.Zones == 0 {
		o.Zones = 3
	}
	if _, err := resource.ParseQuantity(o.CPU); err != nil {
		return o, fmt.Errorf("node CPU %q: %w", o.CPU, err)
	}
	if _, err := resource.ParseQuantity(o.Memory); err != nil {
		return o, fmt.Errorf("node memory %q: %w", o.Memory, err)
	}
	return o, nil
}

// manyNodes is where the nodes' own traffic begins to count.
const manyNodes = 200

// leaseSeconds is how long a node's lease lasts; a quarter of it is how often
// kwok renews it. A kubelet takes 40 s. For a thousand nodes that would be a
// hundred writes a second, so many nodes take longer, but renew within the 50 s
// that the controller manager waits before it calls a node unreachable.
func (o NodeOptions) leaseSeconds() int {
	if o.Count > manyNodes {
		return 120
	}
	return 40
}

// CreateNodes creates nodes that kwok plays. Those that exist already keep
// their size. It does not wait until they are ready.
func (c *Cluster) CreateNodes(ctx context.Context, opts NodeOptions) error {
	opts, err := opts.complete(c.opts.has(Kwok))
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(nodeWorkers)
	for i := range opts.Count {
		group.Go(func() error {
			node := c.node(opts, i)
			if err := c.createNode(ctx, clients, node); err != nil {
				return fmt.Errorf("create node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (c *Cluster) createNode(ctx context.Context, clients kubernetes.Interface, node *corev1.Node) error {
	_, err := clients.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// A node of an earlier run: kwok listens on another port now.
	port := fmt.Sprintf(`{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}}`, c.port(Kwok))
	_, err = clients.CoreV1().Nodes().PatchStatus(ctx, node.Name, []byte(port))
	return err
}

// node is what a kubelet would register, save for its readiness: that comes
// from kwok.
func (c *Cluster) node(opts NodeOptions, i int) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(opts.CPU),
		corev1.ResourceMemory: resource.MustParse(opts.Memory),
		corev1.ResourcePods:   *resource.NewQuantity(int64(opts.Pods), resource.DecimalSI),
	}
	name := opts.Prefix + strconv.Itoa(i+1)
	labels := map[string]string{
		corev1.LabelHostname:           name,
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         "amd64",
		corev1.LabelTopologyZone:       zoneName(i % opts.Zones),
		corev1.LabelTopologyRegion:     "local",
		corev1.LabelInstanceTypeStable: "kwok",
	}
	maps.Copy(labels, opts.Labels)
	third, fourth := i/256, i%256
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{fakeNode: "fake"}},
		Spec: corev1.NodeSpec{
			// 10.128.0.0/9 holds 32768 nodes of 256 addresses each.
			PodCIDR:  fmt.Sprintf("10.%d.%d.0/24", 128+third, fourth),
			PodCIDRs: []string{fmt.Sprintf("10.%d.%d.0/24", 128+third, fourth)},
			Taints:   slices.Clone(opts.Taints),
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.%d.%d.1", 16+third, fourth)},
				{Type: corev1.NodeHostName, Address: name},
				{Type: corev1.NodeInternalDNS, Address: "localhost"}, // where kwok answers for it
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(c.port(Kwok))}}, //nolint:gosec // a port
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: "amd64", OSImage: "kwok", KubeletVersion: "kwok",
				ContainerRuntimeVersion: "kwok", KernelVersion: "kwok",
			},
		},
	}
}

// zoneName counts zone-a … zone-z, zone-27 ….
func zoneName(i int) string {
	if i < 26 {
		return "zone-" + string(rune('a'+i)) //nolint:gosec // i is below 26
	}
	return "zone-" + strconv.Itoa(i+1)
}

// waitNodes returns when pods can be scheduled on every node.
func (c *Cluster) waitNodes(ctx context.Context, clients kubernetes.Interface) error {
	began := time.Now()
	var waiting []string
	interval := probeInterval + time.Duration(c.opts.Nodes.Count)*time.Millisecond // a list of many is large
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, nil // the caller reports it if the API server died
		}
		waiting = nil
		for _, node := range nodes.Items {
			if node.Annotations[fakeNode] == "fake" && !nodeUsable(&node) {
				waiting = append(waiting, node.Name)
			}
		}
		return len(nodes.Items) >= c.opts.Nodes.Count && len(waiting) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("%d nodes are not ready, among them %v (%w); the end of kwok's log:\n%s",
			len(waiting), waiting[:min(3, len(waiting))], err, tail(c.LogPath(Kwok), logTailLines))
	}
	fmt.Fprintf(c.opts.Log, "%d nodes are ready after another %.1fs\n", c.opts.Nodes.Count, time.Since(began).Seconds())
	return nil
}

func nodeUsable(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
