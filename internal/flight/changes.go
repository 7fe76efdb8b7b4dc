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
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// quiet ends a change: the fleet is at its goal, and nothing came for so long.
const quiet = time.Second

// Change is a change of what a fleet is asked to be, with all that it led to
// until the fleet was at its goal.
type Change struct {
	Time       time.Time `json:"time"`
	Generation int64     `json:"generation"`
	// Fields are what changed. None means that the object was new.
	Fields []FieldChange `json:"fields,omitempty"`
	// By are the field managers that wrote it, as far as the object proves it.
	By []string `json:"by,omitempty"`
	// Events are the watch events that came in, by what they were.
	Events map[string]int `json:"events"`
	// Others are runs that no event led to: a second look, a retry.
	Others     int `json:"others,omitempty"`
	Reconciles int `json:"reconciles"`
	Writes     int `json:"writes"`
	// Settled: the fleet came to its goal, so that the numbers are whole.
	Settled bool `json:"settled"`
	// Took is from the change to the end of the last reconcile that counts.
	Took flightrecorder.Duration `json:"tookMs"`
}

// FieldChange is a field of the desired state with its old and new value.
type FieldChange struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

// String is the change as people say it.
func (f FieldChange) String() string { return fmt.Sprintf("%s %s -> %s", f.Name, f.From, f.To) }

// Count is the number of events.
func (c *Change) Count() int {
	n := 0
	for _, count := range c.Events {
		n += count
	}
	return n
}

// Matches reports whether the change is what FIELD, FIELD=FROM:TO, FIELD=:TO or
// FIELD=FROM: asks for.
func (c *Change) Matches(want string) bool {
	name, values, valued := strings.Cut(want, "=")
	from, to, _ := strings.Cut(values, ":")
	return slices.ContainsFunc(c.Fields, func(f FieldChange) bool {
		if f.Name != name && !strings.HasSuffix(f.Name, "."+name) {
			return false
		}
		return !valued || (from == "" || from == f.From) && (to == "" || to == f.To)
	})
}

// Changes finds the changes in the records of one object, oldest first. The
// records come newest first, as the recorder hands them out.
func Changes(entries []Entry) []Change {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	var changes []Change
	var last *Entry // with a payload
	open := false
	var end time.Time
	for i := range entries {
		e := &entries[i]
		if fields, isNew := begins(last, e); isNew {
			changes = append(changes, Change{Time: e.Start, Generation: e.Payload.Desired.Generation, Fields: fields, Events: map[string]int{}})
			open = true
		}
		if e.Payload != nil {
			last = e
		}
		if !open {
			continue
		}
		c := &changes[len(changes)-1]
		if c.Settled && e.Start.Sub(end) > quiet {
			open = false
			continue
		}
		c.count(e)
		end = e.Start.Add(time.Duration(e.Duration))
		c.Took = flightrecorder.Duration(end.Sub(c.Time))
	}
	return changes
}

// begins reports whether a reconcile is the first that works on a new desired
// state, and what is new in it.
func begins(last, e *Entry) (fields []FieldChange, isNew bool) {
	if e.Payload == nil {
		return nil, false
	}
	if last == nil {
		// What was before the oldest record is unknown, unless the object did
		// not exist.
		created := slices.ContainsFunc(e.Triggers, func(t flightrecorder.Trigger) bool {
			return t.Kind == flightrecorder.TriggerCreate && t.Object != nil && t.Object.Kind == e.Object.Kind && t.Object.Name == e.Object.Name
		})
		return nil, created
	}
	fields = compare(last, e)
	return fields, len(fields) > 0
}

// compare lists the fields in which two desired states differ, and the
// revision that the fleet is to move to.
func compare(a, b *Entry) []FieldChange {
	before, after := flat(a), flat(b)
	var fields []FieldChange
	for name, to := range after {
		from, was := before[name]
		if !was {
			from = unset
		}
		if from != to {
			fields = append(fields, FieldChange{Name: name, From: from, To: to})
		}
		delete(before, name)
	}
	for name, from := range before {
		fields = append(fields, FieldChange{Name: name, From: from, To: unset})
	}
	if slices.ContainsFunc(fields, func(f FieldChange) bool { return f.Name == "replicas" }) {
		fields = slices.DeleteFunc(fields, func(f FieldChange) bool { return slices.Contains(percentages, f.Name) })
	}
	slices.SortFunc(fields, func(a, b FieldChange) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// unset is the value of a field that is not there.
const unset = "unset"

// ours are fields of the desired state that the user does not set.
var ours = []string{"generation", "finalizer", "uid"}

// percentages are pods in the desired state, so that they follow replicas.
var percentages = []string{"update.maxUnavailable", "update.maxSurge", "update.partition"}

// flat is the desired state as paths and values.
func flat(e *Entry) map[string]string {
	values := map[string]string{}
	raw, err := json.Marshal(e.Payload.Desired)
	var tree map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &tree)
	}
	if err != nil {
		return values
	}
	flatten("", tree, values)
	for _, name := range ours {
		delete(values, name)
	}
	if revision := e.Payload.Decision.UpdateRevision; revision != "" {
		values["revision"] = revision
	}
	return values
}

func flatten(prefix string, tree map[string]any, into map[string]string) {
	for key, value := range tree {
		if sub, ok := value.(map[string]any); ok {
			flatten(prefix+key+".", sub, into)
			continue
		}
		into[prefix+key] = fmt.Sprint(value)
	}
}

// count adds a reconcile.
func (c *Change) count(e *Entry) {
	c.Reconciles++
	c.Writes += len(e.Writes) + e.WritesDropped
	for i := range e.Triggers {
		t := &e.Triggers[i]
		if t.Carried {
			continue // the run before has it too
		}
		words := map[flightrecorder.TriggerKind]string{
			flightrecorder.TriggerCreate: "added", flightrecorder.TriggerUpdate: "modified", flightrecorder.TriggerDelete: "deleted",
		}
		word, isEvent := words[t.Kind]
		if !isEvent || t.Object == nil {
			c.Others += max(1, t.Count)
			continue
		}
		c.Events[t.Object.Kind+" "+word] += max(1, t.Count)
		if t.Object.Kind == e.Object.Kind && t.Object.Name == e.Object.Name && c.Reconciles == 1 {
			c.writtenBy(t)
		}
	}
	if e.TriggersDropped > 0 {
		c.Events["not told apart"] += e.TriggersDropped
	}
	if e.Payload == nil {
		return
	}
	d := &e.Payload.Decision
	c.Settled = len(d.Actions)+len(e.Payload.Undone) == 0 && d.Counts.Available == e.Payload.Desired.Replicas &&
		d.Counts.Live == e.Payload.Desired.Replicas && d.Counts.Terminating+d.Counts.Stale+d.Counts.Following == 0
}

// writtenBy notes who wrote the object, and when.
func (c *Change) writtenBy(t *flightrecorder.Trigger) {
	if t.Time.Before(c.Time) {
		c.Time = t.Time
	}
	for _, change := range t.Changes {
		if change.Manager != "" && !change.Inferred && change.Subresource != "status" && !slices.Contains(c.By, change.Manager) {
			c.By = append(c.By, change.Manager)
		}
	}
}
