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
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func asks(name, requests, limits string) corev1.Container {
	c := corev1.Container{Name: name}
	if requests != "" {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(requests)}
	}
	if limits != "" {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(limits)}
	}
	return c
}

func sidecarOf(c corev1.Container) corev1.Container {
	c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	return c
}

func podWith(init []corev1.Container, containers ...corev1.Container) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{InitContainers: init, Containers: containers}}
}

func TestWhereAPodDiffersFromASize(t *testing.T) {
	for name, test := range map[string]struct {
		template, pod *corev1.PodTemplateSpec
		want          []string
	}{
		"nowhere":                              {podWith(nil, asks("a", "1", "2")), podWith(nil, asks("a", "1000m", "2")), nil},
		"a request":                            {podWith(nil, asks("a", "1", "2")), podWith(nil, asks("a", "2", "2")), []string{"a request"}},
		"a limit, and the request with it":     {podWith(nil, asks("a", "", "1")), podWith(nil, asks("a", "2", "2")), []string{"a request", "a limit"}},
		"a request that follows from a limit":  {podWith(nil, asks("a", "2", "2")), podWith(nil, asks("a", "", "2")), nil},
		"what a LimitRange added":              {podWith(nil, asks("a", "1", ""), asks("b", "", "")), podWith(nil, asks("a", "1", "9"), asks("b", "3", "")), nil},
		"a sidecar":                            {podWith([]corev1.Container{sidecarOf(asks("s", "1", ""))}), podWith([]corev1.Container{sidecarOf(asks("s", "2", ""))}), []string{"s request"}},
		"an init container, which cannot be":   {podWith([]corev1.Container{asks("i", "1", "")}), podWith([]corev1.Container{asks("i", "2", "")}), nil},
		"a container that the pod has not got": {podWith(nil, asks("a", "1", "")), podWith(nil), []string{"a request"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range SizeOf(test.template).Differs(&test.pod.Spec) {
				got = append(got, a.Container+map[bool]string{false: " request", true: " limit"}[a.Limit])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A template with the size of another is what a resized pod is like.
func TestATemplateWithAnotherSize(t *testing.T) {
	small := podWith([]corev1.Container{sidecarOf(asks("s", "1", ""))}, asks("a", "1", "2"), asks("b", "", ""))
	large := podWith([]corev1.Container{sidecarOf(asks("s", "3", ""))}, asks("a", "4", "5"), asks("b", "9", ""))
	like, ok := SizeOf(small).Like(SizeOf(large))
	if !ok {
		t.Fatal("no resize leads there")
	}
	want := podWith([]corev1.Container{sidecarOf(asks("s", "3", ""))}, asks("a", "4", "5"), asks("b", "", ""))
	if diff := cmp.Diff(want, WithSize(small, like)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if change := Compare(WithSize(small, like), small); change.Recreate != "" || len(change.Resize) != 2 {
		t.Errorf("the way back is %+v, want two resizes", change)
	}
	if _, ok := SizeOf(large).Like(SizeOf(small)); ok {
		t.Error("a resize leads to a template without the request of b")
	}
}
