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

package podmanager

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/lab/exercises/15-podmanager/solution"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const (
	honest  = "events tell what was done"
	waits   = "the finalizer waits for the pods"
	enough  = "enough pods, and the status says so"
	deletes = "delete the PodManager"
)

func aPodManager(namespace, name string) *appsv1.PodManager {
	return &appsv1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.PodManagerSpec{Replicas: ptr.To(int32(1)), Image: "nginx:1.27"},
	}
}

func exercise(n grade.New) grade.Exercise {
	pm := aPodManager(grade.Namespace, "web")
	w := sim.World{
		Scheme: grade.Scheme(), Objects: []client.Object{pm}, New: n, Kubelet: true,
		Faults: []sim.Fault{sim.Throttle, sim.LostAnswer}, Actions: []sim.Action{grade.Delete(deletes, pm)},
	}
	w.Invariants = []sim.Promise{
		{Name: honest, Check: func(s *sim.State) error {
			for _, e := range s.Recorded {
				if e.Reason == "PodCreated" && !created(s, e.Note) {
					return fmt.Errorf("an event says that %s was created, and it was not", e.Note)
				}
			}
			return nil
		}},
		{Name: waits, Check: func(s *sim.State) error {
			if pods := grade.Live(s, "podmanager", "web"); len(pods) > 0 && len(sim.All[*appsv1.PodManager](s)) == 0 {
				return fmt.Errorf("the PodManager is gone, and %s still runs", pods[0].Name)
			}
			return nil
		}},
	}
	w.Goals = []sim.Promise{{Name: enough, Check: func(s *sim.State) error {
		for _, pm := range sim.All[*appsv1.PodManager](s) {
			if pods := len(grade.Live(s, "podmanager", "web")); pm.DeletionTimestamp != nil || pods != 1 || pm.Status.Replicas != 1 {
				return fmt.Errorf("the PodManager is there with %s, and status.replicas is %d", trace.Counted(pods, "pod"), pm.Status.Replicas)
			}
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "15", World: w, Breaks: honest, Within: 4, Real: realGoal,
		Says: map[string]trace.Text{
			honest:  {EN: "An event that says that a pod was created is recorded only after the pod was created.", ZH: "“Pod 已创建”的事件只在 Pod 真正创建之后记录。"},
			waits:   {EN: "A PodManager is gone only after its pods.", ZH: "PodManager 在它的 Pod 之后才消失。"},
			enough:  {EN: "In the end there is one pod and the status says so, or the PodManager is gone.", ZH: "最终有一个 Pod 且 status 如实反映，或者 PodManager 已删除。"},
			deletes: {EN: "The user deletes the PodManager.", ZH: "用户删除 PodManager。"},
		},
	}
}

// created says whether the last step created a pod.
func created(s *sim.State, pod string) bool {
	for _, write := range s.Writes {
		if write.Verb == "create" && write.After != nil && write.After.GetName() == pod {
			return true
		}
	}
	return false
}

func realGoal(ctx context.Context, c client.Client, namespace string) error {
	pm := aPodManager(namespace, "web")
	if err := c.Create(ctx, pm); err != nil {
		return err
	}
	if err := grade.PodCount(ctx, c, namespace, "podmanager", "web", 1); err != nil {
		return err
	}
	if err := c.Delete(ctx, pm); err != nil {
		return err
	}
	if err := grade.PodCount(ctx, c, namespace, "podmanager", "web", 0); err != nil {
		return err
	}
	return grade.Eventually(ctx, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(pm), pm); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the PodManager is still there"), err)
		}
		return nil
	})
}
