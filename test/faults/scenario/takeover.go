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

package scenario

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// takeOvers are scenarios of pods that come from another workload, as kubectl
// podmanager migrate takes them over: the PodManager with the annotation, the
// labels on the pods, the other controller gone one pod after the other, and at
// last the annotation off.
func takeOvers() []Scenario {
	deployment := []string{"web-7d9-a", "web-7d9-b"}
	set := []string{Name + "-0", Name + "-1"}
	return []Scenario{
		{Name: "a Deployment is taken over", Steps: takingOver(fleet(2, random), deployment, nil)},
		{Name: "a StatefulSet is taken over", Steps: takingOver(fleet(2), set, nil)},
		{Name: "a Deployment is scaled while it is taken over", Anonymous: true, Uncounted: true, Steps: takingOver(fleet(2, random), deployment, []Step{
			unready(scale(1)), unready(scale(3)),
		})},
		{Name: "the image changes while a StatefulSet is taken over", Steps: takingOver(fleet(2, surge(0)), set, []Step{unready(image(New))})},
		{Name: "a failed pod is taken over", Uncounted: true, Steps: takingOver(fleet(2), set, []Step{unready(failPod(Name + "-0"))})},
		{Name: "a take-over is given up", Steps: append(takingOver(fleet(2, orphan), set, nil)[:6], remove())},
	}
}

// takingOver are the steps of a take-over, with others before its end.
func takingOver(pm *appsv1.PodManager, pods []string, meanwhile []Step) []Step {
	metav1.SetMetaDataAnnotation(&pm.ObjectMeta, appsv1.AnnotationTakeOver, "deployments.apps/web")
	var steps []Step
	for _, name := range pods {
		steps = append(steps, controlled(name))
	}
	steps = append(steps, unready(create(pm)), unready(labelled(pods)))
	for _, name := range pods {
		steps = append(steps, unready(orphaned(name)))
	}
	steps = append(steps, meanwhile...)
	return append(steps, endTakeOver(pods))
}

// ErrNotYet is the error of a step before which the user waits for the operator.
var ErrNotYet = errors.New("not yet")

// endTakeOver takes the annotation off as soon as the status says that all pods
// which live are adopted.
func endTakeOver(pods []string) Step {
	end := edit("end the take-over", func(pm *appsv1.PodManager) { delete(pm.Annotations, appsv1.AnnotationTakeOver) })
	return Step{Name: end.Name, Do: func(ctx context.Context, w World) error {
		pm := &appsv1.PodManager{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: Name}, pm); err != nil {
			return err
		}
		live := int32(0)
		for _, name := range pods {
			pod := &corev1.Pod{}
			if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, pod); err != nil {
				return err
			}
			if pod.Status.Phase != corev1.PodFailed {
				live++
			}
		}
		if pm.Status.CurrentReplicas < live {
			return fmt.Errorf("%w: %d of %d pods are adopted", ErrNotYet, pm.Status.CurrentReplicas, live)
		}
		return end.Do(ctx, w)
	}}
}

// controlled makes a pod that a ReplicaSet controls.
func controlled(name string) Step {
	return Step{Name: "a ReplicaSet makes pod " + name, Do: func(ctx context.Context, w World) error {
		return w.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Namespace, Name: name,
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9", UID: "replicaset", Controller: ptr.To(true),
				}},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: appsv1.AppContainer, Image: Old}}},
		})
	}}
}

// labelled labels the pods as those of the fleet, on its revision.
func labelled(pods []string) Step {
	return Step{Name: "label the pods", Do: func(ctx context.Context, w World) error {
		pm := &appsv1.PodManager{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: Name}, pm); err != nil {
			return err
		}
		if pm.Status.UpdateRevision == "" {
			return fmt.Errorf("%w: the status names no revision", ErrNotYet)
		}
		for _, name := range pods {
			err := changePod("", name, func(pod *corev1.Pod) {
				metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.LabelName, Name)
				metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.LabelRevision, pm.Status.UpdateRevision)
				if shard, ok := pm.Labels[appsv1.LabelShard]; ok {
					metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.LabelShard, shard)
				}
			}).Do(ctx, w)
			if err != nil {
				return fmt.Errorf("label pod %s: %w", name, err)
			}
		}
		return nil
	}}
}

// orphaned: the ReplicaSet is deleted with orphans, and the garbage collector
// comes to a pod.
func orphaned(name string) Step {
	return changePod("pod "+name+" is orphaned", name, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
}
