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

package integration

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// podsOf lists the pods that carry a PodManager's name.
func podsOf(t testing.TB, namespace, name string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{appsv1.LabelName: name})
	if err != nil {
		t.Fatalf("list pods: %v", err)
	}
	return list.Items
}

func names(pods []corev1.Pod) string {
	var list []string
	for _, p := range pods {
		list = append(list, p.Name)
	}
	return strings.Join(list, " ")
}

func get(t testing.TB, namespace, name string) *appsv1.PodManager {
	t.Helper()
	pm := &appsv1.PodManager{}
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, pm); err != nil {
		t.Fatalf("get PodManager %s: %v", name, err)
	}
	return pm
}

func create(t testing.TB, obj client.Object) {
	t.Helper()
	if err := suite.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// expectReady waits until a PodManager says that n pods are available, for its
// latest spec, and that nothing is under way.
func expectReady(t testing.TB, namespace, name string, n int) *appsv1.PodManager {
	t.Helper()
	var pm *appsv1.PodManager
	testkit.Eventually(t, fmt.Sprintf("%s has %d available pods", name, n), func() error {
		pm = get(t, namespace, name)
		return ready(pm, n)
	})
	return pm
}

func ready(pm *appsv1.PodManager, n int) error {
	s := pm.Status
	if s.ObservedGeneration != pm.Generation {
		return fmt.Errorf("status is for generation %d of %d", s.ObservedGeneration, pm.Generation)
	}
	if int(s.AvailableReplicas) != n || int(s.CurrentReplicas) != n || s.TerminatingReplicas != 0 {
		return fmt.Errorf("%d available, %d live, %d terminating", s.AvailableReplicas, s.CurrentReplicas, s.TerminatingReplicas)
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.ConditionReconciling || c.Type == appsv1.ConditionStalled {
			return fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	return nil
}
