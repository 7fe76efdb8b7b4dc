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

// PodManager runs a number of Pods and updates them in place where it can. It
// changes as little as it can, and records why it touched each Pod.
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
