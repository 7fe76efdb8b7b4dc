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

package kinds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func collector(namespace, name string, labels map[string]string) *collectorv1.Collector {
	return &collectorv1.Collector{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       collectorv1.CollectorSpec{Selector: metav1.LabelSelector{MatchLabels: labels}},
	}
}

// expectCounting waits until a Collector counts.
func expectCounting(t testing.TB, namespace, name string) *collectorv1.Collector {
	t.Helper()
	col := collector(namespace, name, nil)
	testkit.Eventually(t, "Collector "+name+" counts", func() error {
		col = read(t, col)
		return settled(col, col.Status.ObservedGeneration, col.Status.Conditions)
	})
	expectKstatus(t, col, status.CurrentStatus)
	return col
}

// expectChange waits until the newest change is the one that is named and has
// settled.
func expectChange(t testing.TB, namespace, name, change string) collectorv1.Change {
	t.Helper()
	var newest collectorv1.Change
	testkit.Eventually(t, "the change "+change+" has settled", func() error {
		col := read(t, collector(namespace, name, nil))
		if len(col.Status.RecentChanges) == 0 {
			return errors.New("no change yet")
		}
		newest = col.Status.RecentChanges[0]
		if newest.Change != change || newest.State != collectorv1.ChangeSettled {
			return fmt.Errorf("the newest is %+v", newest)
		}
		return nil
	})
	return newest
}

// web is a Deployment of pods with a number of containers.
func web(namespace string, replicas int32, containers int) *kappsv1.Deployment {
	labels := map[string]string{"app": "web"}
	d := deployment(namespace, "web")
	d.Spec = kappsv1.DeploymentSpec{
		Replicas: ptr.To(replicas),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
	}
	for i := range containers {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers,
			corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "nginx:1.27"})
	}
	return d
}

// witness counts pod events by a watch of the test's own, as kubectl get
// --watch would.
type witness struct {
	mu     sync.Mutex
	counts collectorv1.EventCounts
}

func newWitness(t testing.TB, namespace, selector string) *witness {
	t.Helper()
	clients, err := kubernetes.NewForConfig(suite.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	pods := clients.CoreV1().Pods(namespace)
	list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	w, err := pods.Watch(context.Background(), metav1.ListOptions{LabelSelector: selector, ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	seen := &witness{}
	go func() {
		for e := range w.ResultChan() {
			seen.count(e.Type)
		}
	}()
	return seen
}

func (w *witness) count(kind watch.EventType) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch kind {
	case watch.Added:
		w.counts.Added++
	case watch.Modified:
		w.counts.Modified++
	case watch.Deleted:
		w.counts.Deleted++
	}
}

// take returns what was counted since the last time.
func (w *witness) take() collectorv1.EventCounts {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.counts
	w.counts = collectorv1.EventCounts{}
	return taken
}

func TestCollectorListsAddressesAndCountsPods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	d := web(ns, 2, 1)
	create(t, d)
	testkit.Eventually(t, "the pods run", func() error {
		if d = read(t, d); d.Status.AvailableReplicas != 2 {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
	create(t, collector(ns, "watcher", map[string]string{"app": "web"}))
	col := expectCounting(t, ns, "watcher")
	// What was there before is no event.
	if col.Status.Pods != 2 || col.Status.Workloads != 1 || col.Status.Events.Total() != 0 || col.Status.Since == nil {
		t.Errorf("at the start the status is %+v", col.Status)
	}
	create(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "other", Labels: map[string]string{"app": "other"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}},
	})
	patch(t, d, `{"spec":{"replicas":4}}`)
	expectChange(t, ns, "watcher", "replicas 2 -> 4")
	col = read(t, col)

	var want []string
	for _, pod := range podsOf(t, ns, map[string]string{"app": "web"}) {
		want = append(want, pod.Status.PodIP)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, col.Status.IPs); diff != "" || col.Status.IPCount != 4 {
		t.Errorf("status.ips (-pods +status), %d in all:\n%s", col.Status.IPCount, diff)
	}
	if col.Status.Events.Added != 2 || col.Status.Pods != 4 {
		t.Errorf("the status is %+v", col.Status)
	}
	expectEvent(t, col, collectorv1.ReasonSettled, "replicas 2 -> 4 triggered")
	expectRest(t, ns, 3*time.Second)
}
