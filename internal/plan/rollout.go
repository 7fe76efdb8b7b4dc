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
	"fmt"
	"slices"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// rollout moves old pods to the goal. Pods that do not serve go first and free
// of budget, so a broken revision never blocks its own fix. Of the others only
// so many are taken out of service that replicas - maxUnavailable stay
// available. Pods that can be changed in place are, and are surged over only
// where they restart and none may be unavailable.
//
// A pod that the scale-down takes, or would take were it not held, is not worth
// the change any more.
func rollout(s *scene) bool {
	s.stale = slices.DeleteFunc(s.stale, func(p *stalePod) bool {
		if s.wanted[p.pod] {
			s.kept++
		}
		return s.gone[p.pod] || s.wanted[p.pod]
	})
	moving, kept := s.inScope()
	s.blockPods(appsv1.BlockedByPartition, fmt.Sprintf("partition %d keeps them on their revision", s.partition()), kept)
	if blocker, message := s.stopped(); blocker != "" {
		s.blockPods(blocker, message, moving)
		return false
	}
	s.move(moving, s.newBudget(s.toSurgeOver(moving)))
	// What this pass takes down needs no stand-in beyond its own successor.
	s.setSurge(s.toSurgeOver(moving))
	return false
}

// toSurgeOver counts the pods that others may have to stand in for: those that
// serve, are still there and have to be recreated, or to be restarted in place
// where that, too, is surged over.
func (s *scene) toSurgeOver(pods []*stalePod) int {
	restarts := s.uninterrupted()
	n := 0
	for _, p := range pods {
		if p.serving && !s.gone[p.pod] && (!p.inPlace() || restarts && p.change.Restarts) {
			n++
		}
	}
	return n
}

// inScope parts the pods that move from those that the partition keeps. A
// restart concerns them all the same: they come back on the revision they had.
// And one that the partition keeps on a revision in between, where it does not
// serve or its node cannot hold its size, goes back to the last one that did. One
// that it keeps with the size of another revision gets its own size back.
func (s *scene) inScope() (moving, kept []*stalePod) {
	keep := s.partition()
	if keep == 0 {
		return s.stale, nil
	}
	isBehind := s.behindPartition(keep)
	for _, p := range s.stale {
		behind, failed := isBehind(p), s.resizeFailed(p.pod)
		current := s.decision.CurrentRevision
		switch {
		case !behind || p.outdated:
			moving = append(moving, p)
		case s.findRevision(current) != nil && (!p.serving && p.pod.Revision != current || failed):
			moving = append(moving, s.describeStale(p.brief, current))
		case failed:
			moving = append(moving, p)
		case p.missized:
			if back := s.describeStale(p.brief, p.pod.Revision); back.inPlace() {
				moving = append(moving, back)
				continue
			}
			fallthrough
		default:
			kept = append(kept, p)
		}
	}
	return moving, kept
}

// behindPartition reports, for one stale pod after the other, whether the partition keeps it.
// With random names it keeps pods that stay, those of the current revision before those
// that an earlier change had moved and, where these are too few, as many of the others:
// their successors are made on the old revision, too.
func (s *scene) behindPartition(keep int) func(*stalePod) bool {
	if s.ordinal() {
		return func(p *stalePod) bool { return s.position(p.slot) < keep }
	}
	stay := map[*stalePod]bool{}
	for _, current := range [...]bool{true, false} {
		for _, p := range slices.Backward(s.stale) {
			if len(stay) < keep && s.holdsPartition(p.brief) && (p.pod.Revision == s.decision.CurrentRevision) == current {
				stay[p] = true
			}
		}
	}
	successors := keep - len(stay)
	return func(p *stalePod) bool {
		switch {
		case s.onGoal(p.brief):
			return false
		case s.holdsPartition(p.brief):
			return stay[p]
		}
		successors--
		return successors >= 0
	}
}

// holdsPartition: with random names, the pod is one of those that stay on the old
// revision. One that leaves its node, or is too old for a restart, is not: its successor
// is made before it goes, on the revision that it has.
func (s *scene) holdsPartition(b brief) bool {
	return !s.onGoal(b) && !s.leaves[b.pod] && !s.restarts(b)
}

// restarts: the pod is older than a restart that nothing stops.
func (s *scene) restarts(b brief) bool {
	blocker, _ := s.stopped()
	return b.outdated && blocker == ""
}

// partition is how many pods stay on the old revision: none when there is no
// old revision to stay on.
func (s *scene) partition() int {
	if !s.staysOld() {
		return 0
	}
	return min(s.desired.Update.Partition, s.desired.Replicas)
}

// staysOld: there is an old revision to stay on.
func (s *scene) staysOld() bool {
	return s.decision.CurrentRevision != "" && s.decision.CurrentRevision != s.decision.UpdateRevision
}

// stopped says what keeps the whole rollout from going on.
func (s *scene) stopped() (blocker, message string) {
	switch {
	case s.desired.Paused:
		return appsv1.BlockedByPause, "spec.paused is true"
	case s.halted == appsv1.BlockedByDeadline:
		return appsv1.BlockedByDeadline, "the rollout failed and waits for a person"
	case s.halted != "":
		return s.halted, "the rollout has no goal"
	case s.desired.Update.Strategy == appsv1.UpdateOnDelete:
		return appsv1.BlockedByOnDelete, "with strategy OnDelete pods follow when you delete them"
	}
	return "", ""
}

// blockPods notes that pods are held back, as one entry.
func (s *scene) blockPods(by, message string, pods []*stalePod) {
	if len(pods) == 0 {
		return
	}
	s.block(Blocked{
		Verb: UpdatePod, Pod: pods[0].pod.Name, Slot: pods[0].slot, By: by, Message: message, Count: len(pods),
	})
}

// move starts as many moves as the budget allows, and goes on with those that
// are under way.
func (s *scene) move(pods []*stalePod, b budget) {
	if len(pods) == 0 {
		return
	}
	var waiting []*stalePod
	numbers := map[string]int64{"replicas": int64(s.desired.Replicas)}
	for _, p := range pods {
		cost := s.priceOf(p)
		if !b.affords(cost) || s.inOrder && cost != (price{}) {
			waiting = append(waiting, p)
			// A holder who was told that it is time is not told the opposite
			// because the budget has gone to others meanwhile.
			if p.notified && p.pod.Wanted == p.want() {
				s.held(p.pod, p.want())
			}
		} else if s.moveOne(p, numbers) {
			b.pay(cost)
		}
	}
	s.blockPods(appsv1.BlockedByBudget, s.limits(b), waiting)
}

// moveOne moves a pod, one step at a time, and tells whether it did.
func (s *scene) moveOne(p *stalePod, numbers map[string]int64) bool {
	if !p.inPlace() {
		return s.recreate(p, numbers)
	}
	if s.held(p.pod, wantUpdate) {
		return false
	}
	if p.gated {
		mark(&s.changing, p.pod)
	}
	if !s.room(UpdatePod, p.pod) {
		return false
	}
	if p.change.Restarts {
		mark(&s.restarting, p.pod)
	}
	if p.change.Restarts && (p.pod.Gate == GateOpen || p.pod.Gate == GateShut && p.pod.Ready) {
		s.takeOutOfService(p)
		return true
	}
	action := Action{
		Verb: ResizePod, Pod: p.pod.Name, UID: p.pod.UID, ResourceVersion: p.pod.ResourceVersion, Slot: p.slot, From: p.pod.Revision,
		SizeOf: p.change.SizeOf, Node: p.pod.Node, Revision: p.goal,
	}
	if len(p.change.Resize) > 0 && !s.sizedAs(p.pod, p.goal) {
		s.act(action, p.reason, p.because(), numbers)
	}
	action.Verb, action.Node = UpdatePod, ""
	for _, mark := range p.pod.Containers {
		if p.change.Restarts && (slices.Contains(p.change.Images, mark.Name) || slices.Contains(p.change.Resize, mark.Name)) {
			action.Replaced = append(action.Replaced, mark)
		}
	}
	if !p.putsBack() || len(action.Replaced) > 0 {
		s.act(action, p.reason, p.because(), numbers)
	}
	return true
}

// takeOutOfService shuts the gate, and waits until the pod is out of service.
func (s *scene) takeOutOfService(p *stalePod) {
	if p.pod.Gate == GateShut {
		s.block(Blocked{
			Verb: UpdatePod, Pod: p.pod.Name, Slot: p.slot, By: appsv1.BlockedByContainer, Count: 1,
			Message: "waiting until the pod is out of service",
		})
		return
	}
	s.act(Action{
		Verb: ShutGate, Pod: p.pod.Name, UID: p.pod.UID, ResourceVersion: p.pod.ResourceVersion, Slot: p.slot, Revision: p.pod.Revision,
		Goal: p.goal,
	}, appsv1.WhyOutOfService, p.because(), nil)
}

func (s *scene) recreate(p *stalePod, numbers map[string]int64) bool {
	verb := DeletePod
	if s.desired.Update.UseEviction {
		verb = EvictPod
	}
	if s.held(p.pod, wantDelete) || !s.room(verb, p.pod) {
		return false
	}
	s.remove(Action{Verb: verb, Goal: p.goal}, p.pod, p.reason, "recreated: "+p.because(), numbers)
	return true
}
