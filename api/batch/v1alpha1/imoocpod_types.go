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

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

const (
	// LabelName is on every pod of an ImoocPod and carries its name. The
	// label app, which the tutorials look pods up by, may be on any pod; this one
	// is ours, so it decides which orphans are taken in.
	LabelName = GroupName + "/imoocpod"
	// LabelUID carries the UID of the ImoocPod that keeps the pod.
	LabelUID = GroupName + "/imoocpod-uid"
	// LabelApp carries the name of the ImoocPod, as the tutorials have it.
	LabelApp = "app"

	// MaxPodNames is how many names status.podNames lists at most.
	MaxPodNames = appsv1.MaxStatusPods
)

// ImoocPodSpec is what the user asks for.
type ImoocPodSpec struct {
	// Replicas is the number of busybox pods to keep; 0 keeps none.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// ImoocPodStatus is what the operator saw and did.
type ImoocPodStatus struct {
	// ObservedGeneration is the generation of the spec of this status; -1 means that it was never reconciled.
	// +kubebuilder:default=-1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods that run or will run: Running and Pending ones count, terminating and ended ones do not.
	// +kubebuilder:default=0
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas counts the pods that are ready.
	// +kubebuilder:default=0
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// TerminatingReplicas counts the pods that are being deleted.
	// +kubebuilder:default=0
	// +optional
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// PodNames lists the names of the pods that replicas counts, sorted, 100 at most.
	// +listType=atomic
	// +optional
	PodNames []string `json:"podNames,omitempty"`

	// Selector finds the pods, as text; the scale subresource and the HorizontalPodAutoscaler read it.
	// +optional
	Selector string `json:"selector,omitempty"`

	// CurrentRevision is the newest revision that all pods were on.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision is the revision of the pod that this operator makes.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// Failures remembers the pods that failed in a row, for the backoff.
	// +optional
	Failures *appsv1.FailureRecord `json:"failures,omitempty"`

	// Held lists pods that an outside controller holds back from deletion, 100 at most.
	// +listType=atomic
	// +optional
	Held []appsv1.HeldPod `json:"held,omitempty"`

	// Conditions are Ready and Available (always), Reconciling and Stalled (only while they are true).
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// History keeps the last 10 decisions that touched pods, newest first.
	// +listType=atomic
	// +optional
	History []appsv1.Decision `json:"history,omitempty"`
}

// ImoocPod runs a number of busybox pods that run sleep 3600.
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=imoocpods,singular=imoocpod,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="How many pods are asked for"
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="How many pods run or will run"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="How many pods are ready"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.podNames`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50",message="metadata.name must be at most 50 characters, so that its pods' names stay valid host names"
type ImoocPod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user asks for.
	// +kubebuilder:default={}
	// +optional
	Spec ImoocPodSpec `json:"spec,omitempty,omitzero"`
	// Status is what the operator saw and did.
	// +kubebuilder:default={}
	// +optional
	Status ImoocPodStatus `json:"status,omitempty,omitzero"`
}

// ImoocPodList is a list of ImoocPods.
// +kubebuilder:object:root=true
type ImoocPodList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ImoocPod `json:"items"`
}
