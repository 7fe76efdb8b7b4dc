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
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Size is the cpu and memory that a template names for the containers that run
// as long as the pod: what a resize in place can change.
type Size []Amount

// Amount is the request or the limit of one container for one resource.
type Amount struct {
	Container string
	// Init: it is one of the init containers, a sidecar.
	Init     bool
	Limit    bool
	Resource corev1.ResourceName
	Quantity resource.Quantity
}

// SizeOf is the size that a template names.
func SizeOf(template *corev1.PodTemplateSpec) Size {
	var size Size
	for _, init := range []bool{false, true} {
		list := containersOf(&template.Spec, init)
		for i := range list {
			if init && !sidecar(&list[i]) {
				continue
			}
			r := Resources(&list[i])
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if q, ok := r.Requests[name]; ok {
					size = append(size, Amount{Container: list[i].Name, Init: init, Resource: name, Quantity: q})
				}
				if q, ok := r.Limits[name]; ok {
					size = append(size, Amount{Container: list[i].Name, Init: init, Limit: true, Resource: name, Quantity: q})
				}
			}
		}
	}
	return size
}

// Differs are the amounts that a pod does not have. What the size does not name,
// a LimitRange say, may have been added, and is not compared.
func (s Size) Differs(pod *corev1.PodSpec) Size {
	var differ Size
	for _, a := range s {
		if q, ok := a.of(pod); !ok || q.Cmp(a.Quantity) != 0 {
			differ = append(differ, a)
		}
	}
	return differ
}

// of is the pod's amount. A pod with a limit and no request requests its limit.
func (a Amount) of(pod *corev1.PodSpec) (resource.Quantity, bool) {
	list := containersOf(pod, a.Init)
	at := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == a.Container })
	if at < 0 {
		return resource.Quantity{}, false
	}
	r := &list[at].Resources
	if q, ok := r.Requests[a.Resource]; ok && !a.Limit {
		return q, true
	}
	q, ok := r.Limits[a.Resource]
	return q, ok
}

// Like is the size with the amounts of another one. It is false where the other
// does not name them all: no resize leads there, because none can add a request
// or a limit, or take one away.
func (s Size) Like(other Size) (Size, bool) {
	like := slices.Clone(s)
	for i := range like {
		at := slices.IndexFunc(other, func(a Amount) bool {
			return a.Container == like[i].Container && a.Init == like[i].Init && a.Limit == like[i].Limit && a.Resource == like[i].Resource
		})
		if at < 0 {
			return nil, false
		}
		like[i].Quantity = other[at].Quantity
	}
	return like, true
}

// WithSize is a template with other amounts.
func WithSize(template *corev1.PodTemplateSpec, size Size) *corev1.PodTemplateSpec {
	t := template.DeepCopy()
	for _, a := range size {
		list := containersOf(&t.Spec, a.Init)
		at := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == a.Container })
		if at < 0 {
			continue
		}
		field := &list[at].Resources.Requests
		if a.Limit {
			field = &list[at].Resources.Limits
		}
		if *field == nil {
			*field = corev1.ResourceList{}
		}
		(*field)[a.Resource] = a.Quantity
	}
	return t
}

func containersOf(spec *corev1.PodSpec, init bool) []corev1.Container {
	if init {
		return spec.InitContainers
	}
	return spec.Containers
}

// sidecar: an init container that runs as long as the pod.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
