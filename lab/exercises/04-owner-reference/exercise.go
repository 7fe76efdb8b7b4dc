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

package ownerreference

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/04-owner-reference/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const leftovers, repaired, removes, deletes = "nothing is left behind", "a deleted pod comes back", "delete the pod of api", "delete the Web"

func exercise(n grade.New) grade.Exercise {
	web, api := grade.Web(grade.Namespace, "web", 1), grade.Web(grade.Namespace, "api", 1)
	w := grade.Worlds(n, web)
	w.Objects = []client.Object{web, api}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: grade.Namespace, Name: "api-0"}}
	w.Actions = []sim.Action{grade.Delete(deletes, web), grade.Delete(removes, pod)}
	w.Goals = []sim.Promise{
		{Name: leftovers, Check: func(s *sim.State) error {
			if pods := grade.Live(s, labv1.LabelWeb, "web"); len(pods) > 0 {
				return fmt.Errorf("the Web is gone, and its pod %s still runs", pods[0].Name)
			}
			return nil
		}},
		{Name: repaired, Check: func(s *sim.State) error {
			if pods := grade.Live(s, labv1.LabelWeb, "api"); len(pods) != 1 {
				return fmt.Errorf("the Web api has %s", trace.Counted(len(pods), "pod"))
			}
			return nil
		}},
	}
	return grade.Exercise{
		Number: "04", World: w, Breaks: leftovers, Within: 11,
		Says: map[string]trace.Text{
			leftovers: {EN: "When a Web is gone, its pods are gone.", ZH: "Web 删除后，它的 Pod 也会消失。"},
			repaired:  {EN: "A pod that was deleted by hand comes back.", ZH: "被手动删除的 Pod 会重新创建。"},
			deletes:   {EN: "The user deletes the Web web.", ZH: "用户删除 Web web。"},
			removes:   {EN: "The user deletes the pod api-0.", ZH: "用户删除 Pod api-0。"},
		},
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			if err := c.Create(ctx, grade.Web(namespace, "api", 1)); err != nil {
				return err
			}
			if err := grade.PodCount(ctx, c, namespace, labv1.LabelWeb, "api", 1); err != nil {
				return err
			}
			pod := pod.DeepCopy()
			pod.Namespace = namespace
			if err := c.Delete(ctx, pod); err != nil {
				return err
			}
			return grade.PodCount(ctx, c, namespace, labv1.LabelWeb, "api", 1)
		},
	}
}
