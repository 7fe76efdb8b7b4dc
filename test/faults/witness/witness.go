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

// Package witness sees every version of everything the oracles look at,
// straight from the API server. A watch that breaks off is resumed where it
// was, so a restart of the API server hides nothing.
package witness

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// Witness is the watches and what they saw.
type Witness struct {
	client client.WithWatch

	mu      sync.Mutex
	history map[string][]oracle.Revision // by namespace
}

func lists() []client.ObjectList {
	return []client.ObjectList{
		&corev1.PodList{}, &appsv1.PodManagerList{}, &kappsv1.ControllerRevisionList{}, &kappsv1.ReplicaSetList{}, &corev1.PersistentVolumeClaimList{},
	}
}

// New begins to watch, until the context ends.
func New(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (*Witness, error) {
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	w := &Witness{client: c, history: map[string][]oracle.Revision{}}
	for _, list := range lists() {
		if err := c.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
		go w.watch(ctx, list, list.GetResourceVersion())
	}
	return w, nil
}

// watch watches from a version on, again and again.
func (w *Witness) watch(ctx context.Context, list client.ObjectList, version string) {
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		events, err := w.client.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
		expired := apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
		if err == nil {
			version, expired = w.listen(events, version)
		}
		if expired {
			version = w.catchUp(ctx, list, version)
		}
		return false, nil // until the context ends
	})
}

// catchUp reads the newest state where the versions since are no longer kept,
// as after a change of a CRD.
func (w *Witness) catchUp(ctx context.Context, list client.ObjectList, version string) string {
	fresh := list.DeepCopyObject().(client.ObjectList)
	if err := w.client.List(ctx, fresh); err != nil {
		return version
	}
	items, err := meta.ExtractList(fresh)
	if err != nil {
		return version
	}
	present := map[types.UID]bool{}
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			w.see(obj, false)
			present[obj.GetUID()] = true
		}
	}
	w.bury(elementOf(fresh), present, fresh.GetResourceVersion())
	return fresh.GetResourceVersion()
}

// elementOf is the type of a list's items.
func elementOf(list client.ObjectList) reflect.Type {
	return reflect.PointerTo(reflect.ValueOf(list).Elem().FieldByName("Items").Type().Elem())
}

// bury notes the end of objects that went while no watch was open.
func (w *Witness) bury(kind reflect.Type, present map[types.UID]bool, version string) {
	w.mu.Lock()
	last := map[types.UID]oracle.Revision{}
	for _, history := range w.history {
		for i := range history {
			if r := &history[i]; reflect.TypeOf(r.Object) == kind {
				last[r.Object.GetUID()] = *r
			}
		}
	}
	w.mu.Unlock()
	for uid, r := range last {
		if !r.Gone && !present[uid] {
			obj := r.Object.DeepCopyObject().(client.Object)
			obj.SetResourceVersion(version)
			w.see(obj, true)
		}
	}
}

// see notes a version, once.
func (w *Witness) see(obj client.Object, gone bool) {
	n, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	history := w.history[obj.GetNamespace()]
	if slices.ContainsFunc(history, func(r oracle.Revision) bool { return r.Version == n && r.Object.GetUID() == obj.GetUID() }) {
		return
	}
	w.history[obj.GetNamespace()] = append(history, oracle.Revision{Version: n, Object: obj, Gone: gone})
}

func (w *Witness) listen(events watch.Interface, version string) (last string, expired bool) {
	defer events.Stop()
	for e := range events.ResultChan() {
		if e.Type == watch.Error {
			err := apierrors.FromObject(e.Object)
			return version, apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
		}
		obj, ok := e.Object.(client.Object)
		if !ok {
			continue
		}
		version = obj.GetResourceVersion()
		w.see(obj, e.Type == watch.Deleted)
	}
	return version, false
}

// History is what was seen of a namespace so far, in order, and the versions of
// what was there at its end.
func (w *Witness) History(namespace string) (history []oracle.Revision, there map[string]string) {
	w.mu.Lock()
	history = slices.Clone(w.history[namespace])
	w.mu.Unlock()
	slices.SortStableFunc(history, func(a, b oracle.Revision) int { return int(a.Version - b.Version) })
	there = map[string]string{}
	for i := range history {
		if r := &history[i]; r.Gone {
			delete(there, key(r.Object))
		} else {
			there[key(r.Object)] = r.Object.GetResourceVersion()
		}
	}
	return history, there
}

// Objects is everything of a namespace that the oracles look at.
func (w *Witness) Objects(ctx context.Context, namespace string) ([]client.Object, error) {
	var pods corev1.PodList
	var owners appsv1.PodManagerList
	var revisions kappsv1.ControllerRevisionList
	var sets kappsv1.ReplicaSetList
	var claims corev1.PersistentVolumeClaimList
	for _, list := range []client.ObjectList{&pods, &owners, &revisions, &sets, &claims} {
		if err := w.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	var all []client.Object
	for i := range pods.Items {
		all = append(all, &pods.Items[i])
	}
	for i := range owners.Items {
		all = append(all, &owners.Items[i])
	}
	for i := range revisions.Items {
		all = append(all, &revisions.Items[i])
	}
	for i := range sets.Items {
		all = append(all, &sets.Items[i])
	}
	for i := range claims.Items {
		all = append(all, &claims.Items[i])
	}
	return all, nil
}

// Versions are the versions of objects, by kind and name.
func Versions(objects []client.Object) map[string]string {
	m := map[string]string{}
	for _, obj := range objects {
		m[key(obj)] = obj.GetResourceVersion()
	}
	return m
}

func key(obj client.Object) string { return fmt.Sprintf("%T %s", obj, obj.GetName()) }
