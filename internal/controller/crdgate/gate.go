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

// Package crdgate lets a controller live with a CRD that comes and goes.
//
// A controller whose CRD is missing would crash its manager when its cache does
// not sync, and an informer whose CRD was deleted would ask for it for ever. A
// Gate stands between the two. While it is closed, the kind has no informer,
// its objects read as not found and the controller is idle. Open starts the
// watches, Close stops that of the kind itself; both may be called any number
// of times, before and after the controller has started.
//
// Invariant: nothing that goes through the Gate starts an informer of the kind
// while it is closed.
package crdgate

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Gate is closed while the CRD of a kind is not served.
type Gate struct {
	cache cache.Cache
	kind  client.Object
	gvk   schema.GroupVersionKind

	// mu is held for reading while an object of the kind is read, so that
	// Close never takes the informer away from under a reader, who would
	// start it again.
	mu      sync.RWMutex
	open    bool
	sources []*gatedSource
	// forms are how the kind is watched besides kind itself.
	forms  []form
	closed []func()
	// epoch ends when the gate closes: a reader that waits for an informer
	// which will never sync has to release mu first.
	epoch atomic.Pointer[epoch]
}

// form is what an informer of the kind is found by.
type form struct {
	cache cache.Cache
	obj   client.Object
}

type epoch struct {
	ctx context.Context
	end context.CancelFunc
}

// New makes a closed Gate for the kind of obj.
func New(informers cache.Cache, obj client.Object, gvk schema.GroupVersionKind) *Gate {
	return &Gate{cache: informers, kind: obj, gvk: gvk}
}

// GVK is the kind behind the gate.
func (g *Gate) GVK() schema.GroupVersionKind { return g.gvk }

// IsOpen reports whether the kind is served.
func (g *Gate) IsOpen() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.open
}

// OnClose registers what to do after the gate was closed.
func (g *Gate) OnClose(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = append(g.closed, f)
}

// Open lets the kind in: its informer and the watches are started.
func (g *Gate) Open(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return nil
	}
	// A replica that waits to be elected keeps its cache warm.
	if _, err := g.cache.GetInformer(ctx, g.kind, cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("watch %s: %w", g.gvk.Kind, err)
	}
	g.open = true
	ended, end := context.WithCancel(context.WithoutCancel(ctx))
	g.epoch.Store(&epoch{ctx: ended, end: end})
	for _, s := range g.sources {
		if err := s.start(); err != nil {
			return fmt.Errorf("watch %s: %w", g.gvk.Kind, err)
		}
	}
	return nil
}

// Close shuts the kind out and stops its informer.
func (g *Gate) Close(ctx context.Context) error {
	if e := g.epoch.Load(); e != nil {
		e.end()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return nil
	}
	g.open = false
	for _, s := range g.sources {
		s.stop()
	}
	for _, f := range append([]form{{g.cache, g.kind}}, g.forms...) {
		if err := f.cache.RemoveInformer(ctx, f.obj); err != nil {
			return fmt.Errorf("stop watching %s: %w", g.gvk.Kind, err)
		}
	}
	for _, f := range g.closed {
		f()
	}
	return nil
}

// Client is c, except that while the gate is closed no object of the kind is
// found.
func (g *Gate) Client(c client.Client) client.Client { return &gatedClient{Client: c, gate: g} }

type gatedClient struct {
	client.Client
	gate *Gate
}

// Get implements client.Reader.
func (c *gatedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if reflect.TypeOf(obj) != reflect.TypeOf(c.gate.kind) {
		return c.Client.Get(ctx, key, obj, opts...)
	}
	c.gate.mu.RLock()
	defer c.gate.mu.RUnlock()
	if !c.gate.open {
		return apierrors.NewNotFound(schema.GroupResource{Group: c.gate.gvk.Group, Resource: c.gate.gvk.Kind}, key.String())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.gate.epoch.Load().ctx, cancel)()
	return c.Client.Get(ctx, key, obj, opts...)
}

// Kind is the source of the kind's own events.
func (g *Gate) Kind(h handler.EventHandler, predicates ...predicate.Predicate) source.SyncingSource {
	return g.source(true, g.cache, g.kind, h, predicates)
}

// Form is a source of the kind's own events from another cache, which holds them as
// metadata, say, or only some of them.
func (g *Gate) Form(informers cache.Cache, obj client.Object, h handler.EventHandler, predicates ...predicate.Predicate) source.SyncingSource {
	s := g.source(true, informers, obj, h, predicates)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forms = append(g.forms, form{informers, obj})
	return s
}

// Also is a source of another kind's events, watched from the first time the
// gate opens.
func (g *Gate) Also(obj client.Object, h handler.EventHandler, predicates ...predicate.Predicate) source.SyncingSource {
	return g.source(false, g.cache, obj, h, predicates)
}

func (g *Gate) source(own bool, informers cache.Cache, obj client.Object, h handler.EventHandler, predicates []predicate.Predicate) source.SyncingSource {
	s := &gatedSource{gate: g, own: own, make: func() source.SyncingSource {
		return source.Kind(informers, obj, h, predicates...)
	}}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sources = append(g.sources, s)
	return s
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// gatedSource starts a fresh source each time the gate opens, because one
// cannot be started twice. The other kinds' informers live on while the gate is
// closed, and so do the handlers on them; those are started once.
type gatedSource struct {
	gate *Gate
	own  bool
	make func() source.SyncingSource

	// ctx and queue are the controller's, from when it started.
	ctx    context.Context
	queue  queue
	inner  source.SyncingSource
	cancel context.CancelFunc
}

// Start implements source.Source.
func (s *gatedSource) Start(ctx context.Context, q queue) error {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.ctx, s.queue = ctx, q
	if !s.gate.open {
		return nil
	}
	return s.start()
}

// WaitForSync implements source.SyncingSource. A source that the gate stopped
// meanwhile has nothing to wait for, and must not fail its controller.
func (s *gatedSource) WaitForSync(ctx context.Context) error {
	s.gate.mu.RLock()
	inner := s.inner
	s.gate.mu.RUnlock()
	if inner == nil {
		return nil
	}
	if err := inner.WaitForSync(ctx); err != nil && s.gate.IsOpen() {
		return err
	}
	return nil
}

// String names the source in logs.
func (s *gatedSource) String() string { return "gated source of " + s.gate.gvk.Kind }

// start is called under the gate's lock.
func (s *gatedSource) start() error {
	if s.queue == nil || s.inner != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.inner, s.cancel = s.make(), cancel
	return s.inner.Start(ctx, s.queue)
}

// stop is called under the gate's lock.
func (s *gatedSource) stop() {
	if s.own && s.inner != nil {
		s.cancel()
		s.inner, s.cancel = nil, nil
	}
}

// LogConstructor makes the loggers of the kind's controller, with the fields
// that a builder gives a controller that is for a kind.
func (g *Gate) LogConstructor(base logr.Logger, controller string) func(*reconcile.Request) logr.Logger {
	logger := base.WithValues("controller", controller, "controllerGroup", g.gvk.Group, "controllerKind", g.gvk.Kind)
	return func(req *reconcile.Request) logr.Logger {
		if req == nil {
			return logger
		}
		return logger.WithValues(g.gvk.Kind, klog.KRef(req.Namespace, req.Name), "namespace", req.Namespace, "name", req.Name)
	}
}
