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

package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// operation ends with an answer, and leaves a Web behind.
type operation = func(ctx context.Context, c client.Client, web *labv1.Web) error

// operations are what the simulated API server must answer like a real one. Each starts
// with a Web that was just created.
func operations() map[string]operation {
	changed := func(web *labv1.Web) *labv1.Web {
		web.Spec.Image = "nginx:1.28"
		return web
	}
	return map[string]operation{
		"create twice": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			return c.Create(ctx, grade.Web(web.Namespace, web.Name, 1))
		},
		"create with a resourceVersion": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			another := grade.Web(web.Namespace, "another", 1)
			another.ResourceVersion = "1"
			return c.Create(ctx, another)
		},
		"create without a name": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			return c.Create(ctx, grade.Web(web.Namespace, "", 1))
		},
		"update": func(ctx context.Context, c client.Client, web *labv1.Web) error { return c.Update(ctx, changed(web)) },
		"update what is old": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			old := web.DeepCopy()
			if err := c.Update(ctx, changed(web)); err != nil {
				return err
			}
			old.Spec.Replicas = 5
			return c.Update(ctx, old)
		},
		"update without a resourceVersion": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			web.ResourceVersion = ""
			return c.Update(ctx, changed(web))
		},
		"update another UID": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			web.UID = "another"
			return c.Update(ctx, changed(web))
		},
		"update the status, and the spec with it": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			web.Status.Ready = 3
			return c.Status().Update(ctx, changed(web))
		},
		"update the spec, and the status with it": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			web.Status.Ready = 3
			return c.Update(ctx, changed(web))
		},
		"patch what is old": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			old := web.DeepCopy()
			if err := c.Update(ctx, changed(web)); err != nil {
				return err
			}
			next := old.DeepCopy()
			next.Spec.Replicas = 5
			return c.Patch(ctx, next, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
		},
		"patch another UID": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			return c.Patch(ctx, web, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"another"}}`)))
		},
		"delete another UID": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			return c.Delete(ctx, web, client.Preconditions{UID: ptr.To(types.UID("another"))})
		},
		"delete twice": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			if err := c.Delete(ctx, web); err != nil {
				return err
			}
			return c.Delete(ctx, web)
		},
		"delete with a finalizer, then add one": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			web.Finalizers = []string{labv1.Finalizer}
			if err := c.Update(ctx, web); err != nil {
				return err
			}
			if err := c.Delete(ctx, web); err != nil {
				return err
			}
			if err := c.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
				return err
			}
			web.Finalizers = append(web.Finalizers, labv1.Finalizer+"-2")
			return c.Update(ctx, web)
		},
		"a pod updated without a resourceVersion": func(ctx context.Context, c client.Client, web *labv1.Web) error {
			pod := labv1.NewPod(web)
			pod.Name = web.Name
			if err := c.Create(ctx, pod); err != nil {
				return err
			}
			pod.ResourceVersion, pod.Labels = "", map[string]string{"x": "y"}
			return c.Update(ctx, pod)
		},
	}
}

// answers runs an operation, and says what came of it.
func answers(ctx context.Context, c client.Client, namespace, name string, do operation) string {
	web := grade.Web(namespace, name, 1)
	if err := c.Create(ctx, web); err != nil {
		return err.Error()
	}
	answer := metav1.StatusReason("OK")
	if err := do(ctx, c, web); err != nil {
		answer = apierrors.ReasonForError(err)
	}
	var left labv1.Web
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &left); err != nil {
		return fmt.Sprintf("%s, then %s", answer, apierrors.ReasonForError(err))
	}
	return fmt.Sprintf("%s, then spec %v, status %v, generation %d, finalizers %v, deleted %t",
		answer, left.Spec, left.Status, left.Generation, left.Finalizers, left.DeletionTimestamp != nil)
}

type nothing struct{}

func (nothing) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// compare holds the simulated API server against a real one.
func compare(t *testing.T, cluster *Cluster) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "likeness-"}}
	if err := cluster.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	all := operations()
	for i, what := range slices.Sorted(maps.Keys(all)) {
		name := fmt.Sprintf("web-%d", i)
		want := answers(t.Context(), cluster.client, namespace.Name, name, all[what])
		got := ""
		_, err := sim.Explore(sim.World{
			Scheme: grade.Scheme(), New: func(sim.Process) reconcile.Reconciler { return nothing{} },
			Actions: []sim.Action{{Name: what, Do: func(ctx context.Context, c client.Client) error {
				got = answers(ctx, c, namespace.Name, name, all[what])
				return nil
			}}},
		}, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s\nreal:      %s\nsimulated: %s", what, want, got)
		}
	}
}
