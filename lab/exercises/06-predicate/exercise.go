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

package predicates

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/06-predicate/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const counted, deletes = "the status counts the running pods", "delete the pod"

func exercise(n grade.New) grade.Exercise {
	w := grade.Worlds(n, grade.Web(grade.Namespace, "web", 1))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: grade.Namespace, Name: "web-0"}}
	w.Kubelet = true
	w.Actions = []sim.Action{grade.Delete(deletes, pod)}
	w.Goals = []sim.Promise{{Name: counted, Check: func(s *sim.State) error {
		running := int32(0)
		for _, pod := range grade.Live(s, labv1.LabelWeb, "web") {
			if pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if web := sim.All[*labv1.Web](s)[0]; web.Status.Ready != running || running != 1 {
			return fmt.Errorf("pods that run: %d; status.ready is %d, and 1 is asked for", running, web.Status.Ready)
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "06", World: w, Breaks: counted, Within: 9,
		Says: map[string]trace.Text{
			counted: {EN: "In the end one pod runs, and status.ready says so.", ZH: "最终有一个 Pod 在运行，status.ready 也如实反映。"},
			deletes: {EN: "The user deletes the pod web-0.", ZH: "用户删除 Pod web-0。"},
		},
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			web := grade.Web(namespace, "web", 1)
			if err := c.Create(ctx, web); err != nil {
				return err
			}
			pod := pod.DeepCopy()
			pod.Namespace = namespace
			if err := grade.Eventually(ctx, func(ctx context.Context) error { return c.Get(ctx, client.ObjectKeyFromObject(pod), pod) }); err != nil {
				return err
			}
			pod.Status.Phase = corev1.PodRunning // this cluster has no kubelet
			if err := c.Status().Update(ctx, pod); err != nil {
				return err
			}
			return grade.Eventually(ctx, func(ctx context.Context) error {
				if err := c.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
					return err
				}
				if web.Status.Ready != 1 {
					return fmt.Errorf("one pod runs, and status.ready is %d", web.Status.Ready)
				}
				return nil
			})
		},
	}
}
