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
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// podGenerator draws a pod in any state, also in those that should not occur.
func podGenerator() *rapid.Generator[Pod] {
	return rapid.Custom(func(t *rapid.T) Pod {
		p := aPod("stray-" + rapid.StringMatching("[a-z]{4}").Draw(t, "name")).p
		p.ResourceVersion = oneOf(t, "resourceVersion", "7", "8")
		p.Membership = oneOf(t, "membership", Member, Member, Member, Member, Orphan, Drifted)
		p.NodeState = oneOf(t, "node state",
			NodePresent, NodePresent, NodePresent, NodePresent, NodePresent, NodeGone, NodeOutOfService)
		p.Revision = oneOf(t, "revision", newRev, newRev, newRev, oldRev, "")
		p.DeleteRequested = oneIn(t, 7, "requested")
		p.Surge = oneIn(t, 7, "surge")
		p.Replaces = oneOf(t, "replaces", "", "", appsv1.WhyMissing, appsv1.WhyDisruptionSurge, appsv1.WhyRolloutSurge)
		p.Node = oneOf(t, "node", "", "node-a", "node-b", "node-c")
		p.Zone = oneOf(t, "zone", "", "zone-a", "zone-b")
		p.NodeDown = oneIn(t, 9, "node down")
		p.NodeLeaving = oneOf(t, "node leaving", "", "", "", "", "", "taint example.com/spot")
		if oneIn(t, 5, "eviction requested") {
			p.EvictionRequested = ago(drawSeconds(t, 900, "eviction requested since") - time.Minute)
			p.RebalancedTo = oneOf(t, "rebalanced to", "", "zone=b")
			p.EvictionBy = oneOf(t, "evicted by", "", "example.com/drain")
			p.EvictionGrace = oneOf(t, "eviction grace", nil, ptr.To[int64](0), ptr.To[int64](30))
		}
		p.Restarts = rapid.IntRange(0, 2).Draw(t, "restarts")
		p.DeletionCost = rapid.IntRange(-1, 1).Draw(t, "cost")
		p.Created = ago(drawSeconds(t, 900, "created"))
		drawPhase(t, &p)
		drawChange(t, &p)
		drawHolds(t, &p)
		return p
	})
}

func drawPhase(t *rapid.T, p *Pod) {
	p.Phase = oneOf(t, "phase", corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending,
		corev1.PodFailed, corev1.PodFailed, corev1.PodSucceeded, corev1.PodUnknown, "")
	p.Ready, p.ReadySince = p.Phase == corev1.PodRunning && rapid.Bool().Draw(t, "ready"), time.Time{}
	if p.Ready {
		p.ReadySince = ago(drawSeconds(t, 900, "ready since"))
	} else if oneIn(t, 3, "it was ready") {
		p.UnreadySince = ago(drawSeconds(t, 900, "unready since"))
	}
	if !p.Ready && oneIn(t, 3, "a container waits") {
		p.Waiting = oneOf(t, "waiting", "ImagePullBackOff", "CrashLoopBackOff", "Unschedulable")
		if p.Waiting == "Unschedulable" {
			p.Scheduler = oneOf(t, "the scheduler says", "Too many pods", "Insufficient cpu")
		}
	}
	if p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded {
		p.FailedAt = ago(drawSeconds(t, 900, "failed at"))
		p.Reason = oneOf(t, "reason", "", "Evicted", "NodeLost")
	}
	if p.Terminating = oneIn(t, 5, "terminating"); p.Terminating {
		p.DeletedAt = ago(drawSeconds(t, 60, "deleted at"))
		if oneIn(t, 5, "a finalizer keeps it") {
			p.KeptBy = oneOf(t, "kept by", "example.com/backup", "example.com/drain")
			p.Ended = rapid.Bool().Draw(t, "its grace period is over")
		}
	}
}

// drawChange draws what changes in place leave behind.
func drawChange(t *rapid.T, p *Pod) {
	p.Containers = []ContainerMark{{
		Name: "app", ContainerID: oneOf(t, "container", "c-1", "", "c-2"), ImageID: oneOf(t, "image id", "i-1", "", "i-2"),
		Image: oneOf(t, "image", "app:1", "app:2", ""),
	}}
	if oneIn(t, 4, "sidecar") {
		p.Containers = append(p.Containers, ContainerMark{Name: "proxy", ContainerID: "c-3", ImageID: "i-3", Image: "proxy:1"})
	}
	if p.Changing = oneIn(t, 9, "changing"); p.Changing {
		p.SettlesAt = oneOf(t, "settles at", time.Time{}, ago(time.Minute), ago(-time.Minute))
	}
	p.Gate = oneOf(t, "gate", GateNone, GateNone, GateNone, GateUnset, GateOpen, GateShut)
	if oneIn(t, 9, "resizing") {
		p.Resize = oneOf(t, "resize", ResizeInProgress, ResizeDeferred, ResizeInfeasible)
		p.ResizeSince = ago(drawSeconds(t, 120, "resize since"))
	}
	if size := oneOf(t, "size of", "", "", "", newRev, oldRev, "web-older"); size != p.Revision {
		p.SizeOf = size
	}
}

// drawHolds draws who holds the pod back, and what the holder was told.
func drawHolds(t *rapid.T, p *Pod) {
	holder := func(label string) *string {
		name := oneOf(t, label, "migration", "backup")
		return &name
	}
	if oneIn(t, 9, "held from deletion") {
		p.HoldDelete = holder("who holds it from deletion")
	}
	if oneIn(t, 9, "held from update") {
		p.HoldUpdate = holder("who holds it from update")
	}
	if oneIn(t, 9, "holder was told") {
		p.Wanted = oneOf(t, "wanted", wantDelete, wantUpdate)
	}
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
