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

// Package judge watches what the real kube-controller-manager does to the pods of a
// workload, and compares it with what was said before. It plays the kubelets: a test
// decides which pods are bound, ready, held or broken. It shares no code with the
// models of internal/native.
package judge

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
)

// Label names the case to which a pod belongs.
const Label = "case"

// World is a cluster whose kubelets the judge plays.
type World struct {
	Clients kubernetes.Interface
	nodes   []string
	queue   workqueue.TypedRateLimitingInterface[string]
	pods    cache.SharedIndexInformer

	mu    sync.Mutex
	cases map[string]*Case
}

// Start watches the pods of a cluster, until the context ends.
func Start(ctx context.Context, clients kubernetes.Interface, nodes []string) (*World, error) {
	w := &World{
		Clients: clients, nodes: nodes, cases: map[string]*Case{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, time.Second)),
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	w.pods = factory.Core().V1().Pods().Informer()
	_, err := w.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.saw(obj.(*corev1.Pod), false) },
		UpdateFunc: func(_, obj any) { w.saw(obj.(*corev1.Pod), false) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			w.saw(obj.(*corev1.Pod), true)
		},
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for range 12 {
		go w.work(ctx)
	}
	go func() { <-ctx.Done(); w.queue.ShutDown() }()
	return w, nil
}

// saw hands an event to its case and to the kubelets.
func (w *World) saw(pod *corev1.Pod, gone bool) {
	w.mu.Lock()
	c := w.cases[pod.Labels[Label]]
	w.mu.Unlock()
	if c == nil {
		return
	}
	c.saw(pod, gone)
	if !gone {
		w.queue.Add(pod.Namespace + "/" + pod.Name)
	}
}

func (w *World) work(ctx context.Context) {
	for {
		key, done := w.queue.Get()
		if done {
			return
		}
		if err := w.play(ctx, key); err != nil && ctx.Err() == nil {
			w.queue.AddRateLimited(key)
		} else {
			w.queue.Forget(key)
		}
		w.queue.Done(key)
	}
}

// play does for a pod what a scheduler and a kubelet do.
func (w *World) play(ctx context.Context, key string) error {
	obj, found, err := w.pods.GetStore().GetByKey(key)
	if err != nil || !found {
		return err
	}
	pod := obj.(*corev1.Pod)
	w.mu.Lock()
	c := w.cases[pod.Labels[Label]]
	w.mu.Unlock()
	if c == nil {
		return nil
	}
	if pod.DeletionTimestamp != nil {
		return client(w.Clients.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		}))
	}
	state := c.State(pod)
	if pod.Spec.NodeName == "" && state != Unbound {
		return client(w.Clients.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: w.nodeFor(c, pod)},
		}, metav1.CreateOptions{}))
	}
	if state == Unbound || state == Pending || pod.Status.Phase == corev1.PodRunning && (state == Unready || isReady(pod)) {
		return nil
	}
	return w.report(ctx, pod, state == Ready, c.age(pod), 0)
}

// client ignores that a pod is gone or bound already.
func client(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// nodeFor is the node that a DaemonSet made the pod for, or any.
func (w *World) nodeFor(c *Case, pod *corev1.Pod) string {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, field := range term.MatchFields {
				return field.Values[0]
			}
		}
	}
	return w.nodes[draw(pod, "node")%min(len(w.nodes), c.Spread)]
}

// draw is a number that follows from a pod's UID.
func draw(pod *corev1.Pod, about string) int {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, pod.UID, about)
	return int(h.Sum32() >> 1)
}

// report writes a pod's status as a kubelet does.
func (w *World) report(ctx context.Context, pod *corev1.Pod, ready bool, age time.Duration, restarts int) error {
	status := "False"
	if ready {
		status = "True"
	}
	since := time.Now().Add(-age).UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}],
		"containerStatuses":[{"name":"app","image":"app","imageID":"app","ready":%t,"restartCount":%d,"state":{"running":{}}}]}}`, pod.UID, status, since, ready, restarts)
	_, err := w.Clients.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return client(err)
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
