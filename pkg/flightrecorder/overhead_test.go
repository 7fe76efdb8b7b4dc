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
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// plant is an operator at work: a real controller of controller-runtime with one worker, whose
// reconciler copies an owner and its ten pods out of a cache, decides, and, where writes is set,
// patches the owner's status over HTTP. Events of pods come in; the same plant runs with and without
// the recorder.
type plant struct {
	cache  map[types.NamespacedName]*corev1.ReplicationController
	pods   map[types.NamespacedName][]*corev1.Pod
	client client.Client
	writes bool

	events handler.TypedEventHandler[client.Object, reconcile.Request]
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	done   chan struct{}
}

const plantOwners, plantPods = 50, 10

type plantDecision struct {
	Want  int32      `json:"want"`
	Ready int32      `json:"ready"`
	Why   []plantWhy `json:"why"`
}

type plantWhy struct {
	Pod    string `json:"pod"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

func (p *plant) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	defer func() { p.done <- struct{}{} }()
	owner := p.cache[request.NamespacedName].DeepCopy()
	ready := int32(0)
	decided := plantDecision{Want: plantPods}
	for _, cached := range p.pods[request.NamespacedName] {
		pod := cached.DeepCopy()
		if pod.Status.Phase == corev1.PodRunning {
			ready++
		}
		decided.Why = append(decided.Why, plantWhy{Pod: pod.Name, Rule: "keep", Reason: "UpToDate"})
	}
	decided.Ready = ready
	SetPayload(ctx, decided)
	if !p.writes {
		return reconcile.Result{}, nil
	}
	before := owner.DeepCopy()
	owner.Status.ReadyReplicas = ready + 1
	return reconcile.Result{}, p.client.Status().Patch(ctx, owner, client.MergeFrom(before))
}

func newPlant(t testing.TB, rec *Recorder, url string, writes bool) *plant {
	t.Helper()
	p := &plant{
		cache: map[types.NamespacedName]*corev1.ReplicationController{}, pods: map[types.NamespacedName][]*corev1.Pod{},
		done: make(chan struct{}, plantOwners), writes: writes,
	}
	for i := range plantOwners {
		owner := controllerFor("1")
		owner.Name = fmt.Sprintf("web-%d", i)
		key := client.ObjectKeyFromObject(owner)
		p.cache[key] = owner
		for j := range plantPods {
			pod := owned(testPod())
			pod.Name, pod.UID = fmt.Sprintf("%s-%d", owner.Name, j), types.UID(fmt.Sprintf("uid-%d-%d", i, j))
			pod.OwnerReferences[0].Name = owner.Name
			p.pods[key] = append(p.pods[key], pod)
		}
	}
	cfg := &rest.Config{Host: url, QPS: -1}
	c, err := client.New(cfg, client.Options{Mapper: testMapper()})
	if err != nil {
		t.Fatal(err)
	}
	p.client = c
	p.events = handler.EnqueueRequestForOwner(scheme.Scheme, testMapper(), &corev1.ReplicationController{})
	p.start(t, rec)
	return p
}

// start wires and runs the controller; these are the lines that the recorder adds to an operator.
func (p *plant) start(t testing.TB, rec *Recorder) {
	t.Helper()
	options := controller.Options{Reconciler: p, SkipNameValidation: ptr.To(true), Logger: logr.Discard()}
	if rec != nil {
		tap := newTestTap(t, rec)
		p.client = rec.Client(p.client)
		p.events = tap.Handler(p.events)
		options = tap.Options(options)
		options.Reconciler = tap.Reconciler(p)
	}
	c, err := controller.NewUnmanaged("plant", options)
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	if err := c.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.queue = q
		close(started)
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- c.Start(ctx) }()
	<-started
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// reconcile sends an event of one pod and waits until its owner is reconciled.
func (p *plant) reconcile(n int) time.Duration {
	pods := p.pods[types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("web-%d", n%plantOwners)}]
	before := pods[n%plantPods]
	after := before.DeepCopy()
	after.ResourceVersion = fmt.Sprint(1000 + n)
	after.Status.Conditions[1].LastTransitionTime = metav1.NewTime(time.Unix(int64(n), 0))
	after.Status.PodIP = fmt.Sprintf("10.0.0.%d", n%200)
	pods[n%plantPods] = after
	start := time.Now()
	p.events.Update(context.Background(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, p.queue)
	<-p.done
	return time.Since(start)
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// answers is the least an API server can do: it reads the patch and sends an object.
func answers(t testing.TB) string {
	t.Helper()
	body, err := json.Marshal(controllerFor("2"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// BenchmarkReconcile measures the same operator with and without the recorder, in turns within one
// run: the time from an event to the end of the reconcile it leads to. It prints the median without the
// recorder and what the median with it is more. The server that answers the writes does nothing; with a
// real one, see BenchmarkReconcileOnARealServer.
func BenchmarkReconcile(b *testing.B) {
	log.SetLogger(logr.Discard())
	for name, writes := range map[string]bool{"with one write": true, "without a write": false} {
		b.Run(name, func(b *testing.B) {
			url := answers(b)
			rec := newRecorder(b, Config{})
			without, with := newPlant(b, nil, url, writes), newPlant(b, rec, url, writes)
			for n := range 500 {
				without.reconcile(n)
				with.reconcile(n)
			}
			var plain, recorded []time.Duration
			for turn := 0; b.Loop(); turn++ {
				if turn%2 == 0 {
					plain = append(plain, without.reconcile(turn))
					recorded = append(recorded, with.reconcile(turn))
				} else {
					recorded = append(recorded, with.reconcile(turn))
					plain = append(plain, without.reconcile(turn))
				}
			}
			p, r := median(plain), median(recorded)
			b.ReportMetric(float64(p.Nanoseconds())/1000, "bare-µs/reconcile")
			b.ReportMetric(float64((r-p).Nanoseconds())/1000, "added-µs/reconcile")
			b.ReportMetric(100*(float64(r)/float64(p)-1), "overhead-%")
			b.ReportMetric(0, "ns/op")
			if got := rec.Stats(); got.Records == 0 || got.Faults > 0 {
				b.Fatalf("%+v", got)
			}
		})
	}
}

func median(v []time.Duration) time.Duration {
	slices.Sort(v)
	return v[len(v)/2]
}

// The clock of a shared machine proves little; allocations are counted exactly.
func TestARecordedReconcileAllocatesLittle(t *testing.T) {
	rec := newRecorder(t, Config{})
	tap := newTestTap(t, rec)
	q := tap.Options(controller.Options{}).NewQueue(t.Name(), workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	h := tap.Handler(handler.EnqueueRequestsFromMapFunc(toWeb))
	r := tap.Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	}))
	before, after := testPod(), testPod()
	after.ResourceVersion, after.Status.Phase = "101", corev1.PodFailed
	allocations := testing.AllocsPerRun(200, func() {
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		request, _ := q.Get()
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		q.Done(request)
	})
	t.Logf("%.0f allocations from event to record, the queue's own included", allocations)
	if allocations > 80 {
		t.Errorf("%.0f allocations", allocations)
	}
}

// BenchmarkRecord is the recorder alone: an event of a pod, compared and attributed; a run that does
// nothing; its record. The queue is left out.
func BenchmarkRecord(b *testing.B) {
	rec := newRecorder(b, Config{})
	tap := newTestTap(b, rec)
	tap.queue.Store(tap.newQueue(plainQueue[reconcile.Request]{silent{}}))
	q := tap.queue.Load()
	h := tap.Handler(handler.EnqueueRequestsFromMapFunc(toWeb))
	r := tap.Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	}))
	before, after := testPod(), testPod()
	before.ManagedFields = []metav1.ManagedFieldsEntry{managed("me", "", 1, ownsImage), managed("kubelet", "status", 1, ownsStatus)}
	after.ManagedFields = []metav1.ManagedFieldsEntry{managed("me", "", 1, ownsImage), managed("kubelet", "status", 2, ownsStatus)}
	after.ResourceVersion, after.Status.Phase = "101", corev1.PodFailed
	ctx := b.Context()
	b.ReportAllocs()
	runs, start := 0, processorTime()
	for b.Loop() {
		runs++
		h.Update(ctx, event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		tap.handOut(web(), 0)
		if _, err := r.Reconcile(ctx, web()); err != nil {
			b.Fatal(err)
		}
		q.Done(web())
	}
	b.ReportMetric(float64((processorTime()-start).Nanoseconds())/float64(runs)/1000, "cpu-µs/op")
}

// silent is a queue that takes everything and gives nothing.
type silent struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (silent) Add(reconcile.Request)             {}
func (silent) Done(reconcile.Request)            {}
func (silent) NumRequeues(reconcile.Request) int { return 0 }
