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
	"fmt"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/nativewhy"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
	"github.com/mycompany/pod-operator/internal/view"
)

type records = []flight.Entry

// sources are what the story is made from.
type sources struct {
	records records
	history []appsv1.Decision
	events  []eventsv1.Event
	// gone says that the object does not exist, absent that the cluster does not
	// know its kind.
	gone   error
	absent bool
	unread []nativewhy.Unread
}

// moment is something that happened.
type moment struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
	// Source is recorder, history or event: the one that knows most of it.
	Source string `json:"source"`
	Bad    bool   `json:"bad,omitempty"`
	// Only the recorder knows the fields below.
	Causes  []string      `json:"causes,omitempty"`
	Reasons []string      `json:"reasons,omitempty"`
	Writes  []string      `json:"writes,omitempty"`
	Record  string        `json:"record,omitempty"`
	Waited  time.Duration `json:"-"`
	Took    time.Duration `json:"-"`
}

// tell merges the sources into one story, newest first. History entries and
// events do not repeat what the recorder says, nor events what the history says.
func tell(about subject, from sources, all bool) []moment {
	var story []moment
	for i := range from.records {
		if e := &from.records[i]; all || e.Acted() {
			story = append(story, fromRecord(e, about.pod))
		}
	}
	var told []appsv1.Decision
	for _, entry := range from.history {
		if about.pod != "" && !slices.Contains(entry.Pods, about.pod) {
			continue
		}
		told = append(told, entry)
		if !recorded(from.records, entry) {
			story = append(story, moment{Time: entry.Time.Time, Text: view.Sentence(entry), Source: "history"})
		}
	}
	for i := range from.events {
		e := &from.events[i]
		if concerns(e, about) && !repeats(e, from.records, told) {
			story = append(story, fromEvent(e))
		}
	}
	slices.SortStableFunc(story, func(a, b moment) int { return b.Time.Compare(a.Time) })
	return slices.CompactFunc(story, func(a, b moment) bool { return a.Text == b.Text && a.Record == b.Record })
}

func fromRecord(e *flight.Entry, pod string) moment {
	m := moment{
		Time: e.Start, Text: e.Summary, Source: "recorder", Bad: e.Error != "",
		Causes: e.Causes, Reasons: e.Reasons(pod), Writes: e.Written(), Record: e.ID,
		Waited: time.Duration(e.QueueWait), Took: time.Duration(e.Duration),
	}
	if pod != "" && e.Object.Name != "" {
		m.Text += " (" + e.Object.Kind + " " + e.Object.Name + ")"
	}
	return m
}

// recorded reports whether the recorder knows what a history entry says. An entry
// absorbs what follows within ten seconds, so that its pods count and its
// time does only roughly.
func recorded(known records, entry appsv1.Decision) bool {
	for i := range known {
		e := &known[i]
		if e.Payload == nil || e.Payload.Now.Before(entry.Time.Add(-time.Second)) {
			continue
		}
		if slices.ContainsFunc(e.Payload.Decision.Actions, func(a plan.Action) bool {
			return a.Why.Reason == entry.Reason && slices.Contains(entry.Pods, a.Pod)
		}) && !e.Payload.Now.After(entry.Time.Add(10*time.Second)) {
			return true
		}
	}
	return false
}

func concerns(e *eventsv1.Event, about subject) bool {
	if about.pod != "" {
		return e.Regarding.Kind == "Pod" && e.Regarding.Name == about.pod ||
			e.Related != nil && e.Related.Kind == "Pod" && e.Related.Name == about.pod
	}
	return e.Regarding.Kind == about.kind && e.Regarding.Name == about.name
}

// repeats reports whether an event of ours says what a record or the history
// says already.
func repeats(e *eventsv1.Event, known records, history []appsv1.Decision) bool {
	if e.Regarding.Kind != kube.PodManagers.Kind.Kind && e.Regarding.Kind != kube.ImoocPods.Kind.Kind {
		return false
	}
	if slices.ContainsFunc(history, func(entry appsv1.Decision) bool {
		return strings.HasPrefix(e.Note, report.Note(entry)) || partOf(e, entry)
	}) {
		return true
	}
	return e.Related != nil && slices.ContainsFunc(known, func(r flight.Entry) bool {
		if r.Payload == nil || r.Payload.Now.Sub(eventTime(e)).Abs() > 10*time.Second {
			return false
		}
		return slices.ContainsFunc(r.Payload.Decision.Actions, func(a plan.Action) bool {
			return a.Pod == e.Related.Name && string(a.Verb) == e.Action && strings.Contains(e.Note, a.Why.Message)
		})
	})
}

// partOf: the event is about some of the pods of a history entry. The entry absorbs what
// follows for ten seconds, with its message, and events are sent meanwhile, so that each
// counts a part. What is done to a pod a second time has an entry of its own, which is newer
// and therefore there, too.
func partOf(e *eventsv1.Event, entry appsv1.Decision) bool {
	if e.Related == nil || e.Reason != entry.Action {
		return false
	}
	named := slices.Contains(entry.Pods, e.Related.Name) || int(entry.Count) > len(entry.Pods)
	after := eventTime(e).Sub(entry.Time.Time)
	return named && after > -time.Second && after < 30*time.Second
}

func fromEvent(e *eventsv1.Event) moment {
	return moment{
		Time: eventTime(e), Source: "event", Bad: e.Type == "Warning",
		Text: fmt.Sprintf("%s (event %s of %s %s)", e.Note, e.Reason, e.Regarding.Kind, e.Regarding.Name),
	}
}

func eventTime(e *eventsv1.Event) time.Time {
	if e.EventTime.IsZero() {
		return e.CreationTimestamp.Time
	}
	return e.EventTime.Time
}

// maxLines bounds what one moment lists of each kind.
const maxLines = 5

type detail struct{ word, text string }

// details are the lines below a moment.
func (m *moment) details() []detail {
	var lines []detail
	add := func(word, noun string, texts []string) {
		for i, text := range texts {
			if i == maxLines {
				lines = append(lines, detail{"", "and " + view.Count(len(texts)-i, "further "+noun)})
				return
			}
			lines = append(lines, detail{word, text})
			word = ""
		}
	}
	add("why", "reason", m.Reasons)
	add("because", "cause", m.Causes)
	add("wrote", "write", m.Writes)
	if m.Record != "" {
		lines = append(lines, detail{"record", fmt.Sprintf("%s, waited %s, took %s", m.Record, short(m.Waited), short(m.Took))})
	}
	return lines
}

func short(d time.Duration) string {
	if d < time.Millisecond {
		return "<1ms"
	}
	return d.Round(time.Millisecond).String()
}
