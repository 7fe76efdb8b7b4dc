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

// Command finalizer cleans up something outside the cluster before an object
// goes: here, a file for each ConfigMap.
//
// Look at the order. The finalizer is written before the file is, so there is
// never a file that would be left behind. Deleting only sets a time; the object
// stays, visible to all, until the reconciler has removed the file and then
// its finalizer.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

const finalizer = "examples.mycompany.com/file"

func main() { demo.Main(run) }

type filer struct {
	client.Client
	dir string
}

// Reconcile keeps a file while the object is wanted, and none when it is not.
func (f *filer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object corev1.ConfigMap
	if err := f.Get(ctx, request.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	path := filepath.Join(f.dir, object.Name)
	before := object.DeepCopy()
	if !object.DeletionTimestamp.IsZero() {
		if !controllerutil.RemoveFinalizer(&object, finalizer) {
			return ctrl.Result{}, nil // others may still have to clean up
		}
		fmt.Println("it is being deleted: remove the file, then the finalizer")
		// It may be gone already: the last try may have failed after this.
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, client.IgnoreNotFound(f.Patch(ctx, &object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	}
	if controllerutil.AddFinalizer(&object, finalizer) {
		fmt.Println("it is new: write the finalizer, then the file")
		if err := f.Patch(ctx, &object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, os.WriteFile(path, []byte(object.Data["text"]), 0o600)
}

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	dir, err := os.MkdirTemp("", "finalizer-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mgr, err := demo.NewManager(cfg, namespace)
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(mgr).Named("filer").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == "note" }))).
		Complete(&filer{mgr.GetClient(), dir}); err != nil {
		return err
	}
	exists := func() bool { _, err := os.Stat(filepath.Join(dir, "note")); return err == nil }
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		user, live := mgr.GetClient(), mgr.GetAPIReader()
		note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "note"}, Data: map[string]string{"text": "hello"}}
		if err := user.Create(ctx, note); err != nil {
			return err
		}
		if err := demo.Until(ctx, func(context.Context) (bool, error) { return exists(), nil }); err != nil {
			return err
		}
		fmt.Println("the file is there:", exists())
		if err := user.Delete(ctx, note); err != nil {
			return err
		}
		if err := demo.Until(ctx, func(ctx context.Context) (bool, error) {
			err := live.Get(ctx, client.ObjectKeyFromObject(note), &corev1.ConfigMap{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
		fmt.Println("the object is gone; the file is there:", exists())
		return nil
	})
}
