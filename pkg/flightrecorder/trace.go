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
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TraceparentAnnotation is the annotation in which KEP-5915, "Standardizing Async Trace Context
// Propagation", stores the W3C trace context of the request that last changed an object's spec.
const TraceparentAnnotation = "tracing.k8s.io/traceparent"

const traceparentLength = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

const tracerName = "github.com/mycompany/pod-operator/pkg/flightrecorder"

// tracing makes a span of each reconcile. As the KEP asks, the span is the root of a new trace, with
// links to what triggered it: the work is asynchronous, and it may have many triggers, so no single
// one is its parent.
type tracing struct {
	tracer     trace.Tracer // nil: off
	annotation string
}

func newTracing(config Config) *tracing {
	t := &tracing{annotation: config.TraceparentAnnotation}
	if config.TracerProvider != nil {
		t.tracer = config.TracerProvider.Tracer(tracerName)
	}
	return t
}

// traceparent returns the object's trace context, and nothing that is not one: an annotation is
// free text, and may hold anything.
func (t *tracing) traceparent(obj metav1.Object) string {
	value := obj.GetAnnotations()[t.annotation]
	if value == "" || !parseTraceparent(value).IsValid() {
		return ""
	}
	return value
}

func parseTraceparent(value string) trace.SpanContext {
	// The specification lets later versions append anything; nothing but the context is of use.
	if len(value) != traceparentLength {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": value})
	return trace.SpanContextFromContext(ctx)
}

// InjectTraceparent stamps an object with the trace context of ctx, so that the controller that
// reconciles the object can link to it. Call it before a create or a change of spec; not before a status
// update, which is no new decision. Without a span in ctx it does nothing.
func (r *Recorder) InjectTraceparent(ctx context.Context, obj metav1.Object) {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	value := carrier.Get("traceparent")
	if value == "" {
		return
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[r.tracing.annotation] = value
	obj.SetAnnotations(annotations)
}

// startRun opens the span of a reconcile.
func (t *tracing) startRun(ctx context.Context, run *run, causes []trace.SpanContext) (context.Context, trace.Span) {
	record := run.record
	var links []trace.Link
	for i := range record.Triggers {
		trigger := &record.Triggers[i]
		attributes := triggerAttributes(trigger)
		if sc := parseTraceparent(trigger.TraceParent); sc.IsValid() {
			links = append(links, trace.Link{SpanContext: sc, Attributes: attributes})
		}
		if causes[i].IsValid() {
			links = append(links, trace.Link{SpanContext: causes[i], Attributes: attributes})
		}
	}
	return t.tracer.Start(ctx, "reconcile "+record.Controller,
		trace.WithNewRoot(), trace.WithTimestamp(record.Start), trace.WithLinks(links...),
		trace.WithAttributes(
			attribute.String("controller", record.Controller),
			attribute.String("k8s.object.kind", record.Object.Kind),
			attribute.String("k8s.namespace.name", record.Object.Namespace),
			attribute.String("k8s.object.name", record.Object.Name),
			attribute.String("reconcile.record", record.ID),
			attribute.String("reconcile.id", record.ReconcileID),
			attribute.Int("reconcile.triggers", len(record.Triggers)),
		))
}

func triggerAttributes(t *Trigger) []attribute.KeyValue {
	attributes := []attribute.KeyValue{attribute.String("trigger.kind", string(t.Kind))}
	if t.Object != nil {
		attributes = append(attributes, attribute.String("trigger.object", t.Object.String()))
	}
	return attributes
}

// endRun closes the span. A cause that was found only now (the watch event outran the answer to the
// write that led to it) is linked before that.
func (t *tracing) endRun(run *run, late []trace.Link) {
	span := run.span
	if span == nil {
		return
	}
	for _, link := range late {
		span.AddLink(link)
	}
	record := run.record
	span.SetAttributes(
		attribute.String("reconcile.outcome", string(record.Outcome)),
		attribute.Float64("reconcile.queue_wait_ms", float64(record.QueueWait)/1e6),
		attribute.Int("reconcile.writes", len(record.Writes)+record.WritesDropped),
	)
	switch record.Outcome {
	case OutcomeError, OutcomeTerminalError, OutcomePanic:
		span.SetStatus(codes.Error, record.Error)
	}
	span.End()
}

// startWrite opens the span of one API write.
func (t *tracing) startWrite(ctx context.Context, verb string, object ObjectRef, subresource string) (context.Context, trace.Span) {
	if t.tracer == nil {
		return ctx, nil
	}
	name := verb + " " + object.Kind
	if subresource != "" {
		name += "/" + subresource
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("k8s.object.kind", object.Kind),
		attribute.String("k8s.namespace.name", object.Namespace),
		attribute.String("k8s.object.name", object.Name),
	))
}

func endWrite(span trace.Span, w *Write) {
	if span == nil {
		return
	}
	span.SetAttributes(attribute.Int("http.response.status_code", w.Code))
	if w.Reason != "" {
		span.SetStatus(codes.Error, w.Reason)
	}
	span.End()
}

// writeTable remembers which reconcile made which version of an object, so that the watch event for
// that version can be told to be the echo of it.
type writeTable struct {
	mu     sync.Mutex
	causes map[writeKey]cause
	order  [keptWrites]writeKey
	next   int
	noted  atomic.Uint64
}

const keptWrites = 4096

// writeKey names a version; a deletion, whose version the writer does not learn, is called by an
// empty resourceVersion.
type writeKey struct {
	uid             types.UID
	resourceVersion string
}

type cause struct {
	record string
	span   trace.SpanContext
}

func newWriteTable() *writeTable { return &writeTable{causes: map[writeKey]cause{}} }

func (t *writeTable) note(key writeKey, c cause) {
	if key.uid == "" {
		return
	}
	t.noted.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.causes[key]; !known {
		delete(t.causes, t.order[t.next])
		t.order[t.next] = key
		t.next = (t.next + 1) % keptWrites
	}
	t.causes[key] = c
}

// causeOf finds the reconcile that led to a trigger.
func (t *writeTable) causeOf(trigger *Trigger) (cause, bool) {
	o := trigger.Object
	if o == nil || o.UID == "" {
		return cause{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch trigger.Kind {
	case TriggerCreate, TriggerUpdate:
		if c, ok := t.causes[writeKey{o.UID, trigger.ResourceVersion}]; ok {
			return c, true
		}
		if !startsDeletion(trigger) {
			return cause{}, false
		}
	case TriggerDelete:
	default:
		return cause{}, false
	}
	c, ok := t.causes[writeKey{uid: o.UID}]
	return c, ok
}

func startsDeletion(trigger *Trigger) bool {
	for i := range trigger.Changes {
		for _, f := range trigger.Changes[i].Fields {
			if f == "metadata.deletionTimestamp" {
				return true
			}
		}
	}
	return false
}
