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

// Package podrender turns a template, a revision and a slot into a Pod. It is
// pure: the same input gives the same Pod, byte for byte, so a retried create
// asks for the very pod that the first try asked for.
package podrender

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Owner is the owner of the rendered objects.
type Owner struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
	UID       types.UID
	// Labels are put on every pod and revision of this owner. They win over
	// the template's.
	Labels map[string]string
}

// Reference is the owner reference that makes cascading deletion work and
// tells every other controller to keep its hands off.
func (o Owner) Reference() metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: o.GVK.GroupVersion().String(), Kind: o.GVK.Kind, Name: o.Name, UID: o.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// Template is the pod template that image and template mean together. Image is
// the image of the container named app, which is added where the template has
// no container at all; a template without an app label gets one.
func Template(name, image string, template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	if template != nil {
		t = template.DeepCopy()
	}
	if image != "" {
		setAppImage(&t.Spec, image)
	}
	if _, ok := t.Labels[appsv1.LabelApp]; !ok {
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		t.Labels[appsv1.LabelApp] = name
	}
	return t
}

func setAppImage(spec *corev1.PodSpec, image string) {
	if len(spec.Containers) == 0 {
		spec.Containers = []corev1.Container{{Name: appsv1.AppContainer, Image: image}}
		return
	}
	for i := range spec.Containers {
		if spec.Containers[i].Name == appsv1.AppContainer {
			spec.Containers[i].Image = image
		}
	}
}

// WithGate adds our readiness gate to a rendered pod.
func WithGate(pod *corev1.Pod) {
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == appsv1.GateInService {
			return // the template asks for it itself
		}
	}
	pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: appsv1.GateInService})
}

// EvictionResponder is the operator's name among the responders of a pod.
const EvictionResponder = "apps.mycompany.com/pod-operator"

// responderPriority is what Kubernetes recommends for the controller of a pod.
const responderPriority = 10000

// maxResponders is how many the API allows.
const maxResponders = 10

// WithResponder adds us to a rendered pod as one that responds to its evictions. The
// API allows none in a pod that is scheduled as one of a group.
func WithResponder(pod *corev1.Pod) {
	named := slices.ContainsFunc(pod.Spec.EvictionResponders, func(r corev1.EvictionResponder) bool { return r.Name == EvictionResponder })
	if named || pod.Spec.SchedulingGroup != nil || len(pod.Spec.EvictionResponders) >= maxResponders {
		return
	}
	pod.Spec.EvictionResponders = append(pod.Spec.EvictionResponders, corev1.EvictionResponder{
		Name: EvictionResponder, Priority: ptr.To[int32](responderPriority),
	})
}

// WithPlace asks the scheduler to prefer nodes with a label, and notes that on the
// pod.
func WithPlace(pod *corev1.Pod, key, value string) {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, appsv1.AnnotationRebalancedTo, key+"="+value)
	affinity := pod.Spec.Affinity
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	const strongest = 100
	affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
		affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.PreferredSchedulingTerm{Weight: strongest, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
		}})
	pod.Spec.Affinity = affinity
}

// WithService puts the subdomain of a Service into a template. Together with the
// hostname it gives a pod its DNS name.
func WithService(template *corev1.PodTemplateSpec, service string) *corev1.PodTemplateSpec {
	if service != "" {
		template.Spec.Subdomain = service
	}
	return template
}

// WithHostname makes a pod's name its hostname, as StatefulSets do. A revision
// from before the fleet had a Service has no subdomain, and needs no hostname.
func WithHostname(pod *corev1.Pod) {
	if pod.Spec.Subdomain != "" && pod.Spec.Hostname == "" {
		pod.Spec.Hostname = pod.Name
	}
}

// WithClaims gives a rendered pod its own volume claims. As with a StatefulSet,
// a claim takes the place of a volume of the same name.
func WithClaims(pod *corev1.Pod, templates []string, claimName func(template, pod string) string) {
	for _, template := range templates {
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == template })
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: template,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: claimName(template, pod.Name),
			}},
		})
	}
}

// Claim renders a volume claim from its template. It has no owner: whether it
// outlives the fleet is the retention policy's to say.
func Claim(owner Owner, template *corev1.PersistentVolumeClaim, name string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: owner.Namespace,
			Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	maps.Copy(claim.Labels, owner.Labels)
	claim.Labels[LabelManagedBy] = ManagedBy
	return claim
}

// Pod renders the pod of one slot.
func Pod(owner Owner, template *corev1.PodTemplateSpec, name, revision string, slot int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Namespace:       owner.Namespace,
			Labels:          maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{owner.Reference()},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, owner.Labels)
	pod.Labels[appsv1.LabelRevision] = revision
	pod.Labels[appsv1.LabelSlot] = strconv.Itoa(slot)
	return pod
}
