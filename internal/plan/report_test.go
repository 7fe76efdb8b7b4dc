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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// numbers are the counts of a status.
type numbers struct{ Live, Ready, Available, Updated, Terminating int32 }

func numbersOf(s appsv1.PodManagerStatus) numbers {
	return numbers{s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas, s.TerminatingReplicas}
}

// One status write tells the outcome of a pass: the counts are those of the
// observation, moved by what was done and by nothing else.
func TestCountsAfterAPass(t *testing.T) {
	for name, test := range map[string]struct {
		given  fleet
		result Result
		want   numbers
		nodes  []string
	}{
		"a created pod lives and is up to date, and that is all": {
			given: aFleet(3, ordinal(0)), result: Done,
			want: numbers{Live: 3, Ready: 1, Available: 1, Updated: 3}, nodes: []string{"web-0", "web-1", "web-2"},
		},
		"one that was refused is not there": {
			given: aFleet(3, ordinal(0)), result: Refused,
			want: numbers{Live: 1, Ready: 1, Available: 1, Updated: 1}, nodes: []string{"web-0"},
		},
		"nor is one that failed": {
			given: aFleet(3, ordinal(0)), result: Failed,
			want: numbers{Live: 1, Ready: 1, Available: 1, Updated: 1}, nodes: []string{"web-0"},
		},
		"a deleted pod terminates": {
			given: aFleet(1, ordinal(0), ordinal(1), ordinal(2)), result: Done,
			want: numbers{Live: 1, Ready: 1, Available: 1, Updated: 1, Terminating: 2}, nodes: []string{"web-0"},
		},
		"one whose node is gone is gone with a deletion by force": {
			given: aFleet(1, ordinal(0).terminating().nodeGone()), result: Done,
		},
		"and terminates as long as a finalizer keeps it": {
			given: func() fleet {
				kept := ordinal(0).terminating().nodeGone()
				kept.p.KeptBy = "example.com/backup"
				return aFleet(1, kept)
			}(), result: Done,
			want: numbers{Terminating: 1},
		},
		"a delete that failed leaves it": {
			given: aFleet(0, ordinal(0)), result: Failed,
			want: numbers{Live: 1, Ready: 1, Available: 1, Updated: 1}, nodes: []string{"web-0"},
		},
		"so does one that was not tried": {
			given: aFleet(0, ordinal(0)), result: Skipped,
			want: numbers{Live: 1, Ready: 1, Available: 1, Updated: 1}, nodes: []string{"web-0"},
		},
		"a failed pod that is deleted terminates too": {
			given: aFleet(1, ordinal(0).failed(time.Second)), result: Done,
			want: numbers{Terminating: 1},
		},
		"a pod that is deleted by force is gone": {
			given: aFleet(1, ordinal(0).nodeGone()), result: Done,
		},
		"also when it was terminating before": {
			given: aFleet(1, ordinal(0).nodeGone().terminating(), ordinal(1).terminating()), result: Done,
			want: numbers{Terminating: 1},
		},
		"but not when that failed": {
			given: aFleet(1, ordinal(0).nodeGone().terminating()), result: Failed,
			want: numbers{Terminating: 1},
		},
		"an adopted pod counts": {
			given: aFleet(1, ordinal(0).orphan()), result: Done,
			want: numbers{Live: 1, Ready: 1, Available: 1, Updated: 1}, nodes: []string{"web-0"},
		},
		"one that could not be adopted does not": {
			given: aFleet(1, ordinal(0).orphan()), result: Failed,
		},
		"a released pod does not count, before or after": {
			given: aFleet(0, ordinal(0).drifted()), result: Done,
		},
		"a pod let go for good does not count either": {
			given: aFleet(1, ordinal(0)).deleting(DeletionOrphan), result: Done,
		},
		"a pod is available only after minReady": {
			given: aFleet(2, ordinal(0).readyFor(time.Second), ordinal(1)).minReady(time.Minute), result: Done,
			want: numbers{Live: 2, Ready: 2, Available: 1, Updated: 2}, nodes: []string{"web-0", "web-1"},
		},
		"a pod that was changed in place is up to date, and serves as before where nothing restarts": {
			given: aFleet(1, ordinal(0).revision(oldRev)).changing(Change{Metadata: true}), result: Done,
			want: numbers{Live: 1, Ready: 1, Available: 1, Updated: 1}, nodes: []string{"web-0"},
		},
		"one that went back behind the partition is not": {
			given: func() fleet {
				f := aFleet(2, ordinal(0).revision(midRev).unready(), ordinal(1)).rollingOut().partition(1)
				f.observed.Changes = []Change{{From: midRev, To: oldRev, Metadata: true}}
				return f
			}(), result: Done,
			want: numbers{Live: 2, Ready: 1, Available: 1, Updated: 1}, nodes: []string{"web-0", "web-1"},
		},
		"a pod of an older revision is not up to date": {
			given: aFleet(2, ordinal(0).revision(oldRev), ordinal(1)).paused(), result: Done,
			want: numbers{Live: 2, Ready: 2, Available: 2, Updated: 1}, nodes: []string{"web-0", "web-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.given.plan()
			got := Report(test.given.desired, test.given.observed, d, outcomesOf(d, test.result), noon()).Status
			if diff := cmp.Diff(test.want, numbersOf(got)); diff != "" {
				t.Errorf("counts after %v (-want +got):\n%s", saidOf(d), diff)
			}
			if got.CurrentReplicas != got.Replicas {
				t.Errorf("currentReplicas %d, replicas %d: they mean the same", got.CurrentReplicas, got.Replicas)
			}
			if diff := cmp.Diff(test.nodes, got.Nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheStatusNamesItsGenerationAndRevisions(t *testing.T) {
	f := aFleet(1, ordinal(0)).generation(7)
	got := f.done(f.plan()).Status
	if got.ObservedGeneration != 7 || got.Selector != "podmanager=web" || got.UpdateRevision != newRev || got.CurrentRevision != newRev {
		t.Errorf("observedGeneration %d, selector %q, revisions %q and %q", got.ObservedGeneration, got.Selector, got.UpdateRevision, got.CurrentRevision)
	}
	for _, c := range got.Conditions {
		if c.ObservedGeneration != 7 {
			t.Errorf("condition %s is of generation %d, want 7", c.Type, c.ObservedGeneration)
		}
	}
}

func TestNodesListsOneHundredPodsAtMost(t *testing.T) {
	f := aFleet(150, podsOf(150, ordinal)...)
	got := f.done(f.plan()).Status
	if len(got.Nodes) != appsv1.MaxStatusPods || got.Replicas != 150 {
		t.Errorf("%d names of %d pods, want %d of 150", len(got.Nodes), got.Replicas, appsv1.MaxStatusPods)
	}
}

func TestHistoryAndEvents(t *testing.T) {
	entry := func(action string, count int32, reason, message string, pods ...string) appsv1.Decision {
		return appsv1.Decision{
			Time: metav1.NewTime(noon()), Generation: 1, Revision: newRev, Action: action, Count: count, Pods: pods, Reason: reason, Message: message,
		}
	}
	for name, test := range map[string]struct {
		given   fleet
		history []appsv1.Decision
		events  []Event
	}{
		"nothing done, nothing told": {
			given: aFleet(1, ordinal(0)),
		},
		"pods created for one reason are one entry and one event": {
			given: aFleet(2),
			history: []appsv1.Decision{
				entry(appsv1.ReasonCreated, 2, appsv1.WhyMissing, "0 live pods, 2 asked for", "web-0", "web-1"),
			},
			events: []Event{{
				Type: corev1.EventTypeNormal, Reason: appsv1.ReasonCreated, Action: "CreatePod", Pod: "web-0",
				Note: "Created 2 pods: web-0, web-1 (0 live pods, 2 asked for)",
			}},
		},
		"the same action for two reasons is two of each, the last on top": {
			given: aFleet(1, ordinal(0).requested(), ordinal(1)),
			history: []appsv1.Decision{
				entry(appsv1.ReasonDeleted, 1, appsv1.WhyScaleDown, "only ordinal 0 remains at 1 replica", "web-1"),
				entry(appsv1.ReasonDeleted, 1, appsv1.WhyRequested, "the pod carries the label apps.mycompany.com/delete=true", "web-0"),
			},
			events: []Event{
				{
					Type: corev1.EventTypeNormal, Reason: appsv1.ReasonDeleted, Action: "DeletePod", Pod: "web-0", UID: "uid-web-0",
					Note: "Deleted 1 pod: web-0 (the pod carries the label apps.mycompany.com/delete=true)",
				},
				{
					Type: corev1.EventTypeNormal, Reason: appsv1.ReasonDeleted, Action: "DeletePod", Pod: "web-1", UID: "uid-web-1",
					Note: "Deleted 1 pod: web-1 (only ordinal 0 remains at 1 replica)",
				},
			},
		},
		"a message that all share is reported once": {
			given: aFleet(0, podsOf(2, ordinal)...),
			history: []appsv1.Decision{
				entry(appsv1.ReasonDeleted, 2, appsv1.WhyScaleDown, "no pod remains at 0 replicas", "web-1", "web-0"),
			},
			events: []Event{{
				Type: corev1.EventTypeNormal, Reason: appsv1.ReasonDeleted, Action: "DeletePod", Pod: "web-1", UID: "uid-web-1",
				Note: "Deleted 2 pods: web-1, web-0 (no pod remains at 0 replicas)",
			}},
		},
		"three different messages are reported, and no more": {
			given: aFleet(0, podsOf(5, ordinal)...).reserving(0, 1, 2, 3, 4),
			history: []appsv1.Decision{
				entry(appsv1.ReasonDeleted, 5, appsv1.WhyReserved, "ordinal 4 is reserved; ordinal 3 is reserved; ordinal 2 is reserved",
					"web-4", "web-3", "web-2", "web-1", "web-0"),
			},
			events: []Event{{
				Type: corev1.EventTypeNormal, Reason: appsv1.ReasonDeleted, Action: "DeletePod", Pod: "web-4", UID: "uid-web-4",
				Note: "Deleted 5 pods: web-4, web-3, web-2, web-1, web-0 (ordinal 4 is reserved; ordinal 3 is reserved; ordinal 2 is reserved)",
			}},
		},
		"adoptions and releases are shown": {
			given: aFleet(1, ordinal(0).orphan(), ordinal(1).drifted()),
			history: []appsv1.Decision{
				entry(appsv1.ReasonAdopted, 1, appsv1.WhyMatchingOrphan, "the pod has no owner and matches podmanager=web", "web-0"),
				entry(appsv1.ReasonReleased, 1, appsv1.WhyLabelsEdited, "the pod's labels no longer match podmanager=web", "web-1"),
			},
			events: []Event{
				{
					Type: corev1.EventTypeNormal, Reason: appsv1.ReasonReleased, Action: "ReleasePod", Pod: "web-1", UID: "uid-web-1",
					Note: "Released 1 pod: web-1 (the pod's labels no longer match podmanager=web)",
				},
				{
					Type: corev1.EventTypeNormal, Reason: appsv1.ReasonAdopted, Action: "AdoptPod", Pod: "web-0", UID: "uid-web-0",
					Note: "Adopted 1 pod: web-0 (the pod has no owner and matches podmanager=web)",
				},
			},
		},
		"an owner that goes tells that it left its pods": {
			given: aFleet(1, ordinal(0)).deleting(DeletionOrphan),
			history: []appsv1.Decision{
				entry(appsv1.ReasonOrphaned, 1, appsv1.WhyOwnerDeleted,
					"the owner is being deleted and its deletion policy is Orphan", "web-0"),
			},
			events: []Event{{
				Type: corev1.EventTypeNormal, Reason: appsv1.ReasonOrphaned, Action: "OrphanPod", Pod: "web-0", UID: "uid-web-0",
				Note: "Orphaned 1 pod: web-0 (the owner is being deleted and its deletion policy is Orphan)",
			}},
		},
		"writes that touch no pod are not told": {
			given: aFleet(0).finalizer(FinalizerMissing).revisions(0, Revision{Name: "a", Number: 1}, Revision{Name: newRev, Number: 2, Equal: true}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.done(test.given.plan())
			if diff := cmp.Diff(test.history, got.Status.History); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.events, got.Events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A size that is put back is an update of its own, also where it is the only write.
func TestASizeThatIsPutBackIsReported(t *testing.T) {
	pod := ordinal(0).sized(midRev)
	pod.p.Containers = []ContainerMark{{Name: "app"}}
	for name, restarts := range map[string]bool{"without a restart": false, "with one": true} {
		t.Run(name, func(t *testing.T) {
			f := aFleet(1, pod).sizedLike(newRev, newRev, Change{Resize: []string{"app"}, Restarts: restarts})
			got := f.done(f.plan())
			if h := got.Status.History; len(h) != 1 || h[0].Action != appsv1.ReasonUpdated || h[0].Count != 1 || !strings.Contains(h[0].Message, "taken back") {
				t.Errorf("the history is %+v", h)
			}
			if got.Status.UpdatedReplicas != 1 {
				t.Errorf("%d pods are updated", got.Status.UpdatedReplicas)
			}
		})
	}
}

func TestFailedActionsAreNotReported(t *testing.T) {
	f := aFleet(1, ordinal(1))
	for _, result := range []Result{Failed, Skipped} {
		d := f.plan()
		got := Report(f.desired, f.observed, d, outcomesOf(d, result), noon())
		if len(got.Events) > 0 || len(got.Status.History) > 0 {
			t.Errorf("%s: events %v, history %v, want none", result, got.Events, got.Status.History)
		}
	}
}

// A fleet of thousands must not fill the status: ten entries of ten names.
func TestHistoryIsBounded(t *testing.T) {
	f := aFleet(25)
	for i := range 15 {
		d := f.plan()
		got := Report(f.desired, f.observed, d, outcomesOf(d, Done), noon().Add(time.Duration(i)*time.Minute))
		f.observed.Status = got.Status
	}
	history := f.observed.Status.History
	if len(history) != appsv1.MaxHistory {
		t.Fatalf("%d entries, want %d", len(history), appsv1.MaxHistory)
	}
	if want := noon().Add(14 * time.Minute); !history[0].Time.Time.Equal(want) {
		t.Errorf("the first entry is of %s, want the newest, %s", history[0].Time, want)
	}
	if len(history[0].Pods) != appsv1.MaxHistoryPods || history[0].Count != 25 {
		t.Errorf("an entry lists %d of %d pods, want %d of 25", len(history[0].Pods), history[0].Count, appsv1.MaxHistoryPods)
	}
}

func TestAnEventNamesTenPodsAndCountsTheRest(t *testing.T) {
	f := aFleet(12)
	got := f.done(f.plan())
	want := "Created 12 pods: web-0, web-1, web-2, web-3, web-4, web-5, web-6, web-7, web-8, web-9 and 2 more (0 live pods, 12 asked for)"
	if len(got.Events) != 1 || got.Events[0].Note != want {
		t.Errorf("events %v, want one: %s", got.Events, want)
	}
}

// The pod that an event is about did not exist when it was planned.
func TestAnEventAboutACreatedPodKnowsItsUID(t *testing.T) {
	f := aFleet(1)
	d := f.plan()
	got := Report(f.desired, f.observed, d, []Outcome{{Action: d.Actions[0], Result: Done, UID: "born"}}, noon())
	if len(got.Events) != 1 || got.Events[0].UID != "born" {
		t.Errorf("events %v, want one about the pod with uid born", got.Events)
	}
}

func TestFailuresInARowAreWarnedOfOnce(t *testing.T) {
	corpse := ordinal(0).failed(time.Second)
	for name, test := range map[string]struct {
		given fleet
		want  string // the event, or nothing
	}{
		"the first is told": {
			given: aFleet(1, corpse),
			want:  "Normal Pods of revision web-new failed, 1 time in a row; they are replaced at once",
		},
		"the second is not": {
			given: aFleet(1, corpse).failures(1, time.Minute, 0),
		},
		"the third is a warning, with the wait": {
			given: aFleet(1, corpse).failures(2, time.Minute, 10*time.Second),
			want:  "Warning Pods of revision web-new failed, 3 times in a row; the next replacement waits 20s",
		},
		"it is not given again while it waits": {
			given: aFleet(1, corpse).failures(3, time.Second, time.Minute),
		},
		"nor for the fourth": {
			given: aFleet(1, corpse).failures(3, time.Minute, 20*time.Second),
		},
		"a single one after a long quiet time counts as the first again": {
			given: aFleet(1, corpse).failures(1, time.Hour, 0),
			want:  "Normal Pods of revision web-new failed, 1 time in a row; they are replaced at once",
		},
		"not the record of an older revision": {
			given: func() fleet {
				f := aFleet(1, ordinal(0))
				f.observed.Status.Failures = failureRecord(oldRev, 4, time.Minute, time.Minute)
				return f
			}(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.given.plan()
			var got []string
			for _, e := range Report(test.given.desired, test.given.observed, d, outcomesOf(d, Skipped), noon()).Events {
				if e.Reason != appsv1.ReasonFailed {
					t.Errorf("event %+v, want none but of failures", e)
				}
				got = append(got, e.Type+" "+e.Note)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Without a change there is nothing to write, and Report is what decides that.
func TestAtRestTheReportRepeatsItself(t *testing.T) {
	f := aFleet(2, ordinal(0), ordinal(1))
	f.observed.Status = f.done(f.plan()).Status
	later := Report(f.desired, f.observed, f.plan(), nil, noon().Add(time.Hour))
	if diff := cmp.Diff(f.observed.Status, later.Status); diff != "" {
		t.Errorf("status an hour later (-before +after):\n%s", diff)
	}
	if len(later.Events) > 0 {
		t.Errorf("events %v, want none", later.Events)
	}
}

// What the API server says to one resize it says to all: the rollout goes on by
// recreating pods. A refusal for another cause may not come again.
func TestAResizeThatIsInfeasibleIsRemembered(t *testing.T) {
	f := aFleet(1, ordinal(0).revision(oldRev)).changing(Change{Resize: []string{"app"}})
	for name, test := range map[string]struct {
		verb   Verb
		result Result
		cause  string
		want   string
	}{
		"it is refused as infeasible":             {ResizePod, Refused, appsv1.WhyResizeInfeasible, "no"},
		"it is done":                              {verb: ResizePod, result: Done},
		"it fails":                                {ResizePod, Failed, appsv1.WhyResizeInfeasible, ""},
		"it is refused by a quota":                {ResizePod, Refused, appsv1.ReasonQuotaExceeded, ""},
		"something else is refused as infeasible": {UpdatePod, Refused, appsv1.WhyResizeInfeasible, ""},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := Outcome{Action: Action{Verb: test.verb, Pod: "web-0"}, Result: test.result, Cause: test.cause, Message: "no"}
			got := Report(f.desired, f.observed, f.plan(), []Outcome{outcome}, noon()).Status.Rollout
			if got == nil || got.ResizeRefused != test.want {
				t.Errorf("the record is %+v, want the refusal %q", got, test.want)
			}
		})
	}
}

// A held pod does not stop the clock of a rollout that moves another.
func TestARolloutThatMovesWaitsForNone(t *testing.T) {
	f := aFleet(2, ordinal(0).revision(oldRev).holdUpdate(), ordinal(1).revision(oldRev)).changing(Change{Metadata: true})
	for result, want := range map[Result]bool{Done: false, Failed: true} {
		d := f.plan()
		got := Report(f.desired, f.observed, d, outcomesOf(d, result), noon()).Status.Rollout
		if got == nil || got.Waits != want {
			t.Errorf("%v %s: the record is %+v, want one that waits: %t", saidOf(d), result, got, want)
		}
	}
}

// A resize beyond a node says nothing about the pods of other nodes.
func TestANodeThatIsTooSmallIsRemembered(t *testing.T) {
	f := aFleet(2, ordinal(0).revision(oldRev).on("small"), ordinal(1).revision(oldRev)).changing(Change{Resize: []string{"app"}})
	outcome := Outcome{
		Action: Action{Verb: ResizePod, Pod: "web-0", Node: "small"}, Result: Refused, Cause: appsv1.WhyResizeInfeasible, Message: "no", Node: "small",
	}
	for range 2 { // it is noted once
		got := Report(f.desired, f.observed, f.plan(), []Outcome{outcome}, noon()).Status.Rollout
		if got == nil || got.ResizeRefused != "" || !slices.Equal(got.SmallNodes, []string{"small"}) {
			t.Fatalf("the record is %+v", got)
		}
		f.observed.Status.Rollout = got
	}
	full := f.observed.Status.Rollout.DeepCopy()
	for i := range appsv1.MaxStatusPods - 1 {
		full.SmallNodes = append(full.SmallNodes, "other-"+strconv.Itoa(i))
	}
	full.SmallNodes, f.observed.Status.Rollout = full.SmallNodes[1:], full
	for range 2 {
		f.observed.Status.Rollout = Report(f.desired, f.observed, f.plan(), []Outcome{outcome}, noon()).Status.Rollout
		outcome.Node = "one more"
	}
	if got := f.observed.Status.Rollout.SmallNodes; len(got) != appsv1.MaxStatusPods || !slices.Contains(got, "small") {
		t.Errorf("%d nodes are remembered: %v", len(got), got)
	}
	f.observed.Status.Rollout.SmallNodes = []string{"small"}
	// Progress and edits do not make the node larger.
	f.observed.Status.ObservedGeneration--
	if got := f.plan().Rollout; got == nil || !slices.Equal(got.SmallNodes, []string{"small"}) {
		t.Errorf("after an edit, the record is %+v", got)
	}
}
