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

// Command web-trigger lets an HTTP request start a reconcile.
//
// Look at the two things that are added to the manager: the HTTP server, as a
// runnable that starts and stops with it, and a channel as a source of events
// beside the watch. What comes from outside goes through the queue like
// everything else, so it is de-duplicated, rate limited and retried the same.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	mgr, err := demo.NewManager(cfg, namespace)
	if err != nil {
		return err
	}
	var runs atomic.Int64
	calls := make(chan event.GenericEvent, 10)
	if err := ctrl.NewControllerManagedBy(mgr).Named("web-trigger").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == "page" }))).
		WatchesRawSource(source.Channel(calls, &handler.EnqueueRequestForObject{})).
		Complete(reconcile.Func(func(_ context.Context, request ctrl.Request) (ctrl.Result, error) {
			fmt.Println("reconcile", request.Name, "number", runs.Add(1))
			return ctrl.Result{}, nil
		})); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /reconcile/{name}", func(w http.ResponseWriter, r *http.Request) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.PathValue("name")}}
		select {
		case calls <- event.GenericEvent{Object: object}:
			w.WriteHeader(http.StatusAccepted)
		default: // a full channel is a busy controller, and the caller may try again
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	if err := mgr.Add(&manager.Server{Name: "web-trigger", Server: &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}, Listener: listener}); err != nil {
		return err
	}

	return demo.While(ctx, mgr, func(ctx context.Context) error {
		page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "page"}}
		if err := mgr.GetClient().Create(ctx, page); err != nil {
			return err
		}
		if err := demo.Until(ctx, func(context.Context) (bool, error) { return runs.Load() == 1, nil }); err != nil {
			return err
		}
		fmt.Println("POST /reconcile/page")
		response, err := http.Post("http://"+listener.Addr().String()+"/reconcile/page", "text/plain", strings.NewReader(""))
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		if response.StatusCode != http.StatusAccepted {
			return fmt.Errorf("the server answered %s", response.Status)
		}
		return demo.Until(ctx, func(context.Context) (bool, error) { return runs.Load() == 2, nil })
	})
}
