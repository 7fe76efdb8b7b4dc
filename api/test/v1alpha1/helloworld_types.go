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

// HelloWorldSpec is what the user asks for.
type HelloWorldSpec struct {
	// Size is the number of nginx pods to keep; 0 keeps none.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Size *int32 `json:"size,omitempty"`
}

// HelloWorldStatus is what the operator saw and did.
type HelloWorldStatus struct {
	// ObservedGeneration is the generation of the spec of this status; -1 means that it was never reconciled.
	// +kubebuilder:default=-1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods of the Deployment.
	// +kubebuilder:default=0
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas counts the pods that are ready.
	// +kubebuilder:default=0
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// Selector finds the pods, as text; the scale subresource and the HorizontalPodAutoscaler read it.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Nodes lists the names of the pods that run or will run, sorted, 100 at most.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`

	// Conditions are Ready (always), Reconciling and Stalled (only while they are true).
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HelloWorld runs a Deployment of nginx pods that has its name and its size.
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=helloworlds,singular=helloworld,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="How many pods are asked for"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="How many pods are ready"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="What the operator says of it"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.nodes`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters, because it is the value of the label hello_name"
type HelloWorld struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user asks for.
	// +kubebuilder:default={}
	// +optional
	Spec HelloWorldSpec `json:"spec,omitempty,omitzero"`
	// Status is what the operator saw and did.
	// +kubebuilder:default={}
	// +optional
	Status HelloWorldStatus `json:"status,omitempty,omitzero"`
}

// HelloWorldList is a list of HelloWorlds.
// +kubebuilder:object:root=true
type HelloWorldList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HelloWorld `json:"items"`
}
