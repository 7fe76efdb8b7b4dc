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

package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/podwriter"
)

// TestPodWriter: the operator gets from a write what the API server answered,
// although it asks for less.
func TestPodWriter(t *testing.T) {
	t.Parallel()
	c, err := podwriter.NewClient(suite.Cluster.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ns := suite.Namespace(t)
	fresh := func() *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "written", Labels: map[string]string{"a": "b"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
		}
	}

	trial := fresh()
	if err := c.Create(t.Context(), trial, client.DryRunAll); err != nil {
		t.Fatalf("create a pod as a dry run: %v", err)
	}
	pod := fresh()
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatalf("create a pod, after a dry run: %v", err)
	}
	stored := &corev1.Pod{}
	if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), stored); err != nil {
		t.Fatal(err)
	}
	if pod.UID != stored.UID || pod.UID == "" || pod.ResourceVersion == "" || pod.Labels["a"] != "b" || pod.Spec.Containers[0].Name != "app" {
		t.Errorf("the pod was told as %+v", pod.ObjectMeta)
	}
	if err := c.Create(t.Context(), fresh()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the same name again: %v", err)
	}
	bad := fresh()
	bad.Name, bad.Spec.Containers = "bad", nil
	if err := c.Create(t.Context(), bad); !apierrors.IsInvalid(err) {
		t.Errorf("a pod without a container: %v", err)
	}

	if err := c.Delete(t.Context(), pod, client.Preconditions{UID: ptr.To(types.UID("another"))}); !apierrors.IsConflict(err) {
		t.Errorf("a delete of another's UID: %v", err)
	}
	if err := c.Delete(t.Context(), pod, client.Preconditions{UID: &pod.UID}, client.GracePeriodSeconds(0)); err != nil {
		t.Errorf("a delete: %v", err)
	}
	if err := c.Delete(t.Context(), pod); !apierrors.IsNotFound(err) {
		t.Errorf("a delete of what is gone: %v", err)
	}

	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "other"}, Data: map[string]string{"k": "v"}}
	if err := c.Create(t.Context(), other); err != nil || other.UID == "" {
		t.Errorf("something that is no pod: %v", err)
	}
	if err := c.Delete(t.Context(), other); err != nil {
		t.Errorf("delete something that is no pod: %v", err)
	}
}
