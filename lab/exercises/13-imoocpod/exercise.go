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

package imoocpod

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	"github.com/mycompany/pod-operator/lab/exercises/13-imoocpod/solution"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const (
	foreign  = "other pods are left alone"
	never    = "never too many pods"
	enough   = "enough pods"
	reported = "the status is true"
	removes  = "delete a pod"
	scales   = "scale"
)

func anImoocPod(namespace string, replicas int32) *batchv1alpha1.ImoocPod {
	return &batchv1alpha1.ImoocPod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: batchv1alpha1.ImoocPodSpec{Replicas: ptr.To(replicas)},
	}
}

// theirs is a pod of someone else with the same label.
func theirs(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-pod-of-another-team", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox:1.37"}}},
	}
}

func own(s *sim.State) []*corev1.Pod {
	return slices.DeleteFunc(grade.Live(s, "app", "web"), func(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) == nil })
}

func exercise(n grade.New) grade.Exercise {
	imooc := anImoocPod(grade.Namespace, 1)
	w := sim.World{
		Scheme: grade.Scheme(), Objects: []client.Object{imooc, theirs(grade.Namespace)}, New: n,
		Faults: []sim.Fault{sim.LostAnswer, sim.Conflict, sim.Crash},
		Actions: []sim.Action{
			{Name: removes, Do: remove},
			grade.Edit(scales, imooc, func(p *batchv1alpha1.ImoocPod) { p.Spec.Replicas = ptr.To(int32(0)) }),
		},
	}
	w.Invariants = []sim.Promise{
		{Name: foreign, Check: func(s *sim.State) error {
			for _, write := range s.Writes {
				if write.By != "" && write.Before != nil && write.Before.GetName() == theirs("").Name {
					return fmt.Errorf("the operator wants to %s %s, which it does not own", write.Verb, write.Before.GetName())
				}
			}
			return nil
		}},
		{Name: never, Check: func(s *sim.State) error {
			if pods := own(s); len(pods) > 1 {
				return fmt.Errorf("%s, and the ImoocPod never asked for more than 1", trace.Counted(len(pods), "pod"))
			}
			return nil
		}},
	}
	w.Goals = []sim.Promise{
		{Name: enough, Check: func(s *sim.State) error {
			if pods, want := own(s), *sim.All[*batchv1alpha1.ImoocPod](s)[0].Spec.Replicas; len(pods) != int(want) {
				return fmt.Errorf("%s, and the ImoocPod asks for %d", trace.Counted(len(pods), "pod"), want)
			}
			return nil
		}},
		{Name: reported, Check: func(s *sim.State) error {
			if pods, status := own(s), sim.All[*batchv1alpha1.ImoocPod](s)[0].Status; len(pods) != len(status.PodNames) || len(pods) != int(status.Replicas) {
				return fmt.Errorf("%s, and the status has %d and lists %v", trace.Counted(len(pods), "pod"), status.Replicas, status.PodNames)
			}
			return nil
		}},
	}
	return grade.Exercise{
		Number: "13", World: w, Breaks: foreign, Within: 8, Says: says(),
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			if err := c.Create(ctx, theirs(namespace)); err != nil {
				return err
			}
			if err := c.Create(ctx, anImoocPod(namespace, 2)); err != nil {
				return err
			}
			return grade.PodCount(ctx, c, namespace, "app", "web", 3)
		},
	}
}

func says() map[string]trace.Text {
	return map[string]trace.Text{
		foreign:  {EN: "The operator does not touch pods that it does not own.", ZH: "operator 不碰不属于自己的 Pod。"},
		never:    {EN: "There are never more pods than were ever asked for.", ZH: "Pod 数量从不超过曾经要求的最大值。"},
		enough:   {EN: "In the end there are as many own pods as the ImoocPod asks for.", ZH: "最终自己的 Pod 数量等于 ImoocPod 要求的数量。"},
		reported: {EN: "In the end the status counts the own pods.", ZH: "最终 status 如实统计自己的 Pod。"},
		removes:  {EN: "The user deletes a pod of the ImoocPod.", ZH: "用户删除 ImoocPod 的一个 Pod。"},
		scales:   {EN: "The user scales the ImoocPod to 0.", ZH: "用户把 ImoocPod 缩容到 0。"},
	}
}

// remove deletes the first pod that an ImoocPod owns.
func remove(ctx context.Context, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(grade.Namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		if metav1.GetControllerOf(&pods.Items[i]) != nil {
			return c.Delete(ctx, &pods.Items[i])
		}
	}
	return nil
}
