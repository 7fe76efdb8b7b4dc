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

package sim

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Watch is one kind that wakes the reconciler.
type Watch struct {
	Object     client.Object
	Predicates []predicate.Predicate
	// handler makes the event handler; owners need a scheme and a mapper.
	handler func(*runtime.Scheme, meta.RESTMapper) handler.EventHandler
}

// Watcher is a reconciler that brings its own watches, for handlers that need its
// fields. They are added to those of the world.
type Watcher interface{ Watches() []Watch }

// For watches the kind that is reconciled.
func For(obj client.Object, predicates ...predicate.Predicate) Watch {
	return Watches(obj, &handler.EnqueueRequestForObject{}, predicates...)
}

// Owns watches a kind whose controller reference names what is reconciled.
func Owns(owner, obj client.Object, predicates ...predicate.Predicate) Watch {
	return Watch{Object: obj, Predicates: predicates, handler: func(scheme *runtime.Scheme, mapper meta.RESTMapper) handler.EventHandler {
		return handler.EnqueueRequestForOwner(scheme, mapper, owner, handler.OnlyControllerOwner())
	}}
}

// Watches watches a kind with an event handler.
func Watches(obj client.Object, h handler.EventHandler, predicates ...predicate.Predicate) Watch {
	return Watch{Object: obj, Predicates: predicates, handler: func(*runtime.Scheme, meta.RESTMapper) handler.EventHandler { return h }}
}

// Build registers a reconciler with these watches, and with its own if it is a Watcher,
// at a manager, so that a program can run exactly what was explored.
func Build(mgr ctrl.Manager, name string, watches []Watch, r reconcile.Reconciler) error {
	if w, ok := r.(Watcher); ok {
		watches = slices.Concat(watches, w.Watches())
	}
	b := ctrl.NewControllerManagedBy(mgr).Named(name)
	for _, w := range watches {
		b = b.Watches(w.Object, w.handler(mgr.GetScheme(), mgr.GetRESTMapper()), builder.WithPredicates(w.Predicates...))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("build the controller %s: %w", name, err)
	}
	return nil
}

// pass sends a change through predicates and handler, and says whether the predicates
// let it pass.
func (w *Watch) pass(h handler.EventHandler, c change, q *queue) bool {
	ctx := context.Background()
	all := predicate.And(w.Predicates...)
	switch {
	case c.before == nil && c.after == nil:
	case c.before == nil:
		if e := (event.CreateEvent{Object: copyOf(c.after.obj)}); all.Create(e) {
			h.Create(ctx, e, q)
			return true
		}
	case c.after == nil:
		if e := (event.DeleteEvent{Object: copyOf(c.before.obj)}); all.Delete(e) {
			h.Delete(ctx, e, q)
			return true
		}
	default:
		if e := (event.UpdateEvent{ObjectOld: copyOf(c.before.obj), ObjectNew: copyOf(c.after.obj)}); all.Update(e) {
			h.Update(ctx, e, q)
			return true
		}
	}
	return false
}

func labelsOf(obj client.Object) labels.Set { return obj.GetLabels() }

// fieldsOf are the fields that every kind can be selected by.
func fieldsOf(obj client.Object) fields.Set {
	return fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
}

// Of is what New gets in a real program: the parts of a manager.
func Of(mgr ctrl.Manager, name string) Process {
	return Process{
		Name: name, Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Scheme: mgr.GetScheme(), Clock: clock.RealClock{},
		Recorder: mgr.GetEventRecorder(name), Term: 1, Serve: func() {},
	}
}
