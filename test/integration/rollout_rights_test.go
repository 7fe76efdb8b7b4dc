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
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// sized gives the app container a cpu and memory request.
func sized(cpu string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Containers = []corev1.Container{{Name: appsv1.AppContainer, Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Mi"),
			},
		}}}
	}
}

// TestPodsAreGatedAndResizedInPlace uses the rights to pods/status and
// pods/resize.
func TestPodsAreGatedAndResizedInPlace(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(2).PodSpec(sized("100m")).Obj()
	pm.Spec.Update.ReadinessGate = true
	suite.Create(t, pm)
	f.ExpectReady(2)
	before := f.Pods()

	f.Edit(func(pm *appsv1.PodManager) { sized("200m")(&pm.Spec.Template.Spec) })
	testkit.Eventually(t, "both pods are resized", func() error {
		for _, pod := range f.Pods() {
			if cpu := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != "200m" {
				return fmt.Errorf("%s asks for %s", pod.Name, cpu)
			}
		}
		return nil
	})
	f.ExpectReady(2)
	after := f.UIDs()
	for _, pod := range before {
		if after[pod.Name] != pod.UID {
			t.Errorf("pod %s was replaced", pod.Name)
		}
	}
}

// TestPodsAreRecreatedByEviction uses the right to pods/eviction.
func TestPodsAreRecreatedByEviction(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(2).Obj()
	pm.Spec.Update.UseEviction = true
	suite.Create(t, pm)
	f.ExpectReady(2)
	first := f.Pod("web-0")
	f.Edit(func(pm *appsv1.PodManager) {
		pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: appsv1.AppContainer, Env: []corev1.EnvVar{{Name: "COLOUR", Value: "blue"}},
		}}}}
	})
	f.ExpectSuccessor(first)
	f.ExpectReady(2)
	f.ExpectEvent(corev1.EventTypeNormal, appsv1.ReasonEvicted, "env of container app changed")
}

// TestClaimsComeAndGoWithTheirOrdinals uses the rights to volume claims.
func TestClaimsComeAndGoWithTheirOrdinals(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "db")
	pm := f.Build().Replicas(2).Obj()
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}
	pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = appsv1.ClaimDelete
	suite.Create(t, pm)
	claim := func(name string) error {
		return suite.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: name}, &corev1.PersistentVolumeClaim{})
	}
	testkit.Eventually(t, "the claim of db-1 exists", func() error { return claim("data-db-1") })
	testkit.Eventually(t, "db-1 exists", func() error { // only a claim whose pod is scaled away may go
		return suite.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: "db-1"}, &corev1.Pod{})
	})
	f.Scale(1)
	testkit.Eventually(t, "the claim of db-1 is gone", func() error {
		err := claim("data-db-1")
		if err == nil {
			return errors.New("it is still there")
		}
		return client.IgnoreNotFound(err)
	})
	if err := claim("data-db-0"); err != nil {
		t.Errorf("the claim of db-0 has to stay: %v", err)
	}
}
