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

import appsv1 "github.com/mycompany/pod-operator/api/apps/v1"

// Object is the kind of object that an action writes.
type Object int

// The objects.
const (
	ObjectPod Object = iota
	ObjectOwner
	ObjectRevision
	ObjectClaim
)

// VerbFacts is what the operator knows about a verb.
type VerbFacts struct {
	Verb   Verb
	Object Object
	// Past is what the verb did to an object, for a sentence; Noun names the
	// action where it is waited for.
	Past, Noun string
	// Word is the action in history and events; empty where they do not show it.
	Word string
	// Counter is the metric that counts it, for verbs of pods.
	Counter Counter
	// Creates: it makes a pod, or what a pod needs.
	Creates bool
	// AsRead: the action is right only for the object that was read. A conflict
	// says that it changed since.
	AsRead bool
	// movesPods: it changes which pods run, or how.
	movesPods bool
	// leaves is what waits for an action of this verb that was not carried out,
	// needs what an action of this verb waits for.
	leaves, needs tie
}

// Counter is a metric of what was done to pods.
type Counter int

// The counters.
const (
	CountsPatched Counter = iota
	CountsCreated
	CountsDeleted
)

// A tie connects an action to those that depend on it.
type tie uint8

const (
	tieFinalizer tie = 1 << iota // the owner's finalizer
	tieRevision                  // the action's Revision
	tieGoal                      // the action's Goal, which is a revision, too
	tieSlot                      // the action's slot
	tieMark                      // the mark on the claims of the action's slot
	tiePod                       // the action's pod
	tieAfter                     // the pod whose place it takes
	tieAll                       // every other action
)

// Verbs is the table of verbs, in the order in which apply carries them out.
var Verbs = [...]VerbFacts{
	{Verb: AddFinalizer, Object: ObjectOwner, Past: "added the finalizer", leaves: tieFinalizer, needs: tieFinalizer},
	{Verb: CreateRevision, Object: ObjectRevision, Past: "stored revision", leaves: tieRevision, needs: tieFinalizer},
	{Verb: RenumberRevision, Object: ObjectRevision, Past: "renumbered revision", AsRead: true, needs: tieFinalizer},
	{Verb: ReleasePod, Past: "released", Word: appsv1.ReasonReleased, AsRead: true, movesPods: true, leaves: tiePod | tieSlot},
	{Verb: OrphanPod, Past: "orphaned", Word: appsv1.ReasonOrphaned, AsRead: true, movesPods: true, leaves: tiePod | tieSlot},
	{Verb: AdoptPod, Past: "adopted", Noun: "the adoption", Word: appsv1.ReasonAdopted, AsRead: true, movesPods: true, leaves: tiePod | tieSlot, needs: tieFinalizer | tieSlot},
	// OpenGate and ShutGate put a pod in and out of service.
	{Verb: OpenGate, Past: "put into service", AsRead: true, movesPods: true},
	{Verb: ShutGate, Past: "took out of service", AsRead: true, movesPods: true, needs: tieFinalizer | tieGoal},
	// ResizePod changes cpu and memory, UpdatePod everything else that can be changed
	// in place; UpdatePod also moves the revision label, and comes last.
	{Verb: ResizePod, Past: "resized in place", Noun: "the resize", AsRead: true, movesPods: true, leaves: tiePod | tieSlot, needs: tieFinalizer | tieRevision},
	{Verb: UpdatePod, Past: "changed in place", Noun: "the update", Word: appsv1.ReasonUpdated, AsRead: true, movesPods: true, needs: tieFinalizer | tieRevision | tiePod},
	// KeepPod makes a pod that stood in for others one of the fleet's.
	{Verb: KeepPod, Past: "kept", AsRead: true, leaves: tieSlot},
	{Verb: TellHolder, Past: "told the holder of", AsRead: true},
	// CondemnClaim marks a claim to go once its pod is gone, and comes before the pod's
	// deletion. AdoptClaim makes a claim this owner's and takes such a mark off, also
	// that of a stand-in, which the pod loses first.
	{Verb: CondemnClaim, Object: ObjectClaim, Past: "condemned the claim", AsRead: true, leaves: tieMark, needs: tieFinalizer},
	{Verb: AdoptClaim, Object: ObjectClaim, Past: "adopted the claim", AsRead: true, leaves: tieMark, needs: tieFinalizer | tieSlot},
	{Verb: DeleteClaim, Object: ObjectClaim, Past: "deleted the claim", AsRead: true, needs: tieFinalizer},
	// EvictPod deletes through the eviction API.
	{Verb: EvictPod, Past: "evicted", Noun: "the eviction", Word: appsv1.ReasonEvicted, Counter: CountsDeleted, AsRead: true, movesPods: true, leaves: tiePod | tieSlot, needs: tieGoal | tieMark},
	{Verb: DeletePod, Past: "deleted", Noun: "the deletion", Word: appsv1.ReasonDeleted, Counter: CountsDeleted, AsRead: true, movesPods: true, leaves: tiePod | tieSlot, needs: tieGoal | tieMark},
	{Verb: CreateClaim, Object: ObjectClaim, Past: "created the claim", Creates: true, leaves: tieSlot, needs: tieFinalizer},
	{Verb: CreatePod, Past: "created", Noun: "the creation", Word: appsv1.ReasonCreated, Counter: CountsCreated, Creates: true, movesPods: true, needs: tieFinalizer | tieRevision | tieSlot | tieAfter},
	{Verb: DeleteRevision, Object: ObjectRevision, Past: "deleted revision", AsRead: true, needs: tieFinalizer},
	{Verb: RemoveFinalizer, Object: ObjectOwner, Past: "removed the finalizer", Noun: "the end of the PodManager", needs: tieAll},
}

// places are the verbs' places in the table.
var places = func() map[Verb]int {
	m := make(map[Verb]int, len(Verbs))
	for i := range Verbs {
		m[Verbs[i].Verb] = i
	}
	return m
}()

// Order is the verb's place in the table. A verb that is not in it comes last.
func (v Verb) Order() int {
	if i, ok := places[v]; ok {
		return i
	}
	return len(Verbs)
}

// Facts are the verb's line of the table. A verb that is not in it has none.
func (v Verb) Facts() *VerbFacts {
	if i, ok := places[v]; ok {
		return &Verbs[i]
	}
	return &VerbFacts{Verb: v}
}

// Object is the name of what an action writes, other than its owner.
func (a *Action) Object() string {
	switch a.Verb.Facts().Object {
	case ObjectRevision:
		return a.Revision
	case ObjectClaim:
		return a.Claim
	}
	return a.Pod
}
