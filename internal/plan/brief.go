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
	"cmp"
	"slices"
	"strings"
)

// brief is what the rules ask of every live pod. Pods are large: rules that
// looked at each of a hundred thousand would wait for the memory, pod after
// pod. So each pod is read once, in memory order, and the rules walk over the
// briefs and look at a pod only if there is something to do about it.
type brief struct {
	// start is the first bytes of the name that tell it from others. With
	// them a large fleet is sorted without another look at its pods.
	start uint64
	pod   *Pod
	slot  int
	// revision is the number of the pod's revision, see revisionNumber.
	revision int32
	traits   traits
	bucket   bucket
}

// traits are what is true of a pod for the whole pass.
type traits uint16

const (
	isOrphan traits = 1 << iota
	// inFleet: its place is one that the fleet keeps whatever the rollout does.
	inFleet
	// standsIn: its ordinal is one of the rollout's surge.
	standsIn
	isReady
	isServing
	isAvailable
	// isOutdated: a restart was asked for after it was made.
	isOutdated
	isResizing
	// isFollowing: its node still carries out a change in place.
	isFollowing
	// isRequested: the user wants it deleted.
	isRequested
	// isHeld: another controller keeps us from deleting or from changing it.
	isHeld
	// wasTold: its holder was told what we want.
	wasTold
	// isGated: it carries our gate, and the gate is not open.
	isGated
	// isWaiting: it can say why it is not yet what it shall be.
	isWaiting
)

func (b brief) is(t traits) bool { return b.traits&t == t }

func (b brief) orphan() bool { return b.is(isOrphan) }

// podsIn are the pods that briefs are about.
func podsIn(briefs []brief) []*Pod {
	pods := make([]*Pod, len(briefs))
	for i := range briefs {
		pods[i] = briefs[i].pod
	}
	return pods
}

// bucket says which of the scene's lists a pod belongs to.
type bucket uint8

const (
	inNone bucket = iota
	inLive
	inFailed
	inLost
	inTerminating
	inDrifted
	inLeaving
)

// briefAll reads the pods and sorts them by name. It points at the pods instead
// of copying them: no rule changes a pod, and the copies would cost more than
// all the rest.
func (s *scene) briefAll() []brief {
	pods := s.observed.Pods
	briefs := make([]brief, len(pods))
	shared := sharedPrefix(pods)
	for i := range pods {
		p := &pods[i]
		b := &briefs[i]
		b.start, b.pod, b.slot, b.bucket = startOf(p.Name[shared:]), p, p.Slot, s.bucketOf(p)
		if b.bucket == inLive {
			b.revision, b.traits = s.revisionNumber(p.Revision), s.traitsOf(p)
		}
	}
	slices.SortFunc(briefs, func(a, b brief) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return cmp.Compare(a.pod.Name, b.pod.Name)
	})
	return briefs
}

// startOf is the first eight bytes as a number that compares as they do.
func startOf(name string) uint64 {
	var start uint64
	for i := range 8 {
		start <<= 8
		if i < len(name) {
			start |= uint64(name[i])
		}
	}
	return start
}

// sharedPrefix is how many bytes all names begin with.
func sharedPrefix(pods []Pod) int {
	if len(pods) == 0 {
		return 0
	}
	prefix := pods[0].Name
	for i := range pods {
		name := pods[i].Name
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return len(prefix)
}

func (s *scene) traitsOf(p *Pod) traits {
	return when(p.Membership == Orphan, isOrphan) |
		when(!s.ordinal() || s.inBase(p.Slot), inFleet) |
		when(s.ordinal() && s.mayStandIn(p.Slot), standsIn) |
		when(p.Ready, isReady) |
		when(s.serves(p), isServing) |
		when(s.available(p), isAvailable) |
		when(s.restartWanted(p), isOutdated) |
		when(p.Resize != ResizeNone, isResizing) |
		when(p.InChange(s.now) || p.resizes(), isFollowing) |
		when(p.DeleteRequested, isRequested) |
		when(p.HoldDelete != nil || p.HoldUpdate != nil, isHeld) |
		when(p.Wanted != "", wasTold) |
		when(p.Gate == GateUnset || p.Gate == GateShut, isGated) |
		when(p.Waiting != "" || p.Resize == ResizeDeferred, isWaiting)
}

func when(holds bool, t traits) traits {
	if holds {
		return t
	}
	return 0
}

// revisionNumber numbers the revisions that can become the goal of the fleet:
// the one that was, the one that would be made, and those that are stored. All
// others are 0. Comparing numbers is faster than names, which are scattered over
// the memory.
func (s *scene) revisionNumber(name string) int32 {
	switch name {
	case s.observed.Status.UpdateRevision:
		return 1
	case s.observed.NewRevision:
		return 2
	}
	for i := range s.observed.Revisions {
		if s.observed.Revisions[i].Name == name {
			return int32(i + 3)
		}
	}
	return 0
}

// aimAt sets the goal of the fleet.
func (s *scene) aimAt(revision string) {
	s.decision.UpdateRevision = revision
	s.goalNumber = s.revisionNumber(revision)
}

// onGoal: the pod is on the revision that the fleet moves to.
func (s *scene) onGoal(b brief) bool { return b.revision == s.goalNumber }

// moved: it is on the goal, and newer than the last restart request.
func (s *scene) moved(b brief) bool { return s.onGoal(b) && !b.is(isOutdated) }
