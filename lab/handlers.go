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

package lab

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mycompany/pod-operator/lab/trace"
)

// tappedCache hands out informers whose event handlers are shown.
type tappedCache struct {
	cache.Cache
	process *process
}

func (c *tappedCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	if err != nil {
		return nil, err
	}
	return &tappedInformer{Informer: informer, process: c.process}, nil
}

func (c *tappedCache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformerForKind(ctx, gvk, opts...)
	if err != nil {
		return nil, err
	}
	return &tappedInformer{Informer: informer, process: c.process}, nil
}

type tappedInformer struct {
	cache.Informer
	process *process
}

func (i *tappedInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(&tappedHandler{inner: h, process: i.process})
}

func (i *tappedInformer) AddEventHandlerWithResyncPeriod(
	h toolscache.ResourceEventHandler, resync time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithResyncPeriod(&tappedHandler{inner: h, process: i.process}, resync)
}

func (i *tappedInformer) AddEventHandlerWithOptions(
	h toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(&tappedHandler{inner: h, process: i.process}, options)
}

// delivery is an event on its way through one handler.
type delivery struct {
	verb, object string
	before       client.Object
	after        client.Object
	initial      bool
	enqueued     int
}

type tappedHandler struct {
	inner   toolscache.ResourceEventHandler
	process *process
}

func (h *tappedHandler) OnAdd(obj any, isInInitialList bool) {
	after, _ := obj.(client.Object)
	h.deliver(&delivery{verb: "Create", after: after, initial: isInInitialList}, func() { h.inner.OnAdd(obj, isInInitialList) })
}

func (h *tappedHandler) OnUpdate(before, after any) {
	d := &delivery{verb: "Update"}
	d.before, _ = before.(client.Object)
	d.after, _ = after.(client.Object)
	h.deliver(d, func() { h.inner.OnUpdate(before, after) })
}

func (h *tappedHandler) OnDelete(obj any) {
	last := obj
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		last = unknown.Obj // a relist found that it is gone; the watch did not say so
	}
	after, _ := last.(client.Object)
	h.deliver(&delivery{verb: "Delete", after: after}, func() { h.inner.OnDelete(obj) })
}

// deliver runs one handler at a time, so that what it adds to the queue is known to be its own.
func (h *tappedHandler) deliver(d *delivery, run func()) {
	p := h.process
	if d.after == nil {
		run()
		return
	}
	p.handling.Lock()
	defer p.handling.Unlock()
	d.object = p.kinds.name(d.after, p.GetScheme())
	p.indexed(d)
	p.setDelivery(d)
	run()
	if p.setDelivery(nil); d.enqueued == 0 {
		p.say(trace.BoxHandlers, d.verb, d.object, text(
			"The handler for %s of %s puts nothing into the queue: a predicate refuses the event, or it leads to no object.",
			"%s 事件（%s）没有入队：被 predicate 过滤，或者找不到对应的对象。", d.verb, d.object))
	}
}

func (p *process) setDelivery(d *delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delivery = d
}

// enqueues says that the handler that runs now puts a key into a queue; nil means that no
// handler runs.
func (p *process) enqueues(k string) *delivery {
	p.mu.Lock()
	d := p.delivery
	if d != nil {
		d.enqueued++
	}
	p.mu.Unlock()
	if d == nil {
		return nil
	}
	p.say(trace.BoxHandlers, d.verb, d.object, text(
		"The predicates let %s of %s pass, and the handler enqueues %s.", "predicate 放行 %s 事件（%s），handler 把 %s 放入队列。", d.verb, d.object, k))
	return d
}

// indexed says that the indexer has changed. An informer changes it before it calls the first
// of its handlers; the others see the same version.
func (p *process) indexed(d *delivery) {
	version := d.after.GetResourceVersion()
	p.mu.Lock()
	before, known := p.cached[d.object]
	switch {
	case p.dead, d.verb == "Delete" && !known, d.verb != "Delete" && before == version:
		p.mu.Unlock()
		return
	case d.verb == "Delete":
		delete(p.cached, d.object)
	default:
		p.cached[d.object] = version
	}
	list := p.cachedList()
	p.mu.Unlock()
	t := text("The indexer now has %s at version %s: what Reconcile reads from now on.", "indexer 中 %s 的版本是 %s，此后 Reconcile 读到的就是它。", d.object, version)
	if d.verb == "Delete" {
		t = text("The indexer has removed %s.", "indexer 已删除 %s。", d.object)
	}
	p.step(trace.Step{Box: trace.BoxIndexer, Verb: d.verb, Object: d.object, Text: t, Cached: list})
}

// reading shows what a reconcile reads. A read comes from the indexer, except of kinds that the
// manager was told not to cache.
func (p *process) reading(inner client.Client) client.Client {
	withWatch := client.WithWatch(watchless{Client: inner})
	return interceptor.NewClient(withWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, k, obj, opts...)
			if runFrom(ctx) != nil {
				object := p.kinds.kind(obj, p.GetScheme()) + " " + key(k.Namespace, k.Name)
				t := text("Reconcile reads %s at version %s from the indexer.", "Reconcile 从 indexer 读取 %s，版本 %s。", object, obj.GetResourceVersion())
				if err != nil {
					t = text("Reconcile reads %s from the indexer: it is not there.", "Reconcile 从 indexer 读取 %s：不存在。", object)
				}
				p.say(trace.BoxIndexer, "get", object, t)
			}
			return err
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if runFrom(ctx) != nil && err == nil {
				names := listed(list)
				gvk, _ := apiutil.GVKForObject(list, p.GetScheme())
				kind := strings.TrimSuffix(gvk.Kind, "List")
				p.say(trace.BoxIndexer, "list", kind, text("Reconcile lists objects of kind %s from the indexer and gets %d: %s.", "Reconcile 从 indexer 列出 %s，得到 %d 个：%s。",
					kind, len(names), joined(names)))
			}
			return err
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			// The request's URL has no name yet, and its body may be protobuf.
			name := obj.GetName()
			if name == "" {
				name = obj.GetGenerateName() + "…"
			}
			return c.Create(context.WithValue(ctx, nameKey{}, name), obj, opts...)
		},
	})
}
