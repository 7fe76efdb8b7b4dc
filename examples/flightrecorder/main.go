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

// Command flightrecorder is a small operator that tells why it does what it does. For every ConfigMap
// with the label greet=yes it keeps a Secret of the same name with a greeting for data.name in it, and it
// prints each reconcile as a line: what triggered it, what it wrote, how it ended.
//
//	go run ./examples/flightrecorder
//	kubectl create configmap ada --from-literal=name=Ada && kubectl label configmap ada greet=yes
//
// The lines that end in "// recorder" are all that the recorder needs.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "flightrecorder:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	rec, err := flightrecorder.New(flightrecorder.Config{}) // recorder
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{NewClient: rec.NewClient}) // recorder
	if err != nil {
		return err
	}
	if _, err := setup(mgr, rec, controller.Options{}); err != nil {
		return err
	}
	records, _ := rec.Subscribe(flightrecorder.Query{Limit: -1}, 100)
	defer records.Close()
	go tell(out, records.C)
	return mgr.Start(ctx)
}

// setup adds the controller to the manager. Name and labels of the ConfigMap say all; events that
// change neither its data nor its labels are refused before the recorder sees them.
func setup(mgr ctrl.Manager, rec *flightrecorder.Recorder, options controller.Options) (*flightrecorder.Tap, error) {
	tap, err := flightrecorder.NewTap(rec, mgr, "greeter", &corev1.ConfigMap{}) // recorder
	if err != nil {
		return nil, err
	}
	asked, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: map[string]string{"greet": "yes"}})
	if err != nil {
		return nil, err
	}
	return tap, ctrl.NewControllerManagedBy(mgr).Named("greeter").
		For(&corev1.ConfigMap{}, builder.WithPredicates(asked, tap.ForPredicate())). // recorder
		Owns(&corev1.Secret{}, builder.WithPredicates(tap.OwnsPredicate())).         // recorder
		WithOptions(tap.Options(options)).                                           // recorder
		Complete(tap.Reconciler(&greeter{mgr.GetClient()}))                          // recorder
}

type greeter struct{ client.Client }

// Reconcile writes the greeting.
func (g *greeter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var order corev1.ConfigMap
	if err := g.Get(ctx, request.NamespacedName, &order); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name := order.Data["name"]
	if name == "" {
		return ctrl.Result{}, fmt.Errorf("configmap %s has no data.name to greet", request)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: order.Namespace, Name: order.Name}}
	done, err := controllerutil.CreateOrPatch(ctx, g, secret, func() error {
		secret.Data = map[string][]byte{"greeting": []byte("Hello, " + name + "!")}
		return controllerutil.SetControllerReference(&order, secret, g.Scheme())
	})
	flightrecorder.SetPayload(ctx, map[string]any{"secret": done}) // recorder
	return ctrl.Result{}, err
}

// tell prints records until there are no more.
func tell(out io.Writer, records <-chan *flightrecorder.Record) {
	for r := range records {
		var because, did []string
		for _, t := range r.Triggers {
			because = append(because, describe(t))
		}
		for _, w := range r.Writes {
			did = append(did, fmt.Sprintf("%s %s (%d)", w.Verb, w.Object, w.Code))
		}
		if len(did) == 0 {
			did = []string{"nothing"}
		}
		fmt.Fprintf(out, "%s: because %s; did %s; %s in %s\n", r.Object, strings.Join(because, ", "), strings.Join(did, ", "), r.Outcome, r.Duration)
	}
}

func describe(t flightrecorder.Trigger) string {
	s := string(t.Kind)
	if t.Object != nil {
		s += " of " + t.Object.String()
	}
	for _, c := range t.Changes {
		s += fmt.Sprintf(" by %q %v", c.Manager, c.Fields)
	}
	return s
}
