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

package helloworld

import (
	"context"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/controller/crdgate"
)

// indexPods finds pods by the HelloWorld that their label names.
const indexPods = "helloworld"

// coalesce is how long news that only change the status wait for more of their
// kind. The queue holds one request for each HelloWorld, so a Deployment that
// moves a thousand pods costs a few status writes a second at most.
const coalesce = 250 * time.Millisecond

// AddIndexes registers the index that the reconciler reads.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &corev1.Pod{}, indexPods, func(obj client.Object) []string {
		if name, ok := obj.GetLabels()[testv1alpha1.LabelName]; ok {
			return []string{name}
		}
		return nil
	})
}

// SetupWithManager registers the controller and the watches that wake it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, gate *crdgate.Gate, options controller.Options) error {
	options.LogConstructor = gate.LogConstructor(mgr.GetLogger(), Name)
	wake := waker{reader: gate.Client(mgr.GetClient())}
	return builder.ControllerManagedBy(mgr).
		Named(Name).
		WatchesRawSource(gate.Kind(&handler.EnqueueRequestForObject{}, r.specChanged())).
		WatchesRawSource(gate.Also(&kappsv1.Deployment{}, wake.onDeployments(r))).
		WatchesRawSource(gate.Also(&corev1.Pod{}, wake.onPods(), podChanged())).
		WithOptions(options).
		Complete(r)
}

// specChanged passes a new or edited spec and a deletion, and drops our own
// status writes. A HelloWorld that is gone is forgotten on the way.
func (r *Reconciler) specChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			r.forget(e.Object.GetUID())
			return false
		},
	}
}

// podChanged passes what adds a name to status.nodes or takes one away.
func podChanged() predicate.Predicate {
	ended := func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		return !ok || !ok2 || ended(before) != ended(after) ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
	}}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// waker leads from Deployments and pods back to the HelloWorlds to wake.
type waker struct{ reader client.Reader }

// onDeployments wakes the HelloWorld of a Deployment's name: it is the owner,
// or it waits for the name. Edits of the Deployment are corrected at once; news
// of its status wait for more.
func (w waker) onDeployments(r *Reconciler) handler.EventHandler {
	add := func(ctx context.Context, q queue, d client.Object, wait time.Duration) {
		if req, ok := w.named(ctx, d.GetNamespace(), d.GetName()); ok {
			q.AddAfter(req, wait)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, q, e.Object, 0) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			r.forget(e.Object.GetUID())
			add(ctx, q, e.Object, 0)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if edited(e.ObjectOld, e.ObjectNew) {
				add(ctx, q, e.ObjectNew, 0)
				return
			}
			add(ctx, q, e.ObjectNew, coalesce)
		},
	}
}

// edited reports whether more than the status changed.
func edited(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
}

// onPods wakes the HelloWorld that a pod's label names, before and after the
// change.
func (w waker) onPods() handler.EventHandler {
	add := func(ctx context.Context, q queue, pods ...client.Object) {
		for _, pod := range pods {
			name, ok := pod.GetLabels()[testv1alpha1.LabelName]
			if !ok {
				continue
			}
			if req, ok := w.named(ctx, pod.GetNamespace(), name); ok {
				q.AddAfter(req, coalesce)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { add(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, q, e.Object) },
	}
}

// named is the request for a HelloWorld, where there is one.
func (w waker) named(ctx context.Context, namespace, name string) (reconcile.Request, bool) {
	req := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	return req, w.reader.Get(ctx, req.NamespacedName, &testv1alpha1.HelloWorld{}) == nil
}
