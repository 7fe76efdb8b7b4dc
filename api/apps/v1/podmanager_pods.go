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

// ScaleDownPreference orders the pods that a scale-down takes.
// +kubebuilder:validation:Enum=NotReadyFirst
type ScaleDownPreference string

// ScaleDownNotReadyFirst takes first what serves least.
const ScaleDownNotReadyFirst ScaleDownPreference = "NotReadyFirst"

// ScaleDown says which pods go first.
type ScaleDown struct {
	// Prefer is NotReadyFirst: pods asked for by label, then those not scheduled, not running, not ready, on an old revision, with the lower deletion cost, in the more crowded zone or node, the more recently ready.
	// +kubebuilder:default=NotReadyFirst
	// +optional
	Prefer ScaleDownPreference `json:"prefer,omitempty"`
}

// TerminatingPolicy says when a terminating pod gets its successor.
// +kubebuilder:validation:Enum=ReplaceAtOnce;WaitForDeletion;AfterTimeout
type TerminatingPolicy string

const (
	// TerminatingReplaceAtOnce does not wait.
	TerminatingReplaceAtOnce TerminatingPolicy = "ReplaceAtOnce"
	// TerminatingWait waits until the pod is gone.
	TerminatingWait TerminatingPolicy = "WaitForDeletion"
	// TerminatingAfterTimeout waits, but not longer than timeout.
	TerminatingAfterTimeout TerminatingPolicy = "AfterTimeout"
)

// Terminating says when a terminating pod gets its successor.
type Terminating struct {
	// Policy is ReplaceAtOnce, WaitForDeletion or AfterTimeout.
	// +kubebuilder:default=ReplaceAtOnce
	// +optional
	Policy TerminatingPolicy `json:"policy,omitempty"`

	// Timeout is how long AfterTimeout waits, for example 30s.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}(\.[0-9]{1,9})?(ms|s)|[0-9]{1,5}(\.[0-9]{1,9})?(m|h))+$`
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ClaimPolicy says what becomes of a claim.
// +kubebuilder:validation:Enum=Retain;Delete
type ClaimPolicy string

const (
	// ClaimRetain keeps the claim and its data.
	ClaimRetain ClaimPolicy = "Retain"
	// ClaimDelete deletes the claim.
	ClaimDelete ClaimPolicy = "Delete"
)

// ClaimRetention says what becomes of claims, as in a StatefulSet.
type ClaimRetention struct {
	// WhenDeleted is Retain or Delete: the claims when this object is deleted.
	// +kubebuilder:default=Retain
	// +optional
	WhenDeleted ClaimPolicy `json:"whenDeleted,omitempty"`

	// WhenScaled is Retain or Delete: the claims of pods that are scaled away.
	// +kubebuilder:default=Retain
	// +optional
	WhenScaled ClaimPolicy `json:"whenScaled,omitempty"`
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
// +kubebuilder:validation:XValidation:rule="!has(self.initial) || !has(self.max) || !self.initial.matches('^([0-9]+(\\\\.[0-9]+)?(ms|s|m|h))+$') || !self.max.matches('^([0-9]+(\\\\.[0-9]+)?(ms|s|m|h))+$') || duration(self.initial) <= duration(self.max)",message="backoff.initial must not be longer than backoff.max"
type Backoff struct {
	// Initial is the wait before the second replacement, for example 10s.
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}(\.[0-9]{1,9})?(ms|s)|[0-9]{1,5}(\.[0-9]{1,9})?(m|h))+$`
	// +optional
	Initial *metav1.Duration `json:"initial,omitempty"`

	// Max is the longest wait, for example 5m.
	// +kubebuilder:default="5m0s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}(\.[0-9]{1,9})?(ms|s)|[0-9]{1,5}(\.[0-9]{1,9})?(m|h))+$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]+(\\\\.[0-9]+)?(ms|s|m|h))+$') || duration(self) <= duration('24h')",message="backoff.max must be at most 24h"
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
