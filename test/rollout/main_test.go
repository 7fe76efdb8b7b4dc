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

// Package rollout drives rollouts on a real API server: one shared cluster, one
// operator in process, a namespace for every test.
package rollout

import (
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollout:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	logFile, err := os.CreateTemp("", "operator-*.log")
	if err != nil {
		return 1, err
	}
	defer logFile.Close()
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))
	if suite, err = testkit.NewSuite(ctx, localkube.Options{Audit: localkube.AuditOptions{Level: localkube.AuditMetadata}}); err != nil {
		return 1, err
	}
	defer func() { _ = suite.Cluster.Stop() }()
	stop, err := suite.StartOperator(ctx, testkit.OperatorOptions())
	if err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		fmt.Fprintln(os.Stderr, "the operator's log:", logFile.Name())
	} else {
		os.Remove(logFile.Name())
	}
	return code, stop()
}

func podsOf(t testing.TB, namespace, name string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{appsv1.LabelName: name})
	if err != nil {
		t.Fatalf("list pods: %v", err)
	}
	return list.Items
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

func podNames(pods []corev1.Pod) []string {
	list := make([]string, len(pods))
	for i := range pods {
		list[i] = pods[i].Name
	}
	return list
}
