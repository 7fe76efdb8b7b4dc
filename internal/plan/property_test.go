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
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// podGenerator draws a pod in any state, also in those that should not occur.
func podGenerator() *rapid.Generator[Pod] {
	seconds := func(t *rapid.T, label string) time.Duration {
		return time.Duration(rapid.IntRange(0, 900).Draw(t, label)) * time.Second
	}
	return rapid.Custom(func(t *rapid.T) Pod {
		b := aPod("stray-" + rapid.StringMatching("[a-z]{4}").Draw(t, "name"))
		b = b.phase(rapid.SampledFrom([]corev1.PodPhase{
			corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodFailed, corev1.PodFailed,
			corev1.PodSucceeded, corev1.PodUnknown, "",
		}).Draw(t, "phase"))
		b.p.Membership = rapid.SampledFrom([]Membership{Member, Member, Member, Member, Orphan, Drifted}).Draw(t, "membership")
		b.p.NodeState = rapid.SampledFrom([]NodeState{
			NodePresent, NodePresent, NodePresent, NodePresent, NodePresent, NodeGone, NodeOutOfService,
		}).Draw(t, "node state")
		b.p.Revision = rapid.SampledFrom([]string{newRev, newRev, newRev, oldRev, ""}).Draw(t, "revision")
		b.p.Terminating = rapid.IntRange(0, 4).Draw(t, "terminating") == 0
		b.p.DeleteRequested = rapid.IntRange(0, 6).Draw(t, "requested") == 0
		b.p.Node = rapid.SampledFrom([]string{"", "node-a", "node-b", "node-c"}).Draw(t, "node")
		b.p.Zone = rapid.SampledFrom([]string{"", "zone-a", "zone-b"}).Draw(t, "zone")
		b.p.Restarts = rapid.IntRange(0, 2).Draw(t, "restarts")
		b.p.DeletionCost = rapid.IntRange(-1, 1).Draw(t, "cost")
		b.p.Created = ago(seconds(t, "created"))
		b.p.Ready = b.p.Phase == corev1.PodRunning && rapid.Bool().Draw(t, "ready")
		b.p.ReadySince = time.Time{}
		if b.p.Ready {
			b.p.ReadySince = ago(seconds(t, "ready since"))
		}
		if b.p.Phase == corev1.PodFailed || b.p.Phase == corev1.PodSucceeded {
			b.p.FailedAt = ago(seconds(t, "failed at"))
			b.p.Reason = rapid.SampledFrom([]string{"", "Evicted", "NodeLost"}).Draw(t, "reason")
		}
		return b.p
	})
}

// fleetGenerator draws a fleet with anything in it.
func fleetGenerator() *rapid.Generator[fleet] {
	return rapid.Custom(func(t *rapid.T) fleet {
		f := aFleet(rapid.IntRange(0, 10).Draw(t, "replicas"))
		if rapid.Bool().Draw(t, "random") {
			f = f.random()
		}
		f.desired.Generation = rapid.Int64Range(1, 2).Draw(t, "generation")
		f.desired.Paused = rapid.IntRange(0, 4).Draw(t, "paused") == 0
		f.desired.MinReady = time.Duration(rapid.IntRange(0, 60).Draw(t, "minReady")) * time.Second
		f.desired.FailedPods.Limit = rapid.IntRange(0, 3).Draw(t, "failed pods kept")
		f.desired.RevisionHistoryLimit = rapid.IntRange(0, 2).Draw(t, "revisions kept")
		f.desired.Finalizer = rapid.SampledFrom([]FinalizerState{FinalizerPresent, FinalizerMissing, FinalizerUnused}).Draw(t, "finalizer")
		f.observed.Revisions = drawRevisions(t)
		f.observed.Pods, f.observed.HeldNames = drawPods(t, &f.desired)
		if rapid.Bool().Draw(t, "failed before") {
			f = f.failures(rapid.Int32Range(1, 8).Draw(t, "failures"),
				time.Duration(rapid.IntRange(0, 1200).Draw(t, "last failure"))*time.Second,
				time.Duration(rapid.IntRange(0, 300).Draw(t, "backoff"))*time.Second)
		}
		if rapid.Bool().Draw(t, "was reconciling") {
			f = f.condition(appsv1.ConditionReconciling,
				rapid.SampledFrom([]string{appsv1.ReasonScalingUp, appsv1.ReasonReplacing}).Draw(t, "why"), metav1.ConditionTrue)
		}
		return f
	})
}

func drawRevisions(t *rapid.T) []Revision {
	revisions := []Revision{
		{Name: newRev, Number: rapid.Int64Range(1, 9).Draw(t, "number of the new revision"), Equal: true},
		{Name: oldRev, Number: rapid.Int64Range(1, 9).Draw(t, "number of the old revision")},
		{Name: "web-older", Number: 0},
	}
	return rapid.SampledFrom([][]Revision{revisions[:1], revisions[:2], revisions, revisions[1:], nil}).Draw(t, "revisions")
}

// drawPods draws pods, some of them in slots, and names that others have.
func drawPods(t *rapid.T, d *Desired) (pods []Pod, held []string) {
	pods = rapid.SliceOfNDistinct(podGenerator(), 0, 14, func(p Pod) string { return p.Name }).Draw(t, "pods")
	slots := rapid.Permutation(slices.Collect(slotsBelow(14))).Draw(t, "slots")
	for i := range pods {
		if rapid.IntRange(0, 6).Draw(t, "slotless") == 0 {
			continue
		}
		pods[i].Slot, pods[i].Name = slots[i], SlotName(d, slots[i])
		// A Random pod whose slot label was edited keeps its name.
		if d.Identity == appsv1.IdentityRandom && rapid.IntRange(0, 9).Draw(t, "label edited") == 0 {
			pods[i].Slot = NoSlot
		}
	}
	for i := range pods {
		pods[i].UID = "uid-" + pods[i].UID
	}
	for _, slot := range slots[len(pods):] {
		if rapid.IntRange(0, 5).Draw(t, "held") == 0 {
			held = append(held, SlotName(d, slot))
		}
	}
	return pods, held
}

func slotsBelow(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for slot := range n {
			if !yield(slot) {
				return
			}
		}
	}
}

func TestPlanIsAFunctionOfItsInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fleetGenerator().Draw(t, "fleet")
		f.desired.Deletion = rapid.SampledFrom([]Deletion{
			DeletionNone, DeletionNone, DeletionNone, DeletionDelete, DeletionOrphan, DeletionCascadeOrphan,
		}).Draw(t, "deletion")
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
		f := fleetGenerator().Draw(t, "fleet")
		f.desired.Deletion = rapid.SampledFrom([]Deletion{
			DeletionNone, DeletionNone, DeletionDelete, DeletionOrphan, DeletionCascadeOrphan,
		}).Draw(t, "deletion")
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
		checkAllowed(t, f, d)
	})
}

// checkAllowed holds a decision against the rules that no plan may break.
func checkAllowed(t *rapid.T, f fleet, d Decision) {
	t.Helper()
	pods := map[string]Pod{}
	for _, p := range f.observed.Pods {
		pods[p.Name] = p
	}
	touched := map[string]Verb{}
	for _, a := range d.Actions {
		if a.Pod == "" {
			continue
		}
		if before, twice := touched[a.Pod]; twice {
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
			t.Errorf("%s of %s with uid %q, which nobody saw", a.Verb, a.Pod, a.UID)
		case (p.Membership == Orphan) != (a.Verb == AdoptPod):
			t.Errorf("%s of %s, which is %s", a.Verb, a.Pod, p.Membership)
		case a.Verb == ReleasePod && p.Membership != Drifted:
			t.Errorf("%s is let go and is %s", a.Pod, p.Membership)
		case a.Force && p.NodeState == NodePresent:
			t.Errorf("%s is deleted by force, and its node is there", a.Pod)
		case p.Terminating && !a.Force:
			t.Errorf("%s of %s, which terminates", a.Verb, a.Pod)
		case a.Verb != DeletePod && a.ResourceVersion != p.ResourceVersion:
			t.Errorf("%s of %s without precondition", a.Verb, a.Pod)
		}
	}
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
	case f.desired.Identity == appsv1.IdentityOrdinal && a.Slot >= f.desired.Replicas:
		t.Errorf("pod %s is created above replicas %d", a.Pod, f.desired.Replicas)
	}
}

// What is missing is created or has a blocker, and no more is created than is
// missing.
func TestWhatIsMissingIsCreatedOrExplained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fleetGenerator().Draw(t, "fleet")
		d := f.plan()
		there := map[string]bool{}
		for _, p := range d.Live {
			there[p.Name] = true
		}
		for _, a := range d.Actions {
			if a.Verb == DeletePod {
				delete(there, a.Pod)
			}
			if a.Verb == CreatePod {
				there[a.Pod] = true
			}
		}
		blocked, onBackoff := map[int]bool{}, 0
		for _, b := range d.Blocked {
			if b.Verb == CreatePod {
				blocked[b.Slot] = true
			}
			if b.By == appsv1.BlockedByBackoff {
				onBackoff++
			}
		}
		members := 0
		for _, p := range f.observed.Pods {
			if there[p.Name] && p.Membership == Member {
				members++
			}
		}
		if members > f.desired.Replicas {
			t.Errorf("%d members stay, %d are asked for", members, f.desired.Replicas)
		}
		if f.desired.Identity == appsv1.IdentityRandom {
			if want := f.desired.Replicas - onBackoff; len(there) < want {
				t.Errorf("%d pods will be there and %d wait for the backoff, want %d in all", len(there), onBackoff, f.desired.Replicas)
			}
			return
		}
		for slot := range f.desired.Replicas {
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
		settle(t, m)
	})
}

// settle runs the model to its goal and checks that it stays there.
func settle(t *rapid.T, m *model) {
	t.Helper()
	// Longer than the longest backoff and minReady, so that no wait counts.
	const pass, passes = 6 * time.Minute, 8
	made := 0
	for n := 0; ; n++ {
		live, status := m.live(), m.status
		d := m.step(pass)
		m.checkLive(t, live, d)
		if len(d.Actions) == 0 && m.quiet() && cmp.Equal(status, m.status) {
			break
		}
		if n == passes {
			t.Fatalf("not at rest after %d passes: %v, held back %v", n, saidOf(d), heldBackOf(d))
		}
	}
	for _, p := range m.pods {
		if p.UID[:4] == "made" {
			made++
		}
	}
	if made != m.total[CreatePod] {
		t.Errorf("%d pods were created, of which %d are left: somebody was created in vain", m.total[CreatePod], made)
	}
	if got, want := m.live(), m.goal(); got != want {
		t.Errorf("at rest with %d live pods, want %d", got, want)
	}
	status := m.status
	for range 3 {
		d := m.step(pass)
		if len(d.Actions) > 0 {
			t.Errorf("at rest, and yet %v", saidOf(d))
		}
		if m.goal() == m.desired.Replicas && d.NextLook != 0 {
			t.Errorf("at its goal, and yet a look in %s", d.NextLook)
		}
		if diff := cmp.Diff(status, m.status); diff != "" {
			t.Errorf("at rest, and yet the status changed (-before +after):\n%s", diff)
		}
	}
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

// checkLive: a pass never makes more of a fleet than it was asked for. Only an
// ordinal's orphan above replicas counts before it goes, because it has to be
// ours first.
func (m *model) checkLive(t *rapid.T, before int, d Decision) {
	t.Helper()
	most := max(before, m.desired.Replicas)
	for _, a := range d.Actions {
		if a.Verb == AdoptPod && m.desired.Identity == appsv1.IdentityOrdinal && a.Slot >= m.desired.Replicas {
			most++
		}
	}
	if after := m.live(); after > most {
		t.Fatalf("%d pods live, after %d; %d are asked for", after, before, m.desired.Replicas)
	}
}

// quiet: the kubelet has nothing left to do.
func (m *model) quiet() bool {
	for _, p := range m.pods {
		if p.Terminating || !p.dead() && !p.Ready {
			return false
		}
	}
	return true
}

// goal is how many pods there can be: an ordinal whose name somebody else has
// stays empty.
func (m *model) goal() int {
	if m.desired.Identity == appsv1.IdentityRandom {
		return m.desired.Replicas
	}
	n := m.desired.Replicas
	for slot := range m.desired.Replicas {
		if m.foreign[SlotName(&m.desired, slot)] {
			n--
		}
	}
	return n
}

// Anything may happen between two passes, for as long as it likes. At each of
// them the rules hold, and when it ends the fleet comes to rest.
func TestWhateverHappensTheFleetComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(fleetGenerator().Draw(t, "fleet"))
		for range rapid.IntRange(1, 25).Draw(t, "events") {
			m.mishap(t)
			if rapid.Bool().Draw(t, "the kubelet works") {
				m.kubelet()
			}
			m.now = m.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
			seen := m.observed()
			live := m.live()
			d := m.pass()
			checkAllowed(t, fleet{m.desired, seen}, d)
			m.checkLive(t, live, d)
		}
		m.crashing = false
		m.total[CreatePod] = 0
		for name, p := range m.pods {
			p.UID = "old-" + p.UID
			m.pods[name] = p
		}
		settle(t, m)
	})
}

// mishap does something to the world that nobody planned.
func (m *model) mishap(t *rapid.T) {
	what := rapid.SampledFrom([]string{
		"nothing", "scale", "scale", "delete", "fail", "fail", "lose", "drift", "abandon", "ask", "stranger", "crash",
	}).Draw(t, "mishap")
	switch what {
	case "scale":
		m.desired.Replicas = rapid.IntRange(0, 10).Draw(t, "replicas")
		m.desired.Generation++
		return
	case "stranger":
		name := SlotName(&m.desired, rapid.IntRange(0, 12).Draw(t, "slot"))
		if _, taken := m.pods[name]; !taken {
			m.foreign[name] = true
		}
		return
	case "crash":
		m.crashing = !m.crashing
		return
	}
	if len(m.pods) == 0 {
		return
	}
	p := m.pods[rapid.SampledFrom(slices.Sorted(maps.Keys(m.pods))).Draw(t, "whose")]
	switch what {
	case "delete":
		p.Terminating = true
	case "fail":
		p.Phase, p.Ready, p.FailedAt = corev1.PodFailed, false, m.now.Truncate(time.Second)
	case "lose":
		p.NodeState = NodeGone
	case "drift":
		if p.Membership == Member {
			p.Membership = Drifted
		}
	case "abandon":
		if p.Membership == Member {
			p.Membership = Orphan
		}
	case "ask":
		p.DeleteRequested = true
	}
	m.pods[p.Name] = p
}

// Plan takes time and memory in proportion to the pods. Time is left to the
// benchmark; memory is the same on every machine.
func TestTheCostOfAPodDoesNotGrowWithTheFleet(t *testing.T) {
	for name, fleetOf := range benchmarks() {
		t.Run(name, func(t *testing.T) {
			small, large := costPerPod(fleetOf(2_000), 2_000), costPerPod(fleetOf(16_000), 16_000)
			t.Logf("per pod: %.2f allocations and %.0f bytes at 2,000 pods, %.2f and %.0f at 16,000",
				small.allocs, small.bytes, large.allocs, large.bytes)
			if large.allocs > 2*small.allocs+0.1 || large.bytes > 2*small.bytes+16 {
				t.Error("the cost of a pod more than doubled")
			}
		})
	}
}

type cost struct{ allocs, bytes float64 }

func costPerPod(f fleet, pods int) cost {
	var before, after runtime.MemStats
	const runs = 3
	runtime.ReadMemStats(&before)
	for range runs {
		f.done(f.plan())
	}
	runtime.ReadMemStats(&after)
	n := float64(runs * pods)
	return cost{allocs: float64(after.Mallocs-before.Mallocs) / n, bytes: float64(after.TotalAlloc-before.TotalAlloc) / n}
}

// benchmarks are fleets of n pods in states that once cost, or could cost,
// more than the pods.
func benchmarks() map[string]func(n int) fleet {
	return map[string]func(n int) fleet{
		"ordinal at rest": func(n int) fleet { return aFleet(n, podsOf(n, ordinal)...) },
		"random at rest":  func(n int) fleet { return aFleet(n, podsOf(n, randoms())...).random() },
		"ordinal down to 0": func(n int) fleet {
			return aFleet(0, podsOf(n, ordinal)...)
		},
		"random down to half, over zones and nodes": func(n int) fleet {
			pod := randoms()
			return aFleet(n/2, podsOf(n, func(i int) podBuilder {
				return pod(i).zone("zone-" + strconv.Itoa(i%3)).on("node-" + strconv.Itoa(i%100))
			})...).random()
		},
		"ordinals that wait for terminating pods": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder { return ordinal(i).terminating() })...)
		},
		"terminating orphans": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder { return ordinal(i).orphan().terminating() })...)
		},
		"a zone that is lost": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder { return ordinal(i).nodeGone() })...)
		},
		"failed pods on backoff": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder { return ordinal(i).failed(time.Second) })...).failures(2, time.Minute, 0)
		},
	}
}

// randoms is random without making the fleet anew for each pod.
func randoms() func(int) podBuilder {
	d := aFleet(0).random().desired
	return func(slot int) podBuilder { return aPod(SlotName(&d, slot)).slot(slot) }
}

func BenchmarkPlan(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(benchmarks())) {
		for _, n := range []int{10, 100, 1_000, 10_000, 100_000} {
			f := benchmarks()[name](n)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f.done(f.plan())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
			})
		}
	}
}
