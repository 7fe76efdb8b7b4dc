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

package why

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(id string, at time.Time, actions ...plan.Action) flight.Entry {
	e := flight.Entry{
		Record:  &flightrecorder.Record{ID: id, Start: at, Object: flightrecorder.ObjectRef{Kind: "PodManager", Name: "web"}},
		Payload: &flight.Flight{Now: at, Decision: plan.Decision{Actions: actions}},
		Causes:  []string{"ada asked for it"},
	}
	e.Summary = flight.Summary(e.Record, e.Payload)
	return e
}

func deletion(pod string) plan.Action {
	return plan.Action{Verb: plan.DeletePod, Pod: pod, Why: plan.Why{Rule: "scale-down", Reason: "ScaleDown", Message: "too many"}}
}

func entry(at time.Time, pods ...string) appsv1.Decision {
	return appsv1.Decision{Time: metav1.NewTime(at), Action: "Deleted", Count: int32(len(pods)), Pods: pods, Reason: "ScaleDown", Message: "too many"}
}

func note(at time.Time, kind, name, pod, text string) eventsv1.Event {
	e := eventsv1.Event{EventTime: metav1.NewMicroTime(at), Note: text, Reason: "Deleted", Action: "DeletePod"}
	e.Regarding = corev1.ObjectReference{Kind: kind, Name: name}
	if pod != "" {
		e.Related = &corev1.ObjectReference{Kind: "Pod", Name: pod}
	}
	return e
}

func TestTheMostDetailedSourceIsShown(t *testing.T) {
	said := report.Note(entry(noon, "web-2"))
	web, pod := subject{namespace: "shop", name: "web", kind: "PodManager"}, subject{namespace: "shop", pod: "web-2"}
	for name, c := range map[string]struct {
		about subject
		from  sources
		all   bool
		want  []string
	}{
		"the recorder alone": {web, sources{
			records: records{record("a", noon, deletion("web-2"))}, history: []appsv1.Decision{entry(noon, "web-2")},
			events: []eventsv1.Event{note(noon, "PodManager", "web", "web-2", said)},
		}, false, []string{"recorder: Deleted web-2 [ScaleDown]."}},
		"the history, after a restart": {web, sources{
			history: []appsv1.Decision{entry(noon, "web-2")}, events: []eventsv1.Event{note(noon, "PodManager", "web", "web-2", said)},
		}, false, []string{"history: Deleted 1 pod: web-2 (too many) [ScaleDown]"}},
		"the events, when the history is full": {web, sources{
			events: []eventsv1.Event{note(noon, "PodManager", "web", "web-2", said), note(noon, "PodManager", "other", "", said)},
		}, false, []string{"event: Deleted 1 pod: web-2 (too many) (event Deleted of PodManager web)"}},
		"the history, which counts what two events tell": {web, sources{
			history: []appsv1.Decision{entry(noon, "web-2", "web-1")},
			events: []eventsv1.Event{
				note(noon.Add(time.Second), "PodManager", "web", "web-2", report.Note(entry(noon, "web-2"))),
				note(noon.Add(5*time.Second), "PodManager", "web", "web-1", report.Note(entry(noon, "web-1"))),
				note(noon.Add(time.Hour), "PodManager", "web", "web-1", report.Note(entry(noon, "web-1"))),
			},
		}, false, []string{
			"event: Deleted 1 pod: web-1 (too many) (event Deleted of PodManager web)",
			"history: Deleted 2 pods: web-2, web-1 (too many) [ScaleDown]",
		}},
		"the history, whose message is that of the last event": {web, sources{
			history: []appsv1.Decision{entry(noon, "web-2", "web-1")},
			events: []eventsv1.Event{
				note(noon.Add(time.Second), "PodManager", "web", "web-2", "Deleted 1 pod: web-2 (far too many)"),
				note(noon.Add(5*time.Second), "PodManager", "web", "web-1", report.Note(entry(noon, "web-1"))),
			},
		}, false, []string{"history: Deleted 2 pods: web-2, web-1 (too many) [ScaleDown]"}},
		"each for its time": {web, sources{
			records: records{record("b", noon, deletion("web-2"))},
			history: []appsv1.Decision{entry(noon, "web-2"), entry(noon.Add(-time.Hour), "web-3")},
		}, false, []string{"recorder: Deleted web-2 [ScaleDown].", "history: Deleted 1 pod: web-3 (too many) [ScaleDown]"}},
		"a pod that is gone": {pod, sources{
			history: []appsv1.Decision{entry(noon, "web-2", "web-1"), entry(noon.Add(-time.Hour), "web-3")},
			events:  []eventsv1.Event{note(noon.Add(-time.Minute), "Pod", "web-2", "", "Started"), note(noon, "Pod", "web-9", "", "Started")},
		}, false, []string{"history: Deleted 2 pods: web-2, web-1 (too many) [ScaleDown]", "event: Started (event Deleted of Pod web-2)"}},
		"no more than what was done":      {web, sources{records: records{record("a", noon)}}, false, nil},
		"all that was looked at, too":     {web, sources{records: records{record("a", noon)}}, true, []string{"recorder: No action needed."}},
		"nothing, where nothing is known": {web, sources{}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range tell(c.about, c.from, c.all) {
				got = append(got, m.Source+": "+m.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("story (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrintMoments(t *testing.T) {
	var out bytes.Buffer
	m := fromRecord(ptr(record("a-1", noon, deletion("web-2"))), "")
	m.Writes = []string{"1", "2", "3", "4", "5", "6", "7"}
	if err := Print(&out, kube.NewPaint(false), "web", []moment{m}, noon.Add(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	want := `90s ago   Deleted web-2 [ScaleDown].
            why      web-2: too many (rule scale-down)
            because  ada asked for it
            wrote    1
                     2
                     3
                     4
                     5
                     and 2 further writes
            record   a-1, waited <1ms, took <1ms
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	if err := Print(&out, kube.NewPaint(false), "web", nil, noon); err != nil || !strings.HasPrefix(out.String(), "No history found for web") {
		t.Errorf("%v %s", err, &out)
	}
}

func ptr[T any](v T) *T { return &v }
