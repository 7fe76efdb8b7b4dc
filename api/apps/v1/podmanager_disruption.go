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

// DisruptionPolicy says what an eviction of a pod has to wait for.
// +kubebuilder:validation:Enum=Allow;SurgeFirst
type DisruptionPolicy string

const (
	// DisruptionAllow lets evictions through; the pod is replaced afterwards.
	DisruptionAllow DisruptionPolicy = "Allow"
	// DisruptionSurgeFirst makes the replacement first: an eviction waits until
	// it is available.
	DisruptionSurgeFirst DisruptionPolicy = "SurgeFirst"
)

// RebalancePolicy says when pods are moved to restore their spread.
// +kubebuilder:validation:Enum=Manual;Auto
type RebalancePolicy string

const (
	// RebalanceManual moves pods when a person asks for it.
	RebalanceManual RebalancePolicy = "Manual"
	// RebalanceAuto moves pods whenever their spread is worse than the
	// template's topologySpreadConstraints allow.
	RebalanceAuto RebalancePolicy = "Auto"
)

// Disruption says what happens when a pod has to leave its node.
type Disruption struct {
	// Policy is Allow (an eviction deletes the pod at once, and it is replaced afterwards) or SurgeFirst (an eviction is answered with 429, Too Many Requests, until a replacement on another node is available; kubectl drain, the cluster autoscaler and Karpenter try again until then). Pods with volumeClaimTemplates cannot be replaced before they are gone: they are evicted at once.
	// +kubebuilder:default=Allow
	// +optional
	Policy DisruptionPolicy `json:"policy,omitempty"`

	// DeadlineSeconds is for how long an eviction waits for the replacement, with policy SurgeFirst, from the first request of a drain on. After that it is let through. More than the operator's --max-eviction-hold, an hour by default, is cut to it.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	DeadlineSeconds *int32 `json:"deadlineSeconds,omitempty"`

	// MaxSurge is how many replacements, as a number or a percentage of replicas rounded up, are made at the same time for pods that have to leave. Together with those of a rollout there are at most as many as the greater of this and update.maxSurge.
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 100000 : self.matches('^(100|[1-9][0-9]?)%$')",message="disruption.maxSurge must be a number from 1 to 100000 or a percentage from 1% to 100%: without a replacement no pod can be moved"
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// Rebalance is Manual (kubectl podmanager rebalance) or Auto: pods move, each replaced before it goes, whenever their spread is worse than the template's topologySpreadConstraints allow.
	// +kubebuilder:default=Manual
	// +optional
	Rebalance RebalancePolicy `json:"rebalance,omitempty"`
}
