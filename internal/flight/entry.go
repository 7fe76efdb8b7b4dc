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
	"fmt"
	"slices"
	"strings"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// Audience is the audience of a token that is good for asking the operator and
// for nothing else.
const Audience = "pod-operator.mycompany.com"

// Entry is a record with the words for it, as the operator serves it over
// HTTP and as the page and the plugin read it.
type Entry struct {
	*flightrecorder.Record
	// Payload takes the place of the record's.
	Payload *Flight `json:"payload,omitempty"`
	// Summary says what was done, Causes why it was looked at.
	Summary string   `json:"summary"`
	Causes  []string `json:"causes"`
}

// NewEntry puts a record in words. Unless it is to be whole, it leaves out what
// was observed, which is most of it.
func NewEntry(record *flightrecorder.Record, whole bool) (Entry, error) {
	f, err := Of(record)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Record: record, Payload: f, Summary: Summary(record, f), Causes: Causes(record)}
	if f != nil && !whole {
		f.Observed, f.Decision.Live = nil, nil
	}
	return e, nil
}

// Acted reports whether the reconcile is worth showing: it did something,
// failed, or was triggered by hand.
func (e *Entry) Acted() bool {
	if e.Error != "" || e.Payload != nil && len(e.Payload.Decision.Actions)+len(e.Payload.Undone) > 0 {
		return true
	}
	return slices.ContainsFunc(e.Triggers, func(t flightrecorder.Trigger) bool { return t.Kind == flightrecorder.TriggerManual })
}

// Concerns reports whether the reconcile decided something about a pod.
func (e *Entry) Concerns(pod string) bool {
	return e.Payload != nil && (slices.ContainsFunc(e.Payload.Decision.Actions, func(a plan.Action) bool { return a.Pod == pod }) ||
		slices.ContainsFunc(e.Payload.Decision.Blocked, func(b plan.Blocked) bool { return b.Pod == pod }))
}

// Reasons say which rule decided what, the pods that share a reason together.
// With a pod, they are only about that pod.
func (e *Entry) Reasons(pod string) []string {
	if e.Payload == nil {
		return nil
	}
	type key struct{ rule, message string }
	var order []key
	names := map[key][]string{}
	for _, a := range e.Payload.Decision.Actions {
		if pod != "" && a.Pod != pod {
			continue
		}
		k := key{a.Why.Rule, a.Why.Message}
		if _, seen := names[k]; !seen {
			order = append(order, k)
		}
		if name := a.Object(); !slices.Contains(names[k], name) {
			names[k] = append(names[k], name)
		}
	}
	var lines []string
	for _, k := range order {
		who := list(names[k])
		if who != "" {
			who += ": "
		}
		lines = append(lines, fmt.Sprintf("%s%s (rule %s)", who, k.message, k.rule))
	}
	for _, b := range e.Payload.Decision.Blocked {
		if pod == "" || b.Pod == pod {
			lines = append(lines, fmt.Sprintf("held back by %s: %s", b.By, strings.TrimSpace(HeldPods(b)+" "+b.Message)))
		}
	}
	return lines
}

// HeldPods names the pods that a blocker holds back.
func HeldPods(b plan.Blocked) string {
	switch {
	case b.Pod == "" && b.Count > 0:
		return plan.NumberOf(b.Count, "pod") + ":"
	case b.Pod == "":
		return ""
	case b.Count > 1:
		return fmt.Sprintf("%s and %d more:", b.Pod, b.Count-1)
	}
	return b.Pod + ":"
}

// Written lists what was written and how the API server answered.
func (e *Entry) Written() []string {
	lines := make([]string, 0, len(e.Writes))
	for i := range e.Writes {
		w := &e.Writes[i]
		name := w.Object.Name
		if w.Subresource != "" {
			name += "/" + w.Subresource
		}
		answer := fmt.Sprint(w.Code)
		if w.Code == 0 {
			answer = "no answer"
		}
		if w.Reason != "" {
			answer += " " + w.Reason
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", w.Verb, w.Object.Kind, name, answer)))
	}
	if e.WritesDropped > 0 {
		lines = append(lines, fmt.Sprintf("%d further writes were not recorded one by one", e.WritesDropped))
	}
	return lines
}
