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

package crdgate

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The kind behind the gate is a ConfigMap here, and the other kind a Pod.
var (
	gvk    = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	podGVK = corev1.SchemeGroupVersion.WithKind("Pod")
)

func stored() *corev1.ConfigMap {
	m := &corev1.ConfigMap{}
	m.Namespace, m.Name = "ns", "there"
	return m
}

func newQueue(t *testing.T) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	return q
}

func TestAClosedGateStartsNoInformer(t *testing.T) {
	informers := &informertest.FakeInformers{}
	gate := New(informers, &corev1.ConfigMap{}, gvk)
	own := gate.Kind(&handler.EnqueueRequestForObject{})
	other := gate.Also(&corev1.Pod{}, &handler.EnqueueRequestForObject{})
	for _, s := range []interface {
		Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error
		WaitForSync(context.Context) error
	}{own, other} {
		if err := s.Start(t.Context(), newQueue(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.WaitForSync(t.Context()); err != nil {
			t.Errorf("a controller whose kind is missing fails: %v", err)
		}
	}
	if len(informers.InformersByGVK) > 0 {
		t.Errorf("informers: %v", informers.InformersByGVK)
	}
}

func TestObjectsAreFoundWhileTheGateIsOpen(t *testing.T) {
	gate := New(&informertest.FakeInformers{}, &corev1.ConfigMap{}, gvk)
	c := gate.Client(fake.NewClientBuilder().WithObjects(stored()).Build())
	find := func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(stored()), &corev1.ConfigMap{}) }
	if err := find(); !apierrors.IsNotFound(err) {
		t.Errorf("behind a closed gate: %v", err)
	}
	for range 2 {
		if err := gate.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := find(); err != nil {
			t.Errorf("through an open gate: %v", err)
		}
		if err := gate.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := find(); !apierrors.IsNotFound(err) {
			t.Errorf("after the gate was closed: %v", err)
		}
	}
}

func TestEventsPassEachTimeTheGateOpens(t *testing.T) {
	informers := &informertest.FakeInformers{}
	gate := New(informers, &corev1.ConfigMap{}, gvk)
	closed := 0
	gate.OnClose(func() { closed++ })
	q := newQueue(t)
	own := gate.Kind(&handler.EnqueueRequestForObject{})
	if err := own.Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	for round := 1; round <= 2; round++ {
		if err := gate.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := own.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		informer, err := informers.FakeInformerForKind(t.Context(), gvk)
		if err != nil {
			t.Fatal(err)
		}
		informer.Add(stored())
		if q.Len() != 1 {
			t.Fatalf("round %d: %d requests in the queue", round, q.Len())
		}
		item, _ := q.Get()
		q.Done(item)
		if err := gate.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if informers.InformersByGVK[gvk] != nil || closed != round {
			t.Errorf("round %d: the informer is still there, or no watcher was closed (%d times)", round, closed)
		}
	}
}

func TestInformersOfOtherKindsStay(t *testing.T) {
	informers := &informertest.FakeInformers{}
	gate := New(informers, &corev1.ConfigMap{}, gvk)
	s := gate.Also(&corev1.Pod{}, &handler.EnqueueRequestForObject{})
	if err := gate.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context(), newQueue(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := gate.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if informers.InformersByGVK[podGVK] == nil {
		t.Error("closing the gate took away the pods' informer, which others use")
	}
}

// stuckReader waits for an informer that never syncs.
type stuckReader struct {
	client.Client
	waiting chan struct{}
}

func (r *stuckReader) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	close(r.waiting)
	<-ctx.Done()
	return ctx.Err()
}

func TestAReaderThatWaitsDoesNotKeepTheGateOpen(t *testing.T) {
	gate := New(&informertest.FakeInformers{}, &corev1.ConfigMap{}, gvk)
	if err := gate.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	reader := &stuckReader{waiting: make(chan struct{})}
	read := make(chan error, 1)
	go func() { read <- gate.Client(reader).Get(t.Context(), client.ObjectKey{Name: "x"}, &corev1.ConfigMap{}) }()
	<-reader.waiting
	if err := gate.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err == nil {
		t.Error("the reader was told that it read something")
	}
}
