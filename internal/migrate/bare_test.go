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

package migrate

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// What the scheduler and admission gave one pod is not asked for by the others.
func TestTheTemplateOfABarePod(t *testing.T) {
	pod := aPod(func(p *corev1.Pod) {
		p.Labels = map[string]string{
			"app": "web", "topology.kubernetes.io/zone": "a", "pod-template-hash": "x", "podmanager": "other", "stage": "prod",
		}
		p.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "team": "shop", appsv1.AnnotationInPlace: "[]"}
		p.Spec.NodeName, p.Spec.Priority = "node-1", ptr.To[int32](0)
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: corev1.TaintNodeNotReady})
		p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-x"}, {Name: "data"}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "kube-api-access-x"}, {Name: "data"}}
	})
	got := bareTemplate(pod, labels.SelectorFromSet(labels.Set{"app": "web"}))
	want := aTemplate()
	want.ObjectMeta = metav1.ObjectMeta{Labels: map[string]string{"app": "web", "stage": "prod"}, Annotations: map[string]string{"team": "shop"}}
	want.Spec.Volumes = []corev1.Volume{{Name: "data"}}
	want.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data"}}
	if !sameTemplate(got, want) {
		t.Errorf("got  %+v\nwant %+v", content(got), content(want))
	}
}

// Pods of a StatefulSet whose name is that of the PodManager were taken for pods without a
// controller. An interrupted run finds pods that the PodManager has already.
func TestBarePodsBelongToNoOther(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	for kind, version := range map[string]string{"StatefulSet": "apps/v1", "PodManager": appsv1.GroupVersion.String()} {
		pod := aPod(func(p *corev1.Pod) {
			p.Namespace = "shop"
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "web", UID: "x", Controller: ptr.To(true)}}
		})
		_, err := ReadBare(t.Context(), fakeClient(t, pod), key, labels.SelectorFromSet(labels.Set{"app": "web"}))
		if refused := err != nil && strings.Contains(err.Error(), "belongs to "+kind); refused != (kind == "StatefulSet") {
			t.Errorf("of a %s: %v", kind, err)
		}
	}
}
