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
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpansAreLinkedToTheirTriggers(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	b := newBench(t, controller.Options{}, Config{TracerProvider: provider})
	c := b.rec.Client(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build())
	h := b.tap.Handler(&handler.EnqueueRequestForObject{})

	stamped := controllerFor("1")
	stamped.Annotations = map[string]string{TraceparentAnnotation: traceparent}
	h.Create(t.Context(), event.CreateEvent{Object: stamped}, b.queue)
	child := configMap("child")
	b.answer = func(ctx context.Context) (reconcile.Result, error) {
		b.rec.InjectTraceparent(ctx, child)
		child.UID = "uid-child"
		if err := c.Create(ctx, child); err != nil {
			t.Error(err)
		}
		return reconcile.Result{}, nil
	}
	first := b.work()

	// The watch event of the object that was just created leads back to the span that created it.
	b.answer = func(context.Context) (reconcile.Result, error) { return reconcile.Result{}, errors.New("boom") }
	wrapped := b.tap.Handler(handler.EnqueueRequestsFromMapFunc(toWeb))
	wrapped.Create(t.Context(), event.CreateEvent{Object: child}, b.queue)
	second := b.work()

	spans := exporter.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	write, run, rerun := spans[0], spans[1], spans[2]
	if write.Name != "create ConfigMap" || write.Parent.SpanID() != run.SpanContext.SpanID() {
		t.Errorf("the write's span is %s under %s", write.Name, write.Parent.SpanID())
	}
	if run.Name != "reconcile replicaset" || run.Parent.IsValid() || first.SpanID != run.SpanContext.SpanID().String() {
		t.Errorf("the run's span is %s, %s", run.Name, first.SpanID)
	}
	if len(run.Links) != 1 || run.Links[0].SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("links %+v", run.Links)
	}
	if rerun.Status.Code != codes.Error || rerun.SpanContext.TraceID() == run.SpanContext.TraceID() {
		t.Errorf("the second run: %+v", rerun.Status)
	}
	// Once by the annotation, once because the recorder remembers its own write.
	for _, link := range rerun.Links {
		if link.SpanContext.SpanID() != run.SpanContext.SpanID() {
			t.Errorf("link to %s, want %s", link.SpanContext.SpanID(), run.SpanContext.SpanID())
		}
	}
	if len(rerun.Links) != 2 || second.Triggers[0].CausedBy != first.ID {
		t.Errorf("%d links, caused by %q, want %q", len(rerun.Links), second.Triggers[0].CausedBy, first.ID)
	}
}

func TestCausesAreFoundByVersionAndByDeletion(t *testing.T) {
	table := newWriteTable()
	table.note(writeKey{"u1", "7"}, cause{record: "r7"})
	table.note(writeKey{uid: "u1"}, cause{record: "gone"})
	table.note(writeKey{resourceVersion: "9"}, cause{record: "none"})
	object := func(uid types.UID) *ObjectRef { return &ObjectRef{Name: "x", UID: uid} }
	deletion := []Change{{Fields: []string{"metadata.deletionTimestamp"}}}
	for name, c := range map[string]struct {
		trigger Trigger
		want    string
	}{
		"the version that was written":         {Trigger{Kind: TriggerUpdate, Object: object("u1"), ResourceVersion: "7"}, "r7"},
		"a version that another client wrote":  {Trigger{Kind: TriggerUpdate, Object: object("u1"), ResourceVersion: "8"}, ""},
		"the deletion":                         {Trigger{Kind: TriggerDelete, Object: object("u1"), ResourceVersion: "9"}, "gone"},
		"the beginning of the deletion":        {Trigger{Kind: TriggerUpdate, Object: object("u1"), ResourceVersion: "8", Changes: deletion}, "gone"},
		"another object with the same version": {Trigger{Kind: TriggerUpdate, Object: object("u2"), ResourceVersion: "7"}, ""},
		"an object without a UID":              {Trigger{Kind: TriggerDelete, Object: object("")}, ""},
		"a trigger without an object":          {Trigger{Kind: TriggerRetry}, ""},
		"a start-up, which no write caused":    {Trigger{Kind: TriggerStartup, Object: object("u1"), ResourceVersion: "7"}, ""},
	} {
		if got, _ := table.causeOf(&c.trigger); got.record != c.want {
			t.Errorf("%s: %q, want %q", name, got.record, c.want)
		}
	}
	for i := range 2 * keptWrites {
		table.note(writeKey{types.UID(fmt.Sprint(i)), "1"}, cause{})
	}
	if table.causes.Len() != keptWrites {
		t.Errorf("%d kept", table.causes.Len())
	}
}

// A write that changed nothing returns the version of an earlier write, not one of its own.
func TestAWriteThatChangedNothingCausesNothing(t *testing.T) {
	rec := newRecorder(t, Config{})
	run := &run{recorder: rec, record: &Record{ID: "r1"}}
	run.noteCause(&Write{Verb: "patch", ResourceVersion: "7", Object: ObjectRef{UID: "u"}}, "7")
	run.noteCause(&Write{Verb: "patch", ResourceVersion: "8", Object: ObjectRef{UID: "u"}, DryRun: true}, "7")
	if n := rec.writes.causes.Len(); n != 0 {
		t.Errorf("%d causes", n)
	}
}

// An event comes before its run has seen it in the cache: the run's write changes nothing and returns the
// event's version. A run is not its own cause.
func TestARunDoesNotCauseItself(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{})
	b.tap.Handler(&handler.EnqueueRequestForObject{}).Create(t.Context(), event.CreateEvent{Object: controllerFor("7")}, b.queue)
	b.answer = func(ctx context.Context) (reconcile.Result, error) {
		runFrom(ctx).noteCause(&Write{Verb: "patch", ResourceVersion: "7", Object: ObjectRef{UID: "uid-web"}}, "6")
		return reconcile.Result{}, nil
	}
	if r := b.work(); r.Triggers[0].CausedBy != "" {
		t.Errorf("%s is caused by %s", r.ID, r.Triggers[0].CausedBy)
	}
}

// An annotation is free text; only a trace context may get into a record.
func TestOnlyATraceContextIsTakenFromTheAnnotation(t *testing.T) {
	rec := newRecorder(t, Config{TraceparentAnnotation: "example.com/traceparent"})
	for value, want := range map[string]string{
		traceparent: traceparent, "": "", "CANARY": "", traceparent + "-CANARY": "", "cc" + traceparent[2:] + "-CANARY": "",
	} {
		obj := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"example.com/traceparent": value}}}
		if got := rec.tracing.traceparent(obj); got != want {
			t.Errorf("%q became %q", value, got)
		}
	}
}

func TestInjectingWithoutASpanChangesNothing(t *testing.T) {
	rec := newRecorder(t, Config{})
	pod := &corev1.Pod{}
	rec.InjectTraceparent(t.Context(), pod)
	if pod.Annotations != nil {
		t.Error(pod.Annotations)
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	rec.InjectTraceparent(trace.ContextWithSpanContext(t.Context(), sc), pod)
	want := map[string]string{"tracing.k8s.io/traceparent": "00-01000000000000000000000000000000-0200000000000000-01"}
	if diff := cmp.Diff(want, pod.Annotations); diff != "" {
		t.Error(diff)
	}
}
