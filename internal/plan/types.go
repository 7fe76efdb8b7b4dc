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

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// NoSlot is the slot of a pod that has none: its name is not one we give.
const NoSlot = -1

// Desired is what an owner asks for, without its template: what the template
// means for existing revisions is in Observed, so that a recorded plan holds
// no environment and no secret.
type Desired struct {
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`

	// NamePrefix is what pod names begin with, before the dash.
	NamePrefix string          `json:"namePrefix"`
	Identity   appsv1.Identity `json:"identity"`
	Selector   string          `json:"selector"`

	Replicas int `json:"replicas"`
	// Ordered: pods are created and removed one after the other, in the order of
	// their ordinals.
	Ordered     bool          `json:"ordered,omitempty"`
	MinReady    time.Duration `json:"minReady,omitempty"`
	Paused      bool          `json:"paused,omitempty"`
	FailedPods  FailedPods    `json:"failedPods"`
	Update      Update        `json:"update"`
	Terminating Terminating   `json:"terminating,omitzero"`
	// Restart is when the user asked for a restart: older pods are recreated.
	Restart time.Time `json:"restart,omitzero"`
	// Pin is the name or the number of the revision to stay on. PinWhile, where
	// it is set, is the highest number of the template's revision at which the
	// pin holds.
	Pin      string `json:"pin,omitempty"`
	PinWhile int64  `json:"pinWhile,omitempty"`
	// TakeOver is the workload that the pods are being taken over from, or empty.
	TakeOver string `json:"takeOver,omitempty"`
	// Disruption is how pods leave their nodes.
	Disruption Disruption `json:"disruption,omitzero"`
	// Reserved are ordinals that get no pod.
	Reserved []int `json:"reserved,omitempty"`
	// Claims are the volume claims that every pod has of its own.
	Claims               Claims `json:"claims,omitzero"`
	RevisionHistoryLimit int    `json:"revisionHistoryLimit"`

	// Finalizer reports whether this kind of owner holds its deletion until
	// its pods are settled, and whether the finalizer is there.
	Finalizer FinalizerState `json:"finalizer,omitempty"`
	// Deletion is empty while the owner is not being deleted.
	Deletion Deletion `json:"deletion,omitempty"`
}

// FailedPods is how failed pods are replaced and how many are kept.
type FailedPods struct {
	Limit   int           `json:"limit"`
	Initial time.Duration `json:"initial"`
	Max     time.Duration `json:"max"`
}

// Update is how pods follow a new revision, in numbers of pods.
type Update struct {
	Strategy appsv1.UpdateStrategy `json:"strategy"`
	// Fixed: this kind of owner has no rollouts. With OnDelete, pods on another
	// revision are as they should be.
	Fixed          bool `json:"fixed,omitempty"`
	MaxUnavailable int  `json:"maxUnavailable"`
	// NoneUnavailable: maxUnavailable is 0 as it is written, and not a
	// percentage that rounds down to it.
	NoneUnavailable  bool                 `json:"noneUnavailable,omitempty"`
	MaxSurge         int                  `json:"maxSurge"`
	Partition        int                  `json:"partition,omitempty"`
	ProgressDeadline time.Duration        `json:"progressDeadline,omitempty"`
	OnFailure        appsv1.FailureAction `json:"onFailure,omitempty"`
	UseEviction      bool                 `json:"useEviction,omitempty"`
	ResizeDeadline   time.Duration        `json:"resizeDeadline,omitempty"`
}

// Disruption is how pods leave their nodes.
type Disruption struct {
	// SurgeFirst: an eviction waits until a replacement is available, for as long
	// as Deadline.
	SurgeFirst bool          `json:"surgeFirst,omitempty"`
	Deadline   time.Duration `json:"deadline,omitempty"`
	// MaxSurge is how many replacements there may be at once, and 0 where no pod
	// is replaced before it goes.
	MaxSurge int `json:"maxSurge,omitempty"`
	// Spread is how the pods are to be spread over the nodes. Pods move to restore
	// it always with AutoRebalance, or when a user asked for it at Rebalance.
	Spread        []Spread  `json:"spread,omitempty"`
	AutoRebalance bool      `json:"autoRebalance,omitempty"`
	Rebalance     time.Time `json:"rebalance,omitzero"`
}

// LetThrough is for how long evictions are let through after their deadline. One
// that comes later is a new one. The replacement stays as long, and a little longer:
// a client that still tries has asked anew by then.
const (
	LetThrough = 10 * time.Minute
	askedAnew  = time.Minute
)

// Remembers reports whether an eviction that was requested then is not forgotten yet.
func (d *Disruption) Remembers(requested, now time.Time) bool {
	return !requested.IsZero() && now.Before(requested.Add(d.Deadline+LetThrough+askedAnew))
}

// Spread is a topology spread constraint: the numbers of pods on nodes with
// different values of a label differ by no more than MaxSkew.
type Spread struct {
	Key     string `json:"key"`
	MaxSkew int    `json:"maxSkew"`
}

// Place is a node label with its value.
type Place struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (p Place) String() string { return p.Key + "=" + p.Value }

// MostSurge is how many pods there may be beyond replicas, for whatever reason.
func (d *Desired) MostSurge() int { return max(d.Update.MaxSurge, d.Disruption.MaxSurge) }

// Terminating is when a terminating pod gets its successor.
type Terminating struct {
	Policy  appsv1.TerminatingPolicy `json:"policy,omitempty"`
	Timeout time.Duration            `json:"timeout,omitempty"`
}

// Claims are a fleet's volume claim templates, by name.
type Claims struct {
	Templates   []string           `json:"templates,omitempty"`
	WhenDeleted appsv1.ClaimPolicy `json:"whenDeleted,omitempty"`
	WhenScaled  appsv1.ClaimPolicy `json:"whenScaled,omitempty"`
}

// FinalizerState is the state of the owner's finalizer.
type FinalizerState string

const (
	// FinalizerUnused: this kind of owner leaves its pods to the garbage
	// collector.
	FinalizerUnused FinalizerState = ""
	// FinalizerMissing: it has to be added before the first pod.
	FinalizerMissing FinalizerState = "Missing"
	// FinalizerPresent: the owner waits for us when it is deleted.
	FinalizerPresent FinalizerState = "Present"
)

// Deletion is how an owner that is being deleted wants its pods treated.
type Deletion string

const (
	// DeletionNone: the owner is not being deleted.
	DeletionNone Deletion = ""
	// DeletionDelete: delete the pods, wait until they are gone.
	DeletionDelete Deletion = "Delete"
	// DeletionOrphan: let the pods go.
	DeletionOrphan Deletion = "Orphan"
	// DeletionCascadeOrphan: the user said --cascade=orphan, so the garbage
	// collector lets the pods go and we only step aside.
	DeletionCascadeOrphan Deletion = "CascadeOrphan"
)

// Observed is what the cache showed.
type Observed struct {
	Pods []Pod `json:"pods,omitempty"`
	// HeldNames are pod names of this fleet that pods outside it have.
	HeldNames []string   `json:"heldNames,omitempty"`
	Revisions []Revision `json:"revisions,omitempty"`
	// Changes say what leads from the revisions that pods are on to those
	// that they may have to move to.
	Changes []Change `json:"changes,omitempty"`
	// Claims are the fleet's volume claims that exist.
	Claims []Claim `json:"claims,omitempty"`
	// Nodes is what is known of the nodes that could take a replacement. It is
	// read only where a pod has to leave its node.
	Nodes *Nodes `json:"nodes,omitempty"`
	// NewRevision is the name a revision of the template would get.
	NewRevision string `json:"newRevision,omitempty"`
	// Status is the last one reported: the memory of the planner.
	Status appsv1.PodManagerStatus `json:"status"`
}

// Nodes counts the nodes that the template's selector and affinity allow.
type Nodes struct {
	// Open counts those of them that take new pods.
	Open int `json:"open"`
	All  int `json:"all"`
	// Domains are the values of the labels of Disruption.Spread, in its order, that
	// open nodes have.
	Domains [][]string `json:"domains,omitempty"`
}

// Membership says whose a pod is.
type Membership string

const (
	// Member: the owner is the pod's controller and the labels match.
	Member Membership = "Member"
	// Orphan: no controller, and the labels match.
	Orphan Membership = "Orphan"
	// Drifted: the owner is the controller, the labels no longer match.
	Drifted Membership = "Drifted"
)

// NodeState reports whether a pod's node can still be trusted.
type NodeState string

const (
	// NodePresent: the node is there, or the pod has none yet.
	NodePresent NodeState = ""
	// NodeGone: the API server says that the node does not exist.
	NodeGone NodeState = "Gone"
	// NodeOutOfService: an out-of-service taint vouches that nothing runs
	// there any more.
	NodeOutOfService NodeState = "OutOfService"
)

// Pod is a pod as the planner sees it.
type Pod struct {
	Name            string     `json:"name"`
	UID             types.UID  `json:"uid"`
	ResourceVersion string     `json:"resourceVersion"`
	Membership      Membership `json:"membership"`
	Slot            int        `json:"slot"`
	Revision        string     `json:"revision,omitempty"`
	Created         time.Time  `json:"created"`

	Phase  corev1.PodPhase `json:"phase,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Ready  bool            `json:"ready,omitempty"`
	// ReadySince is since when it has been ready with the containers that it
	// runs now.
	ReadySince time.Time `json:"readySince,omitzero"`
	// UnreadySince is since when it has not been ready, where that is known.
	UnreadySince time.Time `json:"unreadySince,omitzero"`
	FailedAt     time.Time `json:"failedAt,omitzero"`
	Restarts     int       `json:"restarts,omitempty"`
	Terminating  bool      `json:"terminating,omitempty"`
	// DeletedAt is when the deletion was asked for.
	DeletedAt time.Time `json:"deletedAt,omitzero"`
	// Waiting is why the pod does not run, as a reason of Kubernetes: Unschedulable or
	// SchedulingGated, or a container's, ImagePullBackOff say.
	Waiting string `json:"waiting,omitempty"`
	// Scheduler is what the scheduler says of a pod that is Unschedulable.
	Scheduler string `json:"scheduler,omitempty"`

	// Changing: a container does not yet run what the pod's spec says.
	// SettlesAt is when it counts as done where nothing else will tell.
	Changing  bool      `json:"changing,omitempty"`
	SettlesAt time.Time `json:"settlesAt,omitzero"`
	// Gate is the state of our readiness gate.
	Gate Gate `json:"gate,omitempty"`
	// Resize is what the node says of a resize, and ResizeSince since when.
	Resize      ResizeState `json:"resize,omitempty"`
	ResizeSince time.Time   `json:"resizeSince,omitzero"`
	// SizeOf is the revision whose cpu and memory the pod has, where they are not
	// those of Revision: we resized the pod and did not come to move its label.
	SizeOf string `json:"sizeOf,omitempty"`

	// Containers say what runs now, of the containers that serve. Init
	// containers that ended are not run again for a new image.
	Containers []ContainerMark `json:"containers,omitempty"`

	// Surge: a rollout made the pod to stand in for others.
	Surge bool `json:"surge,omitempty"`

	// Replaces is why the pod was made, where evictions wait and it may have the name
	// of another that was there before.
	Replaces string `json:"replaces,omitempty"`

	// HoldDelete and HoldUpdate name the holder that blocks a deletion or an
	// update: the value of the label, or the finalizer. Nil means no hold.
	HoldDelete *string `json:"holdDelete,omitempty"`
	HoldUpdate *string `json:"holdUpdate,omitempty"`
	// Wanted is what the pod's holder was told we want.
	Wanted string `json:"wanted,omitempty"`
	// KeptBy is the finalizer that keeps a terminating pod.
	KeptBy string `json:"keptBy,omitempty"`
	// Ended: its deletion has no grace period left. Only a finalizer keeps it.
	Ended bool `json:"ended,omitempty"`

	Node      string    `json:"node,omitempty"`
	Zone      string    `json:"zone,omitempty"`
	NodeState NodeState `json:"nodeState,omitempty"`
	// NodeDown: the node is there and does not answer, so its pods cannot become
	// available.
	NodeDown bool `json:"nodeDown,omitempty"`
	// NodeLeaving is the taint or annotation with which the node announces that it
	// goes, or empty.
	NodeLeaving  string `json:"nodeLeaving,omitempty"`
	DeletionCost int    `json:"deletionCost,omitempty"`
	// EvictionRequested is since when an eviction of the pod waits for its
	// replacement, and EvictionBy who asked for it, where that is known.
	EvictionRequested time.Time `json:"evictionRequested,omitzero"`
	EvictionBy        string    `json:"evictionBy,omitempty"`
	// EvictionGrace is the grace period that was asked for with it, in seconds, or
	// nil.
	EvictionGrace *int64 `json:"evictionGrace,omitempty"`
	// Domains are the values of the labels of Disruption.Spread, in its order, of
	// the pod's node.
	Domains []string `json:"domains,omitempty"`
	// RebalancedTo is the place for which the pod was made.
	RebalancedTo string `json:"rebalancedTo,omitempty"`
	// DeleteRequested: the user put the delete label on the pod.
	DeleteRequested bool `json:"deleteRequested,omitempty"`
}

// ContainerMark is what a container runs: with it, one can tell later whether
// it was restarted with another image.
type ContainerMark struct {
	Name        string `json:"name"`
	ContainerID string `json:"containerID,omitempty"`
	ImageID     string `json:"imageID,omitempty"`
	// Image is the image that the pod's spec named for this very container.
	Image string `json:"image,omitempty"`
}

// Gate is the state of the readiness gate of ours in a pod.
type Gate string

const (
	// GateNone: the pod has no such gate.
	GateNone Gate = ""
	// GateUnset: it has the gate, which has never been opened.
	GateUnset Gate = "Unset"
	// GateOpen: the pod is in service.
	GateOpen Gate = "Open"
	// GateShut: the pod is taken out of service.
	GateShut Gate = "Shut"
)

// ResizeState is what a node says of a resize in place.
type ResizeState string

const (
	// ResizeNone: nothing is pending.
	ResizeNone ResizeState = ""
	// ResizeInProgress: the node is at it, or has not seen it yet.
	ResizeInProgress ResizeState = "InProgress"
	// ResizeDeferred: the node has no room now.
	ResizeDeferred ResizeState = "Deferred"
	// ResizeInfeasible: the node will never have room.
	ResizeInfeasible ResizeState = "Infeasible"
)

// Change is what leads from one revision to another: which parts of a running
// pod would change, and what of it cannot be changed while it runs.
type Change struct {
	From string `json:"from"`
	To   string `json:"to"`
	// SizeOf is the revision whose size the pod has, where it is not that of
	// From. From may then be To.
	SizeOf string `json:"sizeOf,omitempty"`
	// Recreate says what cannot be changed in place; empty means nothing.
	Recreate string `json:"recreate,omitempty"`
	// Metadata: labels or annotations differ.
	Metadata bool `json:"metadata,omitempty"`
	// Images are the containers whose image differs.
	Images []string `json:"images,omitempty"`
	// Resize are the containers whose cpu or memory differs.
	Resize []string `json:"resize,omitempty"`
	// Restarts: the change restarts a container that serves.
	Restarts bool `json:"restarts,omitempty"`
}

// Claim is a volume claim of a slot.
type Claim struct {
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Slot            int       `json:"slot"`
	Terminating     bool      `json:"terminating,omitempty"`
	// Owner is the UID of the owner whose pod had the claim last. An earlier
	// owner of the same name may have left it.
	Owner types.UID `json:"owner,omitempty"`
	// CondemnedBy is the UID of the owner that scaled the claim's pod away
	// while whenScaled was Delete.
	CondemnedBy types.UID `json:"condemnedBy,omitempty"`
	// Surge: the claim was made for a pod that stood in for others during a
	// rollout.
	Surge bool `json:"surge,omitempty"`
	// Found: the claim was there before the operator needed it, and no PodManager's.
	Found bool `json:"found,omitempty"`
}

// Revision is a stored revision of the template.
type Revision struct {
	Name   string    `json:"name"`
	UID    types.UID `json:"uid,omitempty"`
	Number int64     `json:"number"`
	// Equal: it means the same as the owner's template.
	Equal bool `json:"equal,omitempty"`
}
