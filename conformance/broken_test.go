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

package conformance_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// broken keeps the pods of ReplicaSets, and badly:
//   - it says that all pods are ready as soon as it has seen the object;
//   - it writes its status again and again;
//   - it creates one pod too many where it creates many;
//   - it takes any pod with matching labels for a victim, those of others first, and never looks whether one is ready;
//   - it counts a failed pod as one that is there;
//   - it adopts and releases nothing.
type broken struct{ client.Client }

func startBrokenController(t *testing.T, s *testkit.Suite) {
	t.Helper()
	config := s.Cluster.RESTConfig()
	config.QPS = -1
	c, err := testkit.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			broken{c}.reconcileAll(ctx)
			<-ticker.C
		}
	}()
}

// reconcileAll does not care about errors: the next round comes soon.
func (b broken) reconcileAll(ctx context.Context) {
	var sets kappsv1.ReplicaSetList
	if b.List(ctx, &sets) != nil {
		return
	}
	for i := range sets.Items {
		if sets.Items[i].DeletionTimestamp == nil {
			b.reconcile(ctx, &sets.Items[i])
		}
	}
}

func (b broken) reconcile(ctx context.Context, rs *kappsv1.ReplicaSet) {
	var pods corev1.PodList
	if b.List(ctx, &pods, client.InNamespace(rs.Namespace)) != nil {
		return
	}
	var mine, victims []*corev1.Pod
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if metav1.IsControlledBy(pod, rs) {
			mine = append(mine, pod)
		}
		if pod.Labels["app"] == rs.Spec.Selector.MatchLabels["app"] {
			victims = append(victims, pod)
		}
	}
	slices.SortFunc(victims, func(a, b *corev1.Pod) int { return strings.Compare(rank(a, rs), rank(b, rs)) })
	slices.Reverse(victims)
	want := int(*rs.Spec.Replicas)
	if missing := want - len(mine); missing > 0 {
		if missing >= 4 {
			missing++
		}
		for range missing {
			_ = b.Create(ctx, b.pod(rs))
		}
	} else {
		for _, pod := range victims[:min(len(victims), -missing)] {
			_ = b.Delete(ctx, pod)
		}
	}
	rs.Status = kappsv1.ReplicaSetStatus{
		Replicas: int32(want), ReadyReplicas: int32(want), AvailableReplicas: int32(want), FullyLabeledReplicas: int32(want),
		ObservedGeneration: rs.Generation,
		Conditions: []kappsv1.ReplicaSetCondition{{
			Type: "Looked", Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Message: time.Now().String(),
		}},
	}
	_ = b.Status().Update(ctx, rs)
}

// rank puts the pods of others last, and its own in the order of their names.
func rank(pod *corev1.Pod, rs *kappsv1.ReplicaSet) string {
	if !metav1.IsControlledBy(pod, rs) {
		return "~" + pod.Name
	}
	return pod.Name
}

func (b broken) pod(rs *kappsv1.ReplicaSet) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: rs.Namespace, GenerateName: rs.Name + "-", Labels: maps.Clone(rs.Spec.Template.Labels),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: rs.Name, UID: rs.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: *rs.Spec.Template.Spec.DeepCopy(),
	}
}
