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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Reconciler wraps the reconciler. The context that it passes on carries the run: writes made with it
// through a client from Recorder.Client are part of the record, and SetPayload finds it.
func (t *TypedTap[R]) Reconciler(inner reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	return &reconciler[R]{tap: t, inner: inner}
}

type reconciler[R comparable] struct {
	tap   *TypedTap[R]
	inner reconcile.TypedReconciler[R]
}

func (r *reconciler[R]) Reconcile(ctx context.Context, request R) (result reconcile.Result, err error) {
	ctx, run := r.tap.begin(ctx, request)
	returned := false
	defer func() {
		// A panic passes through untouched: who recovers it, and the stack it shows, are
		// controller-runtime's affair.
		if !returned {
			r.tap.end(run, request, reconcile.Result{}, errPanicked)
		}
	}()
	result, err = r.inner.Reconcile(ctx, request)
	returned = true
	r.tap.end(run, request, result, err)
	return result, err
}

var errPanicked = errors.New("the reconciler panicked")

// run is a reconcile under way.
type run struct {
	recorder *Recorder
	record   *Record // its triggers and writes are guarded by mu until the run has ended
	taken    []queued
	span     trace.Span

	// versionsBefore and versions count the entries of the table of writes: all when the run began, and
	// those that it made itself.
	versionsBefore uint64
	versions       atomic.Uint64

	mu         sync.Mutex
	payload    any
	hasPayload bool
	ended      bool
}

type runKey struct{}

func runFrom(ctx context.Context) *run {
	run, _ := ctx.Value(runKey{}).(*run)
	return run
}

// SetPayload attaches a value of the operator's own to the record of the reconcile that ctx belongs
// to: what it saw, what it decided, why. The last call wins. The value is marshalled to JSON when the
// reconcile ends, and redacted: the values of Secrets and of environment variables do not get into the
// record. A json.RawMessage is taken as it is. Outside of a reconcile, SetPayload does nothing, so that
// code that calls it needs no recorder to be tested.
func SetPayload(ctx context.Context, payload any) {
	run := runFrom(ctx)
	if run == nil {
		return
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.payload, run.hasPayload = payload, true
}

// Triggers returns why the reconcile that ctx belongs to is running; nil outside of one.
func Triggers(ctx context.Context) []Trigger {
	run := runFrom(ctx)
	if run == nil {
		return nil
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.tellTriggers()
	return slices.Clone(run.record.Triggers)
}

// RecordID returns the ID that the record of this reconcile will have; "" outside of one.
func RecordID(ctx context.Context) string {
	if run := runFrom(ctx); run != nil {
		return run.record.ID
	}
	return ""
}

// begin opens the record of a run.
func (t *TypedTap[R]) begin(ctx context.Context, request R) (context.Context, *run) {
	t.mu.Lock()
	h := t.running[request]
	fromQueue := h != nil && !h.begun
	if fromQueue {
		h.begun = true
	}
	t.mu.Unlock()
	if !fromQueue { // without Options, or called by something other than the controller
		h = t.handOut(request, 0)
		h.begun = true
	}

	key := t.keyOf(request)
	start := t.recorder.config.Now()
	record := &Record{
		ID: t.recorder.nextID(), Controller: t.controller, Object: t.object,
		ReconcileID: string(controller.ReconcileIDFromContext(ctx)),
		Start:       start, Priority: h.priority, TriggersDropped: h.dropped,
	}
	record.Object.Namespace, record.Object.Name = key.Namespace, key.Name
	record.QueueWait = Duration(waited(h.triggers, start))
	run := &run{recorder: t.recorder, record: record, taken: h.triggers, versionsBefore: t.recorder.writes.noted.Load()}
	if t.recorder.tracing.tracer != nil {
		ctx = run.startSpan(ctx)
	}
	return context.WithValue(ctx, runKey{}, run), run
}

// waited is how long the first of the triggers had to wait.
func waited(taken []queued, start time.Time) time.Duration {
	ready := start
	for i := range taken {
		if q := &taken[i]; q.ready().Before(ready) && !q.carried {
			ready = q.ready()
		}
	}
	return start.Sub(ready)
}

// startSpan needs the triggers at once, for the links; else they are computed when the run has ended.
func (run *run) startSpan(ctx context.Context) context.Context {
	run.tellTriggers()
	causes := run.recorder.findCauses(run.record)
	ctx, run.span = run.recorder.tracing.startRun(ctx, run, causes)
	if sc := run.span.SpanContext(); sc.IsValid() {
		run.record.TraceID, run.record.SpanID = sc.TraceID().String(), sc.SpanID().String()
	}
	return ctx
}

// tellTriggers fills in the record's triggers. After begin it is called with the lock held.
func (run *run) tellTriggers() {
	r := run.record
	if r.Triggers != nil {
		return
	}
	r.Triggers = make([]Trigger, len(run.taken))
	for i := range run.taken {
		q := &run.taken[i]
		t := &r.Triggers[i]
		*t = *q.event.describe()
		t.Time, t.Delay, t.Count, t.Carried = q.at, Duration(q.delay), q.count, q.carried
		t.Early = q.ready().After(r.Start)
		if q.attempt > 0 && (t.Kind == TriggerRetry || t.Kind == TriggerRequeue) {
			t.Attempt = q.attempt
		}
		if o := t.Object; o != nil && o.UID != "" && o.Name == r.Object.Name && o.Namespace == r.Object.Namespace &&
			o.Kind == r.Object.Kind && o.APIVersion == r.Object.APIVersion {
			r.Object.UID = o.UID
		}
	}
}

// findCauses links triggers to the reconciles whose writes led to them.
// It returns their spans, one per trigger, where there are spans at all.
func (r *Recorder) findCauses(record *Record) []trace.SpanContext {
	var spans []trace.SpanContext
	if r.tracing.tracer != nil {
		spans = make([]trace.SpanContext, len(record.Triggers))
	}
	for i := range record.Triggers {
		t := &record.Triggers[i]
		if t.CausedBy != "" {
			continue
		}
		if c, ok := r.writes.causeOf(t); ok && c.record != record.ID {
			t.CausedBy = c.record
			if spans != nil {
				spans[i] = c.span
			}
		}
	}
	return spans
}

// end closes the record and keeps it.
func (t *TypedTap[R]) end(run *run, request R, result reconcile.Result, err error) {
	record := run.record
	record.Duration = Duration(t.recorder.config.Now().Sub(record.Start))
	next := record.close(result, err)
	if err != nil {
		record.Error = redactMessage(err.Error())
		if t.recorder.config.RedactError != nil {
			record.Error = t.recorder.config.RedactError(record.Error)
		}
	}
	q := t.queue.Load()
	if q != nil && err != nil {
		record.Failures = q.NumRequeues(request) + 1
	}
	t.want(request, next, result.RequeueAfter, q != nil)

	run.mu.Lock()
	run.tellTriggers()
	run.ended = true
	run.mu.Unlock()
	t.recorder.closePayload(run)
	t.recorder.tracing.endRun(run, t.recorder.lateCauses(run))
	t.recorder.keep(record)
}

// lateCauses looks for what led to the triggers. It does so at the end, because a watch event may outrun the
// answer to the write that led to it. Where it was done for the span at the beginning, it is done once more
// only if other runs have written meanwhile.
func (r *Recorder) lateCauses(run *run) []trace.Link {
	if run.span != nil && r.writes.noted.Load()-run.versionsBefore == run.versions.Load() {
		return nil
	}
	var late []trace.Link
	for i, sc := range r.findCauses(run.record) {
		if sc.IsValid() {
			late = append(late, trace.Link{SpanContext: sc, Attributes: triggerAttributes(&run.record.Triggers[i])})
		}
	}
	return late
}

// close names the outcome, and the trigger that the controller will make of it.
func (r *Record) close(result reconcile.Result, err error) (next *Trigger) {
	switch {
	case errors.Is(err, errPanicked):
		r.Outcome = OutcomePanic
		return &Trigger{Kind: TriggerRetry}
	case err != nil && errors.Is(err, reconcile.TerminalError(nil)):
		r.Outcome = OutcomeTerminalError
		return nil
	case err != nil:
		r.Outcome = OutcomeError
		return &Trigger{Kind: TriggerRetry}
	case result.RequeueAfter > 0:
		r.Outcome, r.RequeueAfter = OutcomeRequeueAfter, Duration(result.RequeueAfter)
		return &Trigger{Kind: TriggerRequeueAfter}
	case result.Requeue: //nolint:staticcheck // deprecated, but operators still return it
		r.Outcome = OutcomeRequeue
		return &Trigger{Kind: TriggerRequeue}
	}
	r.Outcome = OutcomeSuccess
	return nil
}

// want announces the trigger that this run leads to. With the Tap's queue it is written down when the
// controller adds it; without, it is written down now.
func (t *TypedTap[R]) want(request R, next *Trigger, after time.Duration, haveQueue bool) {
	if haveQueue {
		t.mu.Lock()
		defer t.mu.Unlock()
		if h := t.running[request]; h != nil {
			h.next = next
		}
		return
	}
	t.done(request)
	if next == nil {
		return
	}
	if next.Kind != TriggerRequeueAfter {
		after = 0
	}
	t.add(request, toldEvent(next), after, false, false)
}

// closePayload marshals and redacts the payload.
func (r *Recorder) closePayload(run *run) {
	if !run.hasPayload {
		return
	}
	record := run.record
	defer func() {
		if p := recover(); p != nil { // a MarshalJSON of the operator's
			r.faults.Add(1)
			record.Payload, record.PayloadDropped = nil, "marshalling it panicked"
		}
	}()
	payload := run.payload
	run.payload = nil
	if raw, ok := payload.([]byte); ok {
		payload = json.RawMessage(raw)
	}
	raw, err := json.Marshal(payload)
	switch {
	case err != nil:
		// The error may quote the value, so only its type is recorded.
		record.PayloadDropped = fmt.Sprintf("%T cannot be marshalled: %T", payload, err)
	case len(raw) > r.config.MaxPayloadBytes:
		record.PayloadDropped = fmt.Sprintf("%d bytes are more than the limit of %d", len(raw), r.config.MaxPayloadBytes)
	default:
		record.Payload = r.redactor.json(raw)
	}
}
