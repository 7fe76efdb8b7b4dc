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

package helloworld

import (
	"encoding/json"
	"fmt"
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/observe"
)

// drift lists how the Deployment differs from what we want of it. Only our own
// fields count.
func drift(live, want *kappsv1.Deployment) []string {
	var found []string
	differs := func(what string, is, should any) {
		if !equality.Semantic.DeepEqual(is, should) {
			found = append(found, fmt.Sprintf("%s %v -> %v", what, is, should))
		}
	}
	const label = testv1alpha1.LabelName
	differs("replicas", ptr.Deref(live.Spec.Replicas, 1), *want.Spec.Replicas)
	differs("label "+label, live.Labels[label], want.Labels[label])
	differs("pods' label "+label, live.Spec.Template.Labels[label], want.Spec.Template.Labels[label])

	mine := want.Spec.Template.Spec.Containers[0]
	theirs := nginx(live)
	if theirs == nil {
		return append(found, "the container "+mine.Name+" is missing")
	}
	differs("image", theirs.Image, mine.Image)
	if !slices.ContainsFunc(theirs.Ports, func(p corev1.ContainerPort) bool { return samePort(p, mine.Ports[0]) }) {
		found = append(found, fmt.Sprintf("the port %s %d is missing", mine.Ports[0].Name, mine.Ports[0].ContainerPort))
	}
	if !sameSecurity(theirs.SecurityContext, mine.SecurityContext) {
		found = append(found, "the securityContext of the container "+mine.Name)
	}
	return found
}

func nginx(d *kappsv1.Deployment) *corev1.Container {
	for i := range d.Spec.Template.Spec.Containers {
		if c := &d.Spec.Template.Spec.Containers[i]; c.Name == testv1alpha1.ContainerName {
			return c
		}
	}
	return nil
}

func samePort(a, b corev1.ContainerPort) bool {
	return a.Name == b.Name && a.ContainerPort == b.ContainerPort && a.Protocol == b.Protocol
}

func sameSecurity(is, should *corev1.SecurityContext) bool {
	return is != nil && is.SeccompProfile != nil &&
		ptr.Equal(is.AllowPrivilegeEscalation, should.AllowPrivilegeEscalation) &&
		is.SeccompProfile.Type == should.SeccompProfile.Type
}

// takenPorts are ports of our container that have our port's name and another
// number or protocol. The API server would refuse ours beside them, because
// names are unique.
func takenPorts(live *kappsv1.Deployment) []int32 {
	var ports []int32
	if c := nginx(live); c != nil {
		for _, p := range c.Ports {
			if p.Name == testv1alpha1.ContainerName && (p.ContainerPort != testv1alpha1.Port || p.Protocol != corev1.ProtocolTCP) {
				ports = append(ports, p.ContainerPort)
			}
		}
	}
	return ports
}

// withoutPorts is a strategic merge patch that takes ports off our container.
func withoutPorts(live *kappsv1.Deployment, ports []int32) ([]byte, error) {
	var gone []map[string]any
	for _, p := range ports {
		gone = append(gone, map[string]any{"$patch": "delete", "containerPort": p})
	}
	container := map[string]any{"name": testv1alpha1.ContainerName, "ports": gone}
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": live.UID},
		"spec":     map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the patch of Deployment %s/%s: %w", live.Namespace, live.Name, err)
	}
	return raw, nil
}

// ours reports whether the Deployment is this HelloWorld's.
func ours(d *kappsv1.Deployment, hw *testv1alpha1.HelloWorld) bool {
	ref := metav1.GetControllerOfNoCopy(d)
	return ref != nil && ref.UID == hw.UID
}

// Slim drops the fields of a Deployment that this controller does not read,
// before the cache stores it.
func Slim(raw any) (any, error) {
	d, ok := raw.(*kappsv1.Deployment)
	if !ok {
		return raw, nil
	}
	d.ManagedFields = nil
	d.Annotations = nil
	containers := d.Spec.Template.Spec.Containers
	d.Spec = kappsv1.DeploymentSpec{
		Replicas: d.Spec.Replicas,
		Selector: d.Spec.Selector,
		Paused:   d.Spec.Paused,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: d.Spec.Template.Labels}},
	}
	for i := range containers {
		c := &containers[i]
		if c.Name == testv1alpha1.ContainerName {
			d.Spec.Template.Spec.Containers = []corev1.Container{{
				Name: c.Name, Image: c.Image, Ports: c.Ports, SecurityContext: c.SecurityContext,
			}}
		}
	}
	_, _ = observe.SlimMeta(d)
	if d.Spec.Size() > observe.Large { // not one that this controller made
		d.Spec.Selector, d.Spec.Template = nil, corev1.PodTemplateSpec{}
	}
	return d, nil
}
