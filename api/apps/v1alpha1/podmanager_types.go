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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodManagerSpec is what the user asks for.
type PodManagerSpec struct {
	// Size is the number of pods to keep; v1 calls it replicas.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Size *int32 `json:"size,omitempty"`

	// Image is what the pods run. Where a PodManager was written as v1 with a template and without an image, it is the image of the template's container app, or of its first container.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == self.trim()",message="image must not begin or end with a space"
	Image string `json:"image"`
}

// PodManagerStatus is what the operator saw.
type PodManagerStatus struct {
	// Nodes lists the names of the live pods, sorted, 100 at most.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`
}

// PodManager runs a number of Pods with one image. It is the older, smaller API;
// v1 has more fields.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:unservedversion
// +kubebuilder:resource:path=podmanagers,singular=podmanager,shortName=pm,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="How many pods are asked for"
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`,description="What the pods run"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.nodes`,description="The pods' names",priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name must be at most 52 characters, so that its pods' names with their ordinals stay valid host names"
type PodManager struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user asks for.
	Spec PodManagerSpec `json:"spec"`
	// Status is what the operator saw.
	// +optional
	Status PodManagerStatus `json:"status,omitempty,omitzero"`
}

// PodManagerList is a list of PodManagers.
// +kubebuilder:object:root=true
type PodManagerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodManager `json:"items"`
}
