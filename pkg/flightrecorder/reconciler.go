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
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
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
	record   *Record // its writes are guarded by mu until the run has ended
	span     trace.Span

	mu      sync.Mutex
	payload *any
	ended   bool
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
	run.payload = &payload
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
		ID: fmt.Sprintf("%s-%d", t.recorder.instance, t.recorder.runs.Add(1)), Controller: t.controller, Object: t.object,
		ReconcileID: string(controller.ReconcileIDFromContext(ctx)),
		Start:       start, Priority: h.priority, TriggersDropped: h.dropped,
	}
	record.Object.Namespace, record.Object.Name = key.Namespace, key.Name
	record.QueueWait = Duration(waited(h.triggers, start))
	record.tellTriggers(h.triggers)
	run := &run{recorder: t.recorder, record: record}
	if t.recorder.tracing.tracer != nil {
		ctx, run.span = t.recorder.tracing.startRun(ctx, record, t.recorder.findCauses(record))
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

func (r *Record) tellTriggers(taken []queued) {
	r.Triggers = make([]Trigger, len(taken))
	for i := range taken {
		q, t := &taken[i], &r.Triggers[i]
		*t = *q.event.describe()
		t.Time, t.Delay, t.Count, t.Carried = q.at, Duration(q.delay), q.count, q.carried
		t.Early = q.ready().After(r.Start)
		if t.Kind == TriggerRetry || t.Kind == TriggerRequeue {
			t.Attempt = q.attempt
		}
		if o := t.Object; o != nil && o.UID != "" && o.Name == r.Object.Name && o.Namespace == r.Object.Namespace &&
			o.Kind == r.Object.Kind && o.APIVersion == r.Object.APIVersion {
			r.Object.UID = o.UID
		}
	}
}

// findCauses names the reconciles whose writes led to the triggers. It returns links to their spans.
func (r *Recorder) findCauses(record *Record) (links []trace.Link) {
	for i := range record.Triggers {
		t := &record.Triggers[i]
		if t.CausedBy != "" {
			continue
		}
		c, ok := r.writes.causeOf(t)
		if !ok || c.record == record.ID {
			continue
		}
		t.CausedBy = c.record
		if c.span.IsValid() {
			links = append(links, trace.Link{SpanContext: c.span, Attributes: triggerAttributes(t)})
		}
	}
	return links
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
	run.ended = true
	run.mu.Unlock()
	t.recorder.closePayload(run)
	// A watch event may outrun the answer to the write that led to it, so that its cause is known only now.
	endRun(run, t.recorder.findCauses(record))
	t.recorder.keep(record)
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
	t.note(request, toldEvent(next), priorityqueue.AddOpts{After: after}, false)
}

// closePayload marshals and redacts the payload.
func (r *Recorder) closePayload(run *run) {
	if run.payload == nil {
		return
	}
	record := run.record
	defer func() {
		if p := recover(); p != nil { // a MarshalJSON of the operator's
			r.faults.Add(1)
			record.Payload, record.PayloadDropped = nil, "marshalling it panicked"
		}
	}()
	payload := *run.payload
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
