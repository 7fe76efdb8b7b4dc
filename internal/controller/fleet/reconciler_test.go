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

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
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

// TestAnOwnerThatChangedMeanwhileIsNoGround: a process that starts with an old owner,
// here one that was pinned since, writes neither pods nor a status.
func TestAnOwnerThatChangedMeanwhileIsNoGround(t *testing.T) {
	old, pinned := fleetOwner("web"), fleetOwner("web")
	old.Finalizers, old.ResourceVersion = []string{appsv1.Finalizer}, "5"
	pinned.Finalizers, pinned.ResourceVersion = old.Finalizers, "6"
	pinned.Annotations = map[string]string{appsv1.AnnotationPin: "web-1"}
	_, w := newReconciler(t, old)
	w.Live = newCache(t, pinned)
	r := New(testKind{}, w.Parts)
	if result, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil || result.RequeueAfter != behindRetry {
		t.Errorf("%+v, %v; want another look soon and no error", result, err)
	}
	if s := w.status(t); len(w.pods(t)) > 0 || s.ObservedGeneration != 1 {
		t.Errorf("%d pods, the status %+v", len(w.pods(t)), s)
	}
	w.Live = w.Client // the cache has caught up
	if _, err := New(testKind{}, w.Parts).Reconcile(t.Context(), request("ns", "web")); err != nil || len(w.pods(t)) != 2 {
		t.Errorf("%d pods, %v", len(w.pods(t)), err)
	}
}

// TestAnOldOwnerIsReportedByNone: neither does one that starts with an old owner and has
// nothing to do. Its status would undo what its predecessor remembered: the current
// revision, say, on which a paused fleet's pods come back.
func TestAnOldOwnerIsReportedByNone(t *testing.T) {
	r, w := newReconciler(t, fleetOwner("web"))
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
	newer := fleetOwner("web")
	newer.ResourceVersion = "999"
	next := w.Parts
	next.Ledger, next.Live = observe.NewLedger(w.clock), newCache(t, newer)
	if result, err := New(testKind{}, next).Reconcile(t.Context(), request("ns", "web")); err != nil || result.RequeueAfter != behindRetry {
		t.Errorf("%+v, %v; want another look soon and no error", result, err)
	}
	if s := w.status(t); s.ReadyReplicas != 0 || s.CurrentRevision != "" {
		t.Errorf("the status %+v", s)
	}
	reads := 0
	next.Live = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, obj)
		},
	})
	successor := New(testKind{}, next) // the cache has caught up
	for range 3 {
		if _, err := successor.Reconcile(t.Context(), request("ns", "web")); err != nil {
			t.Error(err)
		}
	}
	if s := w.status(t); s.ReadyReplicas != 2 || s.CurrentRevision == "" || reads != 1 {
		t.Errorf("the status %+v after %d reads", s, reads)
	}
}

// TestTheFirstPodsCostNoList: an owner that was never reported has no pods that the cache
// could lack, as far as their names do not keep them from being made twice.
func TestTheFirstPodsCostNoList(t *testing.T) {
	_, w := newReconciler(t, fleetOwner("web"))
	lists := 0
	w.Live = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			lists++
			return c.List(ctx, list, o...)
		},
	})
	if _, err := New(testKind{}, w.Parts).Reconcile(t.Context(), request("ns", "web")); err != nil || len(w.pods(t)) != 2 || lists != 0 {
		t.Errorf("%d pods after %d lists, %v", len(w.pods(t)), lists, err)
	}
}

// TestPodsThatChangeAllTheTimeKeepNoNewProcessWaiting: whenever it asks, a pod has just
// become ready, or just not. It waits for what it was told the first time only.
func TestPodsThatChangeAllTheTimeKeepNoNewProcessWaiting(t *testing.T) {
	r, w := newReconcilerWith(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			obj.SetUID(types.UID("uid-of-" + obj.GetName()))
			return c.Create(ctx, obj, o...)
		},
	}, fleetOwner("web"))
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil {
		t.Fatal(err)
	}
	lost := w.pods(t)[1]
	if err := w.Client.Delete(t.Context(), &lost); err != nil {
		t.Fatal(err)
	}
	next, lists := w.Parts, 0
	next.Ledger = observe.NewLedger(w.clock)
	next.Live = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			lists++
			pod := w.pods(t)[0]
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			if lists%2 == 1 {
				pod.Status.Conditions[0].Status = corev1.ConditionTrue
			}
			if err := c.Status().Update(ctx, &pod); err != nil {
				return err
			}
			return c.List(ctx, list, o...)
		},
	})
	successor := New(testKind{}, next)
	if result, err := successor.Reconcile(t.Context(), request("ns", "web")); err != nil || result.RequeueAfter != behindRetry {
		t.Errorf("%+v, %v; want another look soon and no error", result, err)
	}
	if _, err := successor.Reconcile(t.Context(), request("ns", "web")); err != nil || len(w.pods(t)) != 2 || lists != 1 {
		t.Errorf("%d pods after %d lists, %v", len(w.pods(t)), lists, err)
	}
}

// TestALargeFleetAndAFullQuota: more pods are missing than one pass makes, so the
// planner asks for a look right away, and none of them can be made.
func TestALargeFleetAndAFullQuota(t *testing.T) {
	pm, asked := fleetOwner("web"), 0
	pm.Spec.Replicas, pm.Finalizers = ptr.To(int32(600)), []string{appsv1.Finalizer}
	r, w := newReconcilerWith(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if _, pod := obj.(*corev1.Pod); !pod {
				return c.Create(ctx, obj, o...)
			}
			asked++
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, obj.GetName(), errors.New("exceeded quota: few"))
		},
	}, pm)
	begin, looks := w.clock.Now(), 0
	for w.clock.Since(begin) < time.Minute {
		result, err := r.Reconcile(t.Context(), request("ns", "web"))
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("%+v, %v", result, err)
		}
		if looks++; looks > 200 {
			t.Fatalf("%d looks and %d refused pods within %s", looks, asked, w.clock.Since(begin))
		}
		w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
	}
	if asked < 3 || asked > 5 {
		t.Errorf("%d pods were asked for within a minute, want one after 5, 15 and 35 s", asked)
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

// TestAQuotaWithMoreRoomEndsTheWait: a fleet asks a full quota less and less often, however often it is looked at;
// one with more room it asks at once.
func TestAQuotaWithMoreRoomEndsTheWait(t *testing.T) {
	full, asked := true, 0
	r, w := newReconcilerWith(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if _, ok := obj.(*corev1.Pod); ok && full {
				asked++
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, obj.GetName(), errors.New("exceeded quota: few"))
			}
			return c.Create(ctx, obj, o...)
		},
	}, fleetOwner("web"))
	look := func() time.Duration {
		t.Helper()
		result, err := r.Reconcile(t.Context(), request("ns", "web"))
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	for begin := w.clock.Now(); w.clock.Since(begin) < 30*time.Minute; {
		w.clock.SetTime(w.clock.Now().Add(look()))
	}
	if asked < 10 || asked > 14 {
		t.Errorf("asked %d times in half an hour, want 7 times until the wait is 5 minutes, and 5 times after", asked)
	}
	look() // it may be due
	full = false
	if look(); len(w.pods(t)) > 0 {
		t.Fatal("it asked before its time: the test cannot fail")
	}
	quotas := r.Handlers(w.Client, nil, Watched{}).Quotas
	quota := func(namespace string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"}}
	}
	q := &addedLater{}
	quotas.Update(t.Context(), event.UpdateEvent{ObjectOld: quota("other"), ObjectNew: quota("other")}, q)
	if len(q.added) != 0 {
		t.Errorf("another namespace's quota woke %v", q.added)
	}
	quotas.Update(t.Context(), event.UpdateEvent{ObjectOld: quota("ns"), ObjectNew: quota("ns")}, q)
	if len(q.added) != 1 || q.added[0] != request("ns", "web") {
		t.Errorf("woken: %v, want the fleet", q.added)
	}
	look()
	if s := w.status(t); s.CurrentReplicas == 0 {
		t.Errorf("no pod was made: %+v", s)
	}
	quotas.Delete(t.Context(), event.DeleteEvent{Object: quota("ns")}, q)
	if len(q.added) != 1 {
		t.Errorf("woken again, though nothing is refused: %v", q.added)
	}
}

// addedLater is a queue that notes what is added after a while.
type addedLater struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added []reconcile.Request
}

func (q *addedLater) AddAfter(r reconcile.Request, _ time.Duration) { q.added = append(q.added, r) }

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
