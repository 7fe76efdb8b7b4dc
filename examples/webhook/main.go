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

// Command webhook serves an admission webhook: it fills in a default, refuses
// what cannot be, and warns of what is unwise.
//
// Look at the answers: the API server calls the webhook in the middle of the
// request, so the user gets the webhook's sentence. The configuration selects
// one namespace and one resource. A webhook that is asked about more than it
// needs is an outage in waiting.
package main

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

type greetings struct{}

// Default fills in what is missing.
func (greetings) Default(_ context.Context, object *corev1.ConfigMap) error {
	if object.Data["language"] == "" {
		object.Data["language"] = "en"
	}
	return nil
}

// ValidateCreate sees the object with its defaults.
func (greetings) ValidateCreate(_ context.Context, object *corev1.ConfigMap) (admission.Warnings, error) {
	if object.Data["text"] == "" {
		return nil, errors.New("data.text is empty: write a greeting")
	}
	if len(object.Data["text"]) > 10 {
		return admission.Warnings{"data.text is long: few will read it"}, nil
	}
	return nil, nil
}

// ValidateUpdate sees what was, too.
func (g greetings) ValidateUpdate(ctx context.Context, before, after *corev1.ConfigMap) (admission.Warnings, error) {
	if before.Data["language"] != after.Data["language"] {
		return nil, fmt.Errorf("data.language cannot be changed from %s: make a new greeting", before.Data["language"])
	}
	return g.ValidateCreate(ctx, after)
}

// ValidateDelete is not in the configuration's rules, so it is never called.
func (greetings) ValidateDelete(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, nil
}

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	options := demo.Options(namespace)
	serving, err := demo.NewServing()
	if err != nil {
		return err
	}
	options.WebhookServer = serving.Server
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return err
	}
	if err := ctrl.NewWebhookManagedBy(mgr, &corev1.ConfigMap{}).WithDefaulter(greetings{}).WithValidator(greetings{}).Complete(); err != nil {
		return err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = demo.PrintWarnings{}
	user, err := client.New(cfg, client.Options{})
	if err != nil {
		return err
	}
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		if err := serving.Ready(ctx); err != nil {
			return err
		}
		defer remove(context.WithoutCancel(ctx), user, namespace)
		if err := register(ctx, user, serving, namespace); err != nil {
			return err
		}
		greeting := func(name, text string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"text": text}}
		}
		// The API server learns of each configuration by a watch: they are in
		// force when it fills in what it is to fill in, and refuses what it is
		// to refuse.
		var refused error
		if err := demo.Until(ctx, func(ctx context.Context) (bool, error) {
			trial := greeting("trial", "hello")
			filled := user.Create(ctx, trial, client.DryRunAll) == nil && trial.Data["language"] != ""
			refused = user.Create(ctx, greeting("empty", ""), client.DryRunAll)
			return filled && apierrors.IsForbidden(refused), nil
		}); err != nil {
			return err
		}
		fmt.Println("no text:", refused)
		hello := greeting("hello", "hello")
		if err := user.Create(ctx, hello); err != nil {
			return err
		}
		fmt.Println("hello: created, language", hello.Data["language"])
		if err := user.Create(ctx, greeting("long", "a very good morning")); err != nil {
			return err
		}
		hello.Data["language"] = "zh"
		fmt.Println("another language:", user.Update(ctx, hello))
		return nil
	})
}

func register(ctx context.Context, user client.Client, serving *demo.Serving, namespace string) error {
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	in := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	notOurs := []admissionregistrationv1.MatchCondition{{Name: "not-the-clusters-own", Expression: `request.name != "kube-root-ca.crt"`}}
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: ptr.To(serving.URL + path), CABundle: serving.CA}
	}
	meta := metav1.ObjectMeta{Name: namespace}
	for _, object := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "default.greetings.example.com", Rules: rules, NamespaceSelector: in, MatchConditions: notOurs, ClientConfig: at("/mutate--v1-configmap"),
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.greetings.example.com", Rules: rules, NamespaceSelector: in, MatchConditions: notOurs, ClientConfig: at("/validate--v1-configmap"),
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}}},
	} {
		if err := user.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func remove(ctx context.Context, user client.Client, name string) {
	meta := metav1.ObjectMeta{Name: name}
	_ = user.Delete(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta})
	_ = user.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta})
}
