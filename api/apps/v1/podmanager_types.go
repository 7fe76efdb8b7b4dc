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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Identity says how pods are named.
// +kubebuilder:validation:Enum=Ordinal;Random
type Identity string

const (
	// IdentityOrdinal names pods NAME-0, NAME-1 and so on. A pod that is
	// replaced keeps its name, so its successor waits until it is gone.
	IdentityOrdinal Identity = "Ordinal"
	// IdentityRandom gives pods a suffix that looks random and follows from
	// owner and slot. A successor does not wait for a terminating pod.
	IdentityRandom Identity = "Random"
)

// DeletionPolicy says what becomes of the pods of a deleted PodManager.
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete deletes the pods and waits until they are gone.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionOrphan leaves the pods running, without owner and without the
	// reserved labels.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// PodManagerSpec is what the user asks for.
// +kubebuilder:validation:XValidation:rule="has(self.image) || has(self.template)",message="set image, or template with at least one container"
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.template) || (has(self.template.spec) && size(self.template.spec.containers) > 0)",message="template has no container: add one under template.spec.containers, or set image"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || !has(self.template) || !has(self.template.spec) || size(self.template.spec.containers) == 0 || self.template.spec.containers.exists(c, c.name == 'app')",message="image is the image of the container named app, but the template has no container of that name: name one app, or leave image out"
type PodManagerSpec struct {
	// Replicas is the number of pods to keep.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Image is shorthand for a template with one container named app. Where a template is set too, it is the image of the template's container app.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == self.trim()",message="image must not begin or end with a space"
	// +optional
	Image string `json:"image,omitempty"`

	// Template is the pod to make: metadata and spec as in a Deployment. The labels podmanager, podmanager-uid and those under apps.mycompany.com are reserved for the operator.
	// +kubebuilder:validation:XValidation:rule="!has(self.metadata) || !has(self.metadata.labels) || !['podmanager', 'podmanager-uid', 'apps.mycompany.com/revision', 'apps.mycompany.com/slot', 'apps.mycompany.com/delete'].exists(l, l in self.metadata.labels)",message="the labels podmanager, podmanager-uid, apps.mycompany.com/revision, apps.mycompany.com/slot and apps.mycompany.com/delete are set by the operator: leave them out of template.metadata.labels"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.restartPolicy) || self.spec.restartPolicy == 'Always'",message="restartPolicy must be Always: a PodManager keeps its pods running"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.activeDeadlineSeconds)",message="activeDeadlineSeconds ends pods that a PodManager has to keep running: leave it out"
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// Identity says how pods are named: Ordinal (NAME-0, NAME-1 and so on) or Random (a suffix that follows from owner and slot). It cannot be changed.
	// +kubebuilder:default=Ordinal
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="identity cannot be changed, because it names the pods: make a new PodManager instead"
	// +optional
	Identity Identity `json:"identity,omitempty"`

	// MinReadySeconds is how long a pod has to be ready before it counts as available.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Paused stops rollouts. Scaling and repair go on.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// FailedPods says how pods that failed are replaced and how many are kept for inspection.
	// +kubebuilder:default={}
	// +optional
	FailedPods FailedPods `json:"failedPods,omitzero"`

	// Deletion says what becomes of the pods when this object is deleted.
	// +kubebuilder:default={}
	// +optional
	Deletion Deletion `json:"deletion,omitzero"`

	// RevisionHistoryLimit is how many old revisions are kept besides those in use.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// FailedPods says how pods that failed are replaced.
type FailedPods struct {
	// Limit is how many failed pods are kept for inspection. With identity Ordinal a failed pod stays only until its backoff has passed, because its successor needs the name.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Limit *int32 `json:"limit,omitempty"`

	// Backoff is the wait between replacements of pods that fail again and again.
	// +kubebuilder:default={}
	// +optional
	Backoff Backoff `json:"backoff,omitzero"`
}

// Backoff is the wait between replacements: the first failure of a revision is
// repaired at once, the second after initial, and so on, doubled each time up
// to max. A quiet time of twice max forgets it.
// +kubebuilder:validation:XValidation:rule="!has(self.initial) || !has(self.max) || duration(self.initial) <= duration(self.max)",message="backoff.initial must not be longer than backoff.max"
type Backoff struct {
	// Initial is the wait before the second replacement, for example 10s.
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	Initial *metav1.Duration `json:"initial,omitempty"`

	// Max is the longest wait, for example 5m.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="backoff.max must be at most 24h"
	// +optional
	Max *metav1.Duration `json:"max,omitempty"`
}

// Deletion says what becomes of the pods when the PodManager is deleted.
type Deletion struct {
	// Policy is Delete (delete the pods and wait until they are gone) or Orphan (leave them running without owner and reserved labels).
	// +kubebuilder:default=Delete
	// +optional
	Policy DeletionPolicy `json:"policy,omitempty"`
}

// PodManagerStatus is what the operator saw and did.
type PodManagerStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of; -1 means nobody has looked yet.
	// +kubebuilder:default=-1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods of this PodManager that are not terminating and have not ended.
	// +optional
	Replicas int32 `json:"replicas"`

	// CurrentReplicas counts the live pods.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas"`

	// ReadyReplicas counts the pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas counts the pods that have been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// UpdatedReplicas counts the live pods made from the newest template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// TerminatingReplicas counts the pods that are being deleted.
	// +optional
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// CurrentRevision is the newest revision that all pods were on.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision is the revision of the newest template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// Selector finds the pods, as text; the scale subresource and the HorizontalPodAutoscaler read it.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Nodes lists the names of the live pods, sorted, 100 at most.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`

	// Failures remembers the pods that failed in a row, for the backoff.
	// +optional
	Failures *FailureRecord `json:"failures,omitempty"`

	// Conditions are Ready (always), Reconciling and Stalled (only while they are true) and Paused.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// History keeps the last 10 decisions that touched pods, newest first.
	// +listType=atomic
	// +optional
	History []Decision `json:"history,omitempty"`
}

// FailureRecord remembers how often pods of one revision failed in a row.
type FailureRecord struct {
	// Revision is the revision whose pods failed.
	Revision string `json:"revision"`
	// Count is the number of failures in a row.
	Count int32 `json:"count"`
	// LastTime is when the last of them was seen.
	LastTime metav1.Time `json:"lastTime"`
	// RetryTime is when the next replacement may be made.
	RetryTime metav1.Time `json:"retryTime"`
}

// Decision is one entry of the history: what was done to which pods, and why.
type Decision struct {
	// Time is when it was done.
	Time metav1.Time `json:"time"`
	// Action is what was done: Created, Deleted, Adopted, Released or Orphaned.
	Action string `json:"action"`
	// Count is the number of pods.
	Count int32 `json:"count"`
	// Pods are their names, the first 10 of them.
	// +listType=atomic
	// +optional
	Pods []string `json:"pods,omitempty"`
	// Reason is the rule that decided it.
	Reason string `json:"reason"`
	// Message is the reason in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// PodManager keeps a fleet of Pods the way its spec asks for: it changes as
// little as it can and tells why it touched every Pod.
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=podmanagers,singular=podmanager,shortName=pm,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="How many pods are asked for"
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.currentReplicas`,description="How many pods live"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="How many pods are ready"
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`,description="How many pods come from the newest template"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="How many pods have been ready for minReadySeconds"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`,priority=1
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.updateRevision`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name must be at most 52 characters, so that its pods' names with their ordinals stay valid host names"
type PodManager struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user asks for.
	Spec PodManagerSpec `json:"spec"`
	// Status is what the operator saw and did.
	// +kubebuilder:default={}
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
