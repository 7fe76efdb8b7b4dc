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

package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/report"
)

func (w *world) status(t *testing.T) appsv1.PodManagerStatus {
	t.Helper()
	pm := &appsv1.PodManager{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web"}, pm); err != nil {
		t.Fatal(err)
	}
	return pm.Status
}

func (w *world) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := w.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// TestOneReconcile: observe, plan, apply, report.
func TestOneReconcile(t *testing.T) {
	r, w := newReconciler(t, fleetOwner("web"))
	result, err := r.Reconcile(t.Context(), request("ns", "web"))
	if err != nil || result.RequeueAfter == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if n := len(w.pods(t)); n != 2 {
		t.Errorf("%d pods", n)
	}
	s := w.status(t)
	if s.CurrentReplicas != 2 || s.ReadyReplicas != 0 || s.ObservedGeneration != 2 {
		t.Errorf("status %+v", s)
	}
	if n := testutil.ToFloat64(w.Metrics.created.WithLabelValues("test", appsv1.WhyScaleUp)); n != 2 {
		t.Errorf("%v pods were counted as created", n)
	}
}

// TestAGoneOwner is forgotten, with its gauges.
func TestAGoneOwner(t *testing.T) {
	r, w := newReconciler(t, fleetOwner("web"))
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(w.Metrics.gauges, "podmanager_replicas_desired"); n != 1 {
		t.Fatalf("%d gauges", n)
	}
	pm := fleetOwner("web")
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(pm), pm); err != nil {
		t.Fatal(err)
	}
	pm.Finalizers = nil
	if err := w.Client.Update(t.Context(), pm); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), pm); err != nil {
		t.Fatal(err)
	}
	result, err := r.Reconcile(t.Context(), request("ns", "web"))
	if err != nil || result != (ctrl.Result{}) {
		t.Errorf("%+v, %v", result, err)
	}
	if n := testutil.CollectAndCount(w.Metrics.gauges, "podmanager_replicas_desired"); n != 0 {
		t.Errorf("%d gauges of an owner that is gone", n)
	}
}

// TestAStaleCacheIsNoGround: nothing is written, and it is counted.
func TestAStaleCacheIsNoGround(t *testing.T) {
	r, w := newReconciler(t, fleetOwner("web"))
	unseen := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0", UID: "unseen", ResourceVersion: "5"}}
	w.Ledger.Wrote("uid-web", unseen)
	result, err := r.Reconcile(t.Context(), request("ns", "web"))
	if err != nil || result.RequeueAfter != staleRetry {
		t.Errorf("%+v, %v", result, err)
	}
	if n := len(w.pods(t)); n != 0 {
		t.Errorf("%d pods were created on the word of a stale cache", n)
	}
	if n := testutil.ToFloat64(w.Metrics.skips.WithLabelValues("test")); n != 1 {
		t.Errorf("%v skips were counted", n)
	}
	if n := testutil.ToFloat64(w.Metrics.reconciles.WithLabelValues("test", resultStale)); n != 1 {
		t.Errorf("%v stale reconciles were counted", n)
	}
	// Another owner is not held up.
	if err := w.Client.Create(t.Context(), fleetOwner("shop")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), request("ns", "shop")); err != nil || len(w.pods(t)) != 2 {
		t.Errorf("the other owner has %d pods, %v", len(w.pods(t)), err)
	}
}

// TestAnErrorIsReportedToo: the status is written after it as well, and tells
// what was done.
func TestAnErrorIsReportedToo(t *testing.T) {
	broken := errors.New("the network is down")
	r, w := newReconcilerWith(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if obj.GetName() == "web-1" {
				return broken
			}
			return c.Create(ctx, obj, o...)
		},
	}, fleetOwner("web"))
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); !errors.Is(err, broken) || !strings.Contains(err.Error(), "ns/web-1") {
		t.Errorf("the error is %v", err)
	}
	if s := w.status(t); s.CurrentReplicas != 1 || len(s.History) != 1 {
		t.Errorf("status %+v", s)
	}
	if n := testutil.ToFloat64(w.Metrics.reconciles.WithLabelValues("test", resultError)); n != 1 {
		t.Errorf("%v errors were counted", n)
	}
}

// TestARefusalStallsAndIsTriedAgain: without an error, which would be logged
// and retried at once, and with one warning however often.
func TestARefusalStallsAndIsTriedAgain(t *testing.T) {
	r, w := newReconcilerWith(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if _, ok := obj.(*corev1.Pod); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, obj.GetName(), errors.New("exceeded quota: few"))
			}
			return c.Create(ctx, obj, o...)
		},
	}, fleetOwner("web"))
	const retryQuota = 5 * time.Second
	for range 3 {
		result, err := r.Reconcile(t.Context(), request("ns", "web"))
		if err != nil || result.RequeueAfter != retryQuota {
			t.Fatalf("%+v, %v", result, err)
		}
		w.clock.SetTime(w.clock.Now().Add(retryQuota))
	}
	s := w.status(t)
	if c := meta.FindStatusCondition(s.Conditions, appsv1.ConditionStalled); c == nil || c.Reason != appsv1.ReasonQuotaExceeded {
		t.Errorf("conditions %+v", s.Conditions)
	}
	if said := w.said(); len(said) != 1 || !strings.HasPrefix(said[0], "Warning Failed") {
		t.Errorf("events %q", said)
	}
	if n := r.memories.sizes()[request("ns", "web").NamespacedName]; !n.stalled {
		t.Errorf("the gauge of stalled fleets says %v", n)
	}
	if n := testutil.ToFloat64(w.Metrics.reconciles.WithLabelValues("test", resultRefused)); n != 3 {
		t.Errorf("%v refusals were counted", n)
	}
}

// TestAPodThatHangsIsReported, though nothing about it changes any more and no event comes.
func TestAPodThatHangsIsReported(t *testing.T) {
	var now func() time.Time
	r, w := newReconcilerWith(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			obj.SetCreationTimestamp(metav1.NewTime(now()))
			return c.Create(ctx, obj, o...)
		},
	}, fleetOwner("web"))
	now = w.clock.Now
	const want = "2 of 2 pods are waiting for a node"
	begin := w.clock.Now()
	for w.clock.Since(begin) < 15*time.Second {
		result, err := r.Reconcile(t.Context(), request("ns", "web"))
		if err != nil {
			t.Fatal(err)
		}
		if ready := meta.FindStatusCondition(w.status(t).Conditions, appsv1.ConditionReady); ready != nil && ready.Message == want {
			return
		}
		if result.RequeueAfter == 0 {
			t.Fatalf("after %s it does not look again", w.clock.Since(begin))
		}
		w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
	}
	t.Errorf("after %s the status is %+v", w.clock.Since(begin), w.status(t).Conditions)
}

// TestSecondThoughts: a fleet at its goal is not written about, and not looked
// at again without a reason.
func TestSecondThoughts(t *testing.T) {
	writes := 0
	count := func(context.Context) { writes++ }
	r, w := newReconcilerWith(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			count(ctx)
			return c.Create(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			count(ctx)
			return c.Patch(ctx, obj, p, o...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			count(ctx)
			return c.SubResource(name).Patch(ctx, obj, p, o...)
		},
	}, fleetOwner("web"))
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil {
		t.Fatal(err)
	}
	for _, pod := range w.pods(t) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if err := w.Client.Status().Update(t.Context(), &pod); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil {
		t.Fatal(err)
	}
	if s := w.status(t); s.AvailableReplicas != 2 {
		t.Fatalf("status %+v", s)
	}
	writes = 0
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		result, err := r.Reconcile(t.Context(), request("ns", "web"))
		if err != nil || result != (ctrl.Result{}) {
			t.Errorf("%+v, %v", result, err)
		}
	}
	if writes > 0 {
		t.Errorf("%d writes at rest", writes)
	}
}

// TestALongNoteIsCut to what the events API takes, between characters.
func TestALongNoteIsCut(t *testing.T) {
	r, w := newReconciler(t, fleetOwner("web"))
	r.send(fleetOwner("web"), report.Event{Type: corev1.EventTypeNormal, Reason: "Created", Note: "x" + strings.Repeat("ü", maxNote)})
	said := w.said()
	if len(said) != 1 {
		t.Fatalf("events %q", said)
	}
	note := strings.TrimPrefix(said[0], "Normal Created ")
	if len(note) > maxNote || !utf8.ValidString(note) || !strings.HasSuffix(note, "...") {
		t.Errorf("a note of %d bytes: %q", len(note), note)
	}
}

func TestSoonest(t *testing.T) {
	if got := soonest(0, time.Minute, 0, time.Second); got != time.Second {
		t.Errorf("soonest is %s", got)
	}
	if got := soonest(0, 0); got != 0 {
		t.Errorf("of nothing soonest is %s", got)
	}
}

// TestMetricsAreShared: two managers in one process register them once.
func TestMetricsAreShared(t *testing.T) {
	_, w := newReconciler(t)
	again, err := NewMetrics(w.registry)
	if err != nil {
		t.Fatal(err)
	}
	again.skipped("test")
	if n := testutil.ToFloat64(w.Metrics.skips.WithLabelValues("test")); n != 1 {
		t.Errorf("the first sees %v skips", n)
	}
}
