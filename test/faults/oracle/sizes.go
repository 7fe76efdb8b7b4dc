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
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// sizeDiffers: the pod has not what the template asks for. Where only a limit is
// asked for, the API server makes the request of it.
func sizeDiffers(template, pod *corev1.PodSpec) bool {
	for _, want := range sized(template) {
		have := corev1.ResourceRequirements{}
		for _, c := range sized(pod) {
			if c.Name == want.Name {
				have = c.Resources
			}
		}
		if amountsDiffer(want.Resources.Limits, have.Limits) || amountsDiffer(want.Resources.Requests, have.Requests) {
			return true
		}
	}
	return false
}

func amountsDiffer(want, have corev1.ResourceList) bool {
	for _, name := range sizes {
		w, asked := want[name]
		if h, ok := have[name]; asked && (!ok || h.Cmp(w) != 0) {
			return true
		}
	}
	return false
}

// sizes are the resources that can be changed in place.
var sizes = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// sized are the containers that run as long as the pod does.
func sized(spec *corev1.PodSpec) []corev1.Container {
	list := slices.Clone(spec.Containers)
	for i := range spec.InitContainers {
		if p := spec.InitContainers[i].RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			list = append(list, spec.InitContainers[i])
		}
	}
	return list
}

// sizeText is what the containers of a pod ask for.
func sizeText(pod *corev1.Pod) string {
	text := ""
	for _, c := range sized(&pod.Spec) {
		for _, name := range sizes {
			request, requested := c.Resources.Requests[name]
			limit, limited := c.Resources.Limits[name]
			if requested {
				text += c.Name + " " + string(name) + " " + request.String() + " "
			}
			if limited {
				text += c.Name + " " + string(name) + " " + limit.String() + " "
			}
		}
	}
	return text
}
