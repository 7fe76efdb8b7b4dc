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
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// touch is something that the operator did to a pod, in the words of status.history.
type touch struct {
	*Revision
	what  string
	owner types.UID
	// pod is the pod after it, and before the pod before it, nil for a create.
	pod, before *corev1.Pod
}

// touches are all of them, in order.
func (c *chronicle) touches() []touch {
	var list []touch
	for _, l := range c.pods {
		for i, m := range l.moments {
			if !wrote(m.Revision) {
				continue
			}
			a := touch{Revision: m.Revision, pod: m.object}
			if i > 0 {
				a.before = l.moments[i-1].object
			}
			if a.what, a.owner = a.kind(); a.what != "" {
				list = append(list, a)
			}
		}
	}
	slices.SortFunc(list, func(a, b touch) int { return int(a.Version - b.Version) })
	return list
}

// kind is what was done, and for which owner.
func (a *touch) kind() (what string, owner types.UID) {
	is := controllerOf(a.pod)
	if a.before == nil {
		return appsv1.ReasonCreated, is
	}
	was := controllerOf(a.before)
	switch {
	case a.Gone || a.before.DeletionTimestamp == nil && a.pod.DeletionTimestamp != nil:
		return appsv1.ReasonDeleted, was
	case was == "" && is != "":
		return appsv1.ReasonAdopted, is
	case was != "" && is == "":
		return appsv1.ReasonReleased, was
	case was != "" && was == is && !a.Gone && (a.reshaped() || a.before.Labels[appsv1.LabelRevision] != a.pod.Labels[appsv1.LabelRevision]):
		return appsv1.ReasonUpdated, is
	}
	return "", ""
}

func controllerOf(obj metav1.Object) types.UID {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		return ref.UID
	}
	return ""
}

// forced: a pod that was being deleted already was removed before its kubelet ended it.
func (a *touch) forced() bool { return a.Gone && a.before.DeletionTimestamp != nil }

// reshaped: an image or a size is another.
func (a *touch) reshaped() bool {
	return !maps.Equal(images(&a.before.Spec), images(&a.pod.Spec)) || !maps.Equal(sizesOf(&a.before.Spec), sizesOf(&a.pod.Spec))
}

// images are those of all containers, by name.
func images(spec *corev1.PodSpec) map[string]string {
	all := map[string]string{}
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			all[list[i].Name] = list[i].Image
		}
	}
	return all
}
