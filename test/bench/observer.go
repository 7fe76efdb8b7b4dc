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

package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// view is what a namespace looks like.
type view struct {
	// Live pods are not terminating; Ready and ByImage count live ones.
	Live, Ready, Terminating int
	ByImage                  map[string]int
	// Objects are the contender's; Told are those whose status says that all
	// that was asked for is there, up to date and ready, ToldNone those whose
	// status says that no pod is left.
	Objects, Told, ToldNone int
}

// observer watches the pods and the contender's objects of one namespace, or of
// all where it has no name.
type observer struct {
	mu      sync.Mutex
	pods    map[types.UID]podState
	objects map[types.UID]objectState
	view    view
	changed chan struct{}
	stop    context.CancelFunc
}

type podState struct {
	namespace, name    string
	image              string
	ready, terminating bool
}

type objectState struct{ told, none bool }

func newObserver(ctx context.Context, pods kubernetes.Interface, objects dynamic.Interface, c *contender, namespace string) (*observer, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &observer{
		pods: map[types.UID]podState{}, objects: map[types.UID]objectState{}, changed: make(chan struct{}), stop: cancel,
		view: view{ByImage: map[string]int{}},
	}
	podInformer := o.inform(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return pods.CoreV1().Pods(namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return pods.CoreV1().Pods(namespace).Watch(ctx, options)
		},
	}, &corev1.Pod{})
	// Every namespace has ConfigMaps of others.
	ours := ""
	if c.bare {
		ours = fields.OneTermEqualSelector("metadata.name", rawFleet).String()
	}
	objectInformer := o.inform(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = ours
			return objects.Resource(c.gvr).Namespace(namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = ours
			return objects.Resource(c.gvr).Namespace(namespace).Watch(ctx, options)
		},
	}, &unstructured.Unstructured{})
	for _, informer := range []cache.Controller{podInformer, objectInformer} {
		go informer.RunWithContext(ctx)
	}
	if !cache.WaitForCacheSync(ctx.Done(), podInformer.HasSynced, objectInformer.HasSynced) {
		cancel()
		return nil, fmt.Errorf("watch namespace %s: %w", namespace, ctx.Err())
	}
	return o, nil
}

func (o *observer) inform(lw *cache.ListWatch, object runtime.Object) cache.Controller {
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lw, ObjectType: object, Transform: slim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    o.see,
			UpdateFunc: func(_, obj any) { o.see(obj) },
			DeleteFunc: o.forget,
		},
	})
	return informer
}

// slim keeps this process small: its memory and its collector are not to be
// felt by those it measures.
func slim(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		image := ""
		if len(pod.Spec.Containers) > 0 {
			image = pod.Spec.Containers[0].Image
		}
		pod.ManagedFields, pod.OwnerReferences, pod.Labels, pod.Annotations = nil, nil, nil, nil
		pod.Spec = corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}
		pod.Status = corev1.PodStatus{Conditions: pod.Status.Conditions}
	}
	if object, ok := obj.(*unstructured.Unstructured); ok {
		object.SetManagedFields(nil)
		unstructured.RemoveNestedField(object.Object, "spec", "template")
	}
	return obj, nil
}

func (o *observer) see(obj any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch object := obj.(type) {
	case *corev1.Pod:
		o.countPod(o.pods[object.UID], -1)
		state := podState{namespace: object.Namespace, name: object.Name, image: object.Spec.Containers[0].Image, terminating: object.DeletionTimestamp != nil}
		for _, condition := range object.Status.Conditions {
			state.ready = state.ready || condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		}
		o.pods[object.UID] = state
		o.countPod(state, 1)
	case *unstructured.Unstructured:
		o.countObject(o.objects[object.GetUID()], -1)
		state := readObject(object)
		if _, known := o.objects[object.GetUID()]; !known {
			o.view.Objects++
		}
		o.objects[object.GetUID()] = state
		o.countObject(state, 1)
	}
	o.wake()
}

func (o *observer) forget(obj any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	switch object := obj.(type) {
	case *corev1.Pod:
		o.countPod(o.pods[object.UID], -1)
		delete(o.pods, object.UID)
	case *unstructured.Unstructured:
		o.countObject(o.objects[object.GetUID()], -1)
		delete(o.objects, object.GetUID())
		o.view.Objects--
	}
	o.wake()
}

// countPod adds a pod to the view or takes it out; one without a name is none.
func (o *observer) countPod(p podState, by int) {
	switch {
	case p.name == "":
	case p.terminating:
		o.view.Terminating += by
	default:
		o.view.Live += by
		o.view.ByImage[p.image] += by
		if p.ready {
			o.view.Ready += by
		}
	}
}

func (o *observer) countObject(s objectState, by int) {
	if s.told {
		o.view.Told += by
	}
	if s.none {
		o.view.ToldNone += by
	}
}

// readObject reads the fields that all kinds with a status share. A
// ReplicaSet has no updatedReplicas, and a missing number is 0.
func readObject(object *unstructured.Unstructured) objectState {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(object.Object, fields...)
		return n
	}
	want := number("spec", "replicas")
	seen := number("status", "observedGeneration") >= object.GetGeneration() && object.GetGeneration() > 0
	updated := object.GetKind() == "ReplicaSet" || number("status", "updatedReplicas") == want
	return objectState{
		told: seen && updated && number("status", "replicas") == want && number("status", "readyReplicas") == want,
		none: seen && number("status", "replicas") == 0,
	}
}

func (o *observer) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// look is the view as it is now.
func (o *observer) look() (view, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v := o.view
	v.ByImage = map[string]int{}
	for image, n := range o.view.ByImage {
		v.ByImage[image] = n
	}
	return v, o.changed
}

// until waits for a view and returns when it was there.
func (o *observer) until(ctx context.Context, what string, is func(view) bool) (time.Time, error) {
	for {
		v, changed := o.look()
		if is(v) {
			return time.Now(), nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waited until %s: %w; it looks like %+v", what, context.Cause(ctx), v)
		case <-changed:
		}
	}
}

// podID is one pod, as opposed to its successor of the same name.
type podID struct {
	uid             types.UID
	namespace, name string
}

// some are live pods, at most n.
func (o *observer) some(n int) []podID {
	o.mu.Lock()
	defer o.mu.Unlock()
	pods := make([]podID, 0, n)
	for uid, p := range o.pods {
		if len(pods) < n && !p.terminating {
			pods = append(pods, podID{uid: uid, namespace: p.namespace, name: p.name})
		}
	}
	return pods
}

// gone reports whether none of the pods is there any more.
func (o *observer) gone(pods []podID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !slices.ContainsFunc(pods, func(p podID) bool { _, there := o.pods[p.uid]; return there })
}
