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

package collector

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/mycompany/pod-operator/internal/controller/crdgate"
)

// SetupWithManager registers the controller and the watch that wakes it. What
// the Collectors themselves watch wakes it through the queue.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, gate *crdgate.Gate, options controller.Options) error {
	options.LogConstructor = gate.LogConstructor(mgr.GetLogger(), Name)
	gate.OnClose(r.stopAll)
	return builder.ControllerManagedBy(mgr).
		Named(Name).
		WatchesRawSource(source.Func(r.started)).
		WatchesRawSource(gate.Kind(&handler.EnqueueRequestForObject{}, specChanged())).
		WithOptions(options).
		Complete(r)
}

// started takes over the controller's context and queue, before its first
// reconcile. The queue keeps one request for each Collector, so however many
// events come, there is one reconcile in the time that they wait.
func (r *Reconciler) started(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.base = ctx
	r.wake = func(key types.NamespacedName) { queue.AddAfter(reconcile.Request{NamespacedName: key}, coalesce) }
	r.room.setWake(r.wake)
	return nil
}

// specChanged passes a new or edited spec and the end, and drops our own status
// writes.
func specChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}
