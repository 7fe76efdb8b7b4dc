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

package collector

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/lab/exercises/16-collector/solution"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const counted, creates, deletes = "every event is counted", "create the pod", "delete the pod"

func exercise(n grade.New) grade.Exercise {
	w := sim.World{
		Scheme: grade.Scheme(), Objects: []client.Object{theCollector(grade.Namespace)}, New: n,
		Faults: []sim.Fault{sim.Conflict, sim.LostAnswer},
		Actions: []sim.Action{
			{Name: creates, Do: func(ctx context.Context, c client.Client) error { return c.Create(ctx, aPod(grade.Namespace)) }},
			grade.Delete(deletes, aPod(grade.Namespace)),
		},
	}
	w.Goals = []sim.Promise{{Name: counted, Check: func(s *sim.State) error {
		if got, want := sim.All[*collectorv1.Collector](s)[0].Status.Events, (collectorv1.EventCounts{Added: 1, Deleted: 1}); got != want {
			return fmt.Errorf("1 pod was added and 1 deleted, and the status has %d and %d", got.Added, got.Deleted)
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "16", World: w, Breaks: counted, Within: 6, Real: realGoal,
		Says: map[string]trace.Text{
			counted: {EN: "In the end the status has counted every pod that appeared and every pod that went away.", ZH: "最终 status 统计到每一个出现过的 Pod 和每一个消失的 Pod。"},
			creates: {EN: "The user creates a pod.", ZH: "用户创建一个 Pod。"},
			deletes: {EN: "The user deletes the pod.", ZH: "用户删除该 Pod。"},
		},
	}
}

func theCollector(namespace string) *collectorv1.Collector {
	return &collectorv1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pods"}}
}

func aPod(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox:1.37"}}},
	}
}

func realGoal(ctx context.Context, c client.Client, namespace string) error {
	collector, pod := theCollector(namespace), aPod(namespace)
	if err := c.Create(ctx, collector); err != nil {
		return err
	}
	has := func(want collectorv1.EventCounts) error {
		return grade.Eventually(ctx, func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(collector), collector); err != nil {
				return err
			}
			if got := collector.Status.Events; got != want {
				return fmt.Errorf("the status has %d added and %d deleted, want %d and %d", got.Added, got.Deleted, want.Added, want.Deleted)
			}
			return nil
		})
	}
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	if err := has(collectorv1.EventCounts{Added: 1}); err != nil {
		return err
	}
	if err := c.Delete(ctx, pod); err != nil {
		return err
	}
	return has(collectorv1.EventCounts{Added: 1, Deleted: 1})
}
