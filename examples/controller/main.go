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

// Command controller is the same controller twice: put together by hand, and by
// the builder. It copies a ConfigMap's text into the Secret it owns.
//
// Look at what the builder saves: For is a watch that enqueues the object
// itself, Owns one that enqueues the owner of what changed. Deleting the Secret
// brings it back, because its event leads to its owner.
package main

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	for _, made := range []struct {
		how string
		add func(ctrl.Manager, *copier) error
	}{{"by-hand", byHand}, {"by-builder", byBuilder}} {
		mgr, err := demo.NewManager(cfg, namespace)
		if err != nil {
			return err
		}
		reconciler := &copier{Client: mgr.GetClient()}
		if err := made.add(mgr, reconciler); err != nil {
			return err
		}
		note := client.ObjectKey{Namespace: namespace, Name: "note-" + made.how}
		if err := demo.While(ctx, mgr, func(ctx context.Context) error { return try(ctx, reconciler, mgr.GetAPIReader(), note) }); err != nil {
			return err
		}
	}
	return nil
}

func byHand(mgr ctrl.Manager, reconciler *copier) error {
	c, err := controller.New("by-hand", mgr, controller.Options{Reconciler: reconciler})
	if err != nil {
		return err
	}
	itself := source.Kind(mgr.GetCache(), &corev1.ConfigMap{}, &handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{},
		predicate.NewTypedPredicateFuncs(func(object *corev1.ConfigMap) bool { return asked(object) }))
	owner := handler.TypedEnqueueRequestForOwner[*corev1.Secret](mgr.GetScheme(), mgr.GetRESTMapper(), &corev1.ConfigMap{}, handler.OnlyControllerOwner())
	for _, watch := range []source.Source{itself, source.Kind(mgr.GetCache(), &corev1.Secret{}, owner)} {
		if err := c.Watch(watch); err != nil {
			return err
		}
	}
	return nil
}

func byBuilder(mgr ctrl.Manager, reconciler *copier) error {
	return ctrl.NewControllerManagedBy(mgr).Named("by-builder").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(asked))).
		Owns(&corev1.Secret{}).
		Complete(reconciler)
}

func asked(object client.Object) bool { return object.GetLabels()["copy"] == "yes" }

type copier struct {
	client.Client
	told atomic.Int64 // how often it said that it wrote
}

// Reconcile is told which object, never what happened to it: it looks, compares
// and puts right, so it does not matter which events came, or how many.
func (c *copier) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var from corev1.ConfigMap
	if err := c.Get(ctx, request.NamespacedName, &from); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	to := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name}}
	done, err := controllerutil.CreateOrUpdate(ctx, c, to, func() error {
		to.Data = map[string][]byte{"text": []byte(from.Data["text"])}
		return controllerutil.SetControllerReference(&from, to, c.Scheme())
	})
	if done != controllerutil.OperationResultNone && err == nil {
		fmt.Println("Secret", to.Name, done)
		c.told.Add(1)
	}
	return ctrl.Result{}, err
}

// try creates, changes and breaks, and waits for the controller each time.
func try(ctx context.Context, user *copier, live client.Reader, note client.ObjectKey) error {
	from := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: note.Name, Namespace: note.Namespace, Labels: map[string]string{"copy": "yes"}},
		Data:       map[string]string{"text": "one"},
	}
	if err := user.Create(ctx, from); err != nil {
		return err
	}
	copied := func(times int64) error {
		return demo.Until(ctx, func(ctx context.Context) (bool, error) {
			var secret corev1.Secret
			err := live.Get(ctx, note, &secret)
			return err == nil && string(secret.Data["text"]) == from.Data["text"] && user.told.Load() == times, client.IgnoreNotFound(err)
		})
	}
	if err := copied(1); err != nil {
		return err
	}
	from.Data["text"] = "two"
	if err := user.Update(ctx, from); err != nil {
		return err
	}
	if err := copied(2); err != nil {
		return err
	}
	if err := user.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: note.Namespace, Name: note.Name}}); err != nil {
		return err
	}
	return copied(3)
}
