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

// brief is what the rules ask of every live pod, read once in a pass, so that all
// rules see the same.
type brief struct {
	pod  *Pod
	slot int

	orphan   bool
	inFleet  bool // its place is one that the fleet keeps whatever the rollout does
	standsIn bool // its ordinal is one of the rollout's surge

	ready     bool
	serving   bool
	available bool

	outdated  bool // a restart was requested after it was created
	resizing  bool
	missized  bool // it has the size of another revision, and can get that of its own
	following bool // its node still carries out a change in place
	requested bool // the user wants it deleted
	notified  bool // its holder knows what we want
	gated     bool // it carries our gate, and the gate is not open
}

func (s *scene) briefOf(p *Pod) brief {
	return brief{
		pod: p, slot: p.Slot,
		orphan:    p.Membership == Orphan,
		inFleet:   !s.ordinal() || s.inBase(p.Slot),
		standsIn:  s.ordinal() && s.mayStandIn(p.Slot),
		ready:     p.Ready,
		serving:   s.serves(p),
		available: s.available(p),
		outdated:  s.restartWanted(p),
		resizing:  p.Resize != ResizeNone,
		missized:  p.SizeOf != "" && s.change(p.Revision, p.SizeOf, p.Revision) != nil,
		following: p.InChange(s.now) || p.resizes(),
		requested: p.DeleteRequested,
		notified:  p.Wanted != "",
		gated:     p.Gate == GateUnset || p.Gate == GateShut,
	}
}

// excess: an orphan beyond the ordinals that are asked for. It is taken in only
// to be deleted as a member, and never counts as one of the fleet's live pods.
func (b brief) excess() bool { return b.orphan && !b.inFleet }

// onGoal: the pod is on the revision that the fleet moves to.
func (s *scene) onGoal(b brief) bool { return b.pod.Revision == s.decision.UpdateRevision }

// moved: it is on the goal, has its size, and is newer than the last restart
// request.
func (s *scene) moved(b brief) bool { return s.onGoal(b) && !b.missized && !b.outdated }

// podsIn are the pods that briefs are about.
func podsIn(briefs []brief) []*Pod {
	pods := make([]*Pod, len(briefs))
	for i := range briefs {
		pods[i] = briefs[i].pod
	}
	return pods
}
