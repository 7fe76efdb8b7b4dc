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

// Command metrics adds a counter and a gauge of its own to a controller and
// reads them, with those that controller-runtime brings, as Prometheus does.
//
// Look at where they are registered: in the manager's registry, whose server is
// up before the first reconcile. And look at what comes for free: results and
// durations of reconciles, the queue's depth and waits, requests to the API
// server.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	greeted := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "demo_greetings_total", Help: "Greetings, by language.",
	}, []string{"language"})
	words := prometheus.NewGauge(prometheus.GaugeOpts{Name: "demo_longest_greeting_words", Help: "How many words the longest greeting had."})
	longest := 0 // one worker, so there is no other writer
	metrics.Registry.MustRegister(greeted, words)

	address, err := demo.FreeAddress()
	if err != nil {
		return err
	}
	options := demo.Options(namespace)
	options.Metrics = server.Options{BindAddress: address} // plain HTTP, on this machine only
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(mgr).Named("greeter").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()["demo"] == "yes" }))).
		Complete(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
			var object corev1.ConfigMap
			if err := mgr.GetClient().Get(ctx, request.NamespacedName, &object); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			greeted.WithLabelValues(object.Data["language"]).Inc()
			longest = max(longest, len(strings.Fields(object.Data["text"])))
			words.Set(float64(longest))
			return ctrl.Result{}, nil
		})); err != nil {
		return err
	}
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		for i, greeting := range []map[string]string{{"language": "en", "text": "good morning"}, {"language": "en", "text": "hello"}, {"language": "zh", "text": "你好"}} {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("greeting-", i), Labels: map[string]string{"demo": "yes"}}, Data: greeting}
			if err := mgr.GetClient().Create(ctx, object); err != nil {
				return err
			}
		}
		if err := demo.Until(ctx, func(ctx context.Context) (bool, error) {
			lines, err := scrape(ctx, "http://"+address+"/metrics")
			return slices.Contains(lines, `controller_runtime_reconcile_total{controller="greeter",result="success"} 3`), err
		}); err != nil {
			return err
		}
		// Once more: a scrape is no snapshot, each metric is read a little later.
		lines, err := scrape(ctx, "http://"+address+"/metrics")
		if err != nil {
			return err
		}
		for _, line := range lines {
			fmt.Println(line)
		}
		return nil
	})
}

// scrape reads the metrics that this program is about.
func scrape(ctx context.Context, url string) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var out []string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		for _, wanted := range []string{"demo_", "controller_runtime_reconcile_total", "workqueue_adds_total", "workqueue_retries_total"} {
			if strings.HasPrefix(lines.Text(), wanted) {
				out = append(out, lines.Text())
			}
		}
	}
	return out, lines.Err()
}
