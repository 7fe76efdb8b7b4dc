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
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// lateController is a client of a cluster whose ReplicaSet controller sees a deletion
// after the garbage collector, and makes a pod before that.
type lateController struct {
	client.Client
	saw bool
}

// Get answers, and then the controller works.
func (c *lateController) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, options...)
	if rs, ok := obj.(*unstructured.Unstructured); ok && err == nil && rs.GetDeletionTimestamp() != nil && !c.saw {
		return c.notice(ctx)
	}
	return err
}

// notice makes the last pod, and sees the deletion.
func (c *lateController) notice(ctx context.Context) error {
	c.saw = true
	rs := aReplicaSet()
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(rs), rs); err != nil {
		return err
	}
	late := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-late", Labels: rs.Spec.Selector.MatchLabels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, ReplicaSets.GroupVersionKind)},
	}}
	rs.Status.ObservedGeneration = rs.Generation
	if err := c.Create(ctx, late); err != nil {
		return err
	}
	return c.Client.Status().Update(ctx, rs)
}

// Delete marks the ReplicaSet, as the API server does.
func (c *lateController) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if err := c.Client.Delete(ctx, obj, options...); err != nil {
		return err
	}
	rs := aReplicaSet()
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(rs), rs); err != nil {
		return c.collect(ctx)
	}
	rs.Generation = 2
	return c.Update(ctx, rs)
}

func (c *lateController) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.Client.Patch(ctx, obj, patch, options...); err != nil {
		return err
	}
	if c.Client.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, aReplicaSet()) != nil {
		return c.collect(ctx)
	}
	return nil
}

// collect is what the garbage collector does once the ReplicaSet is gone, of which the
// controller may not have seen it.
func (c *lateController) collect(ctx context.Context) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		if len(pods.Items[i].OwnerReferences) > 0 {
			if err := c.Client.Delete(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// A pod that a ReplicaSet makes after it was deleted stays, and the ReplicaSet goes.
func TestALatecomerStays(t *testing.T) {
	c := &lateController{Client: fakeClient(t, aReplicaSet())}
	r := lateRun(t, c)
	if err := r.letGo(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := &corev1.Pod{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-late"}, late); err != nil || len(late.OwnerReferences) > 0 {
		t.Errorf("the latecomer: %v, owners %v", err, late.OwnerReferences)
	}
	if err := c.Client.Get(t.Context(), r.key(), aReplicaSet()); !gone(err) {
		t.Errorf("the ReplicaSet: %v, want that it is gone", err)
	}
}

// impatient is a client of a user who interrupts the run once the ReplicaSet is deleted.
type impatient struct {
	*lateController
	interrupt context.CancelFunc
}

func (c *impatient) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	defer c.interrupt()
	return c.lateController.Delete(ctx, obj, options...)
}

// A run that is interrupted holds nothing when it ends.
func TestAnInterruptedRunHoldsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &lateController{Client: fakeClient(t, aReplicaSet())}
	if err := lateRun(t, &impatient{c, cancel}).letGo(ctx); err == nil {
		t.Fatal("it was not interrupted")
	}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, aReplicaSet()); !gone(err) {
		t.Errorf("the ReplicaSet: %v, want that it is gone", err)
	}
	late := &corev1.Pod{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-late"}, late); err != nil || len(late.OwnerReferences) > 0 {
		t.Errorf("the latecomer: %v, owners %v", err, late.OwnerReferences)
	}
}

func lateRun(t *testing.T, c client.Client) *run {
	t.Helper()
	w, err := Read(t.Context(), c, ReplicaSets, client.ObjectKey{Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	record := recordOf(w)
	s, err := newStore(t.Context(), c, client.ObjectKey{Namespace: "shop", Name: "web"}, record, "me")
	if err != nil {
		t.Fatal(err)
	}
	return &run{Mover: &Mover{Client: c, Say: t.Logf, Patience: 5 * time.Second}, Workload: w, store: s}
}

// A workload that keeps its pods after all is held by nothing of ours.
func TestAWorkloadThatStaysHasNoFinalizerOfOurs(t *testing.T) {
	held := func(t *testing.T, c client.Client) bool {
		t.Helper()
		rs := aReplicaSet()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(rs), rs); err != nil {
			t.Fatal(err)
		}
		return slices.Contains(rs.Finalizers, finalizerMigrating)
	}
	t.Run("its deletion is forbidden", func(t *testing.T) {
		c := fakeClient(t, aReplicaSet())
		if err := lateRun(t, &noDeletions{c}).letGo(t.Context()); err == nil || held(t, c) {
			t.Errorf("error %v, held %v", err, held(t, c))
		}
	})
	t.Run("a run that was killed is undone", func(t *testing.T) {
		rs := aReplicaSet()
		rs.Finalizers = []string{"shop/other", finalizerMigrating}
		c := fakeClient(t, rs)
		r := lateRun(t, c)
		if left := r.store.record.Parts[0].GetFinalizers(); !slices.Equal(left, []string{"shop/other"}) {
			t.Errorf("the record would make it with the finalizers %v", left)
		}
		if err := r.cancel(t.Context()); err != nil || held(t, c) {
			t.Errorf("error %v, held %v", err, held(t, c))
		}
	})
}

type noDeletions struct{ client.Client }

func (c *noDeletions) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "replicasets"}, "web", nil)
}

// A pod that a ReplicaSet made after the labelling is on the template that was taken over,
// also where the PodManager was edited since: with the label of the new revision it would
// count as updated, and stay as it is.
func TestALatecomerIsOnTheRevisionThatWasTakenOver(t *testing.T) {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "pm"}}
	pm.Status.UpdateRevision = "web-edited"
	late := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-late", Labels: map[string]string{"app": "web"}}}
	c := fakeClient(t, aReplicaSet(), pm, late)
	r := lateRun(t, c)
	r.store.record.Revision, r.Patience = "web-taken", 0
	if err := r.adopt(t.Context()); err == nil {
		t.Error("no operator has adopted it, and it does not wait")
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(late), late); err != nil {
		t.Fatal(err)
	}
	if got := late.Labels[appsv1.LabelRevision]; got != "web-taken" {
		t.Errorf("it is labelled as revision %q, want web-taken", got)
	}
}

// Others label and annotate the workload while its pods are labelled. An undo brought it back
// without that.
func TestAWorkloadIsAnnotatedDuringItsMigration(t *testing.T) {
	rs := aReplicaSet()
	c := fakeClient(t, rs)
	r := lateRun(t, c)
	if err := c.Get(t.Context(), r.key(), rs); err != nil {
		t.Fatal(err)
	}
	rs.Labels, rs.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "b"}
	if err := c.Update(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	if err := r.letGo(t.Context()); err != nil {
		t.Fatal(err)
	}
	record, err := LoadRecord(t.Context(), c, r.key())
	if err != nil {
		t.Fatal(err)
	}
	if part := &record.Parts[0]; part.GetLabels()["team"] != "a" || part.GetAnnotations()["note"] != "b" || part.GetUID() != rs.UID {
		t.Errorf("the record has the labels %v and annotations %v", part.GetLabels(), part.GetAnnotations())
	}
}

// The workload was scaled once it was deleted, while the garbage collector let its pods go. The
// scaling was lost.
func TestAWorkloadIsScaledAsItGoes(t *testing.T) {
	c := fakeClient(t, aReplicaSet(), &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
	r := lateRun(t, c)
	rs := aReplicaSet()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(rs), rs); err != nil {
		t.Fatal(err)
	}
	rs.Finalizers, rs.Spec.Replicas = []string{finalizerMigrating}, ptr.To[int32](4)
	if err := errors.Join(c.Update(t.Context(), rs), c.Delete(t.Context(), rs)); err != nil {
		t.Fatal(err)
	}
	if err := r.letGo(t.Context()); err != nil {
		t.Fatal(err)
	}
	pm, err := r.manager(t.Context())
	if err != nil || ptr.Deref(pm.Spec.Replicas, 0) != 4 || r.store.record.Replicas != 4 {
		t.Errorf("%v; the PodManager has %v replicas and the record %d, want 4", err, pm.Spec.Replicas, r.store.record.Replicas)
	}
}
