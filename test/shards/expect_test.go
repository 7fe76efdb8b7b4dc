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

package shards

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/shard"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func splitYAML(raw []byte) [][]byte { return bytes.Split(raw, []byte("\n---\n")) }

var operators atomic.Int64

// operator is a process with a user of its own.
type operator struct {
	*localkube.Process
	user string
}

// start runs the operator with the given flags until the test ends.
func start(t *testing.T, flags ...string) *operator {
	t.Helper()
	user := fmt.Sprintf("operator-%d", operators.Add(1))
	config, err := suite.Cluster.RESTConfigFor(user, group)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := suite.Cluster.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	process, err := suite.Cluster.RunProcess(localkube.ProcessSpec{
		Name: user, Path: binary,
		Args: append([]string{
			"--kubeconfig=" + kubeconfig, "--leader-election-namespace=" + testkit.OperatorNamespace,
			"--health-probe-bind-address=0", "--webhook-bind-address=0",
		}, flags...),
	})
	if err != nil {
		t.Fatalf("start %s: %v", user, err)
	}
	t.Cleanup(func() { process.Stop(testkit.Patience) })
	return &operator{Process: process, user: user}
}

// startSharded starts an operator with short Leases, for tests in which one dies.
func startSharded(t *testing.T, count int) *operator {
	t.Helper()
	return start(t, fmt.Sprintf("--shards=%d", count), "--shard-lease-duration=3s")
}

// holders is who holds each shard.
func holders(t *testing.T, count int) map[int]string {
	t.Helper()
	return heldIn(t, testkit.OperatorNamespace, "pod-operator", count)
}

func heldIn(t *testing.T, namespace, name string, count int) map[int]string {
	t.Helper()
	var leases coordinationv1.LeaseList
	if err := suite.Client.List(t.Context(), &leases, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	held := map[int]string{}
	for _, lease := range leases.Items {
		var n, of int
		if _, err := fmt.Sscanf(lease.Name, name+"-shard-%d-of-%d", &n, &of); err != nil || of != count {
			continue
		}
		if h := lease.Spec.HolderIdentity; h != nil && *h != "" {
			held[n] = *h
		}
	}
	return held
}

// shared waits until all shards are held by so many operators, evenly.
func shared(t *testing.T, count, operators int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%d operators hold %d shards", operators, count), func() error {
		held := holders(t, count)
		load := map[string]int{}
		for _, h := range held {
			load[h]++
		}
		if len(held) != count || len(load) != operators {
			return fmt.Errorf("%d are held, as %v", len(held), load)
		}
		for h, n := range load {
			if n < count/operators || n > (count+operators-1)/operators {
				return fmt.Errorf("%s has %d: %v", h, n, load)
			}
		}
		return nil
	})
}

// fleets are PodManagers in several namespaces.
type fleets struct {
	*testing.T
	namespaces []string
	each       int
}

func makeFleets(t *testing.T, namespaces, each int, replicas int32) *fleets {
	t.Helper()
	f := &fleets{T: t, each: each}
	for range namespaces {
		ns := suite.Namespace(t)
		f.namespaces = append(f.namespaces, ns)
		for i := range each {
			b := testkit.MakePodManager(ns, fmt.Sprintf("web-%d", i)).Replicas(replicas).Image("nginx:1.27")
			if i%2 == 1 {
				b = b.Random()
			}
			if err := suite.Client.Create(t.Context(), b.Obj()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return f
}

func (f *fleets) scale(replicas int) {
	f.Helper()
	for _, ns := range f.namespaces {
		for i := range f.each {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":`+strconv.Itoa(replicas)+`}}`))
			pm := testkit.MakePodManager(ns, fmt.Sprintf("web-%d", i)).Obj()
			if err := suite.Client.Patch(f.Context(), pm, patch); err != nil {
				f.Fatal(err)
			}
		}
	}
}

// ready waits until every fleet has so many pods, ready, and exactly so many.
func (f *fleets) ready(replicas int) {
	f.Helper()
	testkit.Eventually(f, fmt.Sprintf("%d fleets have %d ready pods each", len(f.namespaces)*f.each, replicas), func() error {
		for _, ns := range f.namespaces {
			var pms appsv1.PodManagerList
			if err := suite.Client.List(f.Context(), &pms, client.InNamespace(ns)); err != nil {
				return err
			}
			for i := range pms.Items {
				pm := &pms.Items[i]
				if int(pm.Status.ReadyReplicas) != replicas || int(pm.Status.Replicas) != replicas || pm.Status.ObservedGeneration != pm.Generation {
					return fmt.Errorf("%s/%s has %d of %d ready", ns, pm.Name, pm.Status.ReadyReplicas, replicas)
				}
			}
			if n := len(f.pods(ns)); n != replicas*f.each {
				return fmt.Errorf("%d pods are in %s", n, ns)
			}
		}
		return nil
	})
}

func (f *fleets) pods(ns string) map[types.UID]corev1.Pod {
	f.Helper()
	var list corev1.PodList
	if err := suite.Client.List(f.Context(), &list, client.InNamespace(ns)); err != nil {
		f.Fatal(err)
	}
	pods := map[types.UID]corev1.Pod{}
	for _, p := range list.Items {
		pods[p.UID] = p
	}
	return pods
}

func (f *fleets) allPods() map[types.UID]corev1.Pod {
	all := map[types.UID]corev1.Pod{}
	for _, ns := range f.namespaces {
		for uid, p := range f.pods(ns) {
			all[uid] = p
		}
	}
	return all
}

// labelled waits until all that belongs to the fleets carries the right label.
func (f *fleets) labelled(count int) {
	f.Helper()
	testkit.Eventually(f, fmt.Sprintf("everything carries the label of its shard, among %d", count), func() error {
		for _, ns := range f.namespaces {
			var pms appsv1.PodManagerList
			if err := suite.Client.List(f.Context(), &pms, client.InNamespace(ns)); err != nil {
				return err
			}
			for i := range pms.Items {
				want := strconv.Itoa(shard.Of(ns, pms.Items[i].Name, count))
				if got := pms.Items[i].Labels[appsv1.LabelShard]; got != want {
					return fmt.Errorf("%s/%s is in shard %q and not %s", ns, pms.Items[i].Name, got, want)
				}
			}
			for _, pod := range f.pods(ns) {
				want := strconv.Itoa(shard.Of(ns, pod.Labels[appsv1.LabelName], count))
				if got := pod.Labels[appsv1.LabelShard]; got != want {
					return fmt.Errorf("pod %s/%s is in shard %q and not %s", ns, pod.Name, got, want)
				}
			}
		}
		return nil
	})
}

// same checks that no pod was replaced.
func (f *fleets) same(before map[types.UID]corev1.Pod) {
	f.Helper()
	after := f.allPods()
	for uid, pod := range before {
		if _, ok := after[uid]; !ok {
			f.Errorf("pod %s/%s was replaced", pod.Namespace, pod.Name)
		}
	}
	if len(after) != len(before) {
		f.Errorf("there were %d pods and are %d", len(before), len(after))
	}
}

// podWrites are the creates and deletes of pods that were carried out, by user.
func (f *fleets) podWrites(mark localkube.AuditMark) map[string]map[string]int {
	f.Helper()
	events, err := suite.Cluster.AuditEvents(mark)
	if err != nil {
		f.Fatal(err)
	}
	writes := map[string]map[string]int{}
	for _, e := range events {
		if e.ObjectRef.Resource != "pods" || e.ObjectRef.Subresource != "" ||
			!strings.HasPrefix(e.User.Username, "operator-") || e.Verb != "create" && e.Verb != "delete" ||
			e.ResponseStatus.Code >= 300 {
			continue
		}
		if writes[e.User.Username] == nil {
			writes[e.User.Username] = map[string]int{}
		}
		writes[e.User.Username][e.Verb]++
	}
	return writes
}
