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
	"fmt"
	"slices"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// findStale lists the pods that have to move, in the order to move them: what
// does not serve first, then what is not available yet, then with ordinals the
// highest, otherwise the least useful. It also says how many pods beyond
// replicas the scale-down leaves: a stopped rollout recreates no pod, but the
// stand-in for a pod that is not back yet stays.
func findStale(s *scene) bool {
	for _, b := range s.staying() {
		if s.isStale(b) {
			s.stale = append(s.stale, s.describeStale(b, s.decision.UpdateRevision))
		}
	}
	var rank map[*Pod]int
	if !s.ordinal() && len(s.stale) > 0 {
		rank = make(map[*Pod]int, len(s.live))
		for i, v := range rankVictims(podsIn(s.staying()), s.updated, s.leaves) {
			rank[v.pod] = i
		}
	}
	slices.SortStableFunc(s.stale, func(a, b *stalePod) int {
		return cmp.Or(first(!a.serving, !b.serving), first(!a.available, !b.available),
			rank[a.pod]-rank[b.pod], cmp.Compare(b.slot, a.slot))
	})
	surged := 0
	if blocker, _ := s.stopped(); blocker == "" {
		moving, _ := s.inScope()
		surged = s.toSurgeOver(moving)
	}
	s.setSurge(surged)
	return false
}

// stalePod is a pod that has to move to the goal.
type stalePod struct {
	brief
	// goal is the revision it has to move to, and change how, or nil where
	// the pod has to be recreated.
	goal   string
	change *Change
	// recreate says what makes it a recreate.
	recreate string
	reason   string
}

func (p *stalePod) inPlace() bool { return p.change != nil }

// because says what makes it a recreate, or what changes in place. It is
// computed on demand: of the many pods that have to move few do in one pass.
func (p *stalePod) because() string {
	switch {
	case !p.inPlace():
		return p.recreate
	case p.putsBack():
		return fmt.Sprintf("the pod has the size of revision %s, from a change that was taken back", p.pod.SizeOf)
	}
	return describeChange(p.change)
}

// putsBack: it has all of its goal but the size.
func (p *stalePod) putsBack() bool { return p.pod.Revision == p.goal && p.missized }

// want is what we tell the pod's holder.
func (p *stalePod) want() string {
	if p.inPlace() {
		return wantUpdate
	}
	return wantDelete
}

// isStale: the pod has to move. With ordinals one beyond the base does not: it
// stands in while the others move, or it is condemned.
func (s *scene) isStale(b brief) bool {
	return b.inFleet && !b.orphan && (!s.moved(b) || b.resizing && s.resizeFailed(b.pod))
}

func (s *scene) describeStale(b brief, goal string) *stalePod {
	p := b.pod
	stale := &stalePod{brief: b, goal: goal, reason: appsv1.WhyRolloutRecreate}
	change := s.changeOf(p, goal)
	refused, small := "", false
	if r := s.decision.Rollout; r != nil && (r.Revision == goal || p.Revision == goal) {
		refused, small = r.ResizeRefused, slices.Contains(r.SmallNodes, p.Node)
	}
	switch {
	case b.outdated:
		stale.reason, stale.recreate = appsv1.WhyRestart, "a restart was asked for"
	case s.resizeFailed(p) && (change == nil || len(change.Resize) == 0):
		stale.reason, stale.recreate = resizeWhy(p)
	case change == nil:
		stale.recreate = "the pod comes from no stored revision"
	case change.Recreate != "":
		stale.recreate = change.Recreate
	case s.desired.Update.Strategy == appsv1.UpdateRecreate:
		stale.recreate = "the strategy is Recreate"
	case len(change.Resize) > 0 && small:
		stale.reason, stale.recreate = appsv1.WhyResizeInfeasible, neverHolds(p)
	case len(change.Resize) > 0 && refused != "":
		stale.recreate = "the resize was refused: " + refused
	default:
		stale.change, stale.reason = change, appsv1.WhyRolloutInPlace
	}
	return stale
}

// changeOf is what leads a pod to a revision. One with the size of another
// revision is resized from there. Where that is the size of the goal, only the
// label is missing, and the change is made as it was begun: whether it restarts
// a container follows from the whole of it.
func (s *scene) changeOf(p *Pod, goal string) *Change {
	if p.SizeOf != "" && !s.sizedAs(p, goal) {
		if sized := s.change(p.Revision, p.SizeOf, goal); sized != nil {
			return sized
		}
	}
	return s.change(p.Revision, "", goal)
}

// sizedAs: a pod of another revision has the size of the goal already.
func (s *scene) sizedAs(p *Pod, goal string) bool {
	if p.SizeOf == "" || p.Revision == goal {
		return false
	}
	sized := s.change(p.Revision, p.SizeOf, goal)
	return sized != nil && sized.Recreate == "" && len(sized.Resize) == 0
}

func (s *scene) change(from, size, to string) *Change {
	if s.changes == nil {
		s.changes = make(map[[3]string]*Change, len(s.observed.Changes))
		for i := range s.observed.Changes {
			c := &s.observed.Changes[i]
			s.changes[[3]string{c.From, c.SizeOf, c.To}] = c
		}
	}
	return s.changes[[3]string{from, size, to}]
}

// resizeFailed: the node will not carry out a resize that is under way, or has
// put it off for too long.
func (s *scene) resizeFailed(p *Pod) bool {
	switch p.Resize {
	case ResizeInfeasible:
		return true
	case ResizeDeferred:
		left := p.ResizeSince.Add(s.desired.Update.ResizeDeadline).Sub(s.now)
		if left <= 0 {
			return true
		}
		s.lookAfter(left)
	case ResizeNone, ResizeInProgress:
	}
	return false
}

func resizeWhy(p *Pod) (reason, because string) {
	if p.Resize == ResizeInfeasible {
		return appsv1.WhyResizeInfeasible, neverHolds(p)
	}
	return appsv1.WhyResizeDeferred, "node " + p.Node + " put the resize off for too long"
}

func neverHolds(p *Pod) string { return "node " + p.Node + " can never hold the new size" }
