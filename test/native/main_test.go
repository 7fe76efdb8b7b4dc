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

// Package native compares what internal/native says about a change with what the real
// kube-controller-manager then does: random workloads and edits, also half-way through
// a rollout, with pods that are not ready. No CRD of ours is in the cluster.
//
//	make native N=10000
package native

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/test/native/judge"
)

// The workloads' namespace, and the world that all cases share.
const namespace = "native"

var (
	admin   client.Client
	clients kubernetes.Interface
	world   *judge.World
	cluster *localkube.Cluster
	probe   *judge.Probe
	minor   int
)

// nodes are labelled with a zone; the last one has a taint.
var nodes = []string{"node-a", "node-b", "node-c", "node-d", "node-e", "node-f"}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 24*time.Hour)
	defer cancel()
	var err error
	cluster, err = localkube.Start(ctx, localkube.Options{
		Components:    []localkube.Component{localkube.Etcd, localkube.APIServer, localkube.ControllerManager},
		APIServerArgs: []string{"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"},
		ControllerManagerArgs: []string{"--controllers=deployment-controller,replicaset-controller,statefulset-controller," +
			"daemonset-controller,garbage-collector-controller,serviceaccount-controller"},
	})
	if err != nil {
		return 1, err
	}
	defer func() { _ = cluster.Stop() }()
	if clients, err = kubernetes.NewForConfig(cluster.RESTConfig()); err != nil {
		return 1, err
	}
	if admin, err = client.New(cluster.RESTConfig(), client.Options{}); err != nil {
		return 1, err
	}
	if err := furnish(ctx); err != nil {
		return 1, err
	}
	if world, err = judge.Start(ctx, clients, nodes); err != nil {
		return 1, err
	}
	if probe, err = startProbe(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func startProbe(ctx context.Context) (*judge.Probe, error) {
	draw := rand.New(rand.NewPCG(1, 1))
	deployment := drawWorkload("Deployment", "probe-deployment", draw).(*kappsv1.Deployment)
	set := drawWorkload("StatefulSet", "probe-statefulset", draw).(*kappsv1.StatefulSet)
	deployment.Spec.MinReadySeconds, set.Spec.MinReadySeconds, set.Spec.Ordinals = 0, 0, nil
	daemons := drawWorkload("DaemonSet", "probe-daemonset", draw).(*kappsv1.DaemonSet)
	daemons.Spec.MinReadySeconds, daemons.Spec.Template.Spec.Affinity = 0, nil
	daemons.Spec.UpdateStrategy = kappsv1.DaemonSetUpdateStrategy{}
	for _, obj := range []client.Object{deployment, set, daemons} {
		setSize(obj, ptr.To[int32](0))
		templateOf(obj).Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
	}
	return world.StartProbe(ctx, namespace, deployment, set, daemons)
}

// furnish makes the namespace and the nodes.
func furnish(ctx context.Context) error {
	version, err := clients.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(version.Minor, "%d", &minor); err != nil {
		return fmt.Errorf("read the version %s: %w", version.Minor, err)
	}
	if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	for i, name := range nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": string(rune('a' + i%3)), judge.Sites: strconv.Itoa(i)}}}
		if i == len(nodes)-1 {
			node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
		}
		if err := admin.Create(ctx, node); err != nil {
			return err
		}
	}
	ready := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	for _, name := range nodes {
		if _, err := clients.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, ready, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	return nil
}
