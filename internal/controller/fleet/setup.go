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
	"fmt"
	"time"

	"github.com/go-logr/logr"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/internal/controller/crdgate"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers/status,verbs=patch
// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/status;pods/resize,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=lifecycle.k8s.io,resources=evictions;evictionrequests,verbs=list;watch
// +kubebuilder:rbac:groups=lifecycle.k8s.io,resources=evictions/status,verbs=patch
// +kubebuilder:rbac:groups=batch.tutorial.kubebuilder.io,resources=imoocpods,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.tutorial.kubebuilder.io,resources=imoocpods/status,verbs=patch
// +kubebuilder:rbac:groups=batch.tutorial.kubebuilder.io,resources=imoocpods/finalizers,verbs=update

// How long a reconcile that failed waits: twice as long each time, and never
// longer than a fleet goes without a look. What made it fail may be gone by
// then, and no event says so.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// RateLimiter is how long a reconcile that failed waits.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}

// Watched says how the pods of a kind lead back to their owner.
type Watched struct {
	GVK schema.GroupVersionKind
	// NameLabel carries the owner's name on its pods.
	NameLabel string
	// Options are the workers and their queue.
	Options controller.Options
	// Gate holds the controller back while the kind's CRD is not installed.
	Gate *crdgate.Gate
	// Tap records why the controller runs and what it does. Nil records
	// nothing.
	Tap *flightrecorder.Tap
}

// record wraps a handler so that its events are recorded.
func (w Watched) record(h handler.EventHandler) handler.EventHandler {
	if w.Tap == nil {
		return h
	}
	return w.Tap.Handler(h)
}

func (w Watched) controllerOptions(log logr.Logger, name string) controller.Options {
	o := w.Options
	o.RateLimiter, o.LogConstructor = RateLimiter(), w.Gate.LogConstructor(log, name)
	if w.Tap == nil {
		return o
	}
	return w.Tap.Options(o)
}

func (w Watched) reconciler(r reconcile.Reconciler) reconcile.Reconciler {
	if w.Tap == nil {
		return r
	}
	return w.Tap.Reconciler(r)
}

// SetupWithManager registers the controller and the watches that wake it.
//
// The predicates drop what cannot change a plan: updates of an owner that leave
// its generation and finalizers alone (our own status writes above all), pod
// and claim updates that touch nothing the planner reads, and every heartbeat of a
// node.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, ledger *observe.Ledger, w Watched) error {
	handlers := r.Handlers(w.Gate.Client(mgr.GetClient()), ledger, w)
	if err := watchEnds(ctx, mgr, handlers); err != nil {
		return err
	}
	b := builder.ControllerManagedBy(mgr)
	if r.evictions {
		b = b.Watches(&lifecyclev1alpha1.EvictionRequest{}, w.record(handlers.Evictions), builder.WithPredicates(handlers.EvictionChanged)).
			Watches(&lifecyclev1alpha1.Eviction{}, w.record(handlers.Evictions), builder.WithPredicates(handlers.EvictionChanged))
	}
	return b.
		Named(r.kind.Name()).
		WatchesRawSource(w.Gate.Kind(w.record(handlers.Owners), handlers.OwnerChanged)).
		Watches(&corev1.Pod{}, w.record(handlers.Pods), builder.WithPredicates(handlers.PodChanged)).
		Watches(&corev1.PersistentVolumeClaim{}, w.record(handlers.Claims), builder.WithPredicates(handlers.ClaimChanged)).
		Watches(&kappsv1.ControllerRevision{}, w.record(handlers.Revisions), builder.WithPredicates(handlers.RevisionChanged)).
		Watches(&corev1.Node{}, w.record(handlers.Nodes), builder.WithPredicates(handlers.NodeChanged)).
		Watches(&corev1.ResourceQuota{}, w.record(handlers.Quotas), builder.WithPredicates(handlers.QuotaChanged)).
		WithOptions(w.controllerOptions(mgr.GetLogger(), r.kind.Name())).
		Complete(w.reconciler(r))
}

// Handlers are a reconciler's event handlers and predicates: which events pass, and
// which owners they enqueue. They are apart from the manager so that a
// simulation of the cluster can use them too.
type Handlers struct {
	Owners       handler.EventHandler
	OwnerChanged predicate.Predicate
	Pods         handler.EventHandler
	PodChanged   predicate.Predicate
	Claims       handler.EventHandler
	ClaimChanged predicate.Predicate
	// Revisions wake their controller.
	Revisions       handler.EventHandler
	RevisionChanged predicate.Predicate
	Nodes           handler.EventHandler
	NodeChanged     predicate.Predicate
	Quotas          handler.EventHandler
	QuotaChanged    predicate.Predicate
	// Evictions are EvictionRequests and Evictions of lifecycle.k8s.io.
	Evictions       handler.EventHandler
	EvictionChanged predicate.Predicate
	// PodGone is called for every pod that the cache saw go.
	PodGone func(pod client.Object)
}

// Handlers makes the reconciler's handlers. reader finds the owners of pods.
func (r *Reconciler) Handlers(reader client.Reader, ledger *observe.Ledger, w Watched) Handlers {
	owners := ownerFinder{reader: reader, kind: r.kind, watched: w, memories: r.memories}
	return Handlers{
		Owners:          &handler.EnqueueRequestForObject{},
		OwnerChanged:    r.ownerChanged(ledger),
		Pods:            owners.wake(owners.ofPod),
		PodChanged:      podChanged(),
		Claims:          owners.wake(owners.ofClaim),
		ClaimChanged:    claimChanged(),
		Revisions:       owners.wake(owners.ofController),
		RevisionChanged: revisionChanged(ledger),
		Nodes:           owners.wakeForNodes(),
		NodeChanged:     nodeChanged(),
		Quotas:          owners.wakeForQuotas(),
		QuotaChanged:    quotaChanged(),
		Evictions:       handler.EnqueueRequestsFromMapFunc(owners.ofEviction),
		EvictionChanged: evictionChanged(),
		// The owner need not wait for the creation of a pod whose deletion the
		// cache saw.
		PodGone: func(pod client.Object) {
			if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == w.GVK.Kind {
				ledger.Saw(ref.UID, pod.GetUID())
			}
		},
	}
}

// watchEnds listens for pods that go, also where no owner is woken.
func watchEnds(ctx context.Context, mgr ctrl.Manager, handlers Handlers) error {
	informer, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(raw any) {
		if last, ok := raw.(cache.DeletedFinalStateUnknown); ok {
			raw = last.Obj
		}
		if pod, ok := raw.(client.Object); ok {
			handlers.PodGone(pod)
		}
	}})
	return err
}
