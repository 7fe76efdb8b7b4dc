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

// PodManagerStatus is what the operator saw and did.
type PodManagerStatus struct {
	// ObservedGeneration is the generation of the spec of this status; -1 means that it was never reconciled.
	// +kubebuilder:default=-1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods of this PodManager that are not terminating and have not ended.
	// +kubebuilder:default=0
	// +optional
	Replicas int32 `json:"replicas"`

	// CurrentReplicas counts the live pods.
	// +kubebuilder:default=0
	// +optional
	CurrentReplicas int32 `json:"currentReplicas"`

	// ReadyReplicas counts the pods that are ready.
	// +kubebuilder:default=0
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas counts the pods that have been ready for minReadySeconds.
	// +kubebuilder:default=0
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// UpdatedReplicas counts the live pods that are on updateRevision.
	// +kubebuilder:default=0
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// TerminatingReplicas counts the pods that are being deleted.
	// +kubebuilder:default=0
	// +optional
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// CurrentRevision is the last revision on which the whole fleet was available.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision is the revision that the pods move to: that of the template, unless another is pinned or a failed one was rolled back.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// Selector finds the pods, as text; the scale subresource and the HorizontalPodAutoscaler read it.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Nodes lists the names of the live pods, sorted, 100 at most.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`

	// Failures remembers the pods of updateRevision that failed in a row, for the backoff.
	// +optional
	Failures *FailureRecord `json:"failures,omitempty"`

	// CurrentFailures does the same for currentRevision while it is another one: behind a partition, or while a rollout is stopped, pods come back on it.
	// +optional
	CurrentFailures *FailureRecord `json:"currentFailures,omitempty"`

	// Rollout remembers how far the rollout to updateRevision got, for the progress deadline.
	// +optional
	Rollout *RolloutRecord `json:"rollout,omitempty"`

	// Rollback tells that a failed revision was taken back. It stays until the template changes.
	// +optional
	Rollback *RollbackRecord `json:"rollback,omitempty"`

	// Rebalance tells why the last attempt to restore the spread of the pods was given up.
	// +optional
	Rebalance *RebalanceRecord `json:"rebalance,omitempty"`

	// Held lists pods that an outside controller holds back from deletion or from a change in place, 100 at most.
	// +listType=atomic
	// +optional
	Held []HeldPod `json:"held,omitempty"`

	// Conditions are Ready (always: what this generation asks for is rolled out and available), Available (always: enough pods serve), Reconciling, Stalled, Paused and Pinned (only while they are true).
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

// RolloutRecord remembers how far a rollout got.
type RolloutRecord struct {
	// Revision is the revision the pods move to.
	Revision string `json:"revision"`
	// Done is how many pods of it were available at most, of those that are still there.
	Done int32 `json:"done"`
	// ProgressTime is when that number last grew, the revision changed or a restart was requested.
	ProgressTime metav1.Time `json:"progressTime"`
	// StuckSeconds is for how long since progressTime a pod of the revision was there, could run and was not available. At progressDeadlineSeconds the rollout has failed. Time in which the operator was away does not count.
	// +optional
	StuckSeconds int32 `json:"stuckSeconds,omitempty"`
	// StuckTime is up to when stuckSeconds is counted. It is absent while no such pod is there.
	// +optional
	StuckTime *metav1.Time `json:"stuckTime,omitempty"`
	// Waits is true while the rollout stands still on purpose: it is paused, behind a partition, or others hold its pods. The deadline does not run then.
	// +optional
	Waits bool `json:"waits,omitempty"`
	// ResizeRefused is what the API server said when it refused to resize pods in place for this revision, which then recreates them.
	// +optional
	ResizeRefused string `json:"resizeRefused,omitempty"`
	// Moved says which pods are on the revision, or were when they were last there: with ordinals a list such as 2,5-9, otherwise their number. While the rollout is paused or has failed, these are replaced on the revision and all others on currentRevision.
	// +optional
	Moved string `json:"moved,omitempty"`
	// SmallNodes are nodes that can never hold the new size, as the API server said. Their pods are recreated, and the others resized in place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	SmallNodes []string `json:"smallNodes,omitempty"`
}

// RebalanceRecord tells that an attempt to restore the spread of the pods was
// given up.
type RebalanceRecord struct {
	// Time is when it was given up.
	Time metav1.Time `json:"time"`
	// Message says why.
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// RollbackRecord tells that a failed revision was taken back.
type RollbackRecord struct {
	// From is the revision that failed.
	From string `json:"from"`
	// To is the revision that the pods went back to.
	To string `json:"to"`
	// Time is when it was decided.
	Time metav1.Time `json:"time"`
	// Message says why.
	// +optional
	Message string `json:"message,omitempty"`
}

// HeldPod is a pod that an outside controller holds.
type HeldPod struct {
	// Pod is its name.
	Pod string `json:"pod"`
	// From is what it is held back from: delete or update.
	From string `json:"from"`
	// By is the value of the label, or the name of the finalizer, that holds it.
	// +optional
	By string `json:"by,omitempty"`
	// Since is when the operator began to wait.
	Since metav1.Time `json:"since"`
}

// Decision is one entry of the history: what was done to which pods, and why.
type Decision struct {
	// Time is when it was done.
	Time metav1.Time `json:"time"`
	// Generation is the generation of the spec that it was done for.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Revision is the revision that the pods were moving to when it was done.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Action is what was done: Created, Deleted, Evicted, Updated, Adopted, Released, Orphaned or RolledBack.
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
