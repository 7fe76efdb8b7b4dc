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

package withoutuid

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/03-delete-without-uid/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const healthy, running, fails, replaces = "no healthy pod is deleted", "one healthy pod", "fail", "replace"

func exercise(n grade.New) grade.Exercise {
	w := grade.Worlds(n, grade.Web(grade.Namespace, "web", 1))
	w.Actions = []sim.Action{{Name: fails, Do: fail}, {Name: replaces, Do: replace}}
	w.Invariants = []sim.Promise{{Name: healthy, Check: func(s *sim.State) error {
		for _, write := range s.Writes {
			if pod, ok := write.Before.(*corev1.Pod); ok && write.By != "" && write.Verb == "delete" && pod.Status.Phase != corev1.PodFailed {
				return fmt.Errorf("the operator deletes %s (UID %s), which has not failed", pod.Name, pod.UID)
			}
		}
		return nil
	}}}
	w.Goals = []sim.Promise{{Name: running, Check: func(s *sim.State) error {
		if pods := grade.Live(s, labv1.LabelWeb, "web"); len(pods) != 1 || pods[0].Status.Phase == corev1.PodFailed {
			return errors.New("the Web has no pod that could run")
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "03", World: w, Breaks: healthy, Within: 8,
		Says: map[string]trace.Text{
			healthy:  {EN: "The operator deletes only pods that have failed.", ZH: "operator 只删除失败的 Pod。"},
			running:  {EN: "In the end the Web has one pod, and it has not failed.", ZH: "最终 Web 有一个没有失败的 Pod。"},
			fails:    {EN: "The pod web-0 fails.", ZH: "Pod web-0 运行失败。"},
			replaces: {EN: "An impatient user replaces web-0 by hand: a new pod of the same name, with another UID.", ZH: "心急的用户手动替换 web-0：新 Pod 名称相同，UID 不同。"},
		},
		Real: realGoal,
	}
}

func thePod(namespace string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-0"}}
}

func fail(ctx context.Context, c client.Client) error {
	pod := thePod(grade.Namespace)
	if err := c.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodFailed
	return c.Status().Update(ctx, pod)
}

// replace is `kubectl get pod -o yaml | kubectl replace --force -f -`.
func replace(ctx context.Context, c client.Client) error {
	pod := thePod(grade.Namespace)
	if err := c.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return err
	}
	if err := c.Delete(ctx, pod); err != nil {
		return err
	}
	pod.ResourceVersion, pod.UID, pod.Status = "", "", corev1.PodStatus{}
	return c.Create(ctx, pod)
}

func realGoal(ctx context.Context, c client.Client, namespace string) error {
	if err := c.Create(ctx, grade.Web(namespace, "web", 1)); err != nil {
		return err
	}
	pod := thePod(namespace)
	if err := grade.Eventually(ctx, func(ctx context.Context) error { return c.Get(ctx, client.ObjectKeyFromObject(pod), pod) }); err != nil {
		return err
	}
	first := pod.UID
	pod.Status.Phase = corev1.PodFailed
	if err := c.Status().Update(ctx, pod); err != nil {
		return err
	}
	return grade.Eventually(ctx, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if pod.UID == first {
			return errors.New("the failed pod has not been replaced")
		}
		return nil
	})
}
