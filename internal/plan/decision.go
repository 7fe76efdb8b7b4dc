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

	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Verb is what an action does.
type Verb string

// The verbs. verbs.go says what they are about.
const (
	AddFinalizer     Verb = "AddFinalizer"
	CreateRevision   Verb = "CreateRevision"
	RenumberRevision Verb = "RenumberRevision"
	ReleasePod       Verb = "ReleasePod"
	OrphanPod        Verb = "OrphanPod"
	AdoptPod         Verb = "AdoptPod"
	OpenGate         Verb = "OpenGate"
	ShutGate         Verb = "ShutGate"
	ResizePod        Verb = "ResizePod"
	UpdatePod        Verb = "UpdatePod"
	KeepPod          Verb = "KeepPod"
	TellHolder       Verb = "TellHolder"
	CondemnClaim     Verb = "CondemnClaim"
	AdoptClaim       Verb = "AdoptClaim"
	DeleteClaim      Verb = "DeleteClaim"
	EvictPod         Verb = "EvictPod"
	DeletePod        Verb = "DeletePod"
	CreateClaim      Verb = "CreateClaim"
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
	// From is the revision that a change in place starts from.
	From string `json:"from,omitempty"`
	// SizeOf is the revision whose size the pod has before it, where it is not
	// that of From.
	SizeOf string `json:"sizeOf,omitempty"`
	// Node is the node of a pod that is resized.
	Node string `json:"node,omitempty"`
	// Replaced are the containers that a change in place restarts, as they
	// are before it.
	Replaced []ContainerMark `json:"replaced,omitempty"`
	// Claim is the claim's name, Template that of its template.
	Claim    string `json:"claim,omitempty"`
	Template string `json:"template,omitempty"`
	// UsedBy is the pod for whose sake a claim is condemned. A claim that is
	// deleted stays if this pod exists.
	UsedBy string `json:"usedBy,omitempty"`
	// Wanted is what we tell a holder.
	Wanted string `json:"wanted,omitempty"`
	// Surge marks a pod that stands in for others during a rollout.
	Surge bool `json:"surge,omitempty"`
	// Goal is the revision for whose sake a rollout takes a pod down or out of
	// service.
	Goal string `json:"goal,omitempty"`
	// After is the pod, deleted in the same pass, whose place a new pod of
	// another name takes.
	After string `json:"after,omitempty"`
	// Prefer is where a new pod should run, to restore the spread.
	Prefer *Place `json:"prefer,omitempty"`
	// Replaces: another pod may have had the name of a new pod a moment ago.
	Replaces bool `json:"replaces,omitempty"`
	// Grace is the grace period of an eviction, in seconds, and nil for the pod's
	// own.
	Grace *int64 `json:"grace,omitempty"`
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
	// Count is how many pods this concerns; Pod is the first of them.
	Count int `json:"count,omitempty"`
	// Failures is how often in a row pods failed, where they are the blocker.
	Failures int `json:"failures,omitempty"`
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
	// Extra counts the live pods that are none of those that the fleet keeps.
	Extra  int `json:"extra,omitempty"`
	Failed int `json:"failed"`
	Lost   int `json:"lost"`
	// Stale counts the pods that still have to move to the update revision.
	Stale int `json:"stale"`
	// Leaving counts the pods that leave their nodes, and StandIns those beyond
	// replicas that are there, or will be, for their sake.
	Leaving  int `json:"leaving,omitempty"`
	StandIns int `json:"standIns,omitempty"`
	// Following counts the pods whose node still carries out a change in
	// place.
	Following int `json:"following,omitempty"`
}

// LivePod is what Report has to know of a pod that lives.
type LivePod struct {
	Name      string `json:"name"`
	Ready     bool   `json:"ready,omitempty"`
	Available bool   `json:"available,omitempty"`
	Updated   bool   `json:"updated,omitempty"`
	// Extra: it is none of those that the fleet keeps, but stands in for one
	// or is to go.
	Extra bool `json:"extra,omitempty"`
	// Orphan: it is not ours before it is adopted.
	Orphan bool `json:"orphan,omitempty"`
}

// Decision is what Plan decided.
type Decision struct {
	Actions []Action  `json:"actions,omitempty"`
	Blocked []Blocked `json:"blocked,omitempty"`
	Counts  Counts    `json:"counts"`
	// Live are the live pods, sorted by name.
	Live            []LivePod `json:"live,omitempty"`
	UpdateRevision  string    `json:"updateRevision,omitempty"`
	CurrentRevision string    `json:"currentRevision,omitempty"`
	// Failures are those of the update revision, CurrentFailures those of the
	// current one while they differ.
	Failures        *appsv1.FailureRecord `json:"failures,omitempty"`
	CurrentFailures *appsv1.FailureRecord `json:"currentFailures,omitempty"`
	// Rollout, Rollback and Held are the planner's memory for the next time.
	Rollout  *appsv1.RolloutRecord  `json:"rollout,omitempty"`
	Rollback *appsv1.RollbackRecord `json:"rollback,omitempty"`
	Held     []appsv1.HeldPod       `json:"held,omitempty"`
	// Rebalance is why the last rebalance was given up, or nil.
	Rebalance *appsv1.RebalanceRecord `json:"rebalance,omitempty"`
	// Pinned is the pin in force, or nil.
	Pinned *Pinned `json:"pinned,omitempty"`
	// NextLook is how long the planner can wait without an event; 0 means
	// for ever.
	NextLook time.Duration `json:"nextLook,omitempty"`
}
