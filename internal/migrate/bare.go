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
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// bareTemplate is the template that a pod without a controller could have come
// from: its spec without what the scheduler and the API server's admission
// added to it.
func bareTemplate(pod *corev1.Pod, selector labels.Selector) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{Spec: *pod.Spec.DeepCopy()}
	t.ObjectMeta = metav1.ObjectMeta{Labels: maps.Clone(pod.Labels), Annotations: maps.Clone(pod.Annotations)}
	delete(t.Annotations, corev1.LastAppliedConfigAnnotation)
	for _, key := range appsv1.PodAnnotations() {
		delete(t.Annotations, key)
	}
	for _, key := range appsv1.ReservedLabels() {
		delete(t.Labels, key)
	}
	onlyShared(t.Labels, selector)
	spec := &t.Spec
	spec.NodeName, spec.Hostname, spec.Priority, spec.PreemptionPolicy, spec.EphemeralContainers = "", "", nil, nil, nil
	spec.DeprecatedServiceAccount = ""
	spec.ReadinessGates = slices.DeleteFunc(spec.ReadinessGates, foreignGate)
	spec.Tolerations = slices.DeleteFunc(spec.Tolerations, func(t corev1.Toleration) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return tokenVolume(v.Name) })
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			list[i].VolumeMounts = slices.DeleteFunc(list[i].VolumeMounts, func(m corev1.VolumeMount) bool { return tokenVolume(m.Name) })
		}
	}
	return t
}

// foreignGate: nothing opens the gate of a new pod. That of the operator's own comes with
// spec.update.readinessGate.
func foreignGate(gate corev1.PodReadinessGate) bool {
	return kruiseGate(gate) || gate.ConditionType == appsv1.GateInService
}

// loseOwn lists what a pod has for itself alone, so that it is not in the template for all.
func (w *Workload) loseOwn() {
	for i := range w.Pods {
		pod := &w.Pods[i]
		if pod.Spec.Hostname != "" {
			w.lose("spec.hostname %s of pod %s: a new pod has its own name for one", pod.Spec.Hostname, pod.Name)
		}
		if len(pod.Spec.EphemeralContainers) > 0 {
			w.lose("spec.ephemeralContainers of pod %s: a new pod has none", pod.Name)
		}
	}
}

// onlyShared drops a label that carries one pod's own name, number or place.
func onlyShared(set map[string]string, selector labels.Selector) {
	asked := map[string]bool{}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		asked[r.Key()] = true
	}
	maps.DeleteFunc(set, func(key, _ string) bool {
		return !asked[key] && (key == "statefulset.kubernetes.io/pod-name" || key == "apps.kubernetes.io/pod-index" ||
			key == "controller-revision-hash" || key == "pod-template-hash" || strings.HasPrefix(key, "topology.kubernetes.io/"))
	})
}

// tokenVolume: admission added the volume, for the service account's token.
func tokenVolume(name string) bool { return strings.HasPrefix(name, "kube-api-access-") }
