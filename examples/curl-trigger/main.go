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

// Command curl-trigger runs until Ctrl-C, and starts a reconcile for each request
// that you send it:
//
//	go run ./examples/curl-trigger
//	curl -X POST http://127.0.0.1:8090/reconcile/page
//
// Look at handler.Funcs: one function for each kind of event decides which object
// goes into the queue. A channel sends generic events only, and
// handler.EnqueueRequestForObject, which web-trigger uses, does the same as the
// function here. The controller watches nothing else.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() {
	address := flag.String("address", "127.0.0.1:8090", "Where the HTTP server listens.")
	demo.UntilStopped(func(ctx context.Context, cfg *rest.Config, namespace string) error {
		return run(ctx, cfg, namespace, *address)
	})
}

func run(ctx context.Context, cfg *rest.Config, namespace, address string) error {
	mgr, err := demo.NewManager(cfg, namespace)
	if err != nil {
		return err
	}
	var runs atomic.Int64
	calls := make(chan event.GenericEvent, 10)
	enqueue := handler.Funcs{
		GenericFunc: func(_ context.Context, e event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			fmt.Println("GenericFunc puts", e.Object.GetName(), "into the queue")
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		},
	}
	if err := ctrl.NewControllerManagedBy(mgr).Named("curl-trigger").
		WatchesRawSource(source.Channel(calls, enqueue)).
		Complete(reconcile.Func(func(_ context.Context, request ctrl.Request) (ctrl.Result, error) {
			fmt.Println("reconcile", request.Name, "number", runs.Add(1))
			return ctrl.Result{}, nil
		})); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: trigger(namespace, calls), ReadHeaderTimeout: time.Second}
	if err := mgr.Add(&manager.Server{Name: "curl-trigger", Server: server, Listener: listener}); err != nil {
		return err
	}
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		fmt.Printf("curl -X POST http://%s/reconcile/page\n", listener.Addr())
		<-ctx.Done() // Ctrl-C
		return nil
	})
}

// trigger turns a request into an event of an object that need not exist.
func trigger(namespace string, calls chan<- event.GenericEvent) http.Handler {
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
	return mux
}
