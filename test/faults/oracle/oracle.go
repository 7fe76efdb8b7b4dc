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

// Package oracle judges a history of a cluster. It is pure: its input is the
// list of revisions that a watch straight on the API server saw, whatever
// produced them, so the simulator, the in-process operator on a real API server
// and the real binary are all judged by the same rules.
//
// It shares no code with the operator. What an owner asks for (spec.go), what a pod
// does (pods.go) and which revision it is of (revisions.go) are read from the stored
// objects as the documentation explains them, and each rule quotes the sentence that
// it enforces. Nothing else is forgiven. A writer is judged by what it had seen
// (Revision.Floor and Revision.Seen) or could have since: what it cannot have seen
// does not bind it.
//
//   - S1, S2 (bound.go): how many pods there may be, and one for each slot.
//   - S3 (ownership.go): whose pods the operator writes.
//   - U (budget.go): how many pods that serve have to stay, whatever the cause.
//   - V (drains.go): when a pod may leave its node.
//   - Q (order.go): in which order pods come and go.
//   - G (holds.go): holds.
//   - B (backoff.go): when the successor of a failed pod may come.
//   - D (claims.go), K (claims_at_rest.go): volume claims.
//   - O (takeover.go): what is left alone while pods are taken over.
//   - F (blame.go): when a rollout fails.
//   - N (needless.go, kept.go): nothing happens without a cause.
//   - T (truth.go, told.go): what the status says is true.
//   - M (spread.go): how pods are spread after a rebalance.
//   - L1 (at_rest.go), C (sizes.go), P, H (refusals.go), R, S4: what is so at the
//     end. L2, that nothing is written then, the driver of the run checks.
//
// docs/reliability.md says what each of them means.
package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Actors. Late is the operator whose write arrived after it had died.
const (
	Operator = "operator"
	Late     = "late operator"
)

// Revision is one change of one object.
type Revision struct {
	Version int64
	// Object is the object after the change, or as it was when it went.
	Object client.Object
	Gone   bool
	// Actor is Operator for its writes, and empty if unknown.
	Actor string
	// Floor is the oldest version of the owner that the writer may have acted
	// on; 0 means any.
	Floor int64
	// Cached is the oldest version of the owner that a status may be about. A process that
	// has written nothing yet reads the owner live before its first status, as before it
	// first acts; later an adoption reads it live, too, and the status need not be about that
	// version. 0 means Floor.
	Cached int64
	// Seen is the version up to which the writer had at least seen the pods; 0
	// means unknown, and T is not judged.
	Seen int64
	// Time is when it happened; without it F is not judged.
	Time time.Time
}

// Violation is a rule that was broken, and when.
type Violation struct {
	Rule    string
	Version int64
	Message string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s at version %d: %s", v.Rule, v.Version, v.Message)
}

// Rules choose what of a history is judged.
type Rules struct {
	// Budget is how many pods the PodDisruptionBudgets in force at the end keep, the
	// strictest of them: an eviction may wait for ever.
	Budget int
	// Full: at some time a node had no room for one more pod.
	Full bool
	// MaxHold is the operator's --max-eviction-hold, which cuts every
	// disruption.deadlineSeconds; zero is its default of an hour.
	MaxHold time.Duration
	// Mutated: a webhook of others changes new pods, so they are not what a revision asks for.
	Mutated bool
	// Undeletable are the pods whose deletion is refused: they may be left at rest.
	Undeletable map[string]bool
	// Kind is the kind of owner whose controller is judged; empty means
	// PodManager. ReplicaSets can be judged too: they have no slots and no
	// surge.
	Kind string
	// Restarts is how often the operator was started again, or another one took
	// over: each may have forgotten one failure.
	Restarts int
	// FinalizerStripped: a user took the finalizer off, so the owner cannot
	// wait for its pods.
	FinalizerStripped bool
	// Split: two operators led at once, from this version on, and one may not know
	// what the other did.
	Split   bool
	SplitAt int64
	// Jumped: the clock of the operator was set, and its times are not comparable.
	Jumped bool
	// Away are the times in which no operator ran, and Lapses how many times one
	// took over from another.
	Away   []Span
	Lapses int
	// Starts are the versions after which a process of the operator started.
	Starts []int64
	// Requests are the writes that the operator asked for, where they are known.
	Requests []Request
}

// split: another operator may have led when this was written.
func (r *Rules) split(at *Revision) bool { return r.Split && at.Version >= r.SplitAt }

// Check judges a history, which must be in the order of its versions.
func Check(history []Revision, rules Rules) []Violation {
	rules.Kind = cmp.Or(rules.Kind, Kind)
	c := &checker{
		rules: rules, pods: map[types.UID]*corev1.Pod{}, owners: map[types.UID][]ownerVersion{},
		names: map[types.UID]string{}, claims: newClaimChecker(),
		traces: map[types.UID]*trace{},
		fleets: map[types.UID]*fleetTrace{}, nodes: map[string]bool{},
		rollbacks: map[types.UID]metav1.Time{}, fates: map[place]*fate{},
		services: map[types.UID]*service{}, machines: map[string]*corev1.Node{}, templates: map[string]*corev1.PodTemplateSpec{},
		revisions: map[string]*kappsv1.ControllerRevision{},
	}
	for i := range history {
		c.see(&history[i])
	}
	return c.found
}

// ownerVersion is what an owner asked for from a version on.
type ownerVersion struct {
	version int64
	*Spec
	// template is what the pods are to be made from, and rollback tells that it
	// failed.
	template *corev1.PodTemplateSpec
	rollback *appsv1.RollbackRecord
}

type checker struct {
	rules  Rules
	pods   map[types.UID]*corev1.Pod
	owners map[types.UID][]ownerVersion
	// names are those of all owners there ever were.
	names  map[types.UID]string
	claims *claimChecker
	found  []Violation
	// fates is what B remembers.
	fates map[place]*fate

	// What the rules about serving pods remember: the pods, the nodes, and the
	// stored revisions and their templates by name.
	services  map[types.UID]*service
	machines  map[string]*corev1.Node
	revisions map[string]*kappsv1.ControllerRevision
	templates map[string]*corev1.PodTemplateSpec

	// What T and F remember.
	now       time.Time
	traces    map[types.UID]*trace
	fleets    map[types.UID]*fleetTrace
	nodes     map[string]bool
	rollbacks map[types.UID]metav1.Time
}

func (c *checker) report(r *Revision, rule, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Version: r.Version, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) see(r *Revision) {
	c.passTime(r)
	switch obj := r.Object.(type) {
	case *corev1.Node:
		c.nodes[obj.Name] = !r.Gone
		c.followNode(r, obj)
	case *kappsv1.ControllerRevision:
		c.revisions[obj.Name] = obj
		if r.Gone {
			delete(c.revisions, obj.Name)
		}
		if template, err := TemplateOf(obj); err == nil {
			c.templates[obj.Name] = template
		}
	case *appsv1.PodManager:
		c.seeOwner(r, obj)
	case *kappsv1.ReplicaSet:
		if !r.Gone {
			c.owners[obj.UID] = append(c.owners[obj.UID], ownerVersion{version: r.Version, Spec: &Spec{Replicas: int(ptr.Deref(obj.Spec.Replicas, 1)), Random: true}})
		}
	case *corev1.Pod:
		c.claims.seePod(r, obj)
		c.seePod(r, obj)
	case *corev1.PersistentVolumeClaim:
		c.seeClaim(r, obj)
	}
}

func (c *checker) seeOwner(r *Revision, pm *appsv1.PodManager) {
	c.names[pm.UID] = pm.Name
	c.claims.seeOwner(r, pm)
	if r.Gone {
		c.checkFinalizer(r, pm)
		return
	}
	c.checkBlame(r, pm)
	c.owners[pm.UID] = append(c.owners[pm.UID], ownerVersion{r.Version, SpecOf(pm), WantedTemplate(pm), pm.Status.Rollback})
	c.followOwner(pm.UID)
}

// checkFinalizer: the finalizer holds the owner until its pods are gone or
// released.
func (c *checker) checkFinalizer(r *Revision, pm *appsv1.PodManager) {
	if c.rules.FinalizerStripped {
		return
	}
	orphans := pm.Spec.Deletion.Policy == appsv1.DeletionOrphan
	for _, pod := range c.pods {
		if orphans && pod.DeletionTimestamp != nil {
			continue // whatever keeps it, nothing of it will be left
		}
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.UID == pm.UID {
			c.report(r, "R", "owner %s is gone and its pod %s is not", pm.Name, pod.Name)
		}
	}
}

func (c *checker) seePod(r *Revision, pod *corev1.Pod) {
	before := c.pods[pod.UID]
	c.checkOwnership(r, before, pod)
	c.checkHolds(r, before, pod)
	c.checkTakeOver(r, before, pod)
	c.checkRemoval(r, before, pod)
	c.checkLeaving(r, before, pod)
	c.checkStandIn(r, before, pod)
	c.checkBudget(r, before, pod)
	c.follow(r, pod)
	c.readyAgain(before, pod)
	c.trace(r, pod)
	if t := c.traces[pod.UID]; t != nil {
		c.progress(t.owner)
	}
	if r.Gone {
		delete(c.pods, pod.UID)
		c.forgive(r, pod)
		return
	}
	c.pods[pod.UID] = pod
	if before == nil && r.Actor != "user" {
		c.checkBound(r, pod)
		c.checkBackoff(r, pod)
		c.checkStart(r, pod)
	}
	c.seeFailure(before, pod)
	c.checkSlot(r, pod)
}

// Tally counts how often pods of each name were created and deleted, for S4.
// A deletion counts when it is asked for.
func Tally(history []Revision) map[string]int {
	tally := map[string]int{}
	known := map[types.UID]*corev1.Pod{}
	for i := range history {
		pod, ok := history[i].Object.(*corev1.Pod)
		if !ok {
			continue
		}
		before := known[pod.UID]
		if before == nil {
			tally["create "+pod.Name]++
		}
		ended := pod.DeletionTimestamp != nil || history[i].Gone
		if ended && (before == nil || before.DeletionTimestamp == nil) {
			tally["delete "+pod.Name]++
		}
		known[pod.UID] = pod
	}
	return tally
}

// waits: a pod of the owner is kept by a hold or a finalizer, or its kubelet has not
// ended it. "The finalizer keeps a PodManager until its pods are gone or released."
func waits(owner types.UID, end []client.Object) bool {
	return slices.ContainsFunc(end, func(obj client.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && controllerOf(pod) == owner && (pod.DeletionTimestamp != nil || len(pod.Finalizers) > 0 || Held(pod, appsv1.LabelHoldDelete))
	})
}

// Leftovers is the part of R that is judged at the end.
func Leftovers(end []client.Object) []Violation {
	owners := map[types.UID]bool{}
	for _, obj := range end {
		if pm, ok := obj.(*appsv1.PodManager); ok {
			owners[pm.UID] = true
		}
	}
	var found []Violation
	for _, obj := range end {
		version, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
		leak := func(format string, args ...any) {
			found = append(found, Violation{Rule: "R", Version: version, Message: fmt.Sprintf(format, args...)})
		}
		ref := metav1.GetControllerOf(obj)
		ours := ref != nil && ref.Kind == Kind
		switch obj.(type) {
		case *appsv1.PodManager:
			if obj.GetDeletionTimestamp() != nil && !waits(obj.GetUID(), end) {
				leak("owner %s waits for ever, finalizers %v", obj.GetName(), obj.GetFinalizers())
			}
		case *corev1.Pod:
			if ours && !owners[ref.UID] {
				leak("pod %s is left of an owner that is gone", obj.GetName())
			}
		case *kappsv1.ControllerRevision:
			if !ours || !owners[ref.UID] {
				leak("revision %s is left of an owner that is gone", obj.GetName())
			}
		}
	}
	return found
}
