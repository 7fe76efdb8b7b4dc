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

package desired

import (
	"encoding/json"
	"fmt"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kappsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
)

const (
	helloWorldImage = "nginx:1.27"
	helloWorldSize  = 1
)

// HelloWorldGVK is the kind that the Deployment of a HelloWorld names as its
// controller.
var HelloWorldGVK = testv1alpha1.GroupVersion.WithKind("HelloWorld")

// HelloWorldSize is how many pods a HelloWorld asks for.
func HelloWorldSize(hw *testv1alpha1.HelloWorld) int32 {
	return ptr.Deref(hw.Spec.Size, helloWorldSize)
}

// HelloWorld is the Deployment that a HelloWorld asks for: exactly the fields that
// are ours. Every other field belongs to the client that sets it.
func HelloWorld(hw *testv1alpha1.HelloWorld) *kappsv1ac.DeploymentApplyConfiguration {
	label := map[string]string{testv1alpha1.LabelName: hw.Name}
	container := corev1ac.Container().
		WithName(testv1alpha1.ContainerName).
		WithImage(helloWorldImage).
		WithPorts(corev1ac.ContainerPort().
			WithName(testv1alpha1.ContainerName).
			WithContainerPort(testv1alpha1.Port).
			WithProtocol(corev1.ProtocolTCP)).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)))
	return kappsv1ac.Deployment(hw.Name, hw.Namespace).
		WithLabels(label).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(HelloWorldGVK.GroupVersion().String()).WithKind(HelloWorldGVK.Kind).WithName(hw.Name).WithUID(hw.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(kappsv1ac.DeploymentSpec().
			WithReplicas(HelloWorldSize(hw)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(label)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(label).
				WithSpec(corev1ac.PodSpec().WithContainers(container))))
}

// HelloWorldDeployment is such a Deployment as a plain object.
func HelloWorldDeployment(config *kappsv1ac.DeploymentApplyConfiguration) (*kappsv1.Deployment, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the Deployment: %w", err)
	}
	deployment := &kappsv1.Deployment{}
	if err := json.Unmarshal(raw, deployment); err != nil {
		return nil, fmt.Errorf("decode the Deployment: %w", err)
	}
	return deployment, nil
}
