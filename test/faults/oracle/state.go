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
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kappsv1 "k8s.io/api/apps/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// End is a cluster's state without what two runs may well have different:
// times, UIDs, versions, nodes, history. Two runs of the same scenario are
// compared by it (L1).
type End struct {
	Owners    []string
	Pods      []string
	Revisions []string
	Claims    []string
}

// Normalise makes an End. anonymous leaves the pods' names out: with identity
// Random which slots are in use depends on what was repaired when.
func Normalise(objects []client.Object, anonymous bool) End {
	n := &normaliser{anonymous: anonymous, owners: map[types.UID]string{}}
	for _, obj := range objects {
		if pm, ok := obj.(*appsv1.PodManager); ok {
			n.owners[pm.UID] = pm.Name
		}
	}
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *appsv1.PodManager:
			n.end.Owners = append(n.end.Owners, n.owner(obj))
		case *corev1.Pod:
			n.end.Pods = append(n.end.Pods, n.pod(obj))
		case *corev1.PersistentVolumeClaim:
			n.end.Claims = append(n.end.Claims, fmt.Sprintf("%s of %s terminating=%t", obj.Name,
				cmp.Or(n.owners[types.UID(obj.Labels[appsv1.LabelUID])], "another"), obj.DeletionTimestamp != nil))
		case *kappsv1.ControllerRevision:
			n.end.Revisions = append(n.end.Revisions, fmt.Sprintf("%s of %s", obj.Name, n.controller(obj)))
		}
	}
	slices.Sort(n.end.Owners)
	slices.Sort(n.end.Pods)
	slices.Sort(n.end.Revisions)
	slices.Sort(n.end.Claims)
	return n.end
}

type normaliser struct {
	anonymous bool
	owners    map[types.UID]string
	end       End
}

func (n *normaliser) controller(obj client.Object) string {
	ref := metav1.GetControllerOf(obj)
	if ref == nil {
		return "no owner"
	}
	if name, ok := n.owners[ref.UID]; ok {
		return name
	}
	return "a " + ref.Kind + " that is gone"
}

func (n *normaliser) owner(pm *appsv1.PodManager) string {
	s := &pm.Status
	var conditions []string
	for i := range s.Conditions {
		c := &s.Conditions[i]
		conditions = append(conditions, fmt.Sprintf("%s=%s(%s)", c.Type, c.Status, c.Reason))
	}
	slices.Sort(conditions)
	return fmt.Sprintf("%s finalizers=%v replicas=%d ready=%d available=%d updated=%d terminating=%d current=%s update=%s observed=%t %s",
		pm.Name, pm.Finalizers, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas, s.TerminatingReplicas,
		s.CurrentRevision, s.UpdateRevision, s.ObservedGeneration == pm.Generation, strings.Join(conditions, " "))
}

func (n *normaliser) pod(pod *corev1.Pod) string {
	name, slot := pod.Name, pod.Labels[appsv1.LabelSlot]
	if n.anonymous {
		name, slot = "pod", ""
	}
	var images []string
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name != Injected {
			images = append(images, pod.Spec.Containers[i].Image)
		}
	}
	ready := corev1.ConditionFalse
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			ready = c.Status
		}
	}
	return fmt.Sprintf("%s of %s slot=%s revision=%s member=%s images=%v size=%s phase=%s ready=%s terminating=%t",
		name, n.controller(pod), slot, pod.Labels[appsv1.LabelRevision], pod.Labels[appsv1.LabelName], images, sizeText(pod),
		pod.Status.Phase, cmp.Or(ready, corev1.ConditionFalse), pod.DeletionTimestamp != nil)
}
