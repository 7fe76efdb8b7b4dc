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

package flightrecorder

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TriggerKind says what put a request into the queue.
type TriggerKind string

const (
	// TriggerCreate is a watch event for an object that is new in the cluster.
	TriggerCreate TriggerKind = "Create"
	// TriggerUpdate is a watch event for an object that changed.
	TriggerUpdate TriggerKind = "Update"
	// TriggerDelete is a watch event for an object that is gone.
	TriggerDelete TriggerKind = "Delete"
	// TriggerGeneric is an event that did not come from a watch, sent by the operator through a channel source.
	TriggerGeneric TriggerKind = "Generic"
	// TriggerStartup is an object found in the first list after the informer started.
	TriggerStartup TriggerKind = "Startup"
	// TriggerResync is the informer's periodic repeat of an object that did not change.
	TriggerResync TriggerKind = "Resync"
	// TriggerRequeueAfter is the reconciler's own wish, Result.RequeueAfter, of the run before.
	TriggerRequeueAfter TriggerKind = "RequeueAfter"
	// TriggerRequeue is the deprecated Result.Requeue of the run before.
	TriggerRequeue TriggerKind = "Requeue"
	// TriggerRetry is the retry, with back-off, of a run that returned an error or panicked.
	TriggerRetry TriggerKind = "Retry"
	// TriggerManual is a person or a program that asked for a reconcile by hand; see Trigger.User.
	TriggerManual TriggerKind = "Manual"
	// TriggerUnattributed is a request added by code that is not wrapped: the recorder saw the Add and nothing else.
	TriggerUnattributed TriggerKind = "Unattributed"
)

// Outcome is how a reconcile ended.
type Outcome string

const (
	// OutcomeSuccess is a nil error and nothing more to do.
	OutcomeSuccess Outcome = "Success"
	// OutcomeRequeueAfter is a nil error and a wish to run again after Record.RequeueAfter.
	OutcomeRequeueAfter Outcome = "RequeueAfter"
	// OutcomeRequeue is a nil error and the deprecated Result.Requeue.
	OutcomeRequeue Outcome = "Requeue"
	// OutcomeError is an error that will be retried.
	OutcomeError Outcome = "Error"
	// OutcomeTerminalError is a reconcile.TerminalError, which is not retried.
	OutcomeTerminalError Outcome = "TerminalError"
	// OutcomePanic is a panic inside the reconciler.
	OutcomePanic Outcome = "Panic"
)

// Duration is a time.Duration that marshals to JSON as a number of milliseconds, which a
// browser can use as it is. The JSON names of such fields end in Ms.
type Duration time.Duration

// MarshalJSON writes milliseconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(d) / float64(time.Millisecond))
}

// UnmarshalJSON reads milliseconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var ms float64
	if err := json.Unmarshal(b, &ms); err != nil {
		return fmt.Errorf("flightrecorder: duration %q is not a number of milliseconds: %w", b, err)
	}
	*d = Duration(ms * float64(time.Millisecond))
	return nil
}

// String is time.Duration's.
func (d Duration) String() string { return time.Duration(d).String() }

// ObjectRef names an object.
type ObjectRef struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name,omitempty"`
	UID        types.UID `json:"uid,omitempty"`
}

// String is Kind namespace/name.
func (o ObjectRef) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	if o.Kind == "" {
		return name
	}
	return o.Kind + " " + name
}

// Record is one reconcile: why it ran, what it did, how it ended. A Record is never changed after
// it was handed out; treat it, and everything it points at, as read-only.
type Record struct {
	// ID is unique across restarts of the operator.
	ID string `json:"id"`
	// Seq counts the records of this process, in the order in which the reconciles ended.
	Seq uint64 `json:"seq"`
	// Controller is the name of the controller, as given to NewTap.
	Controller string `json:"controller"`
	// Object is the object that was reconciled. Its UID is set where a trigger told it.
	Object ObjectRef `json:"object"`
	// ReconcileID is controller-runtime's own ID, which is in every log line of this reconcile.
	ReconcileID string `json:"reconcileID,omitempty"`

	// Triggers are all the reasons that the queue merged into this run, oldest first.
	Triggers []Trigger `json:"triggers"`
	// TriggersDropped counts triggers past the limit that fitted none of the kept ones.
	TriggersDropped int `json:"triggersDropped,omitempty"`

	// Priority is the priority the queue gave the request.
	Priority int `json:"priority,omitempty"`
	// QueueWait is the time from when the request could have run to when it did.
	QueueWait Duration `json:"queueWaitMs"`
	// Start is when the reconciler was called.
	Start time.Time `json:"start"`
	// Duration is how long it ran.
	Duration Duration `json:"durationMs"`

	Outcome Outcome `json:"outcome"`
	// RequeueAfter is set with OutcomeRequeueAfter.
	RequeueAfter Duration `json:"requeueAfterMs,omitempty"`
	// Error is the redacted message of the returned error.
	Error string `json:"error,omitempty"`
	// Failures is how often in a row this request has failed, this run included.
	Failures int `json:"failures,omitempty"`

	// Writes are the API writes made with the reconcile's context, in the order in which they ended.
	Writes []Write `json:"writes,omitempty"`
	// WritesDropped counts writes past Config.MaxWrites.
	WritesDropped int `json:"writesDropped,omitempty"`

	// Payload is what the operator gave to SetPayload, as redacted JSON.
	Payload json.RawMessage `json:"payload,omitempty"`
	// PayloadDropped says why there is no payload although one was set.
	PayloadDropped string `json:"payloadDropped,omitempty"`

	// TraceID and SpanID name the OpenTelemetry span of this reconcile, where it was traced.
	TraceID string `json:"traceID,omitempty"`
	SpanID  string `json:"spanID,omitempty"`
}

// Trigger is one reason for a reconcile.
type Trigger struct {
	Kind TriggerKind `json:"kind"`
	// Time is when the request was added to the queue.
	Time time.Time `json:"time"`
	// Object is the object of the event: not always the one that is reconciled.
	Object *ObjectRef `json:"object,omitempty"`
	// ResourceVersion is the object's, after the change.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Changes are the fields that changed, grouped by who wrote them.
	Changes []Change `json:"changes,omitempty"`
	// MoreFields counts changed fields past the limit.
	MoreFields int `json:"moreFields,omitempty"`

	// Delay is how long the request was to wait: RequeueAfter, or the back-off of a Retry.
	Delay Duration `json:"delayMs,omitempty"`
	// Early says that another trigger made the run happen before Delay had passed.
	Early bool `json:"early,omitempty"`
	// Attempt counts the retries in a row.
	Attempt int `json:"attempt,omitempty"`

	// User and Reason come with TriggerManual.
	User   string `json:"user,omitempty"`
	Reason string `json:"reason,omitempty"`

	// Count is set where more events than this one were folded into it.
	Count int `json:"count,omitempty"`
	// CausedBy is the ID of the Record whose write led to this event.
	CausedBy string `json:"causedBy,omitempty"`
	// Carried says that the run before this one was recorded with this trigger too: it arrived
	// while that run was being handed out, and the queue ran the request once more for it.
	Carried bool `json:"carried,omitempty"`
	// Trimmed says that the details were left out because too many requests were waiting.
	Trimmed bool `json:"trimmed,omitempty"`
	// TraceParent is the W3C trace context found in the object's annotation.
	TraceParent string `json:"traceparent,omitempty"`
}

// Change is what one field manager wrote.
type Change struct {
	// Manager is the field manager; empty if unknown.
	Manager string `json:"manager,omitempty"`
	// Operation is Update or Apply.
	Operation string `json:"operation,omitempty"`
	// Subresource is the subresource it was written through.
	Subresource string `json:"subresource,omitempty"`
	// Fields are paths such as spec.replicas or status.conditions[Ready].status. Never values.
	// Empty for an object that is new.
	Fields []string `json:"fields,omitempty"`
	// Inferred says that the object does not prove who wrote this: the manager named here owns the
	// fields and was the last to write, but its entry did not change (two writes within one second).
	Inferred bool `json:"inferred,omitempty"`
}

// Write is one request to the API server that was meant to change something.
type Write struct {
	// Verb is create, update, patch, apply, delete or deletecollection.
	Verb string `json:"verb"`
	// Object is what was written; for a deletecollection, without a name.
	Object      ObjectRef `json:"object"`
	Subresource string    `json:"subresource,omitempty"`
	// Code is the HTTP status; 0 where no answer came. Without the transport wrapper it is told
	// from the error.
	Code int `json:"code"`
	// Reason is the API server's machine-readable reason of a failure. Never its message.
	Reason string `json:"reason,omitempty"`
	// Start is when the request was sent.
	Start   time.Time `json:"start"`
	Latency Duration  `json:"latencyMs"`
	// ResourceVersion is what the object has after the write.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// DryRun says that nothing was to be stored.
	DryRun bool `json:"dryRun,omitempty"`
}

// The size of a record in memory is a flat estimate, a little too high: so much for each of its parts.
// TestTheDefaultBudgetHoldsOnTheHeap compares it with the heap.
const (
	recordBytes  = 768 // with its place in the store's lists
	objectBytes  = 384 // an object's list and its place in the map
	triggerBytes = 448
	changeBytes  = 64
	fieldBytes   = 64
	writeBytes   = 384
)

func (r *Record) bytes() int {
	n := recordBytes + len(r.Payload) + len(r.PayloadDropped) + len(r.Error) + len(r.Writes)*writeBytes
	for i := range r.Triggers {
		n += r.Triggers[i].bytes()
	}
	return n
}

func (t *Trigger) bytes() int {
	n := triggerBytes + len(t.Changes)*changeBytes
	for i := range t.Changes {
		n += len(t.Changes[i].Fields) * fieldBytes
	}
	return n
}
