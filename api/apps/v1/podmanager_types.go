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
	"k8s.io/apimachinery/pkg/util/intstr"
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

// PodManagementPolicy says in which order pods are started and removed.
// +kubebuilder:validation:Enum=Parallel;OrderedReady
type PodManagementPolicy string

const (
	// ParallelPods creates and deletes as many pods at once as there are.
	ParallelPods PodManagementPolicy = "Parallel"
	// OrderedReadyPods creates one pod after the other, each when all lower
	// ordinals are available, and deletes them one by one from the highest.
	OrderedReadyPods PodManagementPolicy = "OrderedReady"
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
// +kubebuilder:validation:XValidation:rule="!has(self.volumeClaimTemplates) || size(self.volumeClaimTemplates) == 0 || self.identity == 'Ordinal'",message="volumeClaimTemplates need identity Ordinal, so that a pod finds its claims again"
// +kubebuilder:validation:XValidation:rule="(has(self.volumeClaimTemplates) ? size(self.volumeClaimTemplates) : 0) == (has(oldSelf.volumeClaimTemplates) ? size(oldSelf.volumeClaimTemplates) : 0) && (!has(self.volumeClaimTemplates) || !has(oldSelf.volumeClaimTemplates) || self.volumeClaimTemplates.map(c, has(c.metadata), c.metadata) == oldSelf.volumeClaimTemplates.map(c, has(c.metadata), c.metadata) && self.volumeClaimTemplates.map(c, has(c.spec), c.spec) == oldSelf.volumeClaimTemplates.map(c, has(c.spec), c.spec))",message="volumeClaimTemplates cannot be changed, because pods that are replaced would find other volumes than before: make a new PodManager instead"
// +kubebuilder:validation:XValidation:rule="!has(self.reserveOrdinals) || size(self.reserveOrdinals) == 0 || self.identity == 'Ordinal'",message="reserveOrdinals need identity Ordinal"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceName) || self.identity == 'Ordinal'",message="serviceName needs identity Ordinal, so that a pod keeps its name"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceName) || !has(self.template) || !has(self.template.spec) || !has(self.template.spec.hostname) || size(self.template.spec.hostname) == 0",message="serviceName gives every pod a hostname of its own: leave template.spec.hostname out"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceName) || !has(self.template) || !has(self.template.spec) || !has(self.template.spec.subdomain) || size(self.template.spec.subdomain) == 0 || self.template.spec.subdomain == self.serviceName",message="serviceName is the pods' subdomain: leave template.spec.subdomain out"
// +kubebuilder:validation:XValidation:rule="!has(self.podManagementPolicy) || self.podManagementPolicy == 'Parallel' || self.identity == 'Ordinal'",message="podManagementPolicy OrderedReady needs identity Ordinal, which gives the pods an order"
// +kubebuilder:validation:XValidation:rule="!has(self.minReadySeconds) || !has(self.update) || !has(self.update.progressDeadlineSeconds) || self.minReadySeconds < self.update.progressDeadlineSeconds || (oldSelf.hasValue() && oldSelf.value().?minReadySeconds == self.?minReadySeconds && oldSelf.value().?update.?progressDeadlineSeconds == self.?update.?progressDeadlineSeconds)",optionalOldSelf=true,message="update.progressDeadlineSeconds must be greater than minReadySeconds, or no pod can become available in time"
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
	// +kubebuilder:validation:XValidation:rule="!has(self.metadata) || !has(self.metadata.labels) || !['podmanager', 'podmanager-uid', 'apps.mycompany.com/revision', 'apps.mycompany.com/slot', 'apps.mycompany.com/delete', 'apps.mycompany.com/wanted', 'apps.mycompany.com/shard'].exists(l, l in self.metadata.labels)",message="the labels podmanager, podmanager-uid, apps.mycompany.com/revision, apps.mycompany.com/slot, apps.mycompany.com/delete, apps.mycompany.com/wanted and apps.mycompany.com/shard are set by the operator: leave them out of template.metadata.labels"
	// +kubebuilder:validation:XValidation:rule="!has(self.metadata) || !has(self.metadata.annotations) || !['apps.mycompany.com/surge', 'apps.mycompany.com/in-place', 'apps.mycompany.com/eviction-requested', 'apps.mycompany.com/eviction-grace-period', 'apps.mycompany.com/rebalanced-to', 'apps.mycompany.com/replaces'].exists(a, a in self.metadata.annotations)",message="the annotations apps.mycompany.com/surge, apps.mycompany.com/in-place, apps.mycompany.com/eviction-requested, apps.mycompany.com/eviction-grace-period, apps.mycompany.com/rebalanced-to and apps.mycompany.com/replaces are about one pod: leave them out of template.metadata.annotations"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.restartPolicy) || self.spec.restartPolicy == 'Always'",message="restartPolicy must be Always: a PodManager keeps its pods running"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.activeDeadlineSeconds)",message="activeDeadlineSeconds ends pods that a PodManager has to keep running: leave it out"
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// Identity says how pods are named: Ordinal (NAME-0, NAME-1 and so on) or Random (a suffix that follows from owner and slot). It cannot be changed.
	// +kubebuilder:default=Ordinal
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="identity cannot be changed, because it names the pods: make a new PodManager instead"
	// +optional
	Identity Identity `json:"identity,omitempty"`

	// ServiceName is the headless Service that gives every pod a DNS name of its own, NAME-0.SERVICE.NAMESPACE.svc, for identity Ordinal. The Service is yours to create. A change recreates the pods.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="serviceName must be the name of a Service: lower case letters, digits and '-', beginning with a letter"
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// PodManagementPolicy says in which order pods are started and removed: Parallel (all at once) or OrderedReady, for identity Ordinal (a pod is created when all lower ordinals are available, and removed when all higher ones are gone). Rollouts follow update in both cases.
	// +kubebuilder:default=Parallel
	// +optional
	PodManagementPolicy PodManagementPolicy `json:"podManagementPolicy,omitempty"`

	// MinReadySeconds is how long a pod has to be ready before it counts as available. It has to be less than update.progressDeadlineSeconds.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Paused stops rollouts. Scaling and repair go on.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Update says how pods follow a changed template.
	// +kubebuilder:default={}
	// +optional
	Update Update `json:"update,omitzero"`

	// ScaleDown says which pods go first when there are too many.
	// +kubebuilder:default={}
	// +optional
	ScaleDown ScaleDown `json:"scaleDown,omitzero"`

	// Terminating says whether a pod gets its successor while it still terminates. With identity Ordinal a successor always waits, because it needs the name.
	// +kubebuilder:default={}
	// +optional
	Terminating Terminating `json:"terminating,omitzero"`

	// ReserveOrdinals are ordinals that get no pod, for identity Ordinal: with replicas 3 and [1] the pods are NAME-0, NAME-2 and NAME-3.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:Minimum=0
	// +listType=set
	// +optional
	ReserveOrdinals []int32 `json:"reserveOrdinals,omitempty"`

	// VolumeClaimTemplates are claims that every pod gets of its own, named TEMPLATE-POD, for identity Ordinal. A pod that is replaced finds its claims again. They cannot be changed.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// PersistentVolumeClaimRetentionPolicy says what becomes of the claims of pods that are scaled away or deleted with this object.
	// +kubebuilder:default={}
	// +optional
	PersistentVolumeClaimRetentionPolicy ClaimRetention `json:"persistentVolumeClaimRetentionPolicy,omitzero"`

	// FailedPods says how pods that failed are replaced and how many are kept for inspection.
	// +kubebuilder:default={}
	// +optional
	FailedPods FailedPods `json:"failedPods,omitzero"`

	// Disruption says what happens when a pod has to leave its node: a drain, an eviction, a notice that the node goes.
	// +kubebuilder:default={}
	// +optional
	Disruption Disruption `json:"disruption,omitzero"`

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

// PodManager keeps a fleet of Pods the way its spec asks for: it changes as
// little as it can and tells why it touched every Pod.
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=podmanagers,singular=podmanager,shortName=pm,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:selectablefield:JSONPath=`.spec.disruption.policy`
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="How many pods are asked for"
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.currentReplicas`,description="How many pods live"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="How many pods are ready"
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`,description="How many pods come from the newest template"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="How many pods have been ready for minReadySeconds"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`,priority=1
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.spec.update.strategy`,priority=1
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.updateRevision`,priority=1
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Whether the fleet is as asked for, and if not, why"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name must be at most 52 characters, so that its pods' names with their ordinals stay valid host names"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.serviceName) || !self.metadata.name.contains('.')",message="spec.serviceName needs a metadata.name without dots, because the pods' names are their hostnames"
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
