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

package testkit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Create makes an object.
func (s *Suite) Create(t testing.TB, obj client.Object) {
	t.Helper()
	if err := s.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// Delete deletes an object and does not wait until it is gone.
func (s *Suite) Delete(t testing.TB, obj client.Object, options ...client.DeleteOption) {
	t.Helper()
	if err := s.Client.Delete(t.Context(), obj, options...); err != nil {
		t.Fatalf("delete %T %s: %v", obj, obj.GetName(), err)
	}
}

// Patch sends a merge patch, as kubectl patch does. The answer goes into obj.
func (s *Suite) Patch(t testing.TB, obj client.Object, body string, options ...client.PatchOption) {
	t.Helper()
	if err := s.Client.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(body)), options...); err != nil {
		t.Fatalf("patch %T %s with %s: %v", obj, obj.GetName(), body, err)
	}
}

// Get reads an object into obj, and returns it.
func Get[O client.Object](t testing.TB, s *Suite, namespace, name string, obj O) O {
	t.Helper()
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return Read(t, s, obj)
}

// Read is Get of the object that obj names.
func Read[O client.Object](t testing.TB, s *Suite, obj O) O {
	t.Helper()
	if err := s.get(t, obj); err != nil {
		t.Fatalf("get %T %s: %v", obj, obj.GetName(), err)
	}
	return obj
}

// get empties obj first: decoding leaves alone what an answer does not mention.
func (s *Suite) get(t testing.TB, obj client.Object) error {
	key, gvk := client.ObjectKeyFromObject(obj), obj.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(obj).Elem().SetZero()
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	return s.Client.Get(t.Context(), key, obj)
}

// Pods lists the pods of a namespace with these labels, sorted by name.
func (s *Suite) Pods(t testing.TB, namespace string, labels map[string]string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := s.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		t.Fatalf("list pods: %v", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// Lives reports whether a pod has neither ended nor been deleted.
func Lives(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

// Live leaves out the pods that ended or were deleted.
func Live(pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return !Lives(&p) })
}

// Names are the names of pods.
func Names(pods []corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for i := range pods {
		names = append(names, pods[i].Name)
	}
	return names
}

// UIDs show, by name, whether pods are the very pods they were.
func UIDs(pods []corev1.Pod) map[string]types.UID {
	uids := map[string]types.UID{}
	for i := range pods {
		uids[pods[i].Name] = pods[i].UID
	}
	return uids
}

// ConditionOf is a pod's condition; empty where it has none of that kind.
func ConditionOf(p *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return p.Status.Conditions[i].Status
		}
	}
	return ""
}

// IsReady reports whether a pod is ready.
func IsReady(p *corev1.Pod) bool { return ConditionOf(p, corev1.PodReady) == corev1.ConditionTrue }

// ExpectGone waits until an object no longer exists. One that was made again
// under its name is another object.
func (s *Suite) ExpectGone(t testing.TB, obj client.Object) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%T %s is gone", obj, obj.GetName()), func() error {
		fresh := obj.DeepCopyObject().(client.Object)
		err := s.get(t, fresh)
		switch {
		case apierrors.IsNotFound(err) || err == nil && fresh.GetUID() != obj.GetUID():
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it is there, finalizers %v", fresh.GetFinalizers())
	})
}

// Events lists the events about an object.
func (s *Suite) Events(t testing.TB, obj client.Object) []eventsv1.Event {
	t.Helper()
	gvk, err := s.Client.GroupVersionKindFor(obj)
	if err != nil {
		t.Fatal(err)
	}
	var list eventsv1.EventList
	if err := s.Client.List(t.Context(), &list, client.InNamespace(obj.GetNamespace())); err != nil {
		t.Fatalf("list events: %v", err)
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Kind != gvk.Kind || e.Regarding.Name != obj.GetName()
	})
}

// ExpectEvent waits for an event about an object whose note contains a text.
func (s *Suite) ExpectEvent(t testing.TB, obj client.Object, eventType, reason, text string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s has a %s event %s with %q", obj.GetName(), eventType, reason, text), func() error {
		var seen []string
		for _, e := range s.Events(t, obj) {
			if e.Type == eventType && e.Reason == reason && strings.Contains(e.Note, text) {
				return nil
			}
			seen = append(seen, e.Type+" "+e.Reason+": "+e.Note)
		}
		return fmt.Errorf("the events are:\n%s", strings.Join(seen, "\n"))
	})
}
