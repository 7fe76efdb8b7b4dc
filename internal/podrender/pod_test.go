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

package podrender

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func anOwner() Owner {
	return Owner{
		GVK: appsv1.GroupVersion.WithKind("PodManager"), Namespace: "ns", Name: "web", UID: "uid",
		Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: "uid"},
	}
}

// TestTemplate: what image and template mean together.
func TestTemplate(t *testing.T) {
	two := []corev1.Container{{Name: "app", Image: "app:1"}, {Name: "proxy", Image: "proxy:1"}}
	for name, test := range map[string]struct {
		image    string
		template *corev1.PodTemplateSpec
		want     corev1.PodTemplateSpec
	}{
		"an image alone": {
			"app:1", nil,
			corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
			},
		},
		"a template alone": {
			"", &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: two}},
			corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: two}},
		},
		"the image is the app's": {
			"app:2", &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: two}},
			corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:2"}, {Name: "proxy", Image: "proxy:1"}}},
			},
		},
		"the template's own app label stays": {
			"app:1", &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "shop", "tier": "front"}}},
			corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "shop", "tier": "front"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := test.template.DeepCopy()
			got := Template("web", test.image, test.template)
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given, test.template); diff != "" {
				t.Errorf("the template that was given changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestPod: the pod of a slot, with everything that leads back to its owner.
func TestPod(t *testing.T) {
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"app": "shop", appsv1.LabelName: "not this"},
			Annotations: map[string]string{"note": "kept"},
			Finalizers:  []string{"example.com/hold"},
		},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"disk": "fast"}, Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
	before := template.DeepCopy()
	got := Pod(anOwner(), template, "web-3", "web-abc", 3)
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-3",
			Labels: map[string]string{
				"app": "shop", appsv1.LabelName: "web", appsv1.LabelUID: "uid",
				appsv1.LabelRevision: "web-abc", appsv1.LabelSlot: "3",
			},
			Annotations: map[string]string{"note": "kept"},
			Finalizers:  []string{"example.com/hold"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps.mycompany.com/v1", Kind: "PodManager", Name: "web", UID: "uid",
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"disk": "fast"}, Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The pod is its own: what becomes of it does not reach the template.
	got.Labels["app"], got.Annotations["note"], got.Spec.NodeSelector["disk"], got.Spec.Containers[0].Image = "x", "x", "x", "x"
	if diff := cmp.Diff(before, template); diff != "" {
		t.Errorf("the template changed (-before +after):\n%s", diff)
	}
}

// TestAPodOfABareTemplate has labels of ours, and no map is nil where it is
// written to.
func TestWithPlace(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}}
	for name, template := range map[string]*corev1.PodTemplateSpec{"a bare template": {}, "a template with affinity": template} {
		t.Run(name, func(t *testing.T) {
			pod := Pod(anOwner(), template, "web-0", "web-1", 0)
			WithPlace(pod, "zone", "b")
			terms := pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
			if len(terms) != 1 || terms[0].Preference.MatchExpressions[0].Values[0] != "b" || pod.Annotations[appsv1.AnnotationRebalancedTo] != "zone=b" {
				t.Errorf("terms %+v, annotations %v", terms, pod.Annotations)
			}
			if a := template.Spec.Affinity; a != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
				t.Error("the template was changed")
			}
		})
	}
}

func TestAPodOfABareTemplate(t *testing.T) {
	got := Pod(Owner{Namespace: "ns", Name: "web", UID: "uid"}, &corev1.PodTemplateSpec{}, "web-0", "r", 0)
	want := map[string]string{appsv1.LabelRevision: "r", appsv1.LabelSlot: "0"}
	if diff := cmp.Diff(want, got.Labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestARetryAsksForTheSamePod, byte for byte.
func TestARetryAsksForTheSamePod(t *testing.T) {
	template := aTemplate()
	first := Pod(anOwner(), template, "web-0", "r", 0)
	for range 20 {
		if diff := cmp.Diff(first, Pod(anOwner(), template, "web-0", "r", 0)); diff != "" {
			t.Fatalf("(-first +again):\n%s", diff)
		}
	}
}
