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
	"time"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// maxNames is how many pods a sentence names.
const maxNames = 3

// Summary says in a sentence what a reconcile did.
func Summary(record *flightrecorder.Record, f *Flight) string {
	var parts []string
	if f != nil {
		parts = f.actionsText()
		if len(parts) == 0 && len(f.Decision.Blocked) > 0 {
			b := f.Decision.Blocked[0]
			parts = append(parts, fmt.Sprintf("held back by %s: %s", b.By, strings.TrimSuffix(b.Message, ".")))
		}
		if n := len(f.Undone); n > 0 {
			parts = append(parts, fmt.Sprintf("%d not done (%s)", n, why(f.Undone[0])))
		}
	}
	if record.Error != "" {
		parts = append(parts, "failed: "+record.Error)
	}
	switch {
	case len(parts) > 0:
	case f == nil && record.Outcome == flightrecorder.OutcomeRequeueAfter:
		parts = append(parts, "waited for the cache to catch up")
	case f == nil:
		parts = append(parts, "found nothing to decide")
	case len(record.Writes) > 0:
		parts = append(parts, "brought the status up to date")
	default:
		parts = append(parts, "no action needed")
	}
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func why(u Undone) string {
	if u.Cause != "" {
		return u.Cause
	}
	return string(u.Result)
}

// actionsText describes the actions, those of the same verb and reason together.
func (f *Flight) actionsText() []string {
	type key struct {
		verb   plan.Verb
		reason string
	}
	var order []key
	names := map[key][]string{}
	for _, a := range f.Decision.Actions {
		if slices.ContainsFunc(f.Undone, func(u Undone) bool { return u.Verb == a.Verb && u.Pod == a.Pod }) {
			continue
		}
		k := key{a.Verb, a.Why.Reason}
		if _, seen := names[k]; !seen {
			order = append(order, k)
		}
		names[k] = append(names[k], a.Object())
	}
	var parts []string
	for _, k := range order {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s", k.verb.Facts().Past, list(names[k])))+fmt.Sprintf(" [%s]", k.reason))
	}
	return parts
}

func list(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}

// Causes says why a reconcile ran, a sentence for each trigger. What a person or another
// program wants comes first, then what became of pods, then what only the passing of
// time led to.
func Causes(record *flightrecorder.Record) []string {
	triggers := slices.Clone(record.Triggers)
	slices.SortStableFunc(triggers, func(a, b flightrecorder.Trigger) int { return rank(record, &a) - rank(record, &b) })
	causes := make([]string, 0, len(triggers))
	for i := range triggers {
		causes = append(causes, cause(&triggers[i]))
	}
	switch n := record.TriggersDropped; {
	case n == 1:
		causes = append(causes, "1 further event came in")
	case n > 1:
		causes = append(causes, fmt.Sprintf("%d further events came in", n))
	}
	return causes
}

// What triggers say about why a reconcile ran, the most first.
const (
	asked = iota
	ownerChanged
	podCameOrWent
	objectChanged
	statusChanged
	anotherLook // or a retry
	plannedForLater
)

func rank(record *flightrecorder.Record, t *flightrecorder.Trigger) int {
	owner := t.Object != nil && t.Object.Kind == record.Object.Kind && t.Object.Name == record.Object.Name
	switch {
	case t.Early:
		return plannedForLater
	case t.Kind == flightrecorder.TriggerManual:
		return asked
	case t.Object == nil:
		return anotherLook
	case onlyStatus(t):
		return statusChanged
	case owner:
		return ownerChanged
	case t.Kind == flightrecorder.TriggerDelete || t.Kind == flightrecorder.TriggerCreate:
		return podCameOrWent
	}
	return objectChanged
}

// onlyStatus: all fields that changed are ones that a controller or a kubelet reports.
func onlyStatus(t *flightrecorder.Trigger) bool {
	other := func(c flightrecorder.Change) bool { return !ofStatus(c) }
	return t.Kind == flightrecorder.TriggerUpdate && len(t.Changes) > 0 && !slices.ContainsFunc(t.Changes, other)
}

func ofStatus(c flightrecorder.Change) bool {
	other := func(field string) bool { return field != "status" && !strings.HasPrefix(field, "status.") }
	return c.Subresource == "status" || len(c.Fields) > 0 && !slices.ContainsFunc(c.Fields, other)
}

func cause(t *flightrecorder.Trigger) string {
	text := ""
	switch t.Kind {
	case flightrecorder.TriggerManual:
		text = fmt.Sprintf("%s asked for it", t.User)
	case flightrecorder.TriggerRequeueAfter:
		text = fmt.Sprintf("the previous reconcile asked to be requeued after %s", time.Duration(t.Delay).Round(time.Millisecond))
	case flightrecorder.TriggerRetry, flightrecorder.TriggerRequeue:
		text = fmt.Sprintf("the previous reconcile failed, this is try %d", t.Attempt+1)
	case flightrecorder.TriggerStartup:
		text = "the operator started and found " + about(t)
	case flightrecorder.TriggerResync:
		text = "the periodic resync of " + about(t) + " was due"
	case flightrecorder.TriggerCreate:
		text = about(t) + " was created" + written(t, "by")
	case flightrecorder.TriggerDelete:
		text = about(t) + " is gone"
	case flightrecorder.TriggerUpdate:
		text = about(t) + " changed" + written(t, "by")
		if onlyStatus(t) {
			text = about(t) + " has a new status" + written(t, "from")
		}
	default:
		text = "no cause was recorded"
	}
	if t.Early {
		return "this reconcile took the place of one that was planned for later"
	}
	if t.Count > 1 {
		text += fmt.Sprintf(" (%d events)", t.Count)
	}
	return text
}

func about(t *flightrecorder.Trigger) string {
	if t.Object == nil {
		return "an object"
	}
	return t.Object.Kind + " " + t.Object.Name
}

// written names the writers that are certain, by or from whom it is, and the fields.
func written(t *flightrecorder.Trigger, by string) string {
	var parts []string
	for _, c := range t.Changes {
		part := ""
		if c.Manager != "" && !c.Inferred {
			part = " " + by + " " + c.Manager
		}
		if len(c.Fields) > 0 {
			part += ": " + listFields(c.Fields)
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ";")
}

func listFields(fields []string) string {
	more := len(fields) - maxNames
	switch {
	case more <= 0:
		return strings.Join(fields, ", ")
	case more == 1:
		return strings.Join(fields[:maxNames], ", ") + " and 1 more field"
	}
	return fmt.Sprintf("%s and %d more fields", strings.Join(fields[:maxNames], ", "), more)
}

// FirstCause is the first of several causes, with how many others there are.
func FirstCause(causes []string) string {
	switch n := len(causes); n {
	case 0:
		return ""
	case 1:
		return causes[0]
	case 2:
		return causes[0] + " (and another cause)"
	default:
		return fmt.Sprintf("%s (and %d other causes)", causes[0], n-1)
	}
}
