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
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/go-logr/logr"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/crdgate"
	"github.com/mycompany/pod-operator/internal/desired"
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

// ownerChanged passes a new or edited spec, a deletion, a changed list of
// finalizers (another client may have removed ours), the annotations that ask
// for something, and a status that is not the one we wrote: a predecessor's last
// write may arrive late, and would stay for ever. It also forgets an owner that
// is gone.
func (r *Reconciler) ownerChanged(ledger *observe.Ledger) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			asked := e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
			if asked {
				r.memories.asked(e.ObjectNew)
			}
			return asked ||
				!equality.Semantic.DeepEqual(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
				!maps.Equal(observe.Asking(e.ObjectOld.GetAnnotations()), observe.Asking(e.ObjectNew.GetAnnotations())) || r.status.foreign(e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			ledger.Forget(e.Object.GetUID())
			r.memories.forget(e.Object.GetUID())
			return true
		},
	}
}

// podChanged passes what can change a plan.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		return !ok || !ok2 || observe.PodChanged(before, after)
	}}
}

// claimChanged passes what can change a plan.
func claimChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.PersistentVolumeClaim)
		after, ok2 := e.ObjectNew.(*corev1.PersistentVolumeClaim)
		return !ok || !ok2 || observe.ClaimChanged(before, after)
	}}
}

// revisionChanged passes what this process did not write: another leader's revision
// may show later than the pods that are on it, and only it says what they are.
func revisionChanged(ledger *observe.Ledger) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(revision client.Object) bool {
		ref := metav1.GetControllerOfNoCopy(revision)
		return ref == nil || !ledger.Awaits(ref.UID, revision)
	})
}

// nodeChanged passes what can change a plan: also a new node, for which pods may
// have waited.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok || !ok2 || observe.NodeChanged(before, after)
	}}
}

// quotaChanged passes a quota that has more room, or is gone.
func quotaChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.ResourceQuota)
			after, ok2 := e.ObjectNew.(*corev1.ResourceQuota)
			return ok && ok2 && observe.QuotaHasMoreRoom(before, after)
		},
	}
}

// evictionChanged passes what changes who asks for a pod to leave.
func evictionChanged() predicate.Predicate {
	asked := func(obj client.Object) observe.EvictionAsked {
		switch e := obj.(type) {
		case *lifecyclev1alpha1.EvictionRequest:
			return observe.Requested(e)
		case *lifecyclev1alpha1.Eviction:
			return observe.OurTurn(e)
		}
		return observe.EvictionAsked{}
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return asked(e.ObjectOld) != asked(e.ObjectNew) }}
}

// ownerFinder leads from pods and nodes back to the owners to wake.
type ownerFinder struct {
	reader   client.Reader
	kind     desired.Kind
	watched  Watched
	memories *memories
}

// wake wakes the owners of an object before and after the change: a pod that was
// released concerns the owner it had.
func (f ownerFinder) wake(find handler.MapFunc) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(ctx context.Context, q queue, objs ...client.Object) {
		var woken []reconcile.Request
		for _, obj := range objs {
			wait := f.debounce(obj)
			for _, req := range find(ctx, obj) {
				if !slices.Contains(woken, req) {
					woken = append(woken, req)
					q.AddAfter(req, wait)
				}
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if sameController(e.ObjectOld, e.ObjectNew) {
				add(ctx, q, e.ObjectNew)
			} else {
				add(ctx, q, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, q, e.Object) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) { add(ctx, q, e.Object) },
	}
}

// nodesSettle is how long a change of a node waits for others before it wakes the
// fleets that count nodes: a node that joins has several, and nodes often change
// together.
const nodesSettle = 5 * time.Second

// wakeForNodes wakes the owners of the pods on a node at once, and later those that
// count the nodes which take new pods. A new node has no pods.
func (f ownerFinder) wakeForNodes() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	count := func(q queue) {
		for _, key := range f.memories.countingNodes() {
			q.AddAfter(reconcile.Request{NamespacedName: key}, nodesSettle)
		}
	}
	wake := func(ctx context.Context, q queue, node client.Object) {
		for _, req := range f.ofNode(ctx, node) {
			q.Add(req)
		}
		count(q)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { count(q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, q, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
	}
}

// quotaSettles is how long a quota's event waits for others: pods often go together, and all
// owners that wait for room try again.
const quotaSettles = time.Second

// wakeForQuotas wakes the owners in the quota's namespace to which a quota refused something.
func (f ownerFinder) wakeForQuotas() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			f.wakeFull(e.ObjectNew.GetNamespace(), q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			f.wakeFull(e.Object.GetNamespace(), q)
		},
	}
}

func (f ownerFinder) wakeFull(namespace string, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for _, key := range f.memories.makeRoom(namespace) {
		q.AddAfter(reconcile.Request{NamespacedName: key}, quotaSettles)
	}
}

// debounce is how long an event of a pod or a claim waits for others of its owner.
func (f ownerFinder) debounce(obj client.Object) time.Duration {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return f.memories.debounce(ref.UID)
	}
	return f.memories.debounce(types.UID(obj.GetLabels()[appsv1.LabelUID]))
}

// sameController: the pod is its owner's as before, as most are.
func sameController(before, after client.Object) bool {
	was, is := metav1.GetControllerOfNoCopy(before), metav1.GetControllerOfNoCopy(after)
	return was != nil && is != nil && was.UID == is.UID && was.Kind == is.Kind && was.Name == is.Name && was.APIVersion == is.APIVersion
}

// ordinalName takes a pod name apart at its last dash.
var ordinalName = regexp.MustCompile(`^(.+)-[0-9]+$`)

// ofPod finds the owners that a pod concerns: its controller; otherwise the
// owner that its label names, which may adopt it, and the owner of the name that
// it has taken, which waits for it to go.
func (f ownerFinder) ofPod(ctx context.Context, pod client.Object) []reconcile.Request {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == f.watched.GVK.Kind {
		return f.ofController(ctx, pod)
	}
	var names []string
	if name := pod.GetLabels()[f.watched.NameLabel]; name != "" {
		names = append(names, name)
	}
	if parts := ordinalName.FindStringSubmatch(pod.GetName()); len(parts) > 1 && !slices.Contains(names, parts[1]) {
		names = append(names, parts[1])
	}
	var requests []reconcile.Request
	for _, name := range names {
		req := request(pod.GetNamespace(), name)
		if err := f.reader.Get(ctx, req.NamespacedName, f.kind.New()); err == nil {
			requests = append(requests, req)
		}
	}
	return requests
}

// ofController finds the owner that controls an object.
func (f ownerFinder) ofController(_ context.Context, obj client.Object) []reconcile.Request {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != f.watched.GVK.Kind {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != f.watched.GVK.Group {
		return nil
	}
	return []reconcile.Request{request(obj.GetNamespace(), ref.Name)}
}

// ofClaim finds the owner that a claim's label names.
func (f ownerFinder) ofClaim(ctx context.Context, claim client.Object) []reconcile.Request {
	name := claim.GetLabels()[f.watched.NameLabel]
	if name == "" {
		return nil
	}
	req := request(claim.GetNamespace(), name)
	if err := f.reader.Get(ctx, req.NamespacedName, f.kind.New()); err != nil {
		return nil
	}
	return []reconcile.Request{req}
}

// ofNode finds the owners of the pods on a node.
func (f ownerFinder) ofNode(ctx context.Context, node client.Object) []reconcile.Request {
	var pods corev1.PodList
	err := f.reader.List(ctx, &pods, client.MatchingFields{observe.IndexPodsByNode: node.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot find the pods of a node", "Node", node.GetName())
		return nil
	}
	seen := map[reconcile.Request]bool{}
	var requests []reconcile.Request
	for i := range pods.Items {
		for _, req := range f.ofPod(ctx, &pods.Items[i]) {
			if !seen[req] {
				seen[req] = true
				requests = append(requests, req)
			}
		}
	}
	return requests
}

// ofEviction finds the owner of the pod that is asked to leave.
func (f ownerFinder) ofEviction(ctx context.Context, obj client.Object) []reconcile.Request {
	name := ""
	switch e := obj.(type) {
	case *lifecyclev1alpha1.EvictionRequest:
		if target := e.Spec.Target.Pod; target != nil {
			name = target.Name
		}
	case *lifecyclev1alpha1.Eviction:
		if target := e.Spec.Target.Pod; target != nil {
			name = target.Name
		}
	}
	var pod corev1.Pod
	if err := f.reader.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, &pod, client.UnsafeDisableDeepCopy); err != nil {
		return nil // what is gone has left, and of a new pod there is an event
	}
	return f.ofPod(ctx, &pod)
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}
