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
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdateStrategy says how pods follow a changed template.
// +kubebuilder:validation:Enum=InPlaceIfPossible;Recreate;OnDelete
type UpdateStrategy string

const (
	// UpdateInPlace changes pods in place where the change allows it and
	// recreates them where it does not.
	UpdateInPlace UpdateStrategy = "InPlaceIfPossible"
	// UpdateRecreate always recreates.
	UpdateRecreate UpdateStrategy = "Recreate"
	// UpdateOnDelete leaves pods alone until the user deletes them.
	UpdateOnDelete UpdateStrategy = "OnDelete"
)

// FailureAction says what to do with a rollout that makes no progress.
// +kubebuilder:validation:Enum=Pause;Rollback
type FailureAction string

const (
	// FailurePause stops the rollout and waits for a person.
	FailurePause FailureAction = "Pause"
	// FailureRollback goes back to the last revision that was fully
	// available, once.
	FailureRollback FailureAction = "Rollback"
)

// Update says how pods follow a changed template.
type Update struct {
	// Strategy is InPlaceIfPossible (labels, annotations, images, cpu and memory are changed on the running pod, anything else recreates it), Recreate, or OnDelete (pods follow when you delete them).
	// +kubebuilder:default=InPlaceIfPossible
	// +optional
	Strategy UpdateStrategy `json:"strategy,omitempty"`

	// MaxUnavailable is how many pods, or which percentage of replicas rounded down, may be unavailable during a rollout, also while a change in place restarts them. With 0 or 0%, and maxSurge above 0, others are made first that stand in; a percentage that rounds down to 0 lets changes in place take one pod at a time.
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 100000 : self.matches('^(100|[0-9]{1,2})%$')",message="maxUnavailable must be a number from 0 to 100000 or a percentage from 0% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many pods, or which percentage of replicas rounded up, may exist beyond replicas while pods are recreated. Changes in place need none, unless maxUnavailable is 0 or 0%.
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 100000 : self.matches('^(100|[0-9]{1,2})%$')",message="maxSurge must be a number from 0 to 100000 or a percentage from 0% to 100%"
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// Partition is how many pods, or which percentage of replicas rounded up, stay on the old revision: with identity Ordinal those with the lowest ordinals.
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 100000 : self.matches('^(100|[0-9]{1,2})%$')",message="partition must be a number from 0 to 100000 or a percentage from 0% to 100%"
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// ProgressDeadlineSeconds is for how long pods of a new revision may be there, be able to run and not become available before the rollout counts as failed. Every pod that becomes available begins it anew. What is not the revision's fault does not count: a predecessor that still terminates, a node, a quota, a hold, minReadySeconds, an operator that was away. It has to be greater than minReadySeconds.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// OnFailure is Pause (stop and wait for a person) or Rollback (go back, once, to the last revision that was fully available).
	// +kubebuilder:default=Pause
	// +optional
	OnFailure FailureAction `json:"onFailure,omitempty"`

	// UseEviction recreates pods through the eviction API, so that PodDisruptionBudgets hold.
	// +optional
	UseEviction bool `json:"useEviction,omitempty"`

	// ReadinessGate gives new pods the readiness gate apps.mycompany.com/InService, which takes a pod out of service before its image is changed in place and puts it back when it is done. It costs one more write for every pod that is created.
	// +optional
	ReadinessGate bool `json:"readinessGate,omitempty"`

	// ResizeDeadlineSeconds is how long a node may put off a resize in place before the pod is recreated instead.
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	ResizeDeadlineSeconds *int32 `json:"resizeDeadlineSeconds,omitempty"`
}
