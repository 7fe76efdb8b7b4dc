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

package webhooks

import (
	"fmt"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func get[T client.Object](t testing.TB, namespace, name string, obj T) T {
	t.Helper()
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
		t.Fatalf("get %T %s: %v", obj, name, err)
	}
	return obj
}

func create(t testing.TB, obj client.Object) {
	t.Helper()
	if err := suite.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// expectReady waits until a PodManager's n pods are available and as its
// template says, and nothing is under way.
func expectReady(t testing.TB, namespace, name string, n int32) *appsv1.PodManager {
	t.Helper()
	pm := &appsv1.PodManager{}
	testkit.Eventually(t, fmt.Sprintf("%s has %d available pods", name, n), func() error {
		get(t, namespace, name, pm)
		s := pm.Status
		if s.ObservedGeneration != pm.Generation || s.AvailableReplicas != n || s.CurrentReplicas != n || s.TerminatingReplicas != 0 ||
			s.UpdatedReplicas != n || meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling) {
			return fmt.Errorf("generation %d, status %+v", pm.Generation, s)
		}
		return nil
	})
	return pm
}

// fleet is what must not change when nothing was asked for.
type fleet struct {
	Pods      map[string]types.UID
	Revisions map[string]int64
}

func fleetOf(t testing.TB, namespace, name string) fleet {
	t.Helper()
	f := fleet{Pods: map[string]types.UID{}, Revisions: map[string]int64{}}
	mine := client.MatchingLabels{appsv1.LabelName: name}
	var pods corev1.PodList
	if err := suite.Client.List(t.Context(), &pods, client.InNamespace(namespace), mine); err != nil {
		t.Fatalf("list pods: %v", err)
	}
	for i := range pods.Items {
		f.Pods[pods.Items[i].Name] = pods.Items[i].UID
	}
	var revisions kappsv1.ControllerRevisionList
	if err := suite.Client.List(t.Context(), &revisions, client.InNamespace(namespace), mine); err != nil {
		t.Fatalf("list revisions: %v", err)
	}
	for i := range revisions.Items {
		f.Revisions[revisions.Items[i].Name] = revisions.Items[i].Revision
	}
	return f
}
