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

package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// Fifty workloads with Services are taken over and given back in two commands. At every
// moment each Service has all its endpoints, so a client sees nothing of it. (Requests of
// real clients to real containers are counted by test/e2e.)
func TestFiftyWorkloadsAreMigratedUnderTraffic(t *testing.T) {
	testkit.Long(t, "50 workloads there and back take a while")
	t.Parallel()
	const many = 50
	namespace := suite.Namespace(t)
	suite.Fleet(t, namespace, "all").ApplyYAML(fifty(many))
	awaitAll(t, namespace, many)
	before := testkit.UIDs(suite.Pods(t, namespace, nil))
	traffic := watchTraffic(t, namespace, many)
	p := as(t, namespace, "editor")

	began := time.Now()
	p.must(t, "migrate", "--all")
	t.Logf("there in %s", time.Since(began).Round(time.Second))
	if n := strings.Count(suite.Kubectl(t, "get", "pm,deployments,statefulsets", "-n", namespace, "-o", "name"), "podmanager"); n != many {
		t.Errorf("there are %d PodManagers, want %d", n, many)
	}
	traffic.check(t)
	began = time.Now()
	p.must(t, "migrate", "--undo", "--all")
	t.Logf("and back in %s", time.Since(began).Round(time.Second))
	awaitAll(t, namespace, many)
	traffic.check(t)
	if after := testkit.UIDs(suite.Pods(t, namespace, nil)); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the pods are %v, and were %v", after, before)
	}
}

// fifty are workloads with two pods and a Service each, every fifth a StatefulSet.
func fifty(many int) string {
	var out strings.Builder
	for i := range many {
		kind, extra := "Deployment", ""
		if i%5 == 0 {
			kind, extra = "StatefulSet", "serviceName: "+fmt.Sprintf("w%d,", i)
		}
		fmt.Fprintf(&out, `---
apiVersion: v1
kind: Service
metadata: {name: w%[1]d}
spec: {selector: {app: w%[1]d}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: %[2]s
metadata: {name: w%[1]d}
spec: {replicas: 2, %[3]s selector: {matchLabels: {app: w%[1]d}}, template: {metadata: {labels: {app: w%[1]d}}, spec: {containers: [{name: app, image: "nginx:1.27"}]}}}
`, i, kind, extra)
	}
	return out.String()
}

// awaitAll waits until all workloads are rolled out.
func awaitAll(t *testing.T, namespace string, many int) {
	t.Helper()
	testkit.Eventually(t, "all workloads are rolled out", func() error {
		var deployments kappsv1.DeploymentList
		var sets kappsv1.StatefulSetList
		for _, list := range []client.ObjectList{&deployments, &sets} {
			if err := suite.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
				return err
			}
		}
		ready := 0
		for i := range deployments.Items {
			if s := &deployments.Items[i].Status; s.AvailableReplicas == 2 && s.UpdatedReplicas == 2 && s.ObservedGeneration == deployments.Items[i].Generation {
				ready++
			}
		}
		for i := range sets.Items {
			if s := &sets.Items[i].Status; s.AvailableReplicas == 2 && s.UpdatedReplicas == 2 && s.ObservedGeneration == sets.Items[i].Generation {
				ready++
			}
		}
		if ready != many {
			return fmt.Errorf("%d of %d", ready, many)
		}
		return nil
	})
}

// traffic is what the clients of all Services could reach, at every moment.
type traffic struct {
	mu     sync.Mutex
	failed []string
	seen   int
}

// watchTraffic waits until all endpoints serve, and watches them from then on.
func watchTraffic(t *testing.T, namespace string, many int) *traffic {
	t.Helper()
	clients, err := kubernetes.NewForConfig(suite.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	slices := clients.DiscoveryV1().EndpointSlices(namespace)
	version := ""
	testkit.Eventually(t, "all endpoints serve", func() error {
		list, err := slices.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		version = list.ResourceVersion
		serve := 0
		for i := range list.Items {
			serve += serving(&list.Items[i])
		}
		if serve != 2*many {
			return fmt.Errorf("%d of %d", serve, 2*many)
		}
		return nil
	})
	tr := &traffic{}
	events, err := watchtools.NewRetryWatcherWithContext(t.Context(), version, watcher(slices.Watch))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for e := range events.ResultChan() {
			tr.saw(e)
		}
	}()
	return tr
}

type watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)

// WatchWithContext makes it what client-go takes.
func (f watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, options)
}

func serving(slice *discoveryv1.EndpointSlice) (n int) {
	for _, e := range slice.Endpoints {
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			n++
		}
	}
	return n
}

func (tr *traffic) saw(e watch.Event) {
	slice, ok := e.Object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.seen++
	if n := serving(slice); e.Type == watch.Deleted || n != 2 {
		tr.failed = append(tr.failed, fmt.Sprintf("%s %s with %d endpoints", e.Type, slice.Name, n))
	}
}

func (tr *traffic) check(t *testing.T) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	t.Logf("%d changes of endpoints seen", tr.seen)
	if len(tr.failed) > 0 {
		t.Errorf("Services lost endpoints: %v", tr.failed)
	}
}
