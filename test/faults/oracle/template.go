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

package oracle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// departs says where a pod is not what a template asks for, or nothing. Sizes are left
// out: those another client may write.
func departs(pod *corev1.Pod, template *corev1.PodTemplateSpec) string {
	bare := template.DeepCopy()
	for _, list := range [][]corev1.Container{bare.Spec.Containers, bare.Spec.InitContainers} {
		for i := range list {
			list[i].Resources = corev1.ResourceRequirements{}
		}
	}
	return Differs(pod, bare, nil)
}

// sizesOf are what the containers of a pod or a template ask for, cpu and memory, by
// container: "cpu and memory are changed through the resize subresource". Without a
// request, the limit is one.
func sizesOf(spec *corev1.PodSpec) map[string]string {
	all := map[string]string{}
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			c := &list[i]
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				limit, limited := c.Resources.Limits[name]
				request, requested := c.Resources.Requests[name]
				if !requested && limited {
					request, requested = limit, true
				}
				if limited {
					all[fmt.Sprintf("%s limit of %s", name, c.Name)] = limit.String()
				}
				if requested {
					all[fmt.Sprintf("%s of %s", name, c.Name)] = request.String()
				}
			}
		}
	}
	return all
}

// qualityOf is the class of service that Kubernetes gives a pod: resizes leave it
// unchanged.
func qualityOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	some, all := false, true
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			r := &list[i].Resources
			some = some || len(r.Requests)+len(r.Limits) > 0
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				limit, limited := r.Limits[name]
				request, requested := r.Requests[name]
				all = all && limited && (!requested || request.Cmp(limit) == 0)
			}
		}
	}
	switch {
	case !some:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// inPlace: a pod can follow a change of the template without being recreated. Only
// "labels and annotations", images of its containers, and cpu and memory differ;
// "kubectl.kubernetes.io/restartedAt in the template" recreates.
func inPlace(from, to *corev1.PodTemplateSpec) bool {
	if from.Annotations[appsv1.AnnotationKubectlRestart] != to.Annotations[appsv1.AnnotationKubectlRestart] {
		return false
	}
	if qualityOf(&from.Spec) != qualityOf(&to.Spec) {
		return false
	}
	a, b := from.DeepCopy(), to.DeepCopy()
	for _, t := range []*corev1.PodTemplateSpec{a, b} {
		t.Labels, t.Annotations = nil, nil
		for _, list := range [][]corev1.Container{t.Spec.Containers, t.Spec.InitContainers} {
			for i := range list {
				list[i].Image = ""
				for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
					delete(list[i].Resources.Requests, name)
					delete(list[i].Resources.Limits, name)
				}
			}
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}
