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

	Replicas             int           `json:"replicas"`
	MinReady             time.Duration `json:"minReady,omitempty"`
	Paused               bool          `json:"paused,omitempty"`
	FailedPods           FailedPods    `json:"failedPods"`
	RevisionHistoryLimit int           `json:"revisionHistoryLimit"`

	// Finalizer tells whether this kind of owner holds its deletion until
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

// FinalizerState tells about the owner's finalizer.
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
	// HeldNames are pod names of ours that somebody else's pod has.
	HeldNames []string   `json:"heldNames,omitempty"`
	Revisions []Revision `json:"revisions,omitempty"`
	// NewRevision is the name a revision of the template would get.
	NewRevision string `json:"newRevision,omitempty"`
	// Status is the last one reported: the memory of the planner.
	Status appsv1.PodManagerStatus `json:"status"`
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

// NodeState tells whether a pod's node can still be trusted.
type NodeState string

const (
	// NodePresent: the node is there, or the pod has none yet.
	NodePresent NodeState = ""
	// NodeGone: the API server says that the node does not exist.
	NodeGone NodeState = "Gone"
	// NodeOutOfService: somebody vouched with the out-of-service taint that
	// nothing runs there any more.
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

	Phase       corev1.PodPhase `json:"phase,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Ready       bool            `json:"ready,omitempty"`
	ReadySince  time.Time       `json:"readySince,omitzero"`
	FailedAt    time.Time       `json:"failedAt,omitzero"`
	Restarts    int             `json:"restarts,omitempty"`
	Terminating bool            `json:"terminating,omitempty"`

	Node         string    `json:"node,omitempty"`
	Zone         string    `json:"zone,omitempty"`
	NodeState    NodeState `json:"nodeState,omitempty"`
	DeletionCost int       `json:"deletionCost,omitempty"`
	// DeleteRequested: the user put the delete label on the pod.
	DeleteRequested bool `json:"deleteRequested,omitempty"`
}

// Revision is a stored revision of the template.
type Revision struct {
	Name   string `json:"name"`
	Number int64  `json:"number"`
	// Equal: it means the same as the owner's template.
	Equal bool `json:"equal,omitempty"`
}

// Verb is what an action does.
type Verb string

// The verbs, in the order in which they are applied.
const (
	AddFinalizer     Verb = "AddFinalizer"
	CreateRevision   Verb = "CreateRevision"
	RenumberRevision Verb = "RenumberRevision"
	AdoptPod         Verb = "AdoptPod"
	ReleasePod       Verb = "ReleasePod"
	OrphanPod        Verb = "OrphanPod"
	DeletePod        Verb = "DeletePod"
	CreatePod        Verb = "CreatePod"
	DeleteRevision   Verb = "DeleteRevision"
	RemoveFinalizer  Verb = "RemoveFinalizer"
)

// Action is one write.
type Action struct {
	Verb     Verb      `json:"verb"`
	Pod      string    `json:"pod,omitempty"`
	UID      types.UID `json:"uid,omitempty"`
	Slot     int       `json:"slot"`
	Revision string    `json:"revision,omitempty"`
	// Number is the revision's number.
	Number int64 `json:"number,omitempty"`
	// ResourceVersion, where set, is a precondition: the action is right
	// only for the very pod that was read.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Force deletes without waiting for a kubelet that is proved gone.
	Force bool `json:"force,omitempty"`
	Why   Why  `json:"why"`
}

// Why says which rule decided an action, for which documented reason, in a
// sentence and in the numbers that decided.
type Why struct {
	Rule    string           `json:"rule"`
	Reason  string           `json:"reason"`
	Message string           `json:"message"`
	Numbers map[string]int64 `json:"numbers,omitempty"`
}

// Blocked is something that should happen and is held back.
type Blocked struct {
	Verb    Verb   `json:"verb"`
	Pod     string `json:"pod,omitempty"`
	Slot    int    `json:"slot"`
	By      string `json:"by"`
	Message string `json:"message"`
	// Until is set where the wait ends by itself.
	Until time.Time `json:"until,omitzero"`
}

// Counts are the sizes of the fleet's buckets.
type Counts struct {
	Live        int `json:"live"`
	Ready       int `json:"ready"`
	Available   int `json:"available"`
	Updated     int `json:"updated"`
	Terminating int `json:"terminating"`
	Failed      int `json:"failed"`
	Lost        int `json:"lost"`
}

// LivePod is what Report has to know of a pod that lives.
type LivePod struct {
	Name      string `json:"name"`
	Ready     bool   `json:"ready,omitempty"`
	Available bool   `json:"available,omitempty"`
	Updated   bool   `json:"updated,omitempty"`
}

// Decision is what Plan decided.
type Decision struct {
	Actions []Action  `json:"actions,omitempty"`
	Blocked []Blocked `json:"blocked,omitempty"`
	Counts  Counts    `json:"counts"`
	// Live are the live pods, sorted by name.
	Live            []LivePod             `json:"live,omitempty"`
	UpdateRevision  string                `json:"updateRevision,omitempty"`
	CurrentRevision string                `json:"currentRevision,omitempty"`
	Failures        *appsv1.FailureRecord `json:"failures,omitempty"`
	// NextLook is how long the planner can wait without an event; 0 means
	// for ever.
	NextLook time.Duration `json:"nextLook,omitempty"`
}
