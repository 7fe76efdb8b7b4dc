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

package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// world is where one behaviour plays: a namespace, and in it one object.
type world struct {
	*Adapter
	client    client.WithWatch
	faults    Disturber
	patience  time.Duration
	namespace string
	name      string
	*log

	// uid of the object, once it was created.
	uid types.UID
	// desired is how many pods the object asks for; spans are the numbers of pods
	// that it may have, from a version on.
	desired int
	spans   []span
	// created and deleted are how many pods it should have created and deleted so far.
	created, deleted int
	// prepare changes the object before it is created.
	prepare []func(*unstructured.Unstructured) error
	// kept are pods that a later step looks for.
	kept map[string]*corev1.Pod
	// marks are versions that a later step goes back to.
	marks map[string]string
	// opened are the pods whose gate the suite has opened.
	opened map[types.UID]bool
	// early is that kstatus said Current too early, once.
	early error
	// undo runs when the behaviour has ended, whatever came of it.
	undo []func(context.Context) error
}

type span struct {
	from uint64
	most int
}

// objectName is the same in every namespace.
const objectName = "web"

const pollInterval = 25 * time.Millisecond

// settleTime is how long nothing may happen before the suite believes that nothing will.
const settleTime = 1500 * time.Millisecond

// eventually waits until check returns nil, and returns its last objection otherwise.
func (w *world) eventually(ctx context.Context, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, w.patience, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err == nil || ctx.Err() == nil { // what a request says that ran out of time is no objection
			last = err
		}
		return err == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("after %s: %w", w.patience, last)
	}
	return err
}

// object reads the object.
func (w *world) object(ctx context.Context) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(w.GVK())
	return object, w.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: w.name}, object)
}

// conflicts is how often an edit is tried again, for some 5 s: a controller may write
// its status in quick succession.
var conflicts = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5}

// edit changes the object as a user does, who tries again when another writer was faster.
func (w *world) edit(ctx context.Context, change func(*unstructured.Unstructured) error) (*unstructured.Unstructured, error) {
	var object *unstructured.Unstructured
	err := retry.RetryOnConflict(conflicts, func() (err error) {
		if object, err = w.object(ctx); err != nil {
			return err
		}
		if err := change(object); err != nil {
			return err
		}
		return w.client.Update(ctx, object)
	})
	return object, err
}

// pods are the object's live pods.
func (w *world) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, e := range w.now().live(w.uid) {
		pods = append(pods, e.pod)
	}
	return pods
}

// editPod changes a pod.
func (w *world) editPod(ctx context.Context, name string, change func(*corev1.Pod)) error {
	return retry.RetryOnConflict(conflicts, func() error {
		pod := &corev1.Pod{}
		if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, pod); err != nil {
			return err
		}
		change(pod)
		return w.client.Update(ctx, pod)
	})
}

// find looks a pod up by its UID.
func (w *world) find(uid types.UID) (*corev1.Pod, types.UID) {
	e := w.now()[uid]
	return e.pod, e.root
}

// setCondition sets a condition of a pod's status.
func (w *world) setCondition(ctx context.Context, pod *corev1.Pod, kind string, status corev1.ConditionStatus) error {
	body := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"conditions":[{"type":%q,"status":%q,"lastTransitionTime":%q}]}}`,
		pod.UID, kind, status, time.Now().UTC().Format(time.RFC3339))
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	return w.client.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, body))
}

// catchUp waits until the log has seen all that is on the API server now.
func (w *world) catchUp(ctx context.Context) error {
	var list corev1.PodList
	if err := w.client.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	return w.eventually(ctx, func(context.Context) error {
		have := w.now()
		for i := range list.Items {
			pod := &list.Items[i]
			if e, ok := have[pod.UID]; ok && e.version < version(pod) {
				return fmt.Errorf("the watch is behind with pod %s", pod.Name)
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.lost
	})
}

// later takes something away when the behaviour has ended.
func (w *world) later(undo func(context.Context) error) { w.undo = append(w.undo, undo) }

// open makes the namespace and starts the log.
func (w *world) open(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "conformance-", Labels: map[string]string{suiteLabel: w.Metadata.Name}}}
	if err := w.client.Create(ctx, ns); err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	w.namespace = ns.Name
	// Pods need the default ServiceAccount.
	err := w.eventually(ctx, func(ctx context.Context) error {
		return w.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
	if err != nil {
		return err
	}
	for _, other := range w.Others(w.namespace, w.name) {
		if err := w.client.Create(ctx, other); err != nil {
			return fmt.Errorf("create the %s beside it: %w", other.GetKind(), err)
		}
	}
	list := &unstructured.UnstructuredList{}
	gvk := w.GVK()
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	w.log, err = follow(ctx, w.client, w.namespace, list)
	return err
}

// suiteLabel is on every namespace that the suite makes.
const suiteLabel = "conformance.mycompany.com/suite"

// close takes everything away again.
func (w *world) close(ctx context.Context) error {
	if w.namespace == "" {
		return nil
	}
	var errs []error
	for _, undo := range slices.Backward(w.undo) {
		if err := undo(ctx); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	return errors.Join(append(errs, client.IgnoreNotFound(w.client.Delete(ctx, ns)))...)
}
