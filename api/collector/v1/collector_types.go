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

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CollectorSpec is what to count.
type CollectorSpec struct {
	// Selector finds the pods by their labels, and the workloads (Deployment, StatefulSet, DaemonSet, ReplicaSet, PodManager) by their own labels or by those of the pods they make. An empty selector finds everything.
	Selector metav1.LabelSelector `json:"selector"`

	// Namespaces are where to look. Left out, it is the Collector's own namespace. Others are read with the rights of serviceAccountName.
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// ServiceAccountName is a service account of the Collector's own namespace. Other namespaces are read only where it may list and watch pods, Deployments, ReplicaSets, StatefulSets, DaemonSets and PodManagers. Left out, it is "default".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// Account is the name of the service account with whose rights other namespaces
// are read.
func (s *CollectorSpec) Account() string {
	if s.ServiceAccountName == "" {
		return DefaultServiceAccount
	}
	return s.ServiceAccountName
}

// EventCounts are numbers of watch events.
type EventCounts struct {
	// Added is how often something new appeared.
	// +kubebuilder:default=0
	// +optional
	Added int64 `json:"added"`
	// Modified is how often something was written again.
	// +kubebuilder:default=0
	// +optional
	Modified int64 `json:"modified"`
	// Deleted is how often something went away.
	// +kubebuilder:default=0
	// +optional
	Deleted int64 `json:"deleted"`
}

// Total is the number of all events.
func (c EventCounts) Total() int64 { return c.Added + c.Modified + c.Deleted }

// KindEvents are the events of the objects of one kind.
type KindEvents struct {
	// Kind is Pod, Deployment, ReplicaSet, StatefulSet, DaemonSet or PodManager.
	Kind string `json:"kind"`

	EventCounts `json:",inline"`
}

// ChangeState says how far the counting of a change's events is.
// +kubebuilder:validation:Enum=Counting;Settled;Superseded;GaveUp;Interrupted
type ChangeState string

const (
	// ChangeCounting: events still come, or the workload is not there yet.
	ChangeCounting ChangeState = "Counting"
	// ChangeSettled: the workload reached what was asked for, and no event
	// came for a while after it. The numbers are whole.
	ChangeSettled ChangeState = "Settled"
	// ChangeSuperseded: the next change of the same workload came before
	// this one had settled. Later events count for the next.
	ChangeSuperseded ChangeState = "Superseded"
	// ChangeGaveUp: the workload did not reach what was asked for in time.
	ChangeGaveUp ChangeState = "GaveUp"
	// ChangeInterrupted: the operator was restarted or lost a watch
	// meanwhile, so the numbers may be too low.
	ChangeInterrupted ChangeState = "Interrupted"
)

// Change is something that happened to a workload, with the events that it
// triggered until things settled.
type Change struct {
	// Kind is the workload's kind.
	Kind string `json:"kind"`
	// Namespace is the workload's namespace.
	Namespace string `json:"namespace"`
	// Name is the workload's name.
	Name string `json:"name"`
	// Generation is the generation of the workload's spec.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Change is what was changed, for example "replicas 3 -> 1"; "created" and "deleted" for the workload itself; "2 pods deleted" where pods were deleted without a change of the workload.
	Change string `json:"change"`
	// State says how far the counting is.
	State ChangeState `json:"state"`
	// StartTime is when the change was seen.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	StartTime metav1.MicroTime `json:"startTime"`
	// LastEventTime is when the last of its events was seen.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	LastEventTime metav1.MicroTime `json:"lastEventTime"`
	// Events are those of the workload's pods.
	Events EventCounts `json:"events"`
	// WorkloadEvents are those of the workload itself and, for a Deployment, of its ReplicaSets.
	WorkloadEvents EventCounts `json:"workloadEvents"`
	// EventsByKind are all events of the change, those of pods and those of workloads, by the kind of the object. A kind without events is left out.
	// +listType=map
	// +listMapKey=kind
	// +optional
	EventsByKind []KindEvents `json:"eventsByKind,omitempty"`
}

// CollectorStatus is what was counted.
type CollectorStatus struct {
	// ObservedGeneration is the generation of the spec of this status; -1 means that it was never reconciled.
	// +kubebuilder:default=-1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Since is when the counting began. A changed spec and a new operator process begin again at 0: what was not watched cannot be counted.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Gaps is how often since then a watch had to start anew from a list, so that events may have been missed.
	// +optional
	Gaps int64 `json:"gaps,omitempty"`

	// Pods is the number of pods that match now.
	// +kubebuilder:default=0
	// +optional
	Pods int32 `json:"pods"`

	// Workloads is the number of workloads that match now.
	// +kubebuilder:default=0
	// +optional
	Workloads int32 `json:"workloads"`

	// Events are the events of pods.
	// +kubebuilder:default={}
	// +optional
	Events EventCounts `json:"events"`

	// WorkloadEvents are the events of workloads and of the ReplicaSets of Deployments.
	// +kubebuilder:default={}
	// +optional
	WorkloadEvents EventCounts `json:"workloadEvents"`

	// EventsByKind are all events, those of pods and those of workloads, by the kind of the object. A kind without events is left out.
	// +listType=map
	// +listMapKey=kind
	// +optional
	EventsByKind []KindEvents `json:"eventsByKind,omitempty"`

	// IPs are the addresses of the pods that match and have not ended, sorted, 100 at most.
	// +listType=atomic
	// +optional
	IPs []string `json:"ips,omitempty"`

	// IPCount is the number of all their addresses.
	// +kubebuilder:default=0
	// +optional
	IPCount int32 `json:"ipCount"`

	// RecentChanges are the last 20 changes of matching workloads, newest first, each with the events that it triggered until things settled.
	// +listType=atomic
	// +optional
	RecentChanges []Change `json:"recentChanges,omitempty"`

	// Conditions are Ready (always), Reconciling and Stalled (only while they are true).
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Collector counts the events of pods and workloads and tells how many of them
// each change triggered.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=collectors,singular=collector
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.pods`,description="How many pods match"
// +kubebuilder:printcolumn:name="Added",type=integer,JSONPath=`.status.events.added`,description="Pods that appeared"
// +kubebuilder:printcolumn:name="Modified",type=integer,JSONPath=`.status.events.modified`,description="Writes of pods"
// +kubebuilder:printcolumn:name="Deleted",type=integer,JSONPath=`.status.events.deleted`,description="Pods that went away"
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.since`,description="How long it has been counting"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="IPs",type=string,JSONPath=`.status.ips`,priority=1
// +kubebuilder:printcolumn:name="Last change",type=string,JSONPath=`.status.recentChanges[0].change`,priority=1
type Collector struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what to count.
	Spec CollectorSpec `json:"spec"`
	// Status is what was counted.
	// +kubebuilder:default={}
	// +optional
	Status CollectorStatus `json:"status,omitempty,omitzero"`
}

// CollectorList is a list of Collectors.
// +kubebuilder:object:root=true
type CollectorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Collector `json:"items"`
}
