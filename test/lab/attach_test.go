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

package lab

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab"
	"github.com/mycompany/pod-operator/lab/trace"
)

// TestAttachShowsAnyOperator is a learner's own operator, with the one line that the lab needs and
// with client-go's work queue instead of the priority queue.
func TestAttachShowsAnyOperator(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	t.Setenv("LAB_ADDRESS", address)
	links := make(chan string, 1)
	log := funcr.New(func(_, said string) {
		if found := regexp.MustCompile(`http://[\w.:]+/#token=\w+`).FindString(said); found != "" {
			links <- found
		}
	}, funcr.Options{})
	mgr, err := ctrl.NewManager(cluster.RESTConfig(), ctrl.Options{
		Logger:  log,
		Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if mgr, err = lab.Attach(mgr); err != nil {
		t.Fatal(err)
	}
	user := mgr.GetAPIReader()
	err = ctrl.NewControllerManagedBy(mgr).Named("own").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()["seen"] == "yes" }))).
		WithOptions(controller.Options{UsePriorityQueue: ptr.To(false)}).
		Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, mgr.GetClient().Get(ctx, request.NamespacedName, &corev1.ConfigMap{})
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended with %v", err)
		}
	})
	var link string
	select {
	case link = <-links:
	case <-time.After(patience):
		t.Fatal("the log does not say where the page is")
	}
	if !strings.HasPrefix(link, "http://"+address+"/") {
		t.Errorf("the page is at %s, want %s", link, address)
	}
	own, err := client.New(cluster.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, labels := range map[string]map[string]string{"own-seen": {"seen": "yes"}, "own-unseen": nil} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
		if err := own.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := user.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
	}
	awaitStep(t, link, "Reconcile ran for the one that the predicate lets pass", func(s trace.Step) bool {
		return s.Box == trace.BoxReconcile && s.Verb == "end" && s.Object == "lab/own-seen"
	})
	awaitStep(t, link, "the other was refused", func(s trace.Step) bool {
		return s.Box == trace.BoxHandlers && s.Object == "ConfigMap lab/own-unseen"
	})
	awaitStep(t, link, "the queue was drawn", func(s trace.Step) bool {
		return s.Box == trace.BoxQueue && s.Verb == "Get" && slices.Equal(s.Queue.Processing, []string{"lab/own-seen"})
	})
}

func awaitStep(t *testing.T, link, what string, matches func(trace.Step) bool) {
	t.Helper()
	var walk trace.Walk
	origin, token, _ := strings.Cut(link, "/#token=")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/api/walk", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			continue // it does not serve yet
		}
		err = json.NewDecoder(response.Body).Decode(&walk)
		response.Body.Close()
		if err == nil && slices.ContainsFunc(walk.Steps, matches) {
			return
		}
	}
	t.Fatalf("waited until %s; the steps were\n%s", what, told(walk.Steps))
}
