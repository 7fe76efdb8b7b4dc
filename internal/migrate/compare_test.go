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
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func aTemplate() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](30),
			Tolerations:                   []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "app", Image: "web:1", Args: []string{"--serve"},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
				Env:       []corev1.EnvVar{{Name: "LEVEL", Value: "info"}},
			}},
		},
	}
}

func aPod(change func(*corev1.Pod)) *corev1.Pod {
	t := aTemplate()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: t.Labels}, Spec: t.Spec}
	if change != nil {
		change(pod)
	}
	return pod
}

func TestDifferences(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"none": {},
		"what others add is none": {change: func(p *corev1.Pod) {
			p.Labels = map[string]string{"app": "web", "pod-template-hash": "x"}
			p.Spec.NodeName = "node-1"
			p.Spec.Tolerations = append([]corev1.Toleration{{Key: corev1.TaintNodeNotReady}}, p.Spec.Tolerations...)
			p.Spec.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy:1"}}, p.Spec.Containers...)
			p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-abc"}}
		}},
		"another image": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Image = "web:2" },
			want:   []string{"web-1: spec.containers[app].image is web:2, and the template says web:1"},
		},
		"another argument": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Args = []string{"--serve", "-v"} },
			want:   []string{"web-1: spec.containers[app].args is [--serve -v], and the template says [--serve]"},
		},
		"a variable that is missing": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Env = nil },
			want:   []string{"web-1: spec.containers[app].env is not set, and the template says LEVEL"},
		},
		"a toleration that is missing": {
			change: func(p *corev1.Pod) { p.Spec.Tolerations = nil },
			want:   []string{"web-1: spec.tolerations[0] is not set, and the template says map[key:spot operator:Exists]"},
		},
		"a size is left alone": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
			},
			want: []string{"web-1: spec.containers[app].resources.requests.cpu is 2, and the template says 100m (harmless)"},
		},
		"and so is a label": {
			change: func(p *corev1.Pod) { p.Labels = map[string]string{"app": "canary"} },
			want:   []string{"web-1: metadata.labels.app is canary, and the template says web (harmless)"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range differences(aPod(test.change), content(aTemplate())) {
				text := d.String()
				if d.Harmless {
					text += " (harmless)"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
