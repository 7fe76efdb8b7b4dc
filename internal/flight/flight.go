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

// Package flight is what the recorder keeps of a fleet's reconcile: what was
// asked for, what was seen, what was decided and what became of it. Plan is
// pure, so a Flight is enough to decide again, at a desk and days later.
//
// Neither Desired nor Observed holds a template: environment, arguments and
// annotations of pods are not in a Flight because they are not in its types.
package flight

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// MaxPods is the largest fleet whose pods are kept in each of its records. A
// record of a larger fleet says what was decided, and cannot be decided again.
const MaxPods = 200

// Flight is the recorder's payload.
type Flight struct {
	Now     time.Time    `json:"now"`
	Desired plan.Desired `json:"desired"`
	// Observed is nil where the fleet has more than MaxPods pods.
	Observed *plan.Observed `json:"observed,omitempty"`
	Decision plan.Decision  `json:"decision"`
	// Undone are the actions that were not carried out.
	Undone []Undone `json:"undone,omitempty"`
}

// Undone is an action that failed, was refused or was skipped.
type Undone struct {
	Verb    plan.Verb   `json:"verb"`
	Pod     string      `json:"pod,omitempty"`
	Result  plan.Result `json:"result"`
	Cause   string      `json:"cause,omitempty"`
	Message string      `json:"message,omitempty"`
}

// New puts a flight together.
func New(desired plan.Desired, observed plan.Observed, decision plan.Decision, outcomes []plan.Outcome, now time.Time) Flight {
	f := Flight{Now: now, Desired: desired, Decision: decision}
	if len(observed.Pods) <= MaxPods {
		f.Observed = &observed
	} else {
		f.Decision.Live = nil
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.Result != plan.Done {
			f.Undone = append(f.Undone, Undone{Verb: o.Action.Verb, Pod: o.Action.Pod, Result: o.Result, Cause: o.Cause, Message: o.Message})
		}
	}
	return f
}

// Of reads the flight of a record. It is nil where the record has none: the
// reconcile ended before anything was decided.
func Of(record *flightrecorder.Record) (*Flight, error) {
	if len(record.Payload) == 0 {
		return nil, nil
	}
	f := &Flight{}
	if err := json.Unmarshal(record.Payload, f); err != nil {
		return nil, fmt.Errorf("read the payload of record %s: %w", record.ID, err)
	}
	// No operator wrote this, and the planner is not made for it.
	if d := &f.Desired; min(d.Replicas, d.Update.MaxSurge, d.Update.MaxUnavailable, d.Update.Partition, d.RevisionHistoryLimit, d.FailedPods.Limit) < 0 {
		return nil, fmt.Errorf("read the payload of record %s: it asks for a negative number", record.ID)
	}
	return f, nil
}

// Again decides once more from what was seen then. It is false where the
// flight does not hold what was seen.
func (f *Flight) Again() (plan.Decision, bool) {
	if f.Observed == nil {
		return plan.Decision{}, false
	}
	return plan.Plan(f.Desired, *f.Observed, f.Now), true
}
