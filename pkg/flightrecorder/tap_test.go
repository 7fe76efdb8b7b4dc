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
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// host stands in for a manager.
type host struct{ options config.Controller }

func (host) GetScheme() *runtime.Scheme                { return scheme.Scheme }
func (h host) GetControllerOptions() config.Controller { return h.options }

func newTestTap(t testing.TB, rec *Recorder) *Tap {
	t.Helper()
	tap, err := NewTap(rec, host{}, "replicaset", &corev1.ReplicationController{})
	if err != nil {
		t.Fatal(err)
	}
	return tap
}

// bench is a controller taken apart: the test is its worker.
type bench struct {
	t      *testing.T
	clock  *clock
	rec    *Recorder
	tap    *Tap
	queue  priorityqueue.PriorityQueue[reconcile.Request]
	answer func(ctx context.Context) (reconcile.Result, error)
}

func newBench(t *testing.T, options controller.Options, config Config) *bench {
	t.Helper()
	b := &bench{t: t, clock: newClock()}
	config.Now = b.clock.Now
	b.rec = newRecorder(t, config)
	b.tap = newTestTap(t, b.rec)
	options = b.tap.Options(options)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, time.Second)
	b.queue = options.NewQueue(t.Name(), limiter).(priorityqueue.PriorityQueue[reconcile.Request])
	t.Cleanup(b.queue.ShutDown)
	return b
}

func web() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
}

// work does what controller-runtime's worker does with one item.
func (b *bench) work() *Record {
	b.t.Helper()
	request, priority, _ := b.queue.GetWithPriority()
	defer b.queue.Done(request)
	result, err := b.tap.Reconciler(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		if b.answer == nil {
			return reconcile.Result{}, nil
		}
		return b.answer(ctx)
	})).Reconcile(b.t.Context(), request)
	switch {
	case errors.Is(err, reconcile.TerminalError(nil)):
	case err != nil:
		b.queue.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: ptr.To(priority)}, request)
	case result.RequeueAfter > 0:
		b.queue.Forget(request)
		b.queue.AddWithOpts(priorityqueue.AddOpts{After: result.RequeueAfter, Priority: ptr.To(priority)}, request)
	default:
		b.queue.Forget(request)
	}
	return b.rec.Query(Query{Limit: 1})[0]
}

// brief is what most tests care about in a trigger.
func brief(r *Record) []string {
	var s []string
	for _, t := range r.Triggers {
		line := string(t.Kind)
		if t.Object != nil {
			line += " " + t.Object.String()
		}
		for _, c := range t.Changes {
			line += fmt.Sprintf(" %s%v", c.Manager, c.Fields)
		}
		s = append(s, line)
	}
	return s
}

func owned(pod *corev1.Pod) *corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ReplicationController", Name: "web", Controller: ptr.To(true)}}
	return pod
}

func controllerFor(resourceVersion string) *corev1.ReplicationController {
	return &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "uid-web", ResourceVersion: resourceVersion,
	}}
}

func TestAllTriggersOfARunAreKept(t *testing.T) {
	queues := map[string]controller.Options{
		"priority queue":    {},
		"client-go's queue": {UsePriorityQueue: ptr.To(false)},
		"a queue of one's own": {NewQueue: func(_ string, l workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return workqueue.NewTypedRateLimitingQueue(l)
		}},
	}
	for name, options := range queues {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, options, Config{})
			ctx := t.Context()
			forHandler := b.tap.Handler(&handler.EnqueueRequestForObject{})
			ownerHandler := b.tap.Handler(handler.EnqueueRequestForOwner(scheme.Scheme, testMapper(), &corev1.ReplicationController{}))

			forHandler.Create(ctx, event.CreateEvent{Object: controllerFor("1"), IsInInitialList: true}, b.queue)
			changed := controllerFor("2")
			changed.Spec.Replicas = ptr.To[int32](3)
			changed.ManagedFields = []metav1.ManagedFieldsEntry{managed("kubectl", "", 1, ownsReplicas)}
			forHandler.Update(ctx, event.UpdateEvent{ObjectOld: controllerFor("1"), ObjectNew: changed}, b.queue)
			forHandler.Update(ctx, event.UpdateEvent{ObjectOld: changed, ObjectNew: changed}, b.queue)
			pod := owned(testPod())
			pod.ManagedFields = []metav1.ManagedFieldsEntry{managed("controller", "", 1, ownsImage)}
			ownerHandler.Create(ctx, event.CreateEvent{Object: pod}, b.queue)
			ownerHandler.Delete(ctx, event.DeleteEvent{Object: pod}, b.queue)
			forHandler.Generic(ctx, event.GenericEvent{Object: controllerFor("2")}, b.queue)
			if err := b.tap.Enqueue(Manual{Request: web(), User: "ada", Reason: "to see"}); err != nil {
				t.Fatal(err)
			}
			b.clock.move(40 * time.Millisecond)

			r := b.work()
			want := []string{
				"Startup ReplicationController shop/web",
				"Update ReplicationController shop/web kubectl[spec.replicas]",
				"Resync ReplicationController shop/web",
				"Create Pod shop/web-0 controller[]",
				"Delete Pod shop/web-0",
				"Generic ReplicationController shop/web",
				"Manual",
			}
			if diff := cmp.Diff(want, brief(r)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if last := r.Triggers[6]; last.User != "ada" || last.Reason != "to see" {
				t.Errorf("manual trigger: %+v", last)
			}
			wantObject := ObjectRef{APIVersion: "v1", Kind: "ReplicationController", Namespace: "shop", Name: "web", UID: "uid-web"}
			if r.Object != wantObject || r.Controller != "replicaset" || r.Outcome != OutcomeSuccess {
				t.Errorf("record: %+v", r)
			}
			if r.QueueWait != Duration(40*time.Millisecond) || r.Triggers[1].ResourceVersion != "2" {
				t.Errorf("waited %s, resourceVersion %s", r.QueueWait, r.Triggers[1].ResourceVersion)
			}
			if b.rec.pendingBytes.Load() != 0 || len(b.tap.waiting) != 0 || len(b.tap.credits) != 0 {
				t.Errorf("left behind: %d bytes, %v, %v", b.rec.pendingBytes.Load(), b.tap.waiting, b.tap.credits)
			}
		})
	}
}

func TestAnAddDuringARunBelongsToTheNext(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{})
	h := b.tap.Handler(&handler.EnqueueRequestForObject{})
	h.Create(t.Context(), event.CreateEvent{Object: controllerFor("1")}, b.queue)
	b.answer = func(ctx context.Context) (reconcile.Result, error) {
		h.Delete(ctx, event.DeleteEvent{Object: controllerFor("2")}, b.queue)
		return reconcile.Result{}, nil
	}
	first := b.work()
	b.answer = nil
	second := b.work()
	if diff := cmp.Diff([][]string{{"Create ReplicationController shop/web"}, {"Delete ReplicationController shop/web"}},
		[][]string{brief(first), brief(second)}); diff != "" {
		t.Error(diff)
	}
}

// The queue has handed the request out, and the worker has not taken the triggers yet, when another
// event comes: its trigger goes with this run, and its add leads to one more.
func TestATriggerThatARunTookTooEarlyIsCarried(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{})
	h := b.tap.Handler(&handler.EnqueueRequestForObject{})
	h.Create(t.Context(), event.CreateEvent{Object: controllerFor("1")}, b.queue)

	inner := b.queue.(*queue[reconcile.Request]).PriorityQueue
	request, _, _ := inner.GetWithPriority()
	h.Delete(t.Context(), event.DeleteEvent{Object: controllerFor("2")}, b.queue)
	b.tap.handOut(request, 0)
	if _, err := b.tap.Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})).Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	b.queue.Done(request)

	r := b.work()
	if len(r.Triggers) != 1 || r.Triggers[0].Kind != TriggerDelete || !r.Triggers[0].Carried || r.QueueWait < 0 {
		t.Errorf("got %+v", r.Triggers)
	}
}

func TestOwnWishesBecomeTriggers(t *testing.T) {
	boom := errors.New("boom")
	b := newBench(t, controller.Options{}, Config{})
	if err := b.tap.Enqueue(Manual{Request: web()}); err != nil {
		t.Fatal(err)
	}
	fail := func(context.Context) (reconcile.Result, error) { return reconcile.Result{}, boom }
	b.answer = fail
	first := b.work()
	second := b.work()
	b.answer = func(context.Context) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: 20 * time.Millisecond}, nil
	}
	third := b.work()
	b.answer = func(context.Context) (reconcile.Result, error) {
		return reconcile.Result{}, reconcile.TerminalError(boom)
	}
	fourth := b.work()

	type row struct {
		Trigger TriggerKind
		Attempt int
		Delay   Duration
		Outcome Outcome
		Failed  int
		Error   string
	}
	var got []row
	for _, r := range []*Record{first, second, third, fourth} {
		if len(r.Triggers) != 1 {
			t.Fatalf("%d triggers: %+v", len(r.Triggers), r.Triggers)
		}
		got = append(got, row{r.Triggers[0].Kind, r.Triggers[0].Attempt, r.Triggers[0].Delay, r.Outcome, r.Failures, r.Error})
	}
	want := []row{
		{TriggerManual, 0, 0, OutcomeError, 1, "boom"},
		{TriggerRetry, 1, Duration(time.Millisecond), OutcomeError, 2, "boom"},
		{TriggerRetry, 2, Duration(2 * time.Millisecond), OutcomeRequeueAfter, 0, ""},
		{TriggerRequeueAfter, 0, Duration(20 * time.Millisecond), OutcomeTerminalError, 1, "terminal error: boom"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(b.tap.waiting) != 0 {
		t.Error("a terminal error is not retried, but something waits")
	}
}

// An outer wrapper may swallow what the run wanted; then it must not turn up later.
func TestAWishThatTheControllerDoesNotGrantIsForgotten(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{})
	if err := b.tap.Enqueue(Manual{Request: web()}); err != nil {
		t.Fatal(err)
	}
	request, _, _ := b.queue.GetWithPriority()
	_, _ = b.tap.Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, errors.New("boom")
	})).Reconcile(t.Context(), request)
	b.queue.Done(request)

	b.queue.AddAfter(web(), time.Millisecond)
	if diff := cmp.Diff([]string{"Unattributed"}, brief(b.work())); diff != "" {
		t.Error(diff)
	}
}

// An event comes while a RequeueAfter waits: a priority queue runs once, client-go's twice.
func TestWaitingRequestsFollowTheirQueue(t *testing.T) {
	const later = 3 * time.Second // client-go's queue goes by the real clock: the event has to come before it
	cases := map[string]struct {
		options controller.Options
		want    [][]string
	}{
		"a priority queue merges both": {want: [][]string{{"RequeueAfter early", "Manual"}}},
		"client-go's queue keeps the delayed one for later": {
			options: controller.Options{UsePriorityQueue: ptr.To(false)},
			want:    [][]string{{"Manual"}, {"RequeueAfter"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.options, Config{})
			b.answer = func(context.Context) (reconcile.Result, error) {
				return reconcile.Result{RequeueAfter: later}, nil
			}
			if err := b.tap.Enqueue(Manual{Request: web()}); err != nil {
				t.Fatal(err)
			}
			b.work()
			b.answer = nil
			if err := b.tap.Enqueue(Manual{Request: web()}); err != nil {
				t.Fatal(err)
			}
			var got [][]string
			for range c.want {
				r := b.work()
				var line []string
				for _, trigger := range r.Triggers {
					s := string(trigger.Kind)
					if trigger.Early {
						s += " early"
					}
					line = append(line, s)
				}
				got = append(got, line)
				b.clock.move(later)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestPredicatesRecordForAndOwns(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{})
	forP, ownsP := b.tap.ForPredicate(), b.tap.OwnsPredicate()
	ctx := t.Context()
	rc, pod := controllerFor("1"), owned(testPod())
	other := controllerFor("1")
	other.Name = "other"

	// The handlers of For and Owns are not wrapped. An event that another predicate refuses after ours,
	// or whose handler adds something else, must not be taken for the reason of a later add.
	forP.Create(event.CreateEvent{Object: other})
	forP.Update(event.UpdateEvent{ObjectOld: controllerFor("0"), ObjectNew: rc})
	(&handler.EnqueueRequestForObject{}).Update(ctx, event.UpdateEvent{ObjectOld: controllerFor("0"), ObjectNew: rc}, b.queue)
	ownsP.Delete(event.DeleteEvent{Object: pod})
	handler.EnqueueRequestForOwner(scheme.Scheme, testMapper(), &corev1.ReplicationController{}).
		Delete(ctx, event.DeleteEvent{Object: pod}, b.queue)
	b.queue.Add(web())

	want := []string{"Update ReplicationController shop/web", "Delete Pod shop/web-0", "Unattributed"}
	if diff := cmp.Diff(want, brief(b.work())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	b.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "other"}})
	if diff := cmp.Diff([]string{"Unattributed"}, brief(b.work())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Two watches have announced events for the same request when the first add comes: it may be either's.
func TestAnEventIsNotLostToAnotherWatchsAdd(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{})
	forP, ownsP := b.tap.ForPredicate(), b.tap.OwnsPredicate()
	forOwner := handler.EnqueueRequestForOwner(scheme.Scheme, testMapper(), &corev1.ReplicationController{})
	change := event.UpdateEvent{ObjectOld: controllerFor("0"), ObjectNew: controllerFor("1")}
	gone := event.DeleteEvent{Object: owned(testPod())}

	forP.Update(change)
	ownsP.Delete(gone)
	forOwner.Delete(t.Context(), gone, b.queue)
	ownsP.Delete(event.DeleteEvent{Object: testPod()}) // that watch goes on, to a pod without an owner
	(&handler.EnqueueRequestForObject{}).Update(t.Context(), change, b.queue)

	want := []string{"Update ReplicationController shop/web", "Delete Pod shop/web-0"}
	if diff := cmp.Diff(want, brief(b.work())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(b.tap.credits) != 0 {
		t.Errorf("credits are left: %v", b.tap.credits)
	}
}

func TestSourcesAreNamed(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	raw := b.tap.Source(named{source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.Add(web())
		// A wrapped handler inside the source knows more.
		b.tap.Handler(&handler.EnqueueRequestForObject{}).Create(ctx, event.CreateEvent{Object: controllerFor("1")}, q)
		return nil
	})})
	if err := raw.Start(ctx, b.queue); err != nil {
		t.Fatal(err)
	}
	r := b.work()
	if diff := cmp.Diff([]string{"Generic", "Create ReplicationController shop/web"}, brief(r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(b.tap.credits) != 0 {
		t.Errorf("credits are left: %v", b.tap.credits)
	}
	if r.Triggers[0].Reason != "the night watch" {
		t.Errorf("reason %q", r.Triggers[0].Reason)
	}

	requests := make(chan event.TypedGenericEvent[Manual], 1)
	if err := source.Channel(requests, b.tap.ManualHandler()).Start(ctx, b.queue); err != nil {
		t.Fatal(err)
	}
	requests <- event.TypedGenericEvent[Manual]{Object: Manual{Request: web(), User: "grace"}}
	r = b.work()
	if r.Triggers[0].Kind != TriggerManual || r.Triggers[0].User != "grace" || len(r.Triggers) != 1 {
		t.Errorf("got %+v", r.Triggers)
	}
}

type named struct{ source.Source }

func (named) String() string { return "the night watch" }

func TestAFloodOfTriggersIsFolded(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{MaxTriggers: 4, MaxFields: 3})
	h := b.tap.Handler(handler.EnqueueRequestForOwner(scheme.Scheme, testMapper(), &corev1.ReplicationController{}))
	before := owned(testPod())
	shared := []string{}
	for i := range 10 {
		after := owned(testPod())
		after.ResourceVersion = fmt.Sprint(101 + i)
		after.Labels[fmt.Sprintf("label-%d", i)] = "x"
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, b.queue)
		shared = append(shared, after.ResourceVersion)
	}
	b.queue.Add(web())
	r := b.work()
	last := r.Triggers[3]
	want := Trigger{
		Kind: TriggerUpdate, ResourceVersion: shared[9], Count: 7, MoreFields: 4,
		Changes: []Change{{Fields: []string{"metadata.labels.label-3", "metadata.labels.label-4", "metadata.labels.label-5"}}},
	}
	if diff := cmp.Diff(want, last, cmpopts.IgnoreFields(Trigger{}, "Time", "Object")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(r.Triggers) != 4 || r.TriggersDropped != 1 {
		t.Errorf("%d triggers, %d dropped", len(r.Triggers), r.TriggersDropped)
	}
}

// TestWhatIsDroppedIsNotWorkedOut: an event without room is compared only where it can be merged.
func TestWhatIsDroppedIsNotWorkedOut(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{MaxTriggers: 2})
	pair := func(name string) event.UpdateEvent {
		before, after := owned(testPod()), owned(testPod())
		before.Name, after.Name, after.ResourceVersion = name, name, "200"
		after.Labels["new"] = "x"
		return event.UpdateEvent{ObjectOld: before, ObjectNew: after}
	}
	described := map[string]int{}
	for _, name := range []string{"a", "b", "c", "a"} {
		update := pair(name)
		e := b.tap.newEvent(TriggerUpdate, update.ObjectOld, update.ObjectNew)
		describe := e.describe
		e.describe = func() *Trigger {
			described[name]++
			return describe()
		}
		b.tap.note(web(), e, priorityqueue.AddOpts{}, false)
	}
	// The first a is described so that the second can be merged into it.
	if diff := cmp.Diff(map[string]int{"a": 2}, described); diff != "" {
		t.Errorf("described, -want +got:\n%s", diff)
	}
	b.queue.Add(web())
	r := b.work()
	// The Add itself finds no room either.
	if len(r.Triggers) != 2 || r.Triggers[0].Count != 2 || r.TriggersDropped != 2 {
		t.Errorf("%d triggers, the first counted %d times, %d dropped; want 2, 2 and 2", len(r.Triggers), r.Triggers[0].Count, r.TriggersDropped)
	}
}

func TestTriggersWithoutRoomKeepTheirKind(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{MaxBytes: 128 << 10}) // 16 KiB for waiting triggers
	h := b.tap.Handler(&handler.EnqueueRequestForObject{})
	const objects = 50
	for i := range objects {
		rc := controllerFor("1")
		rc.Name = fmt.Sprintf("rc-%d", i)
		h.Create(t.Context(), event.CreateEvent{Object: rc, IsInInitialList: true}, b.queue)
	}
	if p := b.rec.pendingBytes.Load(); p > 32<<10 {
		t.Errorf("%d bytes wait", p)
	}
	trimmed := 0
	for range objects {
		r := b.work()
		if r.Triggers[0].Kind != TriggerStartup || r.Triggers[0].Object.Kind != "ReplicationController" {
			t.Errorf("got %+v", r.Triggers)
		}
		if r.Triggers[0].Trimmed {
			trimmed++
		}
	}
	if trimmed == 0 || trimmed == objects {
		t.Errorf("%d of %d trimmed", trimmed, objects)
	}
}

func TestAPanicPassesThroughAndIsRecorded(t *testing.T) {
	b := newBench(t, controller.Options{}, Config{})
	func() {
		defer func() {
			if p := recover(); p != "ouch" {
				t.Errorf("recovered %v", p)
			}
		}()
		_, _ = b.tap.Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			panic("ouch")
		})).Reconcile(t.Context(), web())
	}()
	r := b.rec.Query(Query{})[0]
	if r.Outcome != OutcomePanic || r.Triggers[0].Kind != TriggerUnattributed {
		t.Errorf("got %+v", r)
	}
}

func TestWithoutOptionsTheReconcilerStillRecords(t *testing.T) {
	rec := newRecorder(t, Config{})
	tap := newTestTap(t, rec)
	q := priorityqueue.New[reconcile.Request](t.Name())
	defer q.ShutDown()
	tap.Handler(&handler.EnqueueRequestForObject{}).Create(t.Context(), event.CreateEvent{Object: controllerFor("1")}, q)
	r := tap.Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Minute}, nil
	}))
	for range 2 {
		if _, err := r.Reconcile(t.Context(), web()); err != nil {
			t.Fatal(err)
		}
	}
	records := rec.Query(Query{})
	if diff := cmp.Diff([]string{"RequeueAfter"}, brief(records[0])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Create ReplicationController shop/web"}, brief(records[1])); diff != "" {
		t.Error(diff)
	}
	if err := tap.Enqueue(Manual{Request: web()}); !errors.Is(err, ErrNotStarted) {
		t.Errorf("enqueue: %v", err)
	}
}

func TestRequestsOfAnotherType(t *testing.T) {
	type request struct{ cluster, name string }
	rec := newRecorder(t, Config{})
	tap, err := NewTypedTap(rec, host{}, "many", &corev1.Node{}, func(r request) types.NamespacedName {
		return types.NamespacedName{Namespace: r.cluster, Name: r.name}
	})
	if err != nil {
		t.Fatal(err)
	}
	options := tap.Options(controller.TypedOptions[request]{})
	q := options.NewQueue(t.Name(), workqueue.DefaultTypedControllerRateLimiter[request]())
	defer q.ShutDown()
	h := WrapHandler(tap, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, n *corev1.Node) []request {
		return []request{{"east", n.Name}, {"west", n.Name}}
	}))
	h.Create(t.Context(), event.TypedCreateEvent[*corev1.Node]{Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}, q)
	for range 2 {
		r, _ := q.Get()
		if _, err := tap.Reconciler(reconcile.TypedFunc[request](func(context.Context, request) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		})).Reconcile(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		q.Done(r)
	}
	for _, cluster := range []string{"east", "west"} {
		got := rec.Query(Query{Namespace: cluster, Name: "n1"})
		if len(got) != 1 || len(brief(got[0])) != 1 || brief(got[0])[0] != "Create Node n1" {
			t.Errorf("%s: %v", cluster, got)
		}
	}
}

func TestATapNeedsAKnownType(t *testing.T) {
	rec := newRecorder(t, Config{})
	type stranger struct{ corev1.Pod }
	if _, err := NewTap(rec, host{}, "x", &stranger{}); err == nil {
		t.Error("an unknown type was taken")
	}
	if _, err := NewTap(rec, host{}, "", &corev1.Pod{}); err == nil {
		t.Error("a controller without a name was taken")
	}
	if got := refOf(&stranger{}, scheme.Scheme); got.Kind != "*flightrecorder.stranger" {
		t.Errorf("kind %q", got.Kind)
	}
}

func TestTheManagersChoiceOfQueueCounts(t *testing.T) {
	rec := newRecorder(t, Config{})
	tap, err := NewTap(rec, host{config.Controller{UsePriorityQueue: ptr.To(false), MaxConcurrentReconciles: 7}}, "x", &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	options := tap.Options(controller.Options{})
	q := options.NewQueue(t.Name(), workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if q.(*queue[reconcile.Request]).merges {
		t.Error("it is a priority queue")
	}
	// The rest is the builder's to fill in, and it has an order for that.
	if options.NewQueue = nil; !reflect.DeepEqual(options, controller.Options{}) {
		t.Errorf("more than the queue was set: %+v", options)
	}
}

// The recorder must not bring the operator down: an object it cannot compare costs its details.
func TestAnObjectThatCannotBeComparedCostsItsDetailsOnly(t *testing.T) {
	rec, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	tap := newTestTap(t, rec)
	bad := func(rv string) client.Object {
		u := asUnstructured(t, controllerFor(rv))
		u.Object["spec"] = map[string]any{"x": func() {}}
		return u
	}
	trigger := tap.newEvent(TriggerUpdate, bad("1"), bad("2")).describe()
	if trigger.Kind != TriggerUpdate || trigger.Object.Name != "web" || rec.Stats().Faults != 1 {
		t.Errorf("got %+v, %+v", trigger, rec.Stats())
	}
}

func toWeb(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{web()} }
