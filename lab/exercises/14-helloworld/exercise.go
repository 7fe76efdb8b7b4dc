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

package helloworld

import (
	"context"
	"fmt"
	"maps"
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/lab/exercises/14-helloworld/solution"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const (
	foreign    = "other Deployments are left alone"
	size       = "the Deployment has the size"
	listed     = "the status lists the pods"
	drifts     = "scale the Deployment by hand"
	controller = "Deployment controller"
)

func hello(namespace, name string) *testv1alpha1.HelloWorld {
	return &testv1alpha1.HelloWorld{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: testv1alpha1.HelloWorldSpec{Size: ptr.To(int32(1))},
	}
}

// theirs is a Deployment of someone else, whose name a HelloWorld has too.
func theirs() *kappsv1.Deployment {
	d := newDeployment(hello(grade.Namespace, "taken"))
	d.Spec.Replicas = ptr.To(int32(0))
	return d
}

func exercise(n grade.New) grade.Exercise {
	w := sim.World{
		Scheme: grade.Scheme(), New: n, Faults: []sim.Fault{sim.Conflict},
		Objects: []client.Object{hello(grade.Namespace, "hello"), hello(grade.Namespace, "taken"), theirs()},
		Others:  []sim.Other{{Name: controller, Next: deploy}},
		Actions: []sim.Action{grade.Edit(drifts, newDeployment(hello(grade.Namespace, "hello")), func(d *kappsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(2)) })},
	}
	w.Invariants = []sim.Promise{{Name: foreign, Check: func(s *sim.State) error {
		for _, write := range s.Writes {
			if d, ok := write.Before.(*kappsv1.Deployment); ok && write.By != "" && d.Name == "taken" {
				return fmt.Errorf("the operator wants to %s the Deployment taken, which it does not own", write.Verb)
			}
		}
		return nil
	}}}
	w.Goals = []sim.Promise{
		{Name: size, Check: func(s *sim.State) error {
			for _, d := range sim.All[*kappsv1.Deployment](s) {
				if d.Name == "hello" && *d.Spec.Replicas == 1 {
					return nil
				}
			}
			return fmt.Errorf("there is no Deployment hello with 1 replica")
		}},
		{Name: listed, Check: func(s *sim.State) error {
			var names []string
			for _, pod := range grade.Live(s, "hello_name", "hello") {
				names = append(names, pod.Name)
			}
			if status := sim.All[*testv1alpha1.HelloWorld](s)[0].Status; !slices.Equal(names, status.Nodes) {
				return fmt.Errorf("the pods are %v, and the status lists %v", names, status.Nodes)
			}
			return nil
		}},
	}
	return grade.Exercise{Number: "14", World: w, Breaks: foreign, Within: 4, Says: says(), Real: realGoal}
}

func says() map[string]trace.Text {
	return map[string]trace.Text{
		foreign:    {EN: "The operator does not touch a Deployment that it does not own.", ZH: "operator 不碰不属于自己的 Deployment。"},
		size:       {EN: "In the end the Deployment has the size that the HelloWorld asks for.", ZH: "最终 Deployment 的副本数等于 HelloWorld 的 size。"},
		listed:     {EN: "In the end the status lists the pods of the Deployment.", ZH: "最终 status 列出 Deployment 的 Pod。"},
		drifts:     {EN: "The user scales the Deployment by hand.", ZH: "用户手动修改 Deployment 的副本数。"},
		controller: {EN: "The Deployment controller", ZH: "Deployment 控制器"},
	}
}

// deploy is the Deployment controller, without ReplicaSets: it creates and deletes pods.
func deploy(s *sim.State) *sim.Action {
	for _, d := range sim.All[*kappsv1.Deployment](s) {
		pods := map[string]*corev1.Pod{}
		for _, pod := range sim.All[*corev1.Pod](s) {
			if metav1.IsControlledBy(pod, d) {
				pods[pod.Name] = pod
			}
		}
		for i := range *d.Spec.Replicas {
			name := fmt.Sprintf("%s-%d", d.Name, i)
			if pods[name] == nil {
				return &sim.Action{Name: "create " + name, Do: func(ctx context.Context, c client.Client) error { return c.Create(ctx, podOf(d, name)) }}
			}
			delete(pods, name)
		}
		for _, name := range slices.Sorted(maps.Keys(pods)) {
			return &sim.Action{Name: "delete " + name, Do: func(ctx context.Context, c client.Client) error { return c.Delete(ctx, pods[name]) }}
		}
	}
	return nil
}

func podOf(d *kappsv1.Deployment, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: name, Labels: d.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kappsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: d.Spec.Template.Spec,
	}
}

func realGoal(ctx context.Context, c client.Client, namespace string) error {
	if err := c.Create(ctx, hello(namespace, "hello")); err != nil {
		return err
	}
	var d kappsv1.Deployment
	sized := func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "hello"}, &d); err != nil {
			return err
		}
		if *d.Spec.Replicas != 1 {
			return fmt.Errorf("the Deployment has %s", trace.Counted(*d.Spec.Replicas, "replica"))
		}
		return nil
	}
	if err := grade.Eventually(ctx, sized); err != nil {
		return err
	}
	d.Spec.Replicas = ptr.To(int32(2))
	if err := c.Update(ctx, &d); err != nil {
		return err
	}
	return grade.Eventually(ctx, sized)
}
