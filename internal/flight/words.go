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
		parts = append(parts, "looked, and nothing was to be done")
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

// Causes says why a reconcile ran, a sentence for each trigger. Triggers that
// were planned for later and came along are last, because they are not the
// cause.
func Causes(record *flightrecorder.Record) []string {
	causes := make([]string, 0, len(record.Triggers))
	var along []string
	for i := range record.Triggers {
		if t := &record.Triggers[i]; t.Early {
			along = append(along, cause(t)+", which came along early")
		} else {
			causes = append(causes, cause(t))
		}
	}
	causes = append(causes, along...)
	if record.TriggersDropped > 0 {
		causes = append(causes, fmt.Sprintf("and %d events more", record.TriggersDropped))
	}
	return causes
}

func cause(t *flightrecorder.Trigger) string {
	text := ""
	switch t.Kind {
	case flightrecorder.TriggerManual:
		text = fmt.Sprintf("%s asked for it", t.User)
	case flightrecorder.TriggerRequeueAfter:
		text = fmt.Sprintf("the run before wanted another look after %s", time.Duration(t.Delay).Round(time.Millisecond))
	case flightrecorder.TriggerRetry, flightrecorder.TriggerRequeue:
		text = fmt.Sprintf("the run before failed, this is try %d", t.Attempt+1)
	case flightrecorder.TriggerStartup:
		text = "the operator started and found " + about(t)
	case flightrecorder.TriggerResync:
		text = "the periodic second look at " + about(t)
	case flightrecorder.TriggerCreate:
		text = about(t) + " was created" + by(t)
	case flightrecorder.TriggerDelete:
		text = about(t) + " is gone"
	case flightrecorder.TriggerUpdate:
		text = about(t) + " changed" + by(t)
	default:
		text = "it was woken without a recorded cause"
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

// by names the writers and the fields that they wrote.
func by(t *flightrecorder.Trigger) string {
	var parts []string
	for _, c := range t.Changes {
		part := ""
		if c.Manager != "" {
			part = " by " + c.Manager
			if c.Inferred {
				part = " probably by " + c.Manager
			}
		}
		if len(c.Fields) > 0 {
			part += ": " + list(c.Fields)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ";")
}
