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

package flightrecorder_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// greeter creates a Secret for a ConfigMap.
type greeter struct{ client.Client }

func (g *greeter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	flightrecorder.SetPayload(ctx, decision{Greet: request.Name})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	return ctrl.Result{}, client.IgnoreAlreadyExists(g.Create(ctx, secret))
}

// decision is what the greeter adds to its records.
type decision struct {
	Greet string `json:"greet"`
}

// An operator adds the recorder to its manager and to the builder of each controller.
func Example() {
	rec, err := flightrecorder.New(flightrecorder.Config{})
	if err != nil {
		panic(err)
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{NewClient: rec.NewClient})
	if err != nil {
		panic(err)
	}
	tap, err := flightrecorder.NewTap(rec, mgr, "greeter", &corev1.ConfigMap{})
	if err != nil {
		panic(err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}, builder.WithPredicates(tap.ForPredicate())).
		Owns(&corev1.Secret{}, builder.WithPredicates(tap.OwnsPredicate())).
		WithOptions(tap.Options(controller.Options{})).
		Complete(tap.Reconciler(&greeter{mgr.GetClient()}))
	if err != nil {
		panic(err)
	}
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		panic(err)
	}
}

// Query answers why an object was reconciled, and what that did.
func ExampleRecorder_Query() {
	rec, _ := flightrecorder.New(flightrecorder.Config{})
	reconcileOnce(rec, "web")
	for _, r := range rec.Query(flightrecorder.Query{Namespace: "shop", Name: "web"}) {
		fmt.Println(r.Controller, r.Object, r.Outcome)
		for _, w := range r.Writes {
			fmt.Println(" ", w.Verb, w.Object, w.Code)
		}
	}
	// Which reconcile wrote this Secret? This works for a deleted object, too.
	secret := &flightrecorder.ObjectRef{Kind: "Secret", Namespace: "shop", Name: "web"}
	fmt.Println(len(rec.Query(flightrecorder.Query{Touching: secret})))
	// Output:
	// greeter ConfigMap shop/web Success
	//   create Secret shop/web 201
	// 1
}

// Subscribe returns the records that exist, and a stream of those to come.
func ExampleRecorder_Subscribe() {
	rec, _ := flightrecorder.New(flightrecorder.Config{})
	reconcileOnce(rec, "web")
	sub, existing := rec.Subscribe(flightrecorder.Query{Namespace: "shop"}, 100)
	defer sub.Close()
	reconcileOnce(rec, "api")
	fmt.Println(existing[0].Object)
	fmt.Println((<-sub.C).Object)
	// Output:
	// ConfigMap shop/web
	// ConfigMap shop/api
}

// Replay passes the payloads of a file to a function, which can repeat the decision.
func ExampleReplay() {
	dir, _ := os.MkdirTemp("", "records")
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "records.jsonl")
	rec, _ := flightrecorder.New(flightrecorder.Config{File: &flightrecorder.FileConfig{Path: path}})
	reconcileOnce(rec, "web")
	_ = rec.Close() // writes what is left; the manager calls rec.Start for the rest

	stats, err := flightrecorder.Replay(path, flightrecorder.Query{}, func(r *flightrecorder.Record, was decision) error {
		fmt.Println(r.Object, "decided to greet", was.Greet)
		return nil
	})
	fmt.Println(stats.Replayed, err)
	// Output:
	// ConfigMap shop/web decided to greet web
	// 1 <nil>
}

// reconcileOnce does what a controller does with one request.
func reconcileOnce(rec *flightrecorder.Recorder, name string) {
	tap, err := flightrecorder.NewTap(rec, host{}, "greeter", &corev1.ConfigMap{})
	if err != nil {
		panic(err)
	}
	g := &greeter{rec.Client(fake.NewClientBuilder().Build())}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
	if _, err := tap.Reconciler(g).Reconcile(context.Background(), request); err != nil {
		panic(err)
	}
}

// host stands in for the manager.
type host struct{}

func (host) GetScheme() *runtime.Scheme              { return scheme.Scheme }
func (host) GetControllerOptions() config.Controller { return config.Controller{} }
