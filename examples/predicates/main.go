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

// Command predicates shows which events the predicates of controller-runtime
// let through to a controller's queue.
//
// Look at the columns. Generation counts changes of the spec alone, so
// GenerationChanged keeps a controller from waking up to its own status
// writes, and also lets label changes and resyncs pass unseen. Deletion sets a
// time and raises the generation, so an object with a finalizer is still seen.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

var columns = []struct {
	name      string
	predicate predicate.Predicate
}{
	{"none", predicate.Funcs{}},
	{"ResourceVersion", predicate.ResourceVersionChangedPredicate{}},
	{"Generation", predicate.GenerationChangedPredicate{}},
	{"Label", predicate.LabelChangedPredicate{}},
	{"Generation|Label", predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})},
	{"own: no deletes", predicate.Funcs{DeleteFunc: func(event.DeleteEvent) bool { return false }}},
}

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	options := demo.Options(namespace)
	options.Cache.SyncPeriod = ptr.To(2 * time.Second)
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return err
	}
	// An Ingress, because no controller of the playground touches one.
	informer, err := mgr.GetCache().GetInformer(ctx, &networkingv1.Ingress{})
	if err != nil {
		return err
	}
	events := make(chan []bool, 100)
	if _, err := informer.AddEventHandler(judge(events)); err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprint(table, "event")
	for _, column := range columns {
		fmt.Fprint(table, "\t", column.name)
	}
	fmt.Fprintln(table)

	user := mgr.GetClient()
	ingress := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec:       networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}},
	}
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		for _, step := range []struct {
			what string
			do   func() error
		}{
			{"create", func() error { return user.Create(ctx, ingress) }},
			{"update the spec", func() error { ingress.Spec.DefaultBackend.Service.Name = "api"; return user.Update(ctx, ingress) }},
			{"update the status", func() error {
				ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
				return user.Status().Update(ctx, ingress)
			}},
			{"update labels, finalizer", func() error {
				ingress.Labels, ingress.Finalizers = map[string]string{"app": "web"}, []string{"example.com/demo"}
				return user.Update(ctx, ingress)
			}},
			{"resync", func() error { return nil }},
			{"delete, still finalized", func() error { return user.Delete(ctx, ingress) }},
			{"gone", func() error {
				return user.Patch(ctx, ingress, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
			}},
		} {
			if err := step.do(); err != nil {
				return fmt.Errorf("%s: %w", step.what, err)
			}
			fmt.Fprint(table, step.what)
			for _, passes := range next(events, step.what == "resync") {
				fmt.Fprint(table, "\t", map[bool]string{true: "passes", false: "-"}[passes])
			}
			fmt.Fprintln(table)
		}
		return nil
	})
}

// next is the next event, where resyncs are awaited or passed over.
func next(events <-chan []bool, resync bool) []bool {
	for verdict := range events {
		if isResync := !slices.Contains(verdict[1:5], true); isResync == resync {
			return verdict
		}
	}
	return nil
}

// judge asks every predicate about every event.
func judge(events chan<- []bool) toolscache.ResourceEventHandler {
	ask := func(f func(predicate.Predicate) bool) {
		var verdict []bool
		for _, column := range columns {
			verdict = append(verdict, f(column.predicate))
		}
		events <- verdict
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			ask(func(p predicate.Predicate) bool { return p.Create(event.CreateEvent{Object: obj.(client.Object)}) })
		},
		UpdateFunc: func(before, after any) {
			ask(func(p predicate.Predicate) bool {
				return p.Update(event.UpdateEvent{ObjectOld: before.(client.Object), ObjectNew: after.(client.Object)})
			})
		},
		DeleteFunc: func(obj any) {
			ask(func(p predicate.Predicate) bool { return p.Delete(event.DeleteEvent{Object: obj.(client.Object)}) })
		},
	}
}
