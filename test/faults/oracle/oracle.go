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
//   - S1: a create never brings the live pods of an owner beyond replicas plus
//     maxSurge. What counts is what the owner asked for when the writer last
//     saw it, or since: an edit that the writer cannot have seen does not bind it.
//   - S2: two live pods of an owner never have the same slot.
//   - S3: the operator writes only pods that it controls, and orphans that match
//     and do not carry the UID of another owner.
//   - S4: pods are created and deleted as often as in the run without faults.
//   - L1: the end state is that of the run without faults.
//   - L2: at the end there are no more writes. (Checked by the driver of the run.)
//   - D: a volume claim is deleted only when this owner, by UID, condemned its
//     pod: it scaled the pod away while whenScaled was Delete, or is being deleted
//     itself while whenDeleted is Delete. Never while a pod uses the claim.
//   - B: no successor of a failed pod comes before its backoff, whatever the
//     revision, the slot and the strategy.
//   - C: no change stays half done: at the end, a pod whose size the operator wrote
//     has the size of the revision that its label names.
//   - R: nothing is left behind, and an owner is gone only after its pods.
//   - P: what can be done is done: a refusal holds back only its own slot and
//     what shares its budget, and is reported.
//   - H: where nothing outside changes, writes end; and in no minute are more
//     than RefusedPerMinute of them refused.
//   - F: a rollout is halted or rolled back only for its own fault: pods of its
//     revision were there, could run and were not ready for the deadline.
//   - T: what the status says agrees with what the pods are: where Ready is True,
//     every pod is on the wanted revision and ready.
//   - Q: with podManagementPolicy OrderedReady a pod is created when all lower
//     ordinals are ready, and one beyond replicas goes when all higher ones are
//     gone.
//   - V: with disruption.policy SurgeFirst a pod that leaves its node goes when as
//     many others as replicas are ready.
//   - O: while an owner takes pods over from another workload, the operator
//     writes no pod but to adopt it, and no claim.
package oracle

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
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
	// Undeletable are the pods whose deletion was refused: they may be too many,
	// and S1 does not count them.
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
	// Split: two operators led at once, and one may not know what the other did.
	Split bool
	// Away are the times in which no operator ran, and Lapses how many times one
	// took over from another.
	Away   []Span
	Lapses int
}

// Check judges a history, which must be in the order of its versions.
func Check(history []Revision, rules Rules) []Violation {
	rules.Kind = cmp.Or(rules.Kind, desired.PodManagerGVK.Kind)
	c := &checker{
		rules: rules, pods: map[types.UID]*corev1.Pod{}, owners: map[types.UID][]ownerVersion{},
		names: map[types.UID]string{}, claims: newClaimChecker(),
		traces: map[types.UID]*trace{},
		fleets: map[types.UID]*fleetTrace{}, nodes: map[string]bool{}, deadlines: map[types.UID]time.Duration{},
		rollbacks: map[types.UID]metav1.Time{}, fates: map[place]*fate{},
	}
	for i := range history {
		c.see(&history[i])
	}
	return c.found
}

type ownerVersion struct {
	version int64
	bound   int
	random  bool
	failed  plan.FailedPods
	// takesOver: pods are adopted, and nothing else is done to any.
	takesOver bool
	// surgeFirst: pods are replaced before they leave their nodes.
	surgeFirst bool
	// ordered: pods come and go one by one.
	ordered  bool
	replicas int
	reserved []int
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

	// What T and F remember.
	now       time.Time
	traces    map[types.UID]*trace
	fleets    map[types.UID]*fleetTrace
	nodes     map[string]bool
	deadlines map[types.UID]time.Duration
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
	case *appsv1.PodManager:
		c.seeOwner(r, obj)
	case *kappsv1.ReplicaSet:
		if !r.Gone {
			c.owners[obj.UID] = append(c.owners[obj.UID], ownerVersion{version: r.Version, bound: int(ptr.Deref(obj.Spec.Replicas, 1))})
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
	c.checkTold(r, pm)
	c.checkBlame(r, pm)
	want := desired.PodManager(pm).Desired
	c.owners[pm.UID] = append(c.owners[pm.UID], ownerVersion{
		version: r.Version, bound: want.Replicas + want.MostSurge(), random: want.Identity == appsv1.IdentityRandom,
		failed: want.FailedPods, takesOver: want.TakeOver != "" && want.Deletion == plan.DeletionNone,
		surgeFirst: want.Disruption.SurgeFirst && want.Deletion == plan.DeletionNone,
		ordered:    want.Ordered && want.Deletion == plan.DeletionNone, replicas: want.Replicas, reserved: want.Reserved,
	})
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
	c.checkTakeOver(r, before, pod)
	c.checkRemoval(r, before, pod)
	c.checkLeaving(r, before, pod)
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

// checkOwnership is S3.
func (c *checker) checkOwnership(r *Revision, before, after *corev1.Pod) {
	if r.Actor != Operator && r.Actor != Late {
		return
	}
	if before == nil {
		before = after
	}
	ref := metav1.GetControllerOf(before)
	switch {
	case ref != nil && ref.Kind != c.rules.Kind:
		c.report(r, "S3", "the operator wrote pod %s, which %s %s controls", after.Name, ref.Kind, ref.Name)
	case ref == nil && before.Labels[appsv1.LabelName] == "":
		c.report(r, "S3", "the operator wrote pod %s, which has no owner and matches nothing", after.Name)
	case ref == nil && c.carriesAnother(before):
		c.report(r, "S3", "the operator wrote pod %s, which carries the UID of PodManager %s", after.Name,
			c.names[types.UID(before.Labels[appsv1.LabelUID])])
	}
}

// carriesAnother: the pod was made by an owner of another name than its label
// says now.
func (c *checker) carriesAnother(pod *corev1.Pod) bool {
	name, known := c.names[types.UID(pod.Labels[appsv1.LabelUID])]
	return known && name != pod.Labels[appsv1.LabelName]
}

// Live reports whether a pod counts: it runs, or will.
func Live(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// checkBound is S1. Adopted pods are not the operator's making: they may be
// too many, and then go.
func (c *checker) checkBound(r *Revision, created *corev1.Pod) {
	ref := metav1.GetControllerOf(created)
	if ref == nil {
		return
	}
	versions := c.owners[ref.UID]
	if len(versions) == 0 {
		return
	}
	if r.Actor == Late && versions[len(versions)-1].random {
		return // no operator could have known of it, and the next pass removes it
	}
	bound := 0
	for i, v := range versions {
		if i+1 < len(versions) && versions[i+1].version <= r.Floor {
			continue
		}
		bound = max(bound, v.bound)
	}
	if live := c.liveOf(ref.UID, &versions[len(versions)-1]); live > bound {
		c.report(r, "S1", "with pod %s there are %d live pods, and no more than %d may be", created.Name, live, bound)
	}
}

// liveOf counts the live pods that were made for an owner.
func (c *checker) liveOf(owner types.UID, want *ownerVersion) int {
	live := 0
	for _, pod := range c.pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.UID == owner && Live(pod) && !adopted(pod) &&
			!c.rules.Undeletable[pod.Name] && !want.beyond(pod) {
			live++
		}
	}
	return live
}

// adopted pods were not made from a revision of ours.
func adopted(pod *corev1.Pod) bool {
	return metav1.GetControllerOf(pod).Kind == desired.PodManagerGVK.Kind && pod.Labels[appsv1.LabelRevision] == ""
}

// checkSlot is S2.
func (c *checker) checkSlot(r *Revision, pod *corev1.Pod) {
	ref, slot := metav1.GetControllerOf(pod), pod.Labels[appsv1.LabelSlot]
	if ref == nil || slot == "" || !Live(pod) {
		return
	}
	for _, other := range c.pods {
		owner := metav1.GetControllerOf(other)
		if other.UID != pod.UID && owner != nil && owner.UID == ref.UID && Live(other) && other.Labels[appsv1.LabelSlot] == slot {
			c.report(r, "S2", "pods %s and %s both live in slot %s", other.Name, pod.Name, slot)
		}
	}
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
		ours := ref != nil && ref.Kind == desired.PodManagerGVK.Kind
		switch obj.(type) {
		case *appsv1.PodManager:
			if obj.GetDeletionTimestamp() != nil {
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
