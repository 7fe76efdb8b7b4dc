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
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Change is what leads from one template to another.
type Change struct {
	// Recreate says what cannot be changed on a running pod, or is empty.
	Recreate string
	// Metadata: labels or annotations differ.
	Metadata bool
	// Images and Resize are the containers whose image, or cpu and memory,
	// differ.
	Images, Resize []string
	// Restarts: a container that serves is restarted by it.
	Restarts bool
}

// Compare finds out how a pod of one template becomes one of the other. It
// makes the parts that can be changed in place equal, one after the other, and
// what differs then needs a new pod.
func Compare(from, to *corev1.PodTemplateSpec) Change {
	a, b := meanings(from, to)
	c := &Change{}
	if a.Annotations[appsv1.AnnotationKubectlRestart] != b.Annotations[appsv1.AnnotationKubectlRestart] {
		c.Recreate = "a restart was asked for"
	}
	if !equality.Semantic.DeepEqual(a.Labels, b.Labels) || !equality.Semantic.DeepEqual(a.Annotations, b.Annotations) {
		c.Metadata = true
		a.Labels, a.Annotations = b.Labels, b.Annotations
	}
	sameQOS := qosClass(&a.Spec) == qosClass(&b.Spec)
	c.containers(a.Spec.Containers, b.Spec.Containers, false)
	c.containers(a.Spec.InitContainers, b.Spec.InitContainers, true)
	if len(c.Resize) > 0 && !sameQOS {
		c.need("the QoS class would change")
	}
	if !equality.Semantic.DeepEqual(a.ObjectMeta, b.ObjectMeta) {
		c.need("finalizers or other metadata changed")
	}
	if fields := differing(a.Spec, b.Spec); len(fields) > 0 {
		c.need(strings.Join(fields, ", ") + " changed")
	}
	return *c
}

// need notes the first thing that needs a new pod.
func (c *Change) need(what string) {
	if c.Recreate == "" {
		c.Recreate = what
	}
}

// containers makes images and sizes equal and notes what else differs.
func (c *Change) containers(from, to []corev1.Container, init bool) {
	if !slices.EqualFunc(from, to, func(a, b corev1.Container) bool { return a.Name == b.Name }) {
		return // the lists differ as a whole; Compare names the field
	}
	for i := range from {
		a, b := &from[i], &to[i]
		serves := !init || sidecar(a)
		if a.Image != b.Image {
			c.Images = append(c.Images, a.Name)
			c.Restarts = c.Restarts || serves
			a.Image = b.Image
		}
		if serves && resizable(a, b) {
			c.Resize = append(c.Resize, a.Name)
			c.Restarts = c.Restarts || resizeRestarts(a, b)
			a.Resources = b.Resources
		}
		if fields := differing(*a, *b); len(fields) > 0 {
			c.need(fmt.Sprintf("%s of container %s changed", strings.Join(fields, ", "), a.Name))
			*a = *b
		}
	}
}

// resizable: the resources differ, and in nothing but how much cpu and memory.
// The API cannot add or take away a request or a limit on a running pod.
func resizable(a, b *corev1.Container) bool {
	if equality.Semantic.DeepEqual(a.Resources, b.Resources) {
		return false
	}
	x, y := a.Resources.DeepCopy(), b.Resources.DeepCopy()
	for _, lists := range [][2]corev1.ResourceList{{x.Requests, y.Requests}, {x.Limits, y.Limits}} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if _, ok := lists[0][name]; !ok {
				continue
			}
			if q, ok := lists[1][name]; ok {
				lists[0][name] = q
			}
		}
	}
	return equality.Semantic.DeepEqual(x, y)
}

// resizeRestarts: the container's resize policy restarts it for a resource
// that changes.
func resizeRestarts(a, b *corev1.Container) bool {
	for _, policy := range b.ResizePolicy {
		if policy.RestartPolicy != corev1.RestartContainer {
			continue
		}
		if !sameAmount(a.Resources.Requests, b.Resources.Requests, policy.ResourceName) ||
			!sameAmount(a.Resources.Limits, b.Resources.Limits, policy.ResourceName) {
			return true
		}
	}
	return false
}

func sameAmount(a, b corev1.ResourceList, name corev1.ResourceName) bool {
	x, y := a[name], b[name]
	return x.Cmp(y) == 0
}

// differing names the fields, as JSON does, in which two structs differ.
func differing[T any](a, b T) []string {
	var names []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !equality.Semantic.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			name, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// qosClass is the QoS class the API server gives a pod with this spec.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, bestEffort := true, true
	containers := append(slices.Clone(spec.Containers), spec.InitContainers...)
	for i := range containers {
		r := containers[i].Resources
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, limited := r.Limits[name]
			request, requested := r.Requests[name]
			if limited || requested {
				bestEffort = false
			}
			if !limited || requested && request.Cmp(limit) != 0 {
				guaranteed = false
			}
		}
	}
	switch {
	case bestEffort:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
