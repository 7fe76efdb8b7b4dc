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
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
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

// startRun opens the span of a reconcile, with links to what caused it.
func (t *tracing) startRun(ctx context.Context, record *Record, links []trace.Link) (context.Context, trace.Span) {
	for i := range record.Triggers {
		if sc := parseTraceparent(record.Triggers[i].TraceParent); sc.IsValid() {
			links = append(links, trace.Link{SpanContext: sc, Attributes: triggerAttributes(&record.Triggers[i])})
		}
	}
	ctx, span := t.tracer.Start(ctx, "reconcile "+record.Controller,
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
	if sc := span.SpanContext(); sc.IsValid() {
		record.TraceID, record.SpanID = sc.TraceID().String(), sc.SpanID().String()
	}
	return ctx, span
}

func triggerAttributes(t *Trigger) []attribute.KeyValue {
	attributes := []attribute.KeyValue{attribute.String("trigger.kind", string(t.Kind))}
	if t.Object != nil {
		attributes = append(attributes, attribute.String("trigger.object", t.Object.String()))
	}
	return attributes
}

// endRun closes the span, with links to the causes that were found only now.
func endRun(run *run, late []trace.Link) {
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
func (t *tracing) startWrite(ctx context.Context, w *Write) (context.Context, trace.Span) {
	if t.tracer == nil {
		return ctx, nil
	}
	name := w.Verb + " " + w.Object.Kind
	if w.Subresource != "" {
		name += "/" + w.Subresource
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("k8s.object.kind", w.Object.Kind),
		attribute.String("k8s.namespace.name", w.Object.Namespace),
		attribute.String("k8s.object.name", w.Object.Name),
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
type writeTable struct{ causes *lru.Cache } // writeKey -> cause

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

func newWriteTable() *writeTable { return &writeTable{lru.New(keptWrites)} }

func (t *writeTable) note(key writeKey, c cause) {
	if key.uid != "" {
		t.causes.Add(key, c)
	}
}

// causeOf finds the reconcile that led to a trigger.
func (t *writeTable) causeOf(trigger *Trigger) (cause, bool) {
	o := trigger.Object
	if o == nil || o.UID == "" {
		return cause{}, false
	}
	switch trigger.Kind {
	case TriggerCreate, TriggerUpdate:
		if c, ok := t.causes.Get(writeKey{o.UID, trigger.ResourceVersion}); ok {
			return c.(cause), true
		}
		startsDeletion := slices.ContainsFunc(trigger.Changes, func(c Change) bool {
			return slices.Contains(c.Fields, "metadata.deletionTimestamp")
		})
		if !startsDeletion {
			return cause{}, false
		}
	case TriggerDelete:
	default:
		return cause{}, false
	}
	found, _ := t.causes.Get(writeKey{uid: o.UID})
	c, ok := found.(cause)
	return c, ok
}
