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

package sim

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// idle is a reconciler that does nothing.
type idle struct{}

func (idle) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// aRun is a run with nothing but an API server, and a user.
func aRun(t *testing.T) (*run, client.Client) {
	t.Helper()
	w := &World{Scheme: scheme.Scheme, New: func(Process) reconcile.Reconciler { return idle{} }}
	r, err := newRun(w, newKinds(w.Scheme, nil), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.end)
	return r, r.user()
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func TestServer(t *testing.T) {
	is := func(check func(error) bool) func(error) bool { return check }
	none := func(err error) bool { return err == nil }
	for name, c := range map[string]struct {
		do   func(context.Context, client.Client) error
		want func(error) bool
	}{
		"a second object of the same name is refused": {func(ctx context.Context, c client.Client) error {
			_ = c.Create(ctx, pod("a"))
			return c.Create(ctx, pod("a"))
		}, is(apierrors.IsAlreadyExists)},
		"an update with an old resourceVersion is refused": {func(ctx context.Context, c client.Client) error {
			a := pod("a")
			_ = c.Create(ctx, a)
			old := a.DeepCopy()
			a.Labels = map[string]string{"x": "y"}
			_ = c.Update(ctx, a)
			return c.Update(ctx, old)
		}, is(apierrors.IsConflict)},
		"a built-in kind can be updated without a resourceVersion": {func(ctx context.Context, c client.Client) error {
			_ = c.Create(ctx, pod("a"))
			return c.Update(ctx, pod("a"))
		}, none},
		"a merge patch with an old resourceVersion is refused": {func(ctx context.Context, c client.Client) error {
			a := pod("a")
			_ = c.Create(ctx, a)
			old := a.DeepCopy()
			a.Labels = map[string]string{"x": "y"}
			_ = c.Update(ctx, a)
			changed := old.DeepCopy()
			changed.Labels = map[string]string{"x": "z"}
			return c.Patch(ctx, changed, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
		}, is(apierrors.IsConflict)},
		"a delete with the UID of another object is refused": {func(ctx context.Context, c client.Client) error {
			_ = c.Create(ctx, pod("a"))
			return c.Delete(ctx, pod("a"), client.Preconditions{UID: ptr.To(types.UID("another"))})
		}, is(apierrors.IsConflict)},
		"a delete of what is not there is refused": {func(ctx context.Context, c client.Client) error {
			return c.Delete(ctx, pod("a"))
		}, is(apierrors.IsNotFound)},
		"an object that is being deleted gets no finalizer": {func(ctx context.Context, c client.Client) error {
			a := pod("a")
			a.Finalizers = []string{"x/y"}
			_ = c.Create(ctx, a)
			_ = c.Delete(ctx, a)
			_ = c.Get(ctx, client.ObjectKeyFromObject(a), a)
			a.Finalizers = append(a.Finalizers, "x/z")
			return c.Update(ctx, a)
		}, is(apierrors.IsInvalid)},
		"an object without a name is refused": {func(ctx context.Context, c client.Client) error {
			return c.Create(ctx, pod(""))
		}, is(apierrors.IsInvalid)},
	} {
		t.Run(name, func(t *testing.T) {
			_, c1 := aRun(t)
			if err := c.do(t.Context(), c1); !c.want(err) {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}

func TestFinalizersAndGraceKeepAnObject(t *testing.T) {
	r, c := aRun(t)
	a := pod("a")
	a.Finalizers = []string{"x/y"}
	must(t, c.Create(t.Context(), a), c.Delete(t.Context(), a), c.Get(t.Context(), client.ObjectKeyFromObject(a), a))
	if a.DeletionTimestamp == nil || a.Generation != 2 {
		t.Errorf("deletionTimestamp %v at generation %d, want one at generation 2", a.DeletionTimestamp, a.Generation)
	}
	a.Finalizers = nil
	must(t, c.Update(t.Context(), a))
	if len(r.server.objects) != 0 {
		t.Error("without a finalizer the object is still there")
	}
}

func TestStatusIsWrittenThroughItsSubresource(t *testing.T) {
	_, c := aRun(t)
	a := pod("a")
	a.Status.Phase = corev1.PodRunning
	must(t, c.Create(t.Context(), a))
	if a.Status.Phase != corev1.PodPending {
		t.Errorf("a new pod is %s", a.Status.Phase)
	}
	a.Status.Phase, a.Labels = corev1.PodRunning, map[string]string{"x": "y"}
	must(t, c.Status().Update(t.Context(), a), c.Get(t.Context(), client.ObjectKeyFromObject(a), a))
	if a.Status.Phase != corev1.PodRunning || a.Labels != nil {
		t.Errorf("phase %s, labels %v: want Running and none", a.Status.Phase, a.Labels)
	}
	a.Status.Phase, a.Labels = corev1.PodFailed, map[string]string{"x": "y"}
	must(t, c.Update(t.Context(), a))
	if a.Status.Phase != corev1.PodRunning || a.Labels["x"] != "y" || a.Generation != 1 {
		t.Errorf("phase %s, labels %v, generation %d: want Running, the label and 1", a.Status.Phase, a.Labels, a.Generation)
	}
}

func TestGarbageIsWhatAllOwnersHaveLeft(t *testing.T) {
	r, c := aRun(t)
	owner, child := pod("owner"), pod("child")
	must(t, c.Create(t.Context(), owner))
	child.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "owner", UID: owner.UID}}
	must(t, c.Create(t.Context(), child))
	if len(r.server.garbage()) != 0 {
		t.Error("a child with an owner is garbage")
	}
	must(t, c.Delete(t.Context(), owner), c.Create(t.Context(), pod("owner")))
	if g := r.server.garbage(); len(g) != 1 || g[0].key.name != "child" {
		t.Errorf("a new owner of the same name is another one, and the garbage is %v", g)
	}
}

func TestGeneratedNamesDiffer(t *testing.T) {
	_, c := aRun(t)
	seen := map[string]bool{}
	for range 50 {
		a := pod("")
		a.GenerateName = "a-"
		must(t, c.Create(t.Context(), a))
		seen[a.Name] = true
	}
	if len(seen) != 50 {
		t.Errorf("50 objects have %d names", len(seen))
	}
}

func TestNothingIsWrittenIfNothingChanges(t *testing.T) {
	r, c := aRun(t)
	a := pod("a")
	must(t, c.Create(t.Context(), a))
	version := r.server.version
	must(t, c.Update(t.Context(), a), c.Patch(t.Context(), a, client.RawPatch(types.MergePatchType, []byte(`{}`))))
	if r.server.version != version {
		t.Error("an update without a change was stored")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
