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

package flight

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// run is a reconcile of PodManager web, a number of milliseconds after the start.
func run(seq uint64, ms int, replicas, live int, triggers ...flightrecorder.Trigger) Entry {
	at := start.Add(time.Duration(ms) * time.Millisecond)
	f := &Flight{Now: at, Desired: plan.Desired{Replicas: replicas, Generation: int64(replicas)}}
	f.Decision.Counts = plan.Counts{Live: live, Available: live}
	if live != replicas {
		f.Decision.Actions = []plan.Action{{Verb: plan.DeletePod, Pod: "web-2"}}
	}
	return Entry{Payload: f, Record: &flightrecorder.Record{
		Seq: seq, Start: at, Duration: flightrecorder.Duration(10 * time.Millisecond), Triggers: triggers,
		Object: flightrecorder.ObjectRef{Kind: "PodManager", Name: "web"},
		Writes: make([]flightrecorder.Write, len(f.Decision.Actions)),
	}}
}

func event(kind flightrecorder.TriggerKind, of, name string) flightrecorder.Trigger {
	return flightrecorder.Trigger{Kind: kind, Time: start, Object: &flightrecorder.ObjectRef{Kind: of, Name: name}}
}

func scaledBy(manager string) flightrecorder.Trigger {
	t := event(flightrecorder.TriggerUpdate, "PodManager", "web")
	t.Changes = []flightrecorder.Change{{Manager: manager, Fields: []string{"spec.replicas"}}}
	return t
}

func TestAChangeIsCountedUntilTheFleetIsAtItsGoal(t *testing.T) {
	carried := event(flightrecorder.TriggerDelete, "Pod", "web-2")
	carried.Carried = true
	folded := event(flightrecorder.TriggerUpdate, "Pod", "web-2")
	folded.Count = 3
	entries := []Entry{ // newest first
		run(7, 9000, 1, 1, flightrecorder.Trigger{Kind: flightrecorder.TriggerManual}), // long after: not its own
		run(6, 400, 1, 1, event(flightrecorder.TriggerUpdate, "PodManager", "web")),    // its status comes back
		run(5, 300, 1, 1, event(flightrecorder.TriggerDelete, "Pod", "web-2"), flightrecorder.Trigger{Kind: flightrecorder.TriggerRequeueAfter}),
		run(4, 200, 1, 2, folded, carried),
		run(3, 100, 1, 3, scaledBy("ada")),
		run(2, 0, 3, 3, event(flightrecorder.TriggerUpdate, "Pod", "web-0")),
	}
	got := Changes(entries)
	want := []Change{{
		Time: start, Generation: 1, Fields: []FieldChange{{"replicas", "3", "1"}}, By: []string{"ada"},
		Events:     map[string]int{"PodManager modified": 2, "Pod modified": 3, "Pod deleted": 1},
		Reconciles: 4, Writes: 2, Others: 1, Settled: true, Took: flightrecorder.Duration(410 * time.Millisecond),
	}}
	// It begins when it was written, which is before it was looked at.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if n := got[0].Count(); n != 6 {
		t.Errorf("%d events", n)
	}
}

// TestAGuessedWriterIsNotNamed: events names a writer as why does, only when it is sure.
func TestAGuessedWriterIsNotNamed(t *testing.T) {
	guessed := scaledBy("bob")
	guessed.Changes[0].Inferred = true
	got := Changes([]Entry{run(2, 100, 1, 3, guessed, scaledBy("ada")), run(1, 0, 3, 3)})
	if len(got) != 1 || !cmp.Equal(got[0].By, []string{"ada"}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatAChangeIsCalled(t *testing.T) {
	c := Change{Fields: []FieldChange{{"replicas", "3", "1"}, {"update.partition", "0", "2"}}}
	for want, matches := range map[string]bool{
		"replicas": true, "replicas=3:1": true, "replicas=:1": true, "replicas=3:": true, "replicas=1:3": false, "partition": true,
		"update.partition=0:2": true, "paused": false, "plicas": false,
	} {
		if got := c.Matches(want); got != matches {
			t.Errorf("%s matches: %t", want, got)
		}
	}
}

func TestAChangeThatIsStillUnderWayIsNotSettled(t *testing.T) {
	got := Changes([]Entry{run(2, 100, 5, 3, scaledBy("ada")), run(1, 0, 3, 3)})
	if len(got) != 1 || got[0].Settled || got[0].Reconciles != 1 {
		t.Errorf("%+v", got)
	}
}

func TestANewObjectIsAChangeWithoutFields(t *testing.T) {
	got := Changes([]Entry{run(1, 0, 3, 0, event(flightrecorder.TriggerCreate, "PodManager", "web"))})
	if len(got) != 1 || len(got[0].Fields) != 0 {
		t.Errorf("%+v", got)
	}
	if got := Changes([]Entry{run(1, 0, 3, 3, event(flightrecorder.TriggerStartup, "PodManager", "web"))}); len(got) != 0 {
		t.Errorf("after a restart the past is unknown: %+v", got)
	}
}

func TestReasonsGroupPodsAndKeepToOneWhereAsked(t *testing.T) {
	e := Entry{Record: &flightrecorder.Record{}, Payload: &Flight{Decision: plan.Decision{
		Actions: []plan.Action{
			{Verb: plan.CreatePod, Pod: "web-1", Why: plan.Why{Rule: "scale-up", Message: "too few"}},
			{Verb: plan.CreatePod, Pod: "web-2", Why: plan.Why{Rule: "scale-up", Message: "too few"}},
			{Verb: plan.DeletePod, Pod: "web-9", Why: plan.Why{Rule: "failed", Message: "it failed"}},
		},
		Blocked: []plan.Blocked{{Verb: plan.UpdatePod, Pod: "web-0", Count: 3, By: "Paused", Message: "spec.paused is true"}},
	}}}
	if diff := cmp.Diff([]string{
		"web-1, web-2: too few (rule scale-up)", "web-9: it failed (rule failed)",
		"held back by Paused: web-0 and 2 more: spec.paused is true",
	}, e.Reasons("")); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"web-2: too few (rule scale-up)"}, e.Reasons("web-2")); diff != "" {
		t.Errorf("reasons of web-2 (-want +got):\n%s", diff)
	}
	if !e.Acted() || !e.Concerns("web-0") || e.Concerns("web-7") {
		t.Error("it acted, on web-0 and not on web-7")
	}
}
