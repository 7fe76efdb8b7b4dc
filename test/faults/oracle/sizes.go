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
	"strconv"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Halves is C, which is judged at the end: a resize and the label of its revision
// are two writes, and no pod stays with only one of them. Sizes that others wrote
// last are theirs.
func Halves(history []Revision, end []client.Object) []Violation {
	templates := map[string]*corev1.PodTemplateSpec{}
	for _, obj := range end {
		if revision, ok := obj.(*kappsv1.ControllerRevision); ok {
			if template, err := podrender.Decode(revision); err == nil {
				templates[revision.Name] = template
			}
		}
	}
	var found []Violation
	resizers := lastResizers(history)
	for _, obj := range end {
		pod, ok := obj.(*corev1.Pod)
		if !ok || !Live(pod) || resizers[pod.UID] != Operator && resizers[pod.UID] != Late {
			continue
		}
		name := pod.Labels[appsv1.LabelRevision]
		if template := templates[name]; template != nil && len(podrender.SizeOf(template).Differs(&pod.Spec)) > 0 {
			version, _ := strconv.ParseInt(pod.ResourceVersion, 10, 64)
			found = append(found, Violation{
				Rule: "C", Version: version, Message: "pod " + pod.Name + " is on revision " + name + " and has the size of another: " + sizeText(pod),
			})
		}
	}
	return found
}

// lastResizers say who changed the size of each pod last.
func lastResizers(history []Revision) map[types.UID]string {
	sizes, resizers := map[types.UID]string{}, map[types.UID]string{}
	for i := range history {
		pod, ok := history[i].Object.(*corev1.Pod)
		if !ok {
			continue
		}
		size := sizeText(pod)
		if before, known := sizes[pod.UID]; known && before != size {
			resizers[pod.UID] = history[i].Actor
		}
		sizes[pod.UID] = size
	}
	return resizers
}

// sizeText is what the containers of a pod ask for.
func sizeText(pod *corev1.Pod) string {
	text := ""
	for _, a := range podrender.SizeOf(&corev1.PodTemplateSpec{Spec: pod.Spec}) {
		text += a.Container + " " + string(a.Resource) + " " + a.Quantity.String() + " "
	}
	return text
}
