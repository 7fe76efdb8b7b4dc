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
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// oneIn is true once in n times, and never in what a failure shrinks to.
func oneIn(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

func drawSeconds(t *rapid.T, most int, label string) time.Duration {
	return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Second
}

// podGenerator draws a pod in any state, also in those that should not occur.
func podGenerator() *rapid.Generator[Pod] {
	return rapid.Custom(func(t *rapid.T) Pod {
		b := aPod("stray-" + rapid.StringMatching("[a-z]{4}").Draw(t, "name"))
		b.p.Phase = rapid.SampledFrom([]corev1.PodPhase{
			corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodFailed, corev1.PodFailed,
			corev1.PodSucceeded, corev1.PodUnknown, "",
		}).Draw(t, "phase")
		b.p.Membership = rapid.SampledFrom([]Membership{Member, Member, Member, Member, Orphan, Drifted}).Draw(t, "membership")
		b.p.NodeState = rapid.SampledFrom([]NodeState{
			NodePresent, NodePresent, NodePresent, NodePresent, NodePresent, NodeGone, NodeOutOfService,
		}).Draw(t, "node state")
		b.p.Revision = rapid.SampledFrom([]string{newRev, newRev, newRev, oldRev, ""}).Draw(t, "revision")
		b.p.DeleteRequested = oneIn(t, 7, "requested")
		b.p.Node = rapid.SampledFrom([]string{"", "node-a", "node-b", "node-c"}).Draw(t, "node")
		b.p.Zone = rapid.SampledFrom([]string{"", "zone-a", "zone-b"}).Draw(t, "zone")
		b.p.Restarts = rapid.IntRange(0, 2).Draw(t, "restarts")
		b.p.DeletionCost = rapid.IntRange(-1, 1).Draw(t, "cost")
		b.p.Created = ago(drawSeconds(t, 900, "created"))
		b.p.Ready = b.p.Phase == corev1.PodRunning && rapid.Bool().Draw(t, "ready")
		b.p.ReadySince = time.Time{}
		if b.p.Ready {
			b.p.ReadySince = ago(drawSeconds(t, 900, "ready since"))
		}
		if b.p.Terminating = oneIn(t, 5, "terminating"); b.p.Terminating {
			b.p.DeletedAt = ago(drawSeconds(t, 60, "deleted at"))
		}
		if b.p.Phase == corev1.PodFailed || b.p.Phase == corev1.PodSucceeded {
			b.p.FailedAt = ago(drawSeconds(t, 900, "failed at"))
			b.p.Reason = rapid.SampledFrom([]string{"", "Evicted", "NodeLost"}).Draw(t, "reason")
		}
		drawChange(t, &b.p)
		return b.p
	})
}

// drawChange draws what changes in place leave behind, and holders.
func drawChange(t *rapid.T, p *Pod) {
	p.Containers = []ContainerMark{{Name: "app", ContainerID: "c-1", ImageID: "i-1"}}
	p.Changing = oneIn(t, 9, "changing")
	p.Gate = rapid.SampledFrom([]Gate{GateNone, GateNone, GateNone, GateUnset, GateOpen, GateShut}).Draw(t, "gate")
	if oneIn(t, 9, "resizing") {
		p.Resize = rapid.SampledFrom([]ResizeState{ResizeInProgress, ResizeDeferred, ResizeInfeasible}).Draw(t, "resize")
		p.ResizeSince = ago(drawSeconds(t, 120, "resize since"))
	}
	holder := "somebody"
	if oneIn(t, 9, "held from deletion") {
		p.HoldDelete = &holder
	}
	if oneIn(t, 9, "held from update") {
		p.HoldUpdate = &holder
	}
	if oneIn(t, 9, "holder was told") {
		p.Wanted = rapid.SampledFrom([]string{wantDelete, wantUpdate}).Draw(t, "wanted")
	}
}

// fleetGenerator draws a fleet with anything in it.
func fleetGenerator() *rapid.Generator[fleet] {
	return rapid.Custom(func(t *rapid.T) fleet {
		f := aFleet(rapid.IntRange(0, 10).Draw(t, "replicas"))
		if rapid.Bool().Draw(t, "random") {
			f = f.random()
		}
		d := &f.desired
		d.Generation = rapid.Int64Range(1, 2).Draw(t, "generation")
		d.Paused = oneIn(t, 5, "paused")
		d.MinReady = drawSeconds(t, 60, "minReady")
		d.FailedPods.Limit = rapid.IntRange(0, 3).Draw(t, "failed pods kept")
		d.RevisionHistoryLimit = rapid.IntRange(0, 2).Draw(t, "revisions kept")
		d.Finalizer = rapid.SampledFrom([]FinalizerState{FinalizerPresent, FinalizerMissing, FinalizerUnused}).Draw(t, "finalizer")
		drawUpdate(t, d)
		f.observed.Revisions = drawRevisions(t)
		f.observed.Changes = drawChanges(t)
		f.observed.Pods, f.observed.HeldNames = drawPods(t, d)
		drawMemory(t, &f)
		return f
	})
}

func drawUpdate(t *rapid.T, d *Desired) {
	d.Update.Strategy = rapid.SampledFrom([]appsv1.UpdateStrategy{
		appsv1.UpdateInPlace, appsv1.UpdateInPlace, appsv1.UpdateRecreate, appsv1.UpdateOnDelete,
	}).Draw(t, "strategy")
	d.Update.MaxUnavailable = rapid.IntRange(0, 3).Draw(t, "maxUnavailable")
	d.Update.MaxSurge = rapid.IntRange(0, 3).Draw(t, "maxSurge")
	d.Update.UseEviction = rapid.Bool().Draw(t, "eviction")
	d.Update.ResizeDeadline = time.Minute
	d.Update.OnFailure = rapid.SampledFrom([]appsv1.FailureAction{appsv1.FailurePause, appsv1.FailureRollback}).Draw(t, "onFailure")
	if oneIn(t, 4, "partitioned") {
		d.Update.Partition = rapid.IntRange(0, 10).Draw(t, "partition")
	}
	if oneIn(t, 6, "restarted") {
		d.Restart = ago(drawSeconds(t, 900, "restart"))
	}
	d.Terminating = Terminating{Timeout: 30 * time.Second, Policy: rapid.SampledFrom([]appsv1.TerminatingPolicy{
		appsv1.TerminatingReplaceAtOnce, appsv1.TerminatingReplaceAtOnce, appsv1.TerminatingWait, appsv1.TerminatingAfterTimeout,
	}).Draw(t, "terminating policy")}
	if d.Identity == appsv1.IdentityOrdinal && oneIn(t, 5, "reserved ordinals") {
		d.Reserved = rapid.SliceOfNDistinct(rapid.IntRange(0, 12), 0, 3, rapid.ID[int]).Draw(t, "reserved")
		slices.Sort(d.Reserved)
	}
	if d.Identity == appsv1.IdentityOrdinal && oneIn(t, 5, "claims") {
		d.Claims = Claims{Templates: []string{"data"}, WhenScaled: appsv1.ClaimRetain, WhenDeleted: appsv1.ClaimRetain}
		if rapid.Bool().Draw(t, "claims go with their pods") {
			d.Claims.WhenScaled, d.Claims.WhenDeleted = appsv1.ClaimDelete, appsv1.ClaimDelete
		}
	}
}

func drawRevisions(t *rapid.T) []Revision {
	revisions := []Revision{
		{Name: newRev, Number: rapid.Int64Range(1, 9).Draw(t, "number of the new revision"), Equal: true},
		{Name: oldRev, Number: rapid.Int64Range(1, 9).Draw(t, "number of the old revision")},
		{Name: "web-older", Number: 0},
	}
	return rapid.SampledFrom([][]Revision{revisions[:1], revisions[:2], revisions, revisions[1:], nil}).Draw(t, "revisions")
}

// drawChanges draws how pods get from one revision to another.
func drawChanges(t *rapid.T) []Change {
	kinds := []Change{
		{Recreate: "the command differs"},
		{Metadata: true},
		{Images: []string{"app"}, Restarts: true},
		{Resize: []string{"app"}},
		{Resize: []string{"app"}, Restarts: true},
		{Resize: []string{"app"}, Images: []string{"app"}, Metadata: true, Restarts: true},
	}
	names := []string{newRev, oldRev, "web-older", "web-next"}
	var changes []Change
	for _, from := range names {
		for _, to := range names {
			if from == to {
				continue
			}
			c := rapid.SampledFrom(kinds).Draw(t, "change")
			c.From, c.To = from, to
			changes = append(changes, c)
		}
	}
	return changes
}

// drawPods draws pods, some of them in slots, and names that others have.
func drawPods(t *rapid.T, d *Desired) (pods []Pod, held []string) {
	pods = rapid.SliceOfNDistinct(podGenerator(), 0, 14, func(p Pod) string { return p.Name }).Draw(t, "pods")
	slots := make([]int, 14)
	for i := range slots {
		slots[i] = i
	}
	slots = rapid.Permutation(slots).Draw(t, "slots")
	for i := range pods {
		if oneIn(t, 7, "slotless") {
			continue
		}
		pods[i].Slot, pods[i].Name = slots[i], SlotName(d, slots[i])
		// A Random pod whose slot label was edited keeps its name.
		if d.Identity == appsv1.IdentityRandom && oneIn(t, 10, "label edited") {
			pods[i].Slot = NoSlot
		}
	}
	for _, slot := range slots[len(pods):] {
		if oneIn(t, 6, "held") {
			held = append(held, SlotName(d, slot))
		}
	}
	return pods, held
}

// drawMemory draws what the last report said.
func drawMemory(t *rapid.T, f *fleet) {
	s := &f.observed.Status
	s.CurrentRevision = rapid.SampledFrom([]string{newRev, oldRev, "", "web-gone"}).Draw(t, "current revision")
	s.UpdateRevision = rapid.SampledFrom([]string{newRev, oldRev, ""}).Draw(t, "update revision")
	s.UpdatedReplicas = rapid.Int32Range(0, 10).Draw(t, "updated before")
	if oneIn(t, 2, "failed before") {
		*f = f.failures(rapid.Int32Range(1, 8).Draw(t, "failures"),
			drawSeconds(t, 1200, "last failure"), drawSeconds(t, 300, "backoff"))
	}
	if oneIn(t, 2, "was reconciling") {
		*f = f.condition(appsv1.ConditionReconciling,
			rapid.SampledFrom([]string{appsv1.ReasonScalingUp, appsv1.ReasonReplacing}).Draw(t, "why"), metav1.ConditionTrue)
	}
	if oneIn(t, 3, "was rolling out") {
		f.observed.Status.Rollout = &appsv1.RolloutRecord{
			Revision: newRev, Done: rapid.Int32Range(0, 10).Draw(t, "done"),
			ProgressTime: metav1.NewTime(ago(drawSeconds(t, 900, "last progress"))),
		}
	}
	if oneIn(t, 6, "was rolled back") {
		f.observed.Status.Rollback = &appsv1.RollbackRecord{From: newRev, To: oldRev, Time: metav1.NewTime(ago(time.Minute)), Message: "no progress"}
	}
}
