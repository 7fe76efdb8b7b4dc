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
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/shard"
	"github.com/mycompany/pod-operator/internal/testkit"
)

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
			suite.Create(t, b.Obj())
		}
	}
	return f
}

func (f *fleets) scale(replicas int) {
	f.Helper()
	for _, ns := range f.namespaces {
		for i := range f.each {
			suite.Fleet(f, ns, fmt.Sprintf("web-%d", i)).Scale(replicas)
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
	pods := map[types.UID]corev1.Pod{}
	for _, p := range suite.Pods(f, ns, nil) {
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
