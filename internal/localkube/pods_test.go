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

package localkube_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func (k *kube) pods() typedcorev1.PodInterface {
	k.t.Helper()
	return adminOf(k.t, k.c).CoreV1().Pods(metav1.NamespaceDefault)
}

func (k *kube) create(name string, change func(*corev1.Pod)) {
	k.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
	}
	if change != nil {
		change(pod)
	}
	if _, err := k.pods().Create(k.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kube) get(name string) *corev1.Pod {
	k.t.Helper()
	pod, err := k.pods().Get(k.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	return pod
}

func (k *kube) patch(name, patch string, subresources ...string) {
	k.t.Helper()
	_, err := k.pods().Patch(k.t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kube) delete(name string) {
	k.t.Helper()
	if err := k.pods().Delete(k.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kube) waitFor(name, what string, is func(*corev1.Pod) bool) *corev1.Pod {
	k.t.Helper()
	var found *corev1.Pod
	eventually(k.t, name+" "+what, func(ctx context.Context) error {
		pod, err := k.pods().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !is(pod) {
			return fmt.Errorf("its status is %+v", pod.Status)
		}
		found = pod
		return nil
	})
	return found
}

// ready waits until the pod is ready and its status is about its latest spec.
func (k *kube) ready(name string) *corev1.Pod {
	k.t.Helper()
	return k.waitFor(name, "is ready", func(pod *corev1.Pod) bool {
		return isReady(pod) && pod.Status.ObservedGeneration == pod.Generation
	})
}

func (k *kube) gone(name string) {
	k.t.Helper()
	eventually(k.t, name+" is gone", func(ctx context.Context) error {
		_, err := k.pods().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = errors.New("it is there")
		}
		return err
	})
}

func isReady(pod *corev1.Pod) bool { return condition(pod, corev1.PodReady) == corev1.ConditionTrue }

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
