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

package eventcount

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// Calls is what a controller counts that does not look at the watch itself.
type Calls struct {
	// Handlers are the calls of OnAdd, OnUpdate and OnDelete, by kind.
	Handlers map[string]collectorv1.EventCounts
	// Specs are the handler calls for the Deployment that
	// GenerationChangedPredicate of controller-runtime lets through.
	Specs int64
	// Reconciles are the items that a worker took from a queue into which each
	// handler call puts the name of the Deployment.
	Reconciles int64
}

// PodsComeAndGo are the calls of OnAdd and OnDelete for pods.
func (c Calls) PodsComeAndGo() int64 {
	return c.Handlers["Pod"].Added + c.Handlers["Pod"].Deleted
}

// controller has informers for the three kinds, and a work queue. It counts by
// Deployment, which is in the label "app".
type controller struct {
	clients   kubernetes.Interface
	namespace string
	queue     workqueue.TypedInterface[string]

	mu    sync.Mutex
	calls map[string]*Calls
	// all are the handler calls for any Deployment since the start, by kind.
	all map[string]collectorv1.EventCounts
	// busy is how many workers reconcile.
	busy int
}

// workers is how many Deployments are reconciled at the same time, so that they do
// not wait for each other.
const workers = 4

// startController counts in a namespace until the test ends.
func startController(t testing.TB, config *rest.Config, namespace string) *controller {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &controller{
		clients: clients, namespace: namespace, queue: workqueue.NewTyped[string](),
		calls: map[string]*Calls{}, all: map[string]collectorv1.EventCounts{},
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	for kind, informer := range map[string]cache.SharedIndexInformer{
		"Deployment": factory.Apps().V1().Deployments().Informer(),
		"ReplicaSet": factory.Apps().V1().ReplicaSets().Informer(),
		"Pod":        factory.Core().V1().Pods().Informer(),
	} {
		if _, err := informer.AddEventHandler(c.handlers(kind)); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context() // it ends before the cleanup
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { c.work(ctx) })
	}
	factory.StartWithContext(ctx)
	t.Cleanup(func() {
		c.queue.ShutDown()
		factory.Shutdown()
		running.Wait()
	})
	factory.WaitForCacheSync(ctx.Done())
	return c
}

func (c *controller) handlers(kind string) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			c.called(kind, obj, true, func(e *collectorv1.EventCounts) { e.Added++ })
		},
		UpdateFunc: func(before, after any) {
			was, is := before.(metav1.Object), after.(metav1.Object)
			c.called(kind, after, was.GetGeneration() != is.GetGeneration(), func(e *collectorv1.EventCounts) { e.Modified++ })
		},
		DeleteFunc: func(obj any) {
			if tombstone, missed := obj.(cache.DeletedFinalStateUnknown); missed {
				obj = tombstone.Obj
			}
			c.called(kind, obj, true, func(e *collectorv1.EventCounts) { e.Deleted++ })
		},
	}
}

// called counts a handler call and queues the Deployment.
func (c *controller) called(kind string, obj any, spec bool, count func(*collectorv1.EventCounts)) {
	name := obj.(metav1.Object).GetLabels()[appLabel]
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.of(name)
	for _, counts := range []map[string]collectorv1.EventCounts{calls.Handlers, c.all} {
		events := counts[kind]
		count(&events)
		counts[kind] = events
	}
	if spec && kind == "Deployment" {
		calls.Specs++
	}
	c.queue.Add(name)
}

// of are the calls for a Deployment. The caller has the lock.
func (c *controller) of(name string) *Calls {
	if c.calls[name] == nil {
		c.calls[name] = &Calls{Handlers: map[string]collectorv1.EventCounts{}}
	}
	return c.calls[name]
}

// work reconciles: it lists the pods, as a controller does that has a status to
// write. What arrives meanwhile makes one more reconcile, however much it is.
func (c *controller) work(ctx context.Context) {
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		c.reconciling(name, 1)
		// An error means that the test is over.
		_, _ = c.clients.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + name})
		c.queue.Done(name) // before the worker is free: Done queues again what arrived meanwhile
		c.reconciling(name, -1)
	}
}

// reconciling notes that a worker begins (1) or ends (-1).
func (c *controller) reconciling(name string, change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy += change; change > 0 {
		c.of(name).Reconciles++
	}
}

// take returns what was counted for a Deployment since the last time, when no
// reconcile is left to do.
func (c *controller) take(t testing.TB, name string) Calls {
	t.Helper()
	testkit.Eventually(t, "the queue is empty", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if waiting := c.queue.Len(); waiting+c.busy > 0 {
			return fmt.Errorf("%d wait, %d are reconciled", waiting, c.busy)
		}
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.of(name)
	delete(c.calls, name)
	return *taken
}

// compare waits until the handlers were called as often as the Collector counted
// events, of every kind. Only the sums of all steps can be compared: where the
// Deployment controller writes a status late, it is in the handlers' next step, and
// in none of the Collector's.
func (c *controller) compare(t testing.TB, reader client.Reader, meter *collectorv1.Collector) {
	t.Helper()
	testkit.Eventually(t, "the Collector counted what the handlers were called for", func() error {
		if err := reader.Get(t.Context(), client.ObjectKeyFromObject(meter), meter); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if diff := cmp.Diff(c.all, byKind(meter.Status.EventsByKind)); diff != "" {
			return fmt.Errorf("events (-handlers +Collector):\n%s", diff)
		}
		return nil
	})
}
