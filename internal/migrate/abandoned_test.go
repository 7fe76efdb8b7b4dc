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

package migrate

import (
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kept are a ReplicaSet and a StatefulSet that a run has deleted, and did not let go.
func kept(name string) []client.Object {
	now := metav1.Now()
	meta := metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 2, DeletionTimestamp: &now, Finalizers: []string{finalizerMigrating}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rs := &kappsv1.ReplicaSet{ObjectMeta: *meta.DeepCopy(), Spec: kappsv1.ReplicaSetSpec{Selector: selector}}
	rs.UID, rs.Status.ObservedGeneration = "rs", 2
	sts := &kappsv1.StatefulSet{ObjectMeta: *meta.DeepCopy(), Spec: kappsv1.StatefulSetSpec{Selector: selector}}
	sts.UID = "sts"
	return []client.Object{rs, sts}
}

// aPodOf is a pod that an owner made.
func aPodOf(owner client.Object, kind *Kind) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-late", Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind.GroupVersionKind)},
	}}
}

// A run that is killed, and whose record is gone, leaves what it deleted with a finalizer
// that nothing took off: a namespace that is deleted waited for it for ever.
func TestAnAbandonedDeletionIsEnded(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	namespace := func(phase corev1.NamespacePhase) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Status: corev1.NamespaceStatus{Phase: phase}}
	}
	revision := &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"}}}
	set, stateful := kept("web-5d9f")[0], kept("web")[1]
	tests := map[string]struct {
		object  client.Object
		objects []client.Object
	}{
		"a ReplicaSet, and a pod that came late": {set, []client.Object{namespace(corev1.NamespaceActive), aPodOf(set, ReplicaSets)}},
		"a StatefulSet whose revisions are free": {stateful, []client.Object{namespace(corev1.NamespaceActive), revision, aPodOf(stateful, StatefulSets)}},
		"a StatefulSet in a namespace that goes": {stateful, []client.Object{namespace(corev1.NamespaceTerminating)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := fakeClient(t, append(test.objects, test.object)...)
			m := &Mover{Client: c, Holder: "me", Say: t.Logf, Patience: 2 * time.Second}
			if err := m.GiveBack(t.Context(), key, nil); err != nil {
				t.Error(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(test.object), test.object); !gone(err) {
				t.Errorf("it is still there: %v", err)
			}
			var pods corev1.PodList
			if err := c.List(t.Context(), &pods); err != nil {
				t.Fatal(err)
			}
			for i := range pods.Items {
				if len(pods.Items[i].OwnerReferences) > 0 {
					t.Errorf("the garbage collector would delete pod %s, of %v", pods.Items[i].Name, pods.Items[i].OwnerReferences)
				}
			}
			if err := m.GiveBack(t.Context(), key, nil); err == nil || !strings.Contains(err.Error(), "nothing to undo") {
				t.Errorf("once more: %v, want that there is nothing to undo", err)
			}
		})
	}
}

// What a migration works on that has a record, or another name, is none of an undo's.
func TestAnotherMigrationIsNotAbandoned(t *testing.T) {
	mine, others := kept("web-5d9f")[0], kept("web-2-77aa")[0]
	others.SetUID("others")
	c := fakeClient(t, mine, others)
	for name, obj := range map[string]client.Object{"web-2": others, "lone": nil} {
		record := &Record{Stage: Releasing, Target: Target{Resource: Deployments.id(), Name: name}}
		if rs, ok := obj.(*kappsv1.ReplicaSet); ok {
			record.Parts = []unstructured.Unstructured{*partOf(rs, ReplicaSets).Unstructured}
		}
		if _, err := newStore(t.Context(), c, client.ObjectKey{Namespace: "shop", Name: name}, record, "another"); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Abandoned(t.Context(), c, "shop")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, part := range found {
		names = append(names, part.GetName())
	}
	if !slices.Equal(names, []string{"web-5d9f"}) {
		t.Errorf("abandoned are %v, want web-5d9f alone", names)
	}
	m := &Mover{Client: c, Holder: "me", Say: t.Logf, Patience: time.Second}
	if err := m.GiveBack(t.Context(), client.ObjectKey{Namespace: "shop", Name: "we"}, nil); err == nil {
		t.Error("an undo of another name found something")
	}
}
