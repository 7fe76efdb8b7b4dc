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
	// Finalizer keeps a PodManager until its pods are gone or released.
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
	// LabelHoldDelete on a pod, with any value, or a finalizer of this name,
	// keeps the operator from deleting it until it is taken off.
	LabelHoldDelete = "hold.apps.mycompany.com/delete"
	// LabelHoldUpdate on a pod, with any value, or a finalizer of this name,
	// keeps the operator from changing it in place until it is taken off.
	LabelHoldUpdate = "hold.apps.mycompany.com/update"
	// LabelWanted is put on a held pod: delete or update, what the operator
	// would do to it. It notifies the controller that holds the pod.
	LabelWanted = "apps.mycompany.com/wanted"

	// LabelShard is on PodManagers, and on their pods, revisions and volume
	// claims, where the operator runs with shards: which of them they are in.
	LabelShard = "apps.mycompany.com/shard"

	// AnnotationPin on a PodManager keeps its pods on a stored revision, given
	// by name or number. "3" holds whatever the template says, until the
	// annotation is taken off. "3 while 5" holds while the template's revision
	// is number 5: the next template change ends it.
	AnnotationPin = "apps.mycompany.com/pin-revision"
	// AnnotationRestart on a PodManager, with a time in RFC 3339, recreates
	// every pod that is older, within the budget.
	AnnotationRestart = "apps.mycompany.com/restartedAt"
	// AnnotationKubectlRestart in the template is what kubectl rollout
	// restart writes. A change of it recreates pods, although it is but an
	// annotation.
	AnnotationKubectlRestart = "kubectl.kubernetes.io/restartedAt"
	// AnnotationTakeOver on a PodManager names the workload that its pods are
	// taken over from: RESOURCE.GROUP/NAME, "deployments.apps/web" say, or
	// "pods/NAME" for pods without a controller. While it is there, the operator
	// stores revisions of the template and adopts matching pods that have no
	// controller, and does nothing else: it creates, changes and deletes no pod and
	// no volume claim, whatever the spec says. Only adopted pods count in the
	// status meanwhile: when status.currentReplicas is the number of pods of the
	// other workload, all of them are adopted. What was held back follows when the
	// annotation is taken off. Any value holds, also one that names nothing.
	AnnotationTakeOver = "apps.mycompany.com/take-over"
	// AnnotationSurge with the value "true" is on pods with ordinals beyond
	// replicas that a rollout or a drain made to stand in for others, and on the
	// volume claims that were made for them. It is taken off when the fleet grows to
	// their ordinals.
	AnnotationSurge = "apps.mycompany.com/surge"
	// AnnotationCondemnedBy on a volume claim is the UID of the PodManager
	// that scaled the claim's pod away while whenScaled was Delete. Only such a
	// claim is deleted when its pod is gone.
	AnnotationCondemnedBy = "apps.mycompany.com/condemned-by"
	// AnnotationFound with the value "true" is on a volume claim that was there
	// before the operator needed it, and that no PodManager's label was on: a
	// StatefulSet or a user made it. The operator uses such a claim and never
	// deletes it, whatever the retention policy says.
	AnnotationFound = "apps.mycompany.com/found"
	// AnnotationEvictionRequested on a pod, with a time in RFC 3339, is since when
	// an eviction of the pod waits for its replacement. The webhook for evictions
	// writes it, and anyone who wants a pod to be moved may: with
	// disruption.policy SurgeFirst the operator makes a replacement and evicts the
	// pod when that is available. A request that is older than
	// disruption.deadlineSeconds is over.
	AnnotationEvictionRequested = "apps.mycompany.com/eviction-requested"
	// AnnotationEvictionGrace beside it is the grace period, in seconds, that was
	// asked for with the eviction; none means the pod's own.
	AnnotationEvictionGrace = "apps.mycompany.com/eviction-grace-period"
	// AnnotationReplaces on a pod of a PodManager with disruption.policy SurgeFirst
	// says why it was made, unless a scale-up added it at the fleet's end: another pod may
	// have had its name a moment before, and a client that evicts by name may mean that one.
	AnnotationReplaces = "apps.mycompany.com/replaces"
	// AnnotationEvictedBy is on the Evictions that the operator itself posts, so
	// that its webhook for evictions lets them through.
	AnnotationEvictedBy = "apps.mycompany.com/evicted-by"
	// AnnotationNodeLeaving on a node, with any value that says why, announces that
	// the node goes: with disruption.policy SurgeFirst its pods are replaced
	// elsewhere. The operator's flag --node-notices names taints and annotations of
	// others that mean the same.
	AnnotationNodeLeaving = "apps.mycompany.com/leaving"
	// AnnotationRebalance on a PodManager, with a time in RFC 3339, asks for a
	// better spread of the pods that are older: pods on nodes or zones with too
	// many of them are moved, each replaced before it goes.
	AnnotationRebalance = "apps.mycompany.com/rebalance"
	// AnnotationRebalancedTo on a pod is the place, KEY=VALUE of a node label, for
	// which the pod was made to restore the spread.
	AnnotationRebalancedTo = "apps.mycompany.com/rebalanced-to"
	// AnnotationInPlace on a pod remembers what a change in place replaces.
	AnnotationInPlace = "apps.mycompany.com/in-place"

	// PodEvictionRequested is a condition in the status of a pod, which a user with the
	// role edit cannot write: its lastTransitionTime is when a drain first asked for the
	// pod, and its lastProbeTime when it last did. Who may patch the pod can change
	// AnnotationEvictionRequested, and does not begin the deadline anew.
	PodEvictionRequested = "apps.mycompany.com/EvictionRequested"

	// GateInService is the readiness gate and condition that takes a pod out
	// of service during a change in place.
	GateInService = "apps.mycompany.com/InService"

	// LabelApp is set to the PodManager's name where the template has no
	// label of that key.
	LabelApp = "app"

	// AppContainer is the container whose image spec.image sets.
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
	return []string{LabelName, LabelUID, LabelRevision, LabelSlot, LabelDelete, LabelWanted, LabelShard}
}

// PodAnnotations are the annotations about one pod, which a template must not set.
func PodAnnotations() []string {
	return []string{AnnotationSurge, AnnotationInPlace, AnnotationEvictionRequested, AnnotationEvictionGrace, AnnotationRebalancedTo, AnnotationReplaces}
}

// Condition types of a PodManager.
const (
	// ConditionReady is always present: True when what this generation asks
	// for is there: every pod that should be is available and on the revision
	// that it should be on.
	ConditionReady = "Ready"
	// ConditionAvailable is always present: True while at least replicas less
	// maxUnavailable pods are available, whatever their revision.
	ConditionAvailable = "Available"
	// ConditionReconciling is present, and True, only while a change or a
	// repair is under way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is present, and True, only when nothing will move
	// without help; its reason and message say what to do.
	ConditionStalled = "Stalled"
	// ConditionPaused is present, and True, while spec.paused is true.
	ConditionPaused = "Paused"
	// ConditionPinned is present, and True, while a pin is in force. Where it
	// keeps the pods on another revision than the template's, Ready is False.
	ConditionPinned = "Pinned"
)

// Reasons of conditions.
const (
	// ReasonAvailable: every pod is available and on its revision.
	ReasonAvailable = "Available"
	// ReasonMinimumAvailable: enough pods are available.
	ReasonMinimumAvailable = "MinimumReplicasAvailable"
	// ReasonMinimumUnavailable: fewer pods are available than have to be.
	ReasonMinimumUnavailable = "MinimumReplicasUnavailable"
	// ReasonOnDelete: pods of an old revision follow when they are deleted.
	ReasonOnDelete = "OnDelete"
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
	// ReasonChangesRefused: the API server refuses a change or a deletion that
	// the fleet needs: a policy, a webhook or a role stands in the way.
	ReasonChangesRefused = "ChangesRefused"
	// ReasonQuotaExceeded: a ResourceQuota leaves no room for the pods, or a quota or a
	// LimitRange none for their new size.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonNamespaceTerminating: the namespace is being deleted, so no pod
	// can be created in it.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonNameTaken: a pod that is not ours has the name of one of our
	// slots.
	ReasonNameTaken = "NameTaken"
	// ReasonTakesTooLong: looking at the object took so long that it was cut off,
	// so that others are served.
	ReasonTakesTooLong = "TakesTooLong"
	// ReasonRollingOut: pods move to a new revision.
	ReasonRollingOut = "RollingOut"
	// ReasonProgressDeadlineExceeded: a rollout made no progress in time.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonRolledBack: the last revision failed and was taken back.
	ReasonRolledBack = "RolledBack"
	// ReasonMovingPods: pods leave their nodes, each when its replacement is
	// available.
	ReasonMovingPods = "MovingPods"
	// ReasonPinned: a pin decides which revision the pods are on.
	ReasonPinned = "Pinned"
	// ReasonPinnedRevisionMissing: the pin names no stored revision.
	ReasonPinnedRevisionMissing = "PinnedRevisionMissing"
	// ReasonTakingOver: the pods of another workload are being taken over.
	ReasonTakingOver = "TakingOver"
	// ReasonHeld: pods are held back by an outside controller.
	ReasonHeld = "Held"
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
	// ReasonReleased: pods whose labels were edited away were released.
	ReasonReleased = "Released"
	// ReasonOrphaned: pods were left behind because deletion.policy is
	// Orphan.
	ReasonOrphaned = "Orphaned"
	// ReasonUpdated: pods were changed in place.
	ReasonUpdated = "Updated"
	// ReasonEvicted: pods were evicted, to be recreated.
	ReasonEvicted = "Evicted"
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
	// WhyRolloutInPlace: the pod follows the new revision in place.
	WhyRolloutInPlace = "RolloutInPlace"
	// WhyRolloutRecreate: the change cannot be made in place.
	WhyRolloutRecreate = "RolloutRecreate"
	// WhyRolloutSurge: an extra pod carries the load while others are
	// recreated.
	WhyRolloutSurge = "RolloutSurge"
	// WhySurgeOver: the rollout no longer needs the extra pod.
	WhySurgeOver = "SurgeOver"
	// WhyDisruptionSurge: an extra pod carries the load while another leaves
	// its node.
	WhyDisruptionSurge = "DisruptionSurge"
	// WhyEvictionRequested: the pod is evicted, and its replacement is
	// available.
	WhyEvictionRequested = "EvictionRequested"
	// WhyNodeLeaving: the pod's node announces that it goes.
	WhyNodeLeaving = "NodeLeaving"
	// WhyRebalance: the pod moves to restore the spread.
	WhyRebalance = "Rebalance"
	// WhyRestart: the user asked for a restart.
	WhyRestart = "Restart"
	// WhyResizeInfeasible: the node says that it can never hold the resize.
	WhyResizeInfeasible = "ResizeInfeasible"
	// WhyResizeDeferred: the node put the resize off for too long.
	WhyResizeDeferred = "ResizeDeferred"
	// WhyOutOfService: the pod leaves service before its change in place.
	WhyOutOfService = "OutOfService"
	// WhyInService: the change in place is done, or was never needed.
	WhyInService = "InService"
	// WhyHeld: an outside controller holds the pod and is told.
	WhyHeld = "Held"
	// WhyReserved: the pod's ordinal is reserved.
	WhyReserved = "OrdinalReserved"
	// WhyClaimMissing: the slot's claim does not exist.
	WhyClaimMissing = "ClaimMissing"
	// WhyClaimRetention: the retention policy says Delete.
	WhyClaimRetention = "ClaimRetention"
	// WhyClaimInUse: a pod of this owner uses a claim that an earlier owner of
	// the same name left, or that was to go.
	WhyClaimInUse = "ClaimInUse"
	// WhyProgressDeadline: the rollout made no progress in time.
	WhyProgressDeadline = "ProgressDeadlineExceeded"
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
	// BlockedByBudget: more pods would be unavailable, or exist, than the
	// update allows.
	BlockedByBudget = "Budget"
	// BlockedByPause: spec.paused is true.
	BlockedByPause = "Paused"
	// BlockedByPartition: the partition keeps the pod on its old revision.
	BlockedByPartition = "Partition"
	// BlockedByOnDelete: with OnDelete the pod waits for the user.
	BlockedByOnDelete = "OnDelete"
	// BlockedByDeadline: the rollout failed and waits for a person.
	BlockedByDeadline = "ProgressDeadlineExceeded"
	// BlockedByHold: an outside controller holds the pod.
	BlockedByHold = "Hold"
	// BlockedByDisruptionBudget: a PodDisruptionBudget refuses the eviction.
	BlockedByDisruptionBudget = "DisruptionBudget"
	// BlockedByPin: a pin keeps the pods on another revision than the
	// template's.
	BlockedByPin = "Pinned"
	// BlockedByMissingPin: the pinned revision does not exist.
	BlockedByMissingPin = "PinnedRevisionMissing"
	// BlockedByOrder: with podManagementPolicy OrderedReady, another pod comes
	// first.
	BlockedByOrder = "OrderedReady"
	// BlockedByTakeOver: the pods are being taken over from another workload.
	BlockedByTakeOver = "TakeOver"
	// BlockedByReplacement: the pod stays until its replacement is available.
	BlockedByReplacement = "Replacement"
	// BlockedByNodes: every node that could take the pod is cordoned.
	BlockedByNodes = "NodesCordoned"
	// BlockedByContainer: a change in place waits for its containers.
	BlockedByContainer = "ContainerUpdate"
	// BlockedByBatch: the rest of a large change follows in the next pass.
	BlockedByBatch = "Batch"
)

// Why a live pod is not available.
const (
	// UnavailableCrashing: a container ended with an error.
	UnavailableCrashing = "Crashing"
	// UnavailableImage: the node cannot pull an image.
	UnavailableImage = "ImageNotPulled"
	// UnavailableContainer: the node cannot create or start a container.
	UnavailableContainer = "ContainerNotCreated"
	// UnavailableVolume: the scheduler waits for a volume claim that is missing or not bound.
	UnavailableVolume = "WaitingForVolume"
	// UnavailableUnschedulable: the scheduler finds no node for the pod.
	UnavailableUnschedulable = "Unschedulable"
	// UnavailableGated: the pod has scheduling gates.
	UnavailableGated = "SchedulingGated"
	// UnavailableNodeDown: the pod's node does not answer.
	UnavailableNodeDown = "NodeDown"
	// UnavailableResize: the node has no room for the pod's new size now.
	UnavailableResize = "ResizeDeferred"
	// UnavailableNoNode: the scheduler has not assigned the pod to a node yet.
	UnavailableNoNode = "WaitingForNode"
	// UnavailableStarting: the node pulls images, mounts volumes or runs init
	// containers.
	UnavailableStarting = "Starting"
	// UnavailableChanging: a change in place is not done yet.
	UnavailableChanging = "Changing"
	// UnavailableNotReady: the containers run, and the pod is not ready.
	UnavailableNotReady = "NotReady"
	// UnavailableSoon: the pod is ready, but not yet for minReadySeconds.
	UnavailableSoon = "AvailableSoon"
)
