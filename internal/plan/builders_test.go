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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The tests' fleet is named web, its template means revision web-new, and the
// time is noon.
const (
	newRev = "web-new"
	oldRev = "web-old"

	otherWorkload = "deployments.apps/web"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// ago is a time before noon.
func ago(d time.Duration) time.Time { return noon().Add(-d) }

// podBuilder builds a pod. Methods return a changed copy, so a pod can be the
// beginning of several.
type podBuilder struct{ p Pod }

// aPod begins a member that has been running and ready for an hour, on the
// newest revision, in no slot.
func aPod(name string) podBuilder {
	return podBuilder{Pod{
		Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Membership: Member, Slot: NoSlot,
		Revision: newRev, Created: ago(2 * time.Hour), Phase: corev1.PodRunning, Node: "node-a",
		Ready: true, ReadySince: ago(time.Hour),
	}}
}

// ordinal begins the pod of a slot of an Ordinal fleet.
func ordinal(slot int) podBuilder { return aPod("web-" + strconv.Itoa(slot)).slot(slot) }

// random begins the pod of a slot of a Random fleet.
func random(slot int) podBuilder { return aPod(randomName(slot)).slot(slot) }

// podsOf builds the pods of the first n slots.
func podsOf(n int, pod func(slot int) podBuilder) []podBuilder {
	pods := make([]podBuilder, n)
	for slot := range pods {
		pods[slot] = pod(slot)
	}
	return pods
}

func randomName(slot int) string {
	d := aFleet(0).random().desired
	return SlotName(&d, slot)
}

func (b podBuilder) slot(n int) podBuilder { b.p.Slot = n; return b }

func (b podBuilder) readyFor(d time.Duration) podBuilder {
	b.p.Phase, b.p.Ready, b.p.ReadySince = corev1.PodRunning, true, ago(d)
	return b
}

func (b podBuilder) unready() podBuilder { b.p.Ready, b.p.ReadySince = false, time.Time{}; return b }

// unreadyFor: the pod has not been ready for so long.
func (b podBuilder) unreadyFor(d time.Duration) podBuilder {
	b = b.unready()
	b.p.UnreadySince = ago(d)
	return b
}

func (b podBuilder) phase(phase corev1.PodPhase) podBuilder { b.p.Phase = phase; return b }

func (b podBuilder) pending() podBuilder { return b.unready().phase(corev1.PodPending) }

func (b podBuilder) unscheduled() podBuilder { return b.pending().on("") }

// failed: the pod failed some time ago.
func (b podBuilder) failed(d time.Duration) podBuilder {
	b = b.unready().phase(corev1.PodFailed)
	b.p.FailedAt = ago(d)
	return b
}

func (b podBuilder) reason(reason string) podBuilder { b.p.Reason = reason; return b }

func (b podBuilder) terminating() podBuilder { b.p.Terminating = true; return b }

func (b podBuilder) on(node string) podBuilder { b.p.Node = node; return b }

func (b podBuilder) zone(zone string) podBuilder { b.p.Zone = zone; return b }

func (b podBuilder) nodeGone() podBuilder { b.p.NodeState = NodeGone; return b }

func (b podBuilder) outOfService() podBuilder { b.p.NodeState = NodeOutOfService; return b }

// nodeDown: the node is there and does not answer.
func (b podBuilder) nodeDown() podBuilder { b.p.NodeDown = true; return b }

func (b podBuilder) revision(name string) podBuilder { b.p.Revision = name; return b }

func (b podBuilder) orphan() podBuilder { b.p.Membership = Orphan; return b }

func (b podBuilder) drifted() podBuilder { b.p.Membership = Drifted; return b }

// evicted: an eviction of the pod has waited for its replacement for so long.
func (b podBuilder) evicted(d time.Duration) podBuilder { b.p.EvictionRequested = ago(d); return b }

// nodeLeaving: the node announces that it goes.
func (b podBuilder) nodeLeaving() podBuilder { b.p.NodeLeaving = "taint example.com/spot"; return b }

func (b podBuilder) waiting(why string) podBuilder { b = b.unready(); b.p.Waiting = why; return b }

func (b podBuilder) requested() podBuilder { b.p.DeleteRequested = true; return b }

func (b podBuilder) cost(n int) podBuilder { b.p.DeletionCost = n; return b }

func (b podBuilder) restarts(n int) podBuilder { b.p.Restarts = n; return b }

func (b podBuilder) created(d time.Duration) podBuilder { b.p.Created = ago(d); return b }

// fleet is a planner's input. Its methods, like a pod's, return a copy.
type fleet struct {
	desired  Desired
	observed Observed
}

// aFleet begins an Ordinal fleet that has its revision and its finalizer, and
// whose spec was seen before.
func aFleet(replicas int, pods ...podBuilder) fleet {
	f := fleet{
		desired: Desired{
			Namespace: "default", Name: "web", UID: "owner-1", Generation: 1,
			NamePrefix: "web", Identity: appsv1.IdentityOrdinal, Selector: "podmanager=web", Replicas: replicas,
			FailedPods:           FailedPods{Limit: 1, Initial: 10 * time.Second, Max: 5 * time.Minute},
			RevisionHistoryLimit: 10, Finalizer: FinalizerPresent,
			Update: Update{Strategy: appsv1.UpdateInPlace, MaxUnavailable: 1, ProgressDeadline: 10 * time.Minute, OnFailure: appsv1.FailurePause},
		},
		observed: Observed{
			Revisions:   []Revision{{Name: newRev, Number: 1, Equal: true}},
			NewRevision: "web-next",
			Status: appsv1.PodManagerStatus{
				ObservedGeneration: 1, CurrentRevision: newRev, UpdateRevision: newRev,
			},
		},
	}
	return f.with(pods...)
}

func (f fleet) with(pods ...podBuilder) fleet {
	f.observed.Pods = slices.Clone(f.observed.Pods)
	for _, b := range pods {
		f.observed.Pods = append(f.observed.Pods, b.p)
	}
	return f
}

func (f fleet) random() fleet { f.desired.Identity = appsv1.IdentityRandom; return f }

// rollingOut: the fleet was complete on the old revision before its template
// changed.
func (f fleet) rollingOut() fleet {
	f.observed.Status.CurrentRevision = oldRev
	f.observed.Revisions = []Revision{{Name: oldRev, Number: 1}, {Name: newRev, Number: 2, Equal: true}}
	return f
}

// budget sets how many pods may be missing and how many may be too many.
func (f fleet) budget(unavailable, surge int) fleet {
	f.desired.Update.MaxUnavailable, f.desired.Update.MaxSurge = unavailable, surge
	return f
}

func (f fleet) paused() fleet { f.desired.Paused = true; return f }

// surgeFirst: evictions wait for at most five minutes, and so many replacements
// may be there at once.
func (f fleet) surgeFirst(surge int) fleet {
	f.desired.Disruption = Disruption{SurgeFirst: true, Deadline: 5 * time.Minute, MaxSurge: surge}
	return f
}

// nodes: so many of all nodes take new pods.
func (f fleet) nodes(open, all int) fleet { f.observed.Nodes = &Nodes{Open: open, All: all}; return f }

func (f fleet) ordered() fleet { f.desired.Ordered = true; return f }

func (f fleet) takingOver() fleet { f.desired.TakeOver = otherWorkload; return f }

func (f fleet) keeping(corpses int) fleet { f.desired.FailedPods.Limit = corpses; return f }

func (f fleet) minReady(d time.Duration) fleet { f.desired.MinReady = d; return f }

func (f fleet) finalizer(state FinalizerState) fleet { f.desired.Finalizer = state; return f }

func (f fleet) deleting(how Deletion) fleet { f.desired.Deletion = how; return f }

func (f fleet) held(names ...string) fleet { f.observed.HeldNames = names; return f }

func (f fleet) generation(n int64) fleet { f.desired.Generation = n; return f }

func (f fleet) revisions(limit int, revisions ...Revision) fleet {
	f.desired.RevisionHistoryLimit, f.observed.Revisions = limit, revisions
	return f
}

// failures: pods of the newest revision failed that often in a row, the last
// one some time ago, and the next replacement waits until then plus wait.
func (f fleet) failures(count int32, last, wait time.Duration) fleet {
	f.observed.Status.Failures = failureRecord(newRev, count, last, wait)
	return f
}

func failureRecord(revision string, count int32, last, wait time.Duration) *appsv1.FailureRecord {
	return &appsv1.FailureRecord{
		Revision: revision, Count: count, LastTime: metav1.NewTime(ago(last)), RetryTime: metav1.NewTime(ago(last).Add(wait)),
	}
}

// condition puts a condition of the last report into the status.
func (f fleet) condition(kind, reason string, status metav1.ConditionStatus) fleet {
	f.observed.Status.Conditions = append(slices.Clone(f.observed.Status.Conditions), metav1.Condition{
		Type: kind, Status: status, Reason: reason, ObservedGeneration: f.desired.Generation,
		LastTransitionTime: metav1.NewTime(ago(time.Minute)),
	})
	return f
}

func (f fleet) plan() Decision { return Plan(f.desired, f.observed, noon()) }

// done reports a decision of which every action worked.
func (f fleet) done(d Decision) Reported {
	return Report(f.desired, f.observed, d, outcomesOf(d, Done), noon())
}

func outcomesOf(d Decision, result Result) []Outcome {
	outcomes := make([]Outcome, len(d.Actions))
	for i, a := range d.Actions {
		outcomes[i] = Outcome{Action: a, Result: result}
	}
	return outcomes
}

// saidOf writes a decision's actions as lines: verb, target, reason.
func saidOf(d Decision) []string {
	var lines []string
	for _, a := range d.Actions {
		words := []string{string(a.Verb)}
		switch a.Verb {
		case CreateRevision, RenumberRevision, DeleteRevision:
			words = append(words, fmt.Sprintf("%s#%d", a.Revision, a.Number))
		case AddFinalizer, RemoveFinalizer:
		default:
			words = append(words, a.Pod)
		}
		words = append(words, a.Why.Reason)
		if a.Force {
			words = append(words, "by force")
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// heldBackOf writes a decision's blockers as lines: verb, pod, by what.
func heldBackOf(d Decision) []string {
	var lines []string
	for _, b := range d.Blocked {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", b.Verb, b.Pod, b.By)), " "))
	}
	return lines
}

// planned is what the planner does with a fleet, and what it holds back.
type planned struct {
	given         fleet
	want, blocked []string
}

// expectPlans plans for each fleet. said says how an action is written down.
func expectPlans(t *testing.T, said func(Decision) []string, cases map[string]planned) {
	t.Helper()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if diff := cmp.Diff(test.want, said(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}
