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
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
)

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
