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
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// scene is what the rules look at and write on: the classified fleet and the
// decision so far. It lives for one Plan.
type scene struct {
	desired  Desired
	observed Observed
	now      time.Time

	// The buckets. A pod is in one of them, or it is an orphan that stays
	// one.
	live        []*Pod // members and orphans that run or will run
	failed      []*Pod // members and orphans in a terminal phase
	lost        []*Pod // members and orphans that had not ended, on a node that is proved gone
	terminating []*Pod // ours, and being deleted
	drifted     []*Pod // ours by owner reference, not by labels

	// briefs are about the live pods, in the same order; stays caches
	// staying() and is valid while len(gone) == staysWithout.
	briefs, stays []brief
	staysWithout  int
	// template is the name of the revision that means the template.
	template string

	// leaving are the names of terminating orphans, free again soon.
	leaving map[string]bool

	// gone marks pods that an earlier rule deletes or lets go, and evicting
	// those of them that a PodDisruptionBudget may keep.
	gone, evicting map[*Pod]bool
	// spent counts the pods that this pass creates and deletes: by few verbs,
	// mostly by none.
	spent []expense
	// onBackoff counts replacements that wait for the backoff, and with
	// ordinals surgeOnBackoff those of them that are of the rollout's surge.
	onBackoff, surgeOnBackoff int
	// backedOff are the failed pods whose replacements wait.
	backedOff []*Pod
	// surge is how many pods beyond replicas the rollout needs; with
	// ordinals, extras are those of them that are there and stay.
	surge  int
	extras map[*Pod]bool
	// unplaced is the name of a pod that could not be scheduled for so long that
	// those that stand in give way.
	unplaced string
	// standIns is how many pods beyond replicas stay, with random names, until
	// others are back.
	standIns int
	// movers are the pods outside the fleet's ordinals that stay until those of the
	// fleet are available, and movedAway those that this pass deletes.
	movers    map[*Pod]bool
	movedAway []*Pod
	// inOrder: the pass removes a pod in order, so the fleet has to stay available.
	inOrder bool
	// leavers are the pods that have to leave their nodes, the most urgent first,
	// and leaves the set of them. draining: one has to, of the fleet or too many;
	// drained is when the last of them is forgotten, zero where none will be.
	leavers  []leaver
	leaves   map[*Pod]bool
	draining bool
	drained  time.Time
	// surged is how many pods the rollout has to surge over.
	surged int
	// halted says what stops the rollout, or nothing.
	halted string
	// stale are the live pods that have to move, in the order to move them.
	stale []*stalePod
	// kept counts those of them that would be deleted anyway, were they not held.
	kept int
	// wanted are the held pods that we want something of in this pass.
	wanted map[*Pod]bool
	// changing are the pods with a gate that this pass changes in place, or is
	// about to.
	changing map[*Pod]bool
	// restarting are those whose containers this pass restarts: they are not available
	// from then on.
	restarting map[*Pod]bool
	// claims finds a Claim by its name, and changes a Change by From, SizeOf and
	// To. Both are made when the first is looked for.
	claims  map[string]*Claim
	changes map[[3]string]*Change

	// remains is what remains of the ordinals, which is why those beyond go.
	remains  string
	rule     string
	decision Decision
}

func newScene(desired Desired, observed Observed, now time.Time) *scene {
	s := &scene{desired: desired, observed: observed, now: now}
	s.decision.Failures = s.onOurClock(observed.Status.Failures)
	s.decision.CurrentFailures = s.onOurClock(observed.Status.CurrentFailures)
	s.decision.Rollout = observed.Status.Rollout
	s.decision.Rollback = observed.Status.Rollback
	s.decision.UpdateRevision = observed.Status.UpdateRevision
	s.decision.CurrentRevision = observed.Status.CurrentRevision

	s.classify()
	return s
}

// mark adds to a set, which is made with its first: most passes mark nothing,
// and for a small fleet the sets alone would cost as much as its pods.
func mark[K comparable](set *map[K]bool, key K) {
	if *set == nil {
		*set = map[K]bool{}
	}
	(*set)[key] = true
}

// classify puts every pod in one list, by name. An orphan counts as a member from
// the start, because the pass that sees it adopts it; but a terminating orphan is
// never adopted, and only its name matters. A pod that terminates is ours until it
// is gone, even when its labels were edited away.
func (s *scene) classify() {
	pods := s.podsByName()
	s.live, s.briefs = make([]*Pod, 0, len(pods)), make([]brief, 0, len(pods)) // most pods live
	for _, p := range pods {
		switch {
		case p.Terminating && p.Membership == Orphan:
			mark(&s.leaving, p.Name)
		case p.Terminating:
			s.terminating = append(s.terminating, p)
		case p.Membership == Drifted:
			s.drifted = append(s.drifted, p)
		case p.Membership == Orphan && !s.adopts(p):
		case p.terminal(): // whatever became of its node since: its successor waits for the backoff
			s.failed = append(s.failed, p)
		case p.NodeState != NodePresent:
			s.lost = append(s.lost, p)
		default:
			s.live = append(s.live, p)
			s.briefs = append(s.briefs, s.briefOf(p))
		}
	}
	s.stays = s.briefs
}

// podsByName points at the pods instead of copying them: no rule changes a pod.
func (s *scene) podsByName() []*Pod {
	pods := make([]*Pod, len(s.observed.Pods))
	for i := range pods {
		pods[i] = &s.observed.Pods[i]
	}
	slices.SortFunc(pods, func(a, b *Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// dead: the pod does not run and never will again.
func (p *Pod) dead() bool { return p.NodeState != NodePresent || p.terminal() }

// terminal: its containers ended for good, or the kubelet did not start them.
func (p *Pod) terminal() bool { return p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded }

// adopts reports whether an orphan has a place here. With ordinals, one whose
// name is not one of ours has none and is left alone; and an owner that is
// being deleted adopts no pod.
func (s *scene) adopts(p *Pod) bool {
	return s.desired.Deletion == DeletionNone && (!s.ordinal() || p.Slot != NoSlot)
}

func (s *scene) ordinal() bool { return s.desired.Identity == appsv1.IdentityOrdinal }

// act appends an action with its why.
func (s *scene) act(a Action, reason, message string, numbers map[string]int64) {
	a.Why = Why{Rule: s.rule, Reason: reason, Message: message, Numbers: numbers}
	s.decision.Actions = append(s.decision.Actions, a)
}

// deletePod appends the deletion of a pod and takes it off the fleet, unless it is
// held, and as far as the pass has room.
func (s *scene) deletePod(p *Pod, force bool, reason, message string, numbers map[string]int64) {
	if !s.held(p, wantDelete) && s.room(DeletePod, p) {
		s.remove(Action{Verb: DeletePod, Force: force}, p, reason, message, numbers)
	}
}

// remove is deletePod for which there is room, by a delete or an eviction.
func (s *scene) remove(a Action, p *Pod, reason, message string, numbers map[string]int64) {
	mark(&s.gone, p)
	if a.Verb == EvictPod {
		mark(&s.evicting, p)
	}
	if reason == appsv1.WhyEvictionRequested {
		a.Grace = p.EvictionGrace
	}
	a.Pod, a.UID, a.ResourceVersion, a.Slot, a.Revision = p.Name, p.UID, p.ResourceVersion, p.Slot, p.Revision
	s.act(a, reason, message, numbers)
}

// block notes what is held back and, where the wait ends by itself, when to
// look again.
func (s *scene) block(b Blocked) {
	s.decision.Blocked = append(s.decision.Blocked, b)
	if !b.Until.IsZero() {
		s.lookAfter(b.Until.Sub(s.now))
	}
}

// lookAfter asks for a look no later than d from now.
func (s *scene) lookAfter(d time.Duration) {
	d = max(d, soon)
	if s.decision.NextLook != 0 {
		d = min(d, s.decision.NextLook)
	}
	s.decision.NextLook = d
}

// staying are the live pods that no rule has condemned yet. The caller does not
// change the list.
func (s *scene) staying() []brief {
	if s.staysWithout == len(s.gone) {
		return s.stays
	}
	s.staysWithout = len(s.gone)
	// A new list, because a caller may still range over the last one.
	s.stays = slices.DeleteFunc(slices.Clone(s.stays), func(b brief) bool { return s.gone[b.pod] })
	return s.stays
}

// room keeps one pass within its bounds for each verb, and says so once.
func (s *scene) room(verb Verb, p *Pod) bool {
	most := MaxPodsPerPass
	if verb == DeletePod {
		most = maxDeletesPerPass
	}
	spent := s.spend(verb)
	if spent <= most {
		return true
	}
	if spent > most+1 {
		return false
	}
	s.block(Blocked{
		Verb: verb, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByBatch,
		Message: fmt.Sprintf("one pass touches %d pods at most, the rest follows", most),
	})
	s.lookAfter(soon)
	return false
}

// expense is how many pods a pass has done something to.
type expense struct {
	verb Verb
	pods int
}

// spend counts one more pod.
func (s *scene) spend(verb Verb) int {
	for i := range s.spent {
		if s.spent[i].verb == verb {
			s.spent[i].pods++
			return s.spent[i].pods
		}
	}
	s.spent = append(s.spent, expense{verb, 1})
	return 1
}

// findRevision finds a stored revision by its name or its number.
func (s *scene) findRevision(name string) *Revision {
	for i := range s.observed.Revisions {
		r := &s.observed.Revisions[i]
		if r.Name == name || strconv.FormatInt(r.Number, 10) == name {
			return r
		}
	}
	return nil
}

// conclude counts the fleet as it was observed and settles the next look.
func (s *scene) conclude() Decision {
	d := &s.decision
	d.Live = make([]LivePod, 0, len(s.live))
	s.listKept()
	following := 0
	for i := range s.briefs {
		b := &s.briefs[i]
		if b.following {
			following++
			if at := b.pod.SettlesAt; at.After(s.now) {
				s.lookAfter(at.Sub(s.now))
			}
		}
		if b.excess() {
			continue
		}
		d.Live = append(d.Live, LivePod{
			Name: b.pod.Name, Ready: b.ready, Updated: s.onGoal(*b) && !b.missized, Available: b.available, Extra: !b.inFleet,
			Orphan: b.orphan,
		})
		if b.serving && !b.available {
			s.lookAfter(b.pod.ReadySince.Add(s.desired.MinReady).Sub(s.now))
		}
	}
	d.Counts = CountLive(d.Live)
	d.Counts.Terminating = len(s.terminating)
	d.Counts.Failed = len(s.failed)
	d.Counts.Lost = len(s.lost)
	d.Counts.Stale = len(s.stale) + s.kept
	d.Counts.Following = following
	d.Counts.Leaving = s.stillLeaving()
	d.Counts.StandIns = s.standInsForLeaving()

	if s.atRest() {
		d.NextLook = 0
	} else {
		s.lookAfter(safetyLook)
	}
	if s.desired.Disruption.AutoRebalance && s.desired.Disruption.Rebalances(s.now) {
		s.lookAfter(spreadLook)
	}
	if s.desired.Restart.After(s.now) {
		s.lookAfter(s.desired.Restart.Sub(s.now))
	}
	return *d
}

// atRest: nothing will happen until an object changes.
func (s *scene) atRest() bool {
	d := &s.decision
	return s.desired.Deletion == DeletionNone && len(d.Actions) == 0 && !slices.ContainsFunc(d.Blocked, Blocked.passes) &&
		d.Counts.Available == s.desired.Replicas && d.Counts.Live == s.desired.Replicas && d.Counts.Terminating == 0 &&
		d.Counts.Following == 0
}

// passes: the blocker goes away by itself, or through a change for which we
// get no event. What the user's own spec holds back does not: an edit wakes us.
func (b Blocked) passes() bool {
	switch b.By {
	case appsv1.BlockedByPartition, appsv1.BlockedByPause, appsv1.BlockedByOnDelete, appsv1.BlockedByDeadline, appsv1.BlockedByPin,
		appsv1.BlockedByMissingPin, appsv1.BlockedByTakeOver:
		return false
	}
	return true
}

// resizes: the node will still carry out a resize, or say that it cannot.
func (p *Pod) resizes() bool { return p.Resize == ResizeInProgress || p.Resize == ResizeDeferred }

// InChange reports whether a change in place is not done yet.
func (p *Pod) InChange(now time.Time) bool {
	return p.Changing && (p.SettlesAt.IsZero() || now.Before(p.SettlesAt))
}

// serves: ready, and not in the middle of a change in place: the kubelet may
// not have reported yet that we took the pod out of service or changed it.
func (s *scene) serves(p *Pod) bool { return p.Ready && !p.InChange(s.now) && p.Gate != GateShut }

// available: it has served for long enough. Where no time is asked for none is
// looked at: after our clock was set back, or where a node's is ahead, a pod has
// been ready since a time that is yet to come.
func (s *scene) available(p *Pod) bool {
	return s.serves(p) && (s.desired.MinReady == 0 || !p.ReadySince.Add(s.desired.MinReady).After(s.now))
}

// CountLive counts live pods by what is true of them.
func CountLive(pods []LivePod) Counts {
	c := Counts{Live: len(pods)}
	for _, p := range pods {
		if p.Ready {
			c.Ready++
		}
		if p.Available {
			c.Available++
		}
		if p.Updated {
			c.Updated++
		}
		if p.Extra {
			c.Extra++
		}
	}
	return c
}
