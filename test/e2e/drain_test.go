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

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The tests of this file cordon a node, so they do not run in parallel with others.

// drained is what the pods that are drained here have in common. They prefer the
// second node, and go on serving for as long as a good server does: until every
// client knows that they go.
const drainedTemplate = `
  template:
    metadata: {labels: {app: web, drained: "true"}}
    spec:
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [` + nodeB + `]}]}
      containers:
      - name: app
        image: ` + imageV1 + `
        args: [--drain=3s]
        resources: {requests: {cpu: 10m, memory: 16Mi}}
        readinessProbe: {periodSeconds: 1, timeoutSeconds: 5, httpGet: {path: /readyz, port: 8080}}
`

// drainedPodManager and drainedDeployment are the same, but for who keeps the pods.
func drainedPodManager(t *testing.T, replicas int) *takenOver {
	t.Helper()
	return newTakenOver(t, replicas, fmt.Sprintf(`
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec:
  replicas: %d
  disruption: {policy: SurgeFirst, maxSurge: 100%%}`, replicas)+drainedTemplate)
}

func drainedDeployment(t *testing.T, replicas int) *takenOver {
	t.Helper()
	return newTakenOver(t, replicas, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}`, replicas)+drainedTemplate)
}

// podsIn are a namespace's pods.
func podsIn(t *testing.T, m *takenOver) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := suite.Client.List(t.Context(), &list, client.InNamespace(m.namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// end stops the client and returns how many requests failed.
func (m *takenOver) end(what string) int {
	m.Helper()
	m.calls.stop()
	m.calls.done.Wait()
	m.Logf("%s: %d requests, of which %d failed %q", what, m.calls.made, m.calls.failed, slices.Compact(m.calls.errors))
	return m.calls.failed
}

// settledAgain waits until the fleet is as large as it was, and none of its pods is one
// of those that had to go.
func (m *takenOver) settledAgain(before []corev1.Pod) {
	m.Helper()
	m.eventually("the fleet is complete again, without the pods that had to go", func() error {
		pm := &appsv1.PodManager{}
		if err := suite.Client.Get(m.Context(), client.ObjectKey{Namespace: m.namespace, Name: "web"}, pm); err != nil {
			return err
		}
		for _, p := range before {
			var now corev1.Pod
			if err := suite.Client.Get(m.Context(), client.ObjectKeyFromObject(&p), &now); err == nil && now.UID == p.UID {
				return fmt.Errorf("pod %s is still there", p.Name)
			}
		}
		if n := len(m.endpoints(m.Context())); n != len(before) {
			return fmt.Errorf("%d endpoints", n)
		}
		return settled(pm)
	})
}

// TestADrainCostsNothing drains a node with kubectl, under traffic: no request to a
// PodManager that surges first fails. Deployments beside it show what it costs
// otherwise.
func TestADrainCostsNothing(t *testing.T) {
	sizes := []int{1, 3}
	fleets, deployments := map[int]*takenOver{}, map[int]*takenOver{}
	before := map[int][]corev1.Pod{}
	for _, n := range sizes {
		fleets[n], deployments[n] = drainedPodManager(t, n), drainedDeployment(t, n)
		before[n] = podsIn(t, fleets[n])
		for _, p := range slices.Concat(before[n], podsIn(t, deployments[n])) {
			if p.Spec.NodeName != nodeB {
				t.Fatalf("pod %s is on %s: there is nothing to drain", p.Name, p.Spec.NodeName)
			}
		}
	}
	began := time.Now()
	out, err := kubectl(t.Context(), "drain", nodeB, "--pod-selector=drained=true", "--ignore-daemonsets", "--timeout=3m")
	t.Logf("$ kubectl drain took %s\n%s", time.Since(began).Round(100*time.Millisecond), out)
	if err != nil {
		t.Error(err)
	}
	defer func() {
		if out, err := kubectl(t.Context(), "uncordon", nodeB); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	for _, n := range sizes {
		fleets[n].settledAgain(before[n])
		if failed := fleets[n].end(fmt.Sprintf("PodManager with %d replicas", n)); failed > 0 {
			t.Errorf("%d requests to the PodManager with %d replicas failed", failed, n)
		}
		if failed := deployments[n].end(fmt.Sprintf("Deployment with %d replicas", n)); failed == 0 && n == 1 {
			t.Error("no request to the Deployment failed: the client sees nothing")
		}
	}
}

// TestAnEvictionRequestCostsNothing is the other way in.
func TestAnEvictionRequestCostsNothing(t *testing.T) {
	m := drainedPodManager(t, 1)
	before := podsIn(t, m)
	request := &lifecyclev1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "leave"}}
	request.Spec = lifecyclev1alpha1.EvictionRequestSpec{
		Target: lifecyclev1alpha1.EvictionRequestTarget{
			Pod: &lifecyclev1alpha1.EvictionRequestPodReference{Name: before[0].Name, UID: before[0].UID},
		},
		Requester: "e2e.example.com/test", Intent: lifecyclev1alpha1.EvictionRequestIntentEviction,
	}
	if err := suite.Client.Create(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	m.settledAgain(before)
	if failed := m.end("PodManager with 1 replica"); failed > 0 {
		t.Errorf("%d requests failed", failed)
	}
}
