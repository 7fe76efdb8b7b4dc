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

package binary

import (
	"path/filepath"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestTheInstallationIsRestricted: the operator's own namespace enforces the
// restricted level, and the pods of its Deployment are let in.
func TestTheInstallationIsRestricted(t *testing.T) {
	g := field
	const level = "pod-security.kubernetes.io/enforce"
	objects, err := install.Render(filepath.Join(testkit.Root(), "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted", Labels: map[string]string{}}}
	var deployment kappsv1.Deployment
	for _, object := range objects {
		switch object.GetKind() {
		case "Namespace":
			ns.Labels[level] = object.GetLabels()[level]
		case "Deployment":
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ns.Labels[level] != "restricted" {
		t.Fatalf("the namespace enforces %q", ns.Labels[level])
	}
	if err := g.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: deployment.Spec.Template.Spec.ServiceAccountName}}
	if err := g.Client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "manager"}, Spec: deployment.Spec.Template.Spec}
	if err := g.Client.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("the operator's pod: %v", err)
	}
	// Were the level not enforced, nothing would have been tested.
	pod.Spec.HostNetwork = true
	if err := g.Client.Create(t.Context(), pod, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf("a pod on the host's network: %v", err)
	}
}
