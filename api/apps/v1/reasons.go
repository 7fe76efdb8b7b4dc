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

// Names that tie pods and revisions to their PodManager. A template must not
// set the reserved labels: the operator owns them.
const (
	// Finalizer keeps a PodManager until its pods are gone or let go.
	Finalizer = "apps.mycompany.com/podmanager"

	// LabelName carries the name of the PodManager. It is what the selector
	// in status.selector asks for, and what makes an orphan adoptable.
	LabelName = "podmanager"
	// LabelUID carries the UID of the PodManager that keeps the pod.
	LabelUID = "podmanager-uid"
	// LabelRevision carries the name of the ControllerRevision a pod was
	// made from.
	LabelRevision = "apps.mycompany.com/revision"
	// LabelSlot carries the pod's place in the fleet, from 0 upward.
	LabelSlot = "apps.mycompany.com/slot"
	// LabelDelete with the value "true" is a user's request that this very
	// pod goes: first in a scale-down, replaced otherwise.
	LabelDelete = "apps.mycompany.com/delete"
	// LabelApp is set to the PodManager's name where the template has no
	// label of that key.
	LabelApp = "app"

	// AppContainer is the container that spec.image speaks of.
	AppContainer = "app"

	// MaxStatusPods is how many pod names status.nodes lists at most.
	MaxStatusPods = 100
	// MaxHistory is how many decisions status.history keeps.
	MaxHistory = 10
	// MaxHistoryPods is how many pod names one history entry lists.
	MaxHistoryPods = 10
)

// ReservedLabels are the labels that a template must not set.
func ReservedLabels() []string {
	return []string{LabelName, LabelUID, LabelRevision, LabelSlot, LabelDelete}
}

// Condition types of a PodManager.
const (
	// ConditionReady is always present: True when every pod that should be
	// there is available.
	ConditionReady = "Ready"
	// ConditionReconciling is present, and True, only while a change or a
	// repair is under way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is present, and True, only when nothing will move
	// without help; its reason and message say what to do.
	ConditionStalled = "Stalled"
	// ConditionPaused is present, and True, while spec.paused is true.
	ConditionPaused = "Paused"
)

// Reasons of conditions.
const (
	// ReasonAvailable: every pod is available.
	ReasonAvailable = "Available"
	// ReasonScalingUp: pods are missing and are being created.
	ReasonScalingUp = "ScalingUp"
	// ReasonScalingDown: there are more pods than asked for, and they are
	// being deleted.
	ReasonScalingDown = "ScalingDown"
	// ReasonReplacing: failed or lost pods are being replaced.
	ReasonReplacing = "Replacing"
	// ReasonWaitingForPods: all pods exist, not all are available yet.
	ReasonWaitingForPods = "WaitingForPods"
	// ReasonWaitingForTermination: the pods' successors wait until the
	// terminating ones are gone.
	ReasonWaitingForTermination = "WaitingForTermination"
	// ReasonTerminating: the PodManager is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonPaused: spec.paused is true.
	ReasonPaused = "Paused"
	// ReasonPodsRefused: the API server refuses the pods of this template.
	ReasonPodsRefused = "PodsRefused"
	// ReasonQuotaExceeded: a ResourceQuota leaves no room for the pods.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonNamespaceTerminating: the namespace is being deleted, so no pod
	// can be created in it.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonNameTaken: a pod that is not ours has the name of one of our
	// slots.
	ReasonNameTaken = "NameTaken"
	// ReasonPodsFailing: pods fail again and again and are replaced with a
	// growing backoff.
	ReasonPodsFailing = "PodsFailing"
)

// Reasons of events and history entries: what the operator did.
const (
	// ReasonCreated: pods were created.
	ReasonCreated = "Created"
	// ReasonDeleted: pods were deleted.
	ReasonDeleted = "Deleted"
	// ReasonAdopted: orphans that match were taken in.
	ReasonAdopted = "Adopted"
	// ReasonReleased: pods whose labels were edited away were let go.
	ReasonReleased = "Released"
	// ReasonOrphaned: pods were left behind because deletion.policy is
	// Orphan.
	ReasonOrphaned = "Orphaned"
	// ReasonFailed: a write was refused or a pod failed.
	ReasonFailed = "Failed"
)

// Reasons why one pod was touched: the rule that decided it.
const (
	// WhyScaleUp: fewer pods than replicas.
	WhyScaleUp = "ScaleUp"
	// WhyScaleDown: more pods than replicas.
	WhyScaleDown = "ScaleDown"
	// WhyMissing: the slot's pod is gone, so it gets a new one.
	WhyMissing = "Missing"
	// WhyPodFailed: the pod reached phase Failed.
	WhyPodFailed = "PodFailed"
	// WhyPodFinished: the pod reached phase Succeeded.
	WhyPodFinished = "PodFinished"
	// WhyEvicted: the kubelet or the API evicted the pod.
	WhyEvicted = "Evicted"
	// WhyNodeGone: the pod's node no longer exists.
	WhyNodeGone = "NodeGone"
	// WhyNodeOutOfService: the pod's node carries the out-of-service taint.
	WhyNodeOutOfService = "NodeOutOfService"
	// WhyRequested: a user asked for it with the delete label.
	WhyRequested = "RequestedByLabel"
	// WhyOwnerDeleted: the PodManager is being deleted.
	WhyOwnerDeleted = "OwnerDeleted"
	// WhyDuplicateSlot: two pods claim one slot; the better one stays.
	WhyDuplicateSlot = "DuplicateSlot"
	// WhyMatchingOrphan: a pod without owner matches the selector.
	WhyMatchingOrphan = "MatchingOrphan"
	// WhyLabelsEdited: the pod's labels no longer match the selector.
	WhyLabelsEdited = "LabelsEdited"
	// WhyCorpseLimit: more failed pods than failedPods.limit are kept.
	WhyCorpseLimit = "FailedPodsLimit"
	// WhyNewTemplate: the template differs from every stored revision.
	WhyNewTemplate = "NewTemplate"
	// WhyHistoryLimit: more old revisions than revisionHistoryLimit.
	WhyHistoryLimit = "RevisionHistoryLimit"
	// WhyFinalizerMissing: the finalizer has to be there before any pod.
	WhyFinalizerMissing = "FinalizerMissing"
	// WhyPodsGone: nothing is left to wait for.
	WhyPodsGone = "PodsGone"
)

// Blockers: what holds an action back.
const (
	// BlockedByBackoff: the replacement waits until the backoff has passed.
	BlockedByBackoff = "Backoff"
	// BlockedByTermination: the slot's old pod still terminates.
	BlockedByTermination = "Terminating"
	// BlockedByName: a pod that is not ours has the slot's name.
	BlockedByName = "NameTaken"
	// BlockedByBatch: the rest of a large change follows in the next pass.
	BlockedByBatch = "Batch"
)
