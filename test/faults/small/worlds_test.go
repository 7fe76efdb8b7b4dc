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

package small

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// scenario is a fleet and what its user has just asked for.
type scenario struct {
	name    string
	desired func(*plan.Desired)
	edit    func(*state)
	how     plan.Change
	gated   bool
	claims  []int // left by an earlier owner of the same name
	// story is what else happens, each at any moment. Each event stands for one of
	// the things that may go wrong.
	story   []event
	more    []accident
	startup time.Duration
	pdb     int
	zones   []zone
	// pods are the numbers of pods that it is explored with, all up to three unless
	// set. In the part that takes seconds there are at most quick. large: one thing
	// less goes wrong in it.
	pods  []int
	quick int
	large bool
}

func recreate() plan.Change { return plan.Change{Recreate: "the command differs"} }
func resize() plan.Change   { return plan.Change{Resize: []string{"app"}, Metadata: true} }
func restart() plan.Change  { return plan.Change{Images: []string{"app"}, Restarts: true} }

// rolls changes the template.
func rolls(s *state) { means(revisionB)(s) }

// breaks changes it to one whose pods never get ready.
func breaks(s *state) { s.Template, s.Broken = revisionB, []string{revisionB} }

// takenOver: the pods are those of another workload, and are let go. With random
// names they have none of ours.
func takenOver(s *state) {
	s.Desired.TakeOver = "deployments.apps/web"
	for i := range s.Pods {
		p := &s.Pods[i]
		p.Membership = plan.Orphan
		if s.Desired.Identity == appsv1.IdentityRandom {
			p.Name, p.UID, p.Slot = fmt.Sprintf("web-other-%d", i), types.UID(fmt.Sprintf("uid-other-%d", i)), plan.NoSlot
		}
	}
}

// tears leaves a pod with the size of the second revision and the label of the
// first, and then the template means another.
func tears(template string) func(*state) {
	return func(s *state) {
		s.Template = template
		s.Pods[0].SizeOf, s.Pods[0].Resize, s.Pods[0].ResizeSince = revisionB, plan.ResizeInProgress, now
	}
}

// drains: the eviction of the first pod waits.
func drains(s *state) { s.Pods[0].EvictionRequested = now }

// empties: the evictions of all pods wait.
func empties(s *state) {
	for i := range s.Pods {
		s.Pods[i].EvictionRequested = now
	}
}

// announces: the node of the first pod says that it leaves.
func announces(s *state) { s.Pods[0].NodeLeaving = "going away" }

// holdsBack: a holder keeps the last pod from deletion.
func holdsBack(s *state) { s.Pods[len(s.Pods)-1].HoldDelete = ptr.To("backup") }

// deletes begins the end of the owner, as kubectl delete does with --cascade.
func deletes(policy plan.Deletion, cascade string) func(*state) {
	return func(s *state) {
		s.Desired.Deletion, s.Cascade = policy, cascade
		switch cascade { // it wins over the policy
		case metav1.FinalizerOrphanDependents:
			s.Desired.Deletion = plan.DeletionCascadeOrphan
		case metav1.FinalizerDeleteDependents:
			s.Desired.Deletion = plan.DeletionDelete
		}
	}
}

// then is an event of a story that edits the spec.
func then(text string, do func(*state)) event {
	return event{text: "then " + text, do: func(s *state) {
		do(s)
		s.Desired.Generation++
	}}
}

// evicts is an event: the eviction of the pod in a place of the list is asked for.
func evicts(at int) event {
	return event{
		text: fmt.Sprintf("then the eviction of pod %d is asked for", at),
		when: func(s *state) bool {
			return at < len(s.Pods) && serves(&s.Pods[at]) && !s.waits(&s.Pods[at]) && !s.isExtra(s.Pods[at].Name)
		},
		do: func(s *state) { s.Pods[at].EvictionRequested = now },
	}
}

// toPod is an event that happens to the pod in a place of the list.
func toPod(text string, at int, do func(*plan.Pod)) event {
	return event{text: "then " + text, when: func(s *state) bool { return at < len(s.Pods) && live(&s.Pods[at]) }, do: func(s *state) { do(&s.Pods[at]) }}
}

// failsLater is an event: web-0 fails.
func failsLater() event {
	return event{
		text: "then web-0 fails a second later", when: func(s *state) bool { p := s.pod("web-0"); return p != nil && live(p) },
		do: func(s *state) {
			s.pass(time.Second)
			s.fail("web-0")
		},
	}
}

func (sc scenario) with(name string, change func(*scenario)) scenario {
	sc.name = name
	change(&sc)
	return sc
}

// What specs can ask for.
func surge(d *plan.Desired) {
	d.Update.MaxUnavailable, d.Update.MaxSurge, d.Update.NoneUnavailable = 0, 1, true
}

// usual is the default of a small fleet: a quarter of the pods, rounded.
func usual(d *plan.Desired)               { d.Update.MaxUnavailable, d.Update.MaxSurge = 0, 1 }
func random(d *plan.Desired)              { d.Identity = appsv1.IdentityRandom }
func rollback(d *plan.Desired)            { d.Update.OnFailure = appsv1.FailureRollback }
func inOrder(d *plan.Desired)             { d.Ordered = true }
func patient(d *plan.Desired)             { d.MinReady = 10 * time.Second }
func byEviction(d *plan.Desired)          { d.Update.UseEviction = true }
func partition(n int) func(*plan.Desired) { return func(d *plan.Desired) { d.Update.Partition = n } }

func reserved(list ...int) func(*plan.Desired) { return func(d *plan.Desired) { d.Reserved = list } }
func onDelete(d *plan.Desired)                 { d.Update.Strategy = appsv1.UpdateOnDelete }
func surgeFirst(d *plan.Desired) {
	d.Disruption = plan.Disruption{SurgeFirst: true, MaxSurge: 1, Deadline: 30 * time.Second}
}
func allows(s *state) { s.Desired.Disruption = plan.Disruption{} }
func claims(d *plan.Desired) {
	d.Claims = plan.Claims{Templates: []string{"data"}, WhenScaled: appsv1.ClaimDelete, WhenDeleted: appsv1.ClaimRetain}
}

func retains(d *plan.Desired) {
	d.Claims = plan.Claims{Templates: []string{"data"}, WhenScaled: appsv1.ClaimRetain, WhenDeleted: appsv1.ClaimDelete}
}

func spreads(d *plan.Desired) {
	d.Disruption = plan.Disruption{
		AutoRebalance: true, MaxSurge: 1, Deadline: 30 * time.Second, Spread: []plan.Spread{{Key: zoneKey, MaxSkew: 1}},
	}
}

func all(changes ...func(*plan.Desired)) func(*plan.Desired) {
	return func(d *plan.Desired) {
		for _, change := range changes {
			change(d)
		}
	}
}

func scenarios() []scenario {
	return slices.Concat(fleets(), endings(), stories(), leavers())
}

// fleets are worlds in which anything may go wrong.
func fleets() []scenario {
	return []scenario{
		{name: "at rest", desired: all(rollback)},
		{name: "at rest, random", desired: random},
		{name: "recreate", desired: rollback, edit: rolls, how: recreate()},
		{name: "recreate, random, surge", desired: all(random, surge), edit: rolls, how: recreate()},
		{name: "recreate, surge", desired: surge, edit: rolls, how: recreate(), quick: 2},
		{name: "in place", desired: all(rollback, patient), edit: rolls, how: restart(), quick: 2},
		{name: "in place with gate", edit: rolls, how: restart(), gated: true, quick: 2},
		{name: "resize", edit: rolls, how: resize(), more: []accident{resizes}},
		{name: "resize, taken back", edit: tears(revisionA), how: resize()},
		{name: "resize, changed again", edit: tears(revisionC), how: resize(), quick: 2},
		{name: "a broken revision", desired: rollback, edit: breaks, how: recreate(), quick: 2},
		{name: "claims, scaled down", desired: claims, edit: scales(0)},
		{name: "claims of an earlier owner", desired: claims, claims: []int{0, 2, 3}},
		{name: "in order, scaled down", desired: inOrder, edit: scales(0)},
		{name: "in order, recreate", desired: all(inOrder, rollback), edit: rolls, how: recreate()},
		{name: "drained", desired: surgeFirst, edit: drains},
		{name: "drained, random", desired: all(surgeFirst, random), edit: drains},
		{name: "drained and rolled out", desired: surgeFirst, edit: func(s *state) { rolls(s); drains(s) }, how: recreate(), quick: 2},
		{name: "taken over", edit: takenOver},
		{name: "taken over, random", desired: random, edit: takenOver},
		{name: "claims, recreate, surge", desired: all(claims, surge), edit: rolls, how: recreate(), quick: 2},
		{name: "partition", desired: all(partition(1), surge), edit: rolls, how: recreate(), pods: []int{2}},
		{name: "partition, random", desired: all(partition(1), random), edit: rolls, how: recreate(), pods: []int{2}},
		{name: "on delete", desired: onDelete, edit: rolls, how: recreate(), pods: []int{2}},
		{name: "restarted", desired: surge, edit: func(s *state) { s.Desired.Restart = now }, pods: []int{2}},
		{name: "held and flapping", edit: rolls, how: recreate(), more: []accident{holds, flaps, down, labels}, pods: []int{2, 1}},
		{name: "held in place", edit: rolls, how: restart(), gated: true, more: []accident{holds, labels}, pods: []int{2}},
		{name: "claims, recreate", desired: claims, edit: rolls, how: recreate(), pods: []int{1}},
		{name: "scaled down, random", desired: all(random, usual), edit: scales(1), more: []accident{flaps}, pods: []int{2}},
		{name: "moved by eviction", desired: byEviction, edit: rolls, how: recreate(), pdb: 1, pods: []int{2}},
	}
}

// endings are worlds whose owner is deleted.
func endings() []scenario {
	var list []scenario
	for _, e := range []struct {
		name, cascade string
		policy        plan.Deletion
	}{
		{"deleted", "", plan.DeletionDelete},
		{"deleted, cascade orphan", metav1.FinalizerOrphanDependents, plan.DeletionDelete},
		{"deleted, cascade foreground", metav1.FinalizerDeleteDependents, plan.DeletionDelete},
		{"deleted, policy Orphan", "", plan.DeletionOrphan},
		{"deleted, policy Orphan, cascade orphan", metav1.FinalizerOrphanDependents, plan.DeletionOrphan},
		{"deleted, policy Orphan, cascade foreground", metav1.FinalizerDeleteDependents, plan.DeletionOrphan},
	} {
		list = append(list, scenario{name: e.name, desired: retains, edit: deletes(e.policy, e.cascade), pods: []int{2}})
	}
	return append(list, scenario{name: "deleted, held", edit: deletes(plan.DeletionDelete, ""), more: []accident{holds}, pods: []int{1}})
}

// stories are worlds in which several things happen one after the other.
func stories() []scenario {
	return []scenario{
		{
			name: "un-reserved", desired: reserved(0), edit: func(s *state) { s.Desired.Reserved = nil }, pods: []int{2, 1},
			story: []event{then("a user reserves it again", func(s *state) { s.Desired.Reserved = []int{0} })},
		},
		{name: "un-reserved, no pod may be missing", desired: all(surge, reserved(0, 1)), edit: func(s *state) { s.Desired.Reserved = nil }, pods: []int{2}},
		{name: "un-reserved, with claims", desired: all(claims, reserved(0)), edit: func(s *state) { s.Desired.Reserved = nil }, pods: []int{1}},
		{
			name: "a surge pod joins the base", desired: all(claims, surge), edit: rolls, how: recreate(), pods: []int{1},
			story: []event{then("a user scales to 2", scales(2)), then("a user scales to 1", scales(1))},
		},
		{
			name: "a surge pod joins the base, in order", desired: all(inOrder, surge), edit: rolls, how: recreate(), pods: []int{1},
			story: []event{then("a user scales to 3", scales(3)), then("a user scales to 1", scales(1))},
		},
		{name: "a surge with claims that stay", desired: all(retains, surge), edit: rolls, how: recreate(), pods: []int{1}},
		{
			name: "a canary is paused", desired: surge, edit: rolls, how: recreate(), pods: []int{2},
			story: []event{then("a user pauses", pauses), toPod("a user deletes pod 1", 1, func(p *plan.Pod) { p.Terminating, p.DeletedAt = true, now })},
		},
		{
			name: "a canary is paused and drained", desired: all(surgeFirst, surge), edit: rolls, how: recreate(), pods: []int{2},
			story: []event{then("a user pauses", pauses), evicts(1)},
		},
		{
			name: "an autoscaler works while a revision is broken", edit: breaks, how: recreate(), pods: []int{2},
			story: []event{then("it scales to 3", scales(3)), then("it scales to 2", scales(2)), then("it scales to 3", scales(3))},
		},
		{
			name: "a broken revision is mended", desired: rollback, edit: breaks, how: recreate(), pods: []int{2, 1},
			story: []event{then("the template changes again", means(revisionC))},
		},
		{
			name: "a resize cannot be done", edit: rolls, how: resize(), pods: []int{1},
			story: []event{{
				text: "then the node of web-0 can never resize it", when: func(s *state) bool { return len(s.Pods) > 0 && s.Pods[0].Resize == plan.ResizeInProgress },
				do: func(s *state) { s.Pods[0].Resize = plan.ResizeInfeasible },
			}},
		},
		{
			name: "a resize is deferred", edit: rolls, how: resize(), pods: []int{1},
			story: []event{{
				text: "then the node of web-0 defers the resize", when: func(s *state) bool { return len(s.Pods) > 0 && s.Pods[0].Resize == plan.ResizeInProgress },
				do: func(s *state) { s.Pods[0].Resize, s.Pods[0].ResizeSince = plan.ResizeDeferred, now },
			}},
		},
		{name: "restarted, and nothing else", desired: surge, edit: func(s *state) { s.Desired.Restart = now }, pods: []int{2}, large: true},
		{
			name: "a surplus pod is held", desired: rollback, edit: func(s *state) { holdsBack(s); scales(1)(s) }, how: recreate(), pods: []int{2},
			story: []event{then("the template changes", rolls)},
		},
		{
			name: "a held pod fails", edit: holdsBack, pods: []int{1},
			story: []event{failsLater()},
		},
		{
			name: "a held pod is asked to go", edit: holdsBack, pods: []int{2, 1},
			story: []event{toPod("a user asks with a label for the end of pod 0", 0, func(p *plan.Pod) { p.DeleteRequested = true })},
		},
		{
			name: "a held pod may stay after all", edit: func(s *state) { holdsBack(s); scales(1)(s) }, pods: []int{2},
			story: []event{then("a user scales to 2", scales(2))},
		},
		{
			name: "a pod fails again and again", pods: []int{1},
			story: []event{failsLater(), failsLater(), failsLater()},
		},
		{
			name: "few revisions are kept", desired: func(d *plan.Desired) { d.RevisionHistoryLimit = 0 }, edit: rolls, how: recreate(), pods: []int{2, 1},
			story: []event{then("the template changes again", means(revisionC))},
		},
		{
			name: "a partition keeps a pod that is deleted", desired: partition(1), edit: rolls, how: recreate(), pods: []int{2},
			story: []event{toPod("a user deletes pod 0", 0, func(p *plan.Pod) { p.Terminating, p.DeletedAt = true, now })},
		},
		{
			name: "pinned", edit: rolls, how: recreate(), pods: []int{2},
			story: []event{
				{text: "then a user goes back", do: func(s *state) { s.Desired.Pin, s.Desired.PinWhile = revisionA, 2 }},
				then("the template changes again", means(revisionC)),
			},
		},
		{
			name: "another client resizes", how: resize(), more: []accident{resizes}, pods: []int{1},
			story: []event{{text: "then another client resizes web-0, and its node never can", when: func(s *state) bool { return len(s.Pods) > 0 }, do: func(s *state) {
				s.Pods[0].Resize, s.Pods[0].ResizeSince, s.Sized = plan.ResizeInfeasible, now, []string{s.Pods[0].Name}
			}}},
		},
		{
			name: "retention is edited", desired: claims, edit: scales(1), pods: []int{2},
			story: []event{then("whenScaled becomes Retain", func(s *state) { s.Desired.Claims.WhenScaled = appsv1.ClaimRetain })},
		},
		{name: "the spread is lost", desired: spreads, zones: []zone{{"a", 3}, {"b", 3}}, edit: crowd, pods: []int{2}},
		{
			name: "the spread is lost, and scaled up and down", desired: spreads, zones: []zone{{"a", 3}, {"b", 3}}, edit: crowd, pods: []int{2},
			story: []event{then("it scales to 3", scales(3)), then("it scales to 2", scales(2))},
		},
		{name: "the spread is lost, random", desired: all(spreads, random), zones: []zone{{"a", 3}, {"b", 3}}, edit: crowd, pods: []int{2}},
		{name: "the spread over three nodes is lost", desired: spreads, zones: []zone{{"a", 3}, {"b", 3}, {"c", 3}}, edit: crowd, pods: []int{3}, large: true},
	}
}

// crowd has all pods in the first zone: the others have just come back.
func crowd(s *state) {
	for i := range s.Pods {
		s.Pods[i].Node, s.Pods[i].Zone, s.Pods[i].Domains = "node-a", "a", []string{"a"}
	}
}

// leavers are worlds with pods that have to leave their nodes.
func leavers() []scenario {
	drained := scenario{desired: all(usual, surgeFirst), edit: drains, pods: []int{1, 2}}
	rnd := scenario{desired: all(usual, surgeFirst, random), edit: drains, pods: []int{1, 2}}
	cordon := event{text: "then the last open node is cordoned", do: func(s *state) { s.Closed = true }}
	full := event{text: "then the cluster is full", do: func(s *state) { s.Full = true }}
	lower := then("maxSurge is lowered to 0", func(s *state) { s.Desired.Disruption.MaxSurge = 0 })
	allow := then("the policy becomes Allow", allows)
	return []scenario{
		drained.with("drained, and scaled down", func(sc *scenario) { sc.story, sc.pods = []event{then("it scales to 1", scales(1))}, []int{2} }),
		rnd.with("drained, and scaled down, random", func(sc *scenario) { sc.story, sc.pods = []event{then("it scales to 1", scales(1))}, []int{2} }),
		drained.with("drained, and the policy is switched", func(sc *scenario) { sc.story = []event{allow} }),
		rnd.with("drained, and the policy is switched, random", func(sc *scenario) { sc.story = []event{allow} }),
		drained.with("drained, and the surge shrinks", func(sc *scenario) { sc.story = []event{lower} }),
		rnd.with("drained, and the surge shrinks, random", func(sc *scenario) { sc.story = []event{lower} }),
		drained.with("drained, and all nodes are cordoned", func(sc *scenario) { sc.story = []event{cordon} }),
		rnd.with("drained, and all nodes are cordoned, random", func(sc *scenario) { sc.story = []event{cordon} }),
		drained.with("drained, with a full cluster", func(sc *scenario) { sc.story = []event{full, evicts(1)} }),
		rnd.with("drained, with a full cluster, random", func(sc *scenario) { sc.story = []event{full, evicts(1)} }),
		rnd.with("drained twice, with a full cluster, random", func(sc *scenario) { sc.story = []event{full, evicts(0), evicts(0)}; sc.pods = []int{1} }),
		drained.with("two pods are drained", func(sc *scenario) { sc.edit, sc.pods = empties, []int{2} }),
		rnd.with("two pods are drained, random", func(sc *scenario) { sc.edit, sc.pods, sc.large = empties, []int{2}, true }),
		rnd.with("two pods are drained, one later", func(sc *scenario) { sc.story, sc.pods = []event{evicts(1)}, []int{2} }),
		drained.with("drained, and pods wait to be available", func(sc *scenario) { sc.desired, sc.large = all(usual, surgeFirst, patient), true }),
		drained.with("drained, and pods wait for longer than the deadline", func(sc *scenario) {
			sc.desired, sc.large = all(usual, surgeFirst, func(d *plan.Desired) { d.MinReady = 40 * time.Second }), true
		}),
		drained.with("drained, and pods start slowly", func(sc *scenario) { sc.startup, sc.large = 40*time.Second, true }),
		drained.with("drained, and nothing else", func(sc *scenario) { sc.large = true }),
		drained.with("drained and rolled out, and nothing else", func(sc *scenario) {
			sc.edit, sc.how, sc.large = func(s *state) { rolls(s); drains(s) }, recreate(), true
		}),
		drained.with("drained, and a budget holds", func(sc *scenario) { sc.pdb, sc.pods, sc.large = 2, []int{2}, true }),
		drained.with("drained, pods start slowly, and a budget holds", func(sc *scenario) { sc.startup, sc.pdb, sc.pods, sc.large = 40*time.Second, 2, []int{2}, true }),
		drained.with("drained, and the owner is deleted", func(sc *scenario) {
			sc.story, sc.pods = []event{then("it is deleted", deletes(plan.DeletionDelete, ""))}, []int{1}
		}),
		{
			name: "a node announces its end", desired: all(usual, surgeFirst), edit: announces, pods: []int{1, 2},
			story: []event{toPod("the node of pod 0 stays after all", 0, func(p *plan.Pod) { p.NodeLeaving = "" })},
		},
		{
			name: "a node announces its end, random", desired: all(usual, surgeFirst, random), edit: announces, pods: []int{1, 2},
			story: []event{{text: "then the notice is withdrawn", do: func(s *state) {
				for i := range s.Pods {
					s.Pods[i].NodeLeaving = ""
				}
			}}},
		},
	}
}
