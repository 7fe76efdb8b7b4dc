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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestPlanIsAFunctionOfItsInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFleet().Draw(t, "fleet")
		before := fmt.Sprintf("%+v", f)
		want := f.plan()
		if diff := cmp.Diff(want, f.plan()); diff != "" {
			t.Errorf("the second time (-first +second):\n%s", diff)
		}
		if after := fmt.Sprintf("%+v", f); after != before {
			t.Errorf("Plan changed its input:\nbefore %s\nafter  %s", before, after)
		}
		shuffled := f
		shuffled.observed.Pods = rapid.Permutation(f.observed.Pods).Draw(t, "pods, shuffled")
		shuffled.observed.HeldNames = rapid.Permutation(f.observed.HeldNames).Draw(t, "held names, shuffled")
		shuffled.observed.Revisions = rapid.Permutation(f.observed.Revisions).Draw(t, "revisions, shuffled")
		got := shuffled.plan()
		// Which revisions go together has no order that matters.
		byRevision := func(d *Decision) {
			slices.SortStableFunc(d.Actions, func(a, b Action) int {
				if a.Verb != DeleteRevision || b.Verb != DeleteRevision {
					return 0
				}
				return strings.Compare(a.Revision, b.Revision)
			})
		}
		byRevision(&want)
		byRevision(&got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("shuffled (-sorted +shuffled):\n%s", diff)
		}
	})
}

func TestEveryActionIsExplainedAndAllowed(t *testing.T) {
	names := map[string]bool{}
	for _, r := range rules() {
		names[r.name] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		f := anyFleet().Draw(t, "fleet")
		d := f.plan()
		for _, a := range d.Actions {
			if !names[a.Why.Rule] || a.Why.Reason == "" || a.Why.Message == "" {
				t.Errorf("%s %s has no full why: %+v", a.Verb, a.Pod, a.Why)
			}
		}
		for _, b := range d.Blocked {
			if b.Verb == "" || b.By == "" || b.Message == "" {
				t.Errorf("a blocker does not say what and why: %+v", b)
			}
		}
		checkAllowed(t, f, d, noon())
	})
}

// checkAllowed holds a decision against the rules that no plan may break.
func checkAllowed(t *rapid.T, f fleet, d Decision, now time.Time) {
	t.Helper()
	pods := map[string]Pod{}
	for _, p := range f.observed.Pods {
		pods[p.Name] = p
	}
	touched := map[string]Verb{}
	for _, a := range d.Actions {
		if a.Verb == DeleteRevision || a.Verb == RenumberRevision {
			if !slices.ContainsFunc(f.observed.Revisions, func(r Revision) bool { return r.Name == a.Revision && r.UID == a.UID }) {
				t.Errorf("%s of %s with uid %q, which was not observed", a.Verb, a.Revision, a.UID)
			}
		}
		if facts := a.Verb.Facts(); f.takesOver() && a.Verb != AdoptPod && (facts.Object == ObjectPod || facts.Object == ObjectClaim) {
			t.Errorf("%s of %s%s in the middle of a take-over", a.Verb, a.Pod, a.Claim)
		}
		if a.Pod == "" {
			continue
		}
		before, twice := touched[a.Pod]
		beside := before == ResizePod && a.Verb == UpdatePod || before == TellHolder && a.Verb == OpenGate ||
			before == KeepPod && (a.Verb == OpenGate || a.Verb == TellHolder) ||
			a.Verb == TellHolder && a.Wanted == "" && (before == UpdatePod || before == ResizePod || before == ShutGate || before == OpenGate)
		if twice && !beside {
			t.Errorf("pod %s gets %s and %s", a.Pod, before, a.Verb)
		}
		touched[a.Pod] = a.Verb
		p, exists := pods[a.Pod]
		if a.Verb == CreatePod {
			checkCreate(t, f, a, exists)
			continue
		}
		switch {
		case !exists || a.UID != p.UID:
			t.Errorf("%s of %s with uid %q, which was not observed", a.Verb, a.Pod, a.UID)
		case (p.Membership == Orphan) != (a.Verb == AdoptPod):
			t.Errorf("%s of %s, which is %s", a.Verb, a.Pod, p.Membership)
		case a.Verb == ReleasePod && p.Membership != Drifted:
			t.Errorf("%s is let go and is %s", a.Pod, p.Membership)
		case a.Force && p.NodeState == NodePresent:
			t.Errorf("%s is deleted by force, and its node is there", a.Pod)
		case p.Terminating && !a.Force:
			t.Errorf("%s of %s, which terminates", a.Verb, a.Pod)
		case a.ResourceVersion != p.ResourceVersion:
			t.Errorf("%s of %s without precondition", a.Verb, a.Pod)
		case p.HoldDelete != nil && !p.Terminating && (a.Verb == DeletePod || a.Verb == EvictPod):
			t.Errorf("%s of %s, which is held", a.Verb, a.Pod)
		case p.HoldUpdate != nil && (a.Verb == UpdatePod || a.Verb == ResizePod):
			t.Errorf("%s of %s, which is held", a.Verb, a.Pod)
		}
	}
	checkBudget(t, f, d, now)
	if f.desired.Ordered && f.desired.Deletion == DeletionNone {
		for _, broken := range outOfOrder(f, d) {
			t.Error(broken)
		}
	}
}

// takesOver: pods are adopted, and nothing else may be done to any.
func (f fleet) takesOver() bool {
	return f.desired.TakeOver != "" && f.desired.Deletion == DeletionNone
}

// checkBudget is law U, as the documentation has it: whatever the cause, the
// operator deletes, evicts or restarts a pod that serves only as long as replicas
// less maxUnavailable serve after everything that the pass does, and an available
// one only as long as so many are available. It uses nothing of the planner's. The
// user's own label is no decision of the operator's, nor is the end of the owner, and
// a requested eviction does not wait for pods that were broken before.
func checkBudget(t *rapid.T, f fleet, d Decision, now time.Time) {
	t.Helper()
	for _, broken := range overBudget(f, d, now) {
		t.Error(broken)
	}
}

// overBudget says which law of the budget a plan breaks.
func overBudget(f fleet, d Decision, now time.Time) []string {
	if f.desired.Deletion != DeletionNone {
		return nil
	}
	serving, available := map[string]bool{}, map[string]bool{}
	asked := map[string]bool{}
	for _, p := range f.observed.Pods {
		if p.Membership != Member || !takesTraffic(p, now) {
			continue
		}
		serving[p.Name], asked[p.Name] = true, p.DeleteRequested || !p.EvictionRequested.IsZero()
		if f.desired.MinReady == 0 || !p.ReadySince.Add(f.desired.MinReady).After(now) {
			available[p.Name] = true
		}
	}
	var broken []string
	u := f.desired.Update
	// Changes in place come first, as they do on the API server: a deletion after them
	// finds the pods that they restart out of service.
	for _, inPlace := range []bool{true, false} {
		least := f.desired.Replicas - u.MaxUnavailable
		if u.MaxUnavailable == 0 && (u.MaxSurge == 0 || inPlace && !u.NoneUnavailable) {
			least-- // the table of maxUnavailable 0 in rollouts.md
		}
		for _, a := range d.Actions {
			if inPlace == (a.Verb == DeletePod || a.Verb == EvictPod) || !serving[a.Pod] || !f.interrupts(a) {
				continue
			}
			was := available[a.Pod]
			delete(serving, a.Pod)
			delete(available, a.Pod)
			if !asked[a.Pod] && (len(serving) < least || was && len(available) < least) {
				broken = append(broken, fmt.Sprintf("U: %s of %s for %s leaves %d pods that serve and %d available of %d, %d have to",
					a.Verb, a.Pod, a.Why.Reason, len(serving), len(available), f.desired.Replicas, least))
			}
		}
	}
	return broken
}

// takesTraffic: the pod is in service, and nothing that was begun is about to end that.
func takesTraffic(p Pod, now time.Time) bool {
	ended := p.Terminating || p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded || p.NodeState != NodePresent
	changing := p.Changing && (p.SettlesAt.IsZero() || now.Before(p.SettlesAt))
	return p.Ready && !ended && !changing && p.Gate != GateShut
}

// interrupts: the action ends or restarts a pod, or takes it out of service.
func (f fleet) interrupts(a Action) bool {
	switch a.Verb {
	case DeletePod, EvictPod, ShutGate:
		return true
	case ResizePod, UpdatePod:
		return slices.ContainsFunc(f.observed.Changes, func(c Change) bool {
			return c.From == a.From && c.SizeOf == a.SizeOf && c.To == a.Revision && c.Restarts
		})
	}
	return false
}

// positions of the ordinals that may have a pod, of which the first replicas
// are the base.
func ordinalsOf(d Desired, n int) []int {
	var slots []int
	for slot := 0; len(slots) < n; slot++ {
		if !slices.Contains(d.Reserved, slot) {
			slots = append(slots, slot)
		}
	}
	return slots
}

func checkCreate(t *rapid.T, f fleet, a Action, exists bool) {
	t.Helper()
	switch {
	case exists || slices.Contains(f.observed.HeldNames, a.Pod):
		t.Errorf("pod %s is created, and its name is taken", a.Pod)
	case a.Pod != SlotName(&f.desired, a.Slot) || a.Slot < 0:
		t.Errorf("pod %s is created in slot %d, which is named %s", a.Pod, a.Slot, SlotName(&f.desired, a.Slot))
	case a.Revision == "":
		t.Errorf("pod %s is created from no revision", a.Pod)
	case f.desired.Deletion != DeletionNone:
		t.Errorf("pod %s is created for an owner that goes", a.Pod)
	case f.desired.Identity == appsv1.IdentityOrdinal &&
		!slices.Contains(ordinalsOf(f.desired, f.desired.Replicas+f.desired.MostSurge()), a.Slot):
		t.Errorf("pod %s is created above replicas %d and maxSurge %d, or is reserved", a.Pod, f.desired.Replicas, f.desired.MostSurge())
	}
}

// What is missing is created or has a blocker, and no more stays than is asked
// for, the rollout's surge and held pods aside.
func TestWhatIsMissingIsCreatedOrExplained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fleetGenerator().Draw(t, "fleet")
		d := f.plan()
		there := map[string]bool{}
		for _, p := range d.Live {
			there[p.Name] = true
		}
		for _, a := range d.Actions {
			switch a.Verb {
			case DeletePod, EvictPod:
				delete(there, a.Pod)
			case CreatePod:
				there[a.Pod] = true
			}
		}
		members := 0
		for _, p := range f.observed.Pods {
			if there[p.Name] && p.Membership == Member && p.HoldDelete == nil {
				members++
			}
		}
		for _, b := range d.Blocked {
			// In order, or until the pods that they stand in for are available.
			if b.Verb == DeletePod && (b.By == appsv1.BlockedByOrder || b.By == appsv1.BlockedByBudget) {
				members -= b.Count
			}
		}
		if most := f.desired.Replicas + f.desired.MostSurge(); members > most {
			t.Errorf("%d members stay, %d may", members, most)
		}
		blocked, waiting := map[int]bool{}, 0
		for _, b := range d.Blocked {
			if b.Verb != CreatePod {
				continue
			}
			blocked[b.Slot] = true
			waiting += max(1, b.Count)
			for _, slot := range ordinalsOf(f.desired, f.desired.Replicas) {
				if b.By == appsv1.BlockedByOrder && slot > b.Slot && !there[SlotName(&f.desired, slot)] {
					blocked[slot] = true
				}
			}
		}
		if f.desired.Identity == appsv1.IdentityRandom {
			if len(there)+waiting < f.desired.Replicas {
				t.Errorf("%d pods will be there and %d wait, want %d in all", len(there), waiting, f.desired.Replicas)
			}
			return
		}
		for _, slot := range ordinalsOf(f.desired, f.desired.Replicas) {
			if name := SlotName(&f.desired, slot); there[name] == blocked[slot] {
				t.Errorf("%s will be there: %t, has a blocker: %t; want one of them", name, there[name], blocked[slot])
			}
		}
	})
}

// From any state the fleet comes to its goal, and then nothing moves: no
// action, no change of the status, no look.
func TestFromAnyStateTheFleetComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(fleetGenerator().Draw(t, "fleet"))
		m.gated = rapid.Bool().Draw(t, "gated")
		m.relent()
		settle(t, m)
	})
}

// settle runs the model to its goal and checks that it stays there.
func settle(t *rapid.T, m *model) {
	t.Helper()
	const pass = time.Minute
	passes := 20 + 8*m.desired.Replicas                     // a rollout one by one, and the longest backoff
	passes += int(m.desired.Update.ProgressDeadline / pass) // what is stuck is counted until the deadline
	passes += int((m.desired.Disruption.Deadline + LetThrough + askedAnew) / pass)
	if m.desired.Ordered {
		passes += 4 * (m.desired.Replicas + len(m.pods))
	}
	for n := 0; ; n++ {
		status := m.status
		d := m.checkedPass(t, pass)
		if len(d.Actions) == 0 && m.quiet() && cmp.Equal(status, m.status) && !waits(d) && !m.remembersEvictions() {
			break
		}
		if n == passes {
			t.Fatalf("not at rest after %d passes: %v, held back %v", n, saidOf(d), heldBackOf(d))
		}
	}
	made := 0
	for _, p := range m.pods {
		if p.UID[:4] == "made" {
			made++
		}
	}
	if made != m.total[CreatePod] && !m.rolled {
		t.Errorf("%d pods were created, of which %d are left: a pod was created in vain", m.total[CreatePod], made)
	}
	// In order, no pod comes or goes while a name below is taken.
	stuck := m.desired.Ordered && m.taken(m.desired.Replicas) > 0
	if got, least, most := m.live(), m.goal(), m.mostAtRest(); (got < least || got > most) && !stuck {
		t.Errorf("at rest with %d live pods, want %d to %d", got, least, most)
	}
	m.checkRevisions(t)
	status := m.status
	for range 12 {
		d := m.step(pass)
		if len(d.Actions) > 0 {
			t.Errorf("at rest, and yet %v", saidOf(d))
		}
		if len(d.Blocked) == 0 && d.NextLook != 0 && (d.NextLook != spreadLook || !m.desired.Disruption.AutoRebalance) {
			t.Errorf("at its goal, and yet a look in %s", d.NextLook)
		}
		if diff := cmp.Diff(status, m.status); diff != "" {
			t.Errorf("at rest, and yet the status changed (-before +after):\n%s", diff)
		}
	}
}

// waits: something is held back only for a time.
func waits(d Decision) bool {
	return slices.ContainsFunc(d.Blocked, func(b Blocked) bool { return !b.Until.IsZero() })
}

// remembersEvictions: the request for one is not forgotten yet, and a pod may stay for it
// that goes then, however long something else holds the fleet up.
func (m *model) remembersEvictions() bool {
	if !m.desired.Disruption.SurgeFirst {
		return false
	}
	for _, p := range m.pods {
		if !p.EvictionRequested.IsZero() && m.now.Before(p.EvictionRequested.Add(m.desired.Disruption.Deadline+LetThrough+askedAnew)) {
			return true
		}
	}
	return false
}

// checkedPass makes a pass and holds it against the rules.
func (m *model) checkedPass(t *rapid.T, d time.Duration) Decision {
	t.Helper()
	m.now = m.now.Add(d)
	m.kubelets()
	return m.checked(t)
}

func (m *model) checked(t *rapid.T) Decision {
	t.Helper()
	seen, live := m.observed(), m.live()
	decision := m.pass()
	checkAllowed(t, fleet{m.desired, seen}, decision, m.now)
	m.checkLive(t, seen, live, decision)
	return decision
}

// live counts the pods that are in the fleet or will be.
func (m *model) live() int {
	n := 0
	for _, p := range m.pods {
		placeless := p.Membership == Orphan && p.Slot == NoSlot && m.desired.Identity == appsv1.IdentityOrdinal
		if p.Membership != Drifted && !p.Terminating && !p.dead() && !placeless {
			n++
		}
	}
	return n
}

// checkLive: a pass never makes more of a fleet than it was asked for and may
// surge. With ordinals there may be more for a while: an orphan above replicas
// has to be ours before it goes, and a held pod, or one that waits for its turn to
// go, keeps no other pod out.
func (m *model) checkLive(t *rapid.T, seen Observed, before int, d Decision) {
	t.Helper()
	most := max(before, m.desired.Replicas+m.desired.MostSurge())
	if m.desired.Identity == appsv1.IdentityOrdinal {
		base := ordinalsOf(m.desired, m.desired.Replicas)
		for _, p := range seen.Pods {
			if !slices.Contains(base, p.Slot) && (p.Membership == Orphan || p.HoldDelete != nil || m.desired.Ordered) {
				most++
			}
		}
	}
	if after := m.live(); after > most {
		t.Fatalf("%d pods live, after %d; %d are asked for, and a surge of %d: %v",
			after, before, m.desired.Replicas, m.desired.MostSurge(), saidOf(d))
	}
}

// quiet: the kubelet has nothing left to do.
func (m *model) quiet() bool {
	for _, c := range m.claims {
		if c.Terminating && m.occupant(c.Slot) == nil {
			return false
		}
	}
	for _, p := range m.pods {
		unowned := p.Membership == Orphan && m.desired.Identity == appsv1.IdentityOrdinal && p.Slot == NoSlot
		// A pod that is to go and is held, or waits for its turn, gets no claim
		// again, so it stays Pending.
		surplus := (p.HoldDelete != nil || m.desired.Ordered) && m.lacksClaim(&p)
		if p.Terminating || !p.dead() && !p.Ready && !unowned && !surplus {
			return false
		}
	}
	return true
}

// goal is how many pods there can be: an ordinal whose name a foreign pod has
// stays empty.
func (m *model) goal() int {
	return m.desired.Replicas - m.taken(m.desired.Replicas)
}

// taken is how many of the first n ordinals have names that others have.
func (m *model) taken(n int) int {
	if m.desired.Identity != appsv1.IdentityOrdinal {
		return 0
	}
	taken := 0
	for _, slot := range ordinalsOf(m.desired, n) {
		if m.foreign[SlotName(&m.desired, slot)] {
			taken++
		}
	}
	return taken
}

// mostAtRest is how many pods there may be: where an ordinal's name is taken,
// another pod goes on standing in.
func (m *model) mostAtRest() int { return m.desired.Replicas }

// checkRevisions: unless the rollout is stopped, or a name that is taken uses
// up its budget or its surge, all pods but those behind the partition are on
// the goal.
func (m *model) checkRevisions(t *rapid.T) {
	t.Helper()
	d := Plan(m.desired, m.observed(), m.now)
	if m.desired.Paused || m.taken(m.desired.Replicas+m.desired.MostSurge()) > 0 || m.desired.Update.Strategy == appsv1.UpdateOnDelete ||
		slices.ContainsFunc(d.Blocked, func(b Blocked) bool { return b.By == appsv1.BlockedByDeadline || b.By == appsv1.BlockedByMissingPin }) {
		return
	}
	if behind := d.Counts.Live - d.Counts.Updated; behind > m.desired.Update.Partition {
		t.Errorf("at rest with %d pods on another revision than %s, partition is %d", behind, d.UpdateRevision, m.desired.Update.Partition)
	}
}
