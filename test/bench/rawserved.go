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

package bench

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gomodules.xyz/jsonpatch/v2"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/mycompany/pod-operator/internal/certs"
)

// The served resource is a PodManager by another name: its CRD with both
// versions, its admission webhooks and its policy. The server of these webhooks
// does nothing but answer.
const (
	servedResource = "servedfleets"
	servedKind     = "ServedFleet"
	// servedConfiguration is what its webhook configurations are called.
	servedConfiguration = "bench-servedfleets"
	servedMutate        = "/mutate"
	servedValidate      = "/validate"
	servedConvert       = "/convert"
)

// servedManifests are made from PodManager's own.
func servedManifests(manifests []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	rename := strings.NewReplacer(
		"apps.mycompany.com", rawGroup, "podmanagers", servedResource, "podmanager", "servedfleet", "PodManager", servedKind,
	)
	var served []*unstructured.Unstructured
	for _, object := range manifests {
		switch object.GetKind() {
		case "CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		default:
			continue
		}
		raw, err := object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		renamed := &unstructured.Unstructured{}
		if err := renamed.UnmarshalJSON([]byte(rename.Replace(string(raw)))); err != nil {
			return nil, fmt.Errorf("rename %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if forServed(renamed) {
			served = append(served, renamed)
		}
	}
	return served, nil
}

// forServed reports whether a renamed object is for the served resource, and
// leaves nothing in it that is for others.
func forServed(object *unstructured.Unstructured) bool {
	switch kind := object.GetKind(); kind {
	case "CustomResourceDefinition":
		return object.GetName() == servedResource+"."+rawGroup
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		path := servedValidate
		if kind == "MutatingWebhookConfiguration" {
			path = servedMutate
		}
		var kept []any
		webhooks, _ := object.Object["webhooks"].([]any)
		for _, item := range webhooks {
			hook, _ := item.(map[string]any)
			if name, _ := hook["name"].(string); strings.Contains(name, ".servedfleet.") {
				_ = unstructured.SetNestedField(hook, path, "clientConfig", "service", "path")
				kept = append(kept, hook)
			}
		}
		object.Object["webhooks"] = kept
		object.SetName(servedConfiguration)
		return len(kept) > 0
	default: // the policy that looks at PodManagers, and its binding
		object.SetName("bench-" + object.GetName())
		if kind == "ValidatingAdmissionPolicyBinding" {
			_ = unstructured.SetNestedField(object.Object, object.GetName(), "spec", "policyName")
		}
		return object.GetName() == "bench-pod-operator-may-create-pods"
	}
}

// serve answers the webhooks until the context ends. It returns once the API
// server trusts them.
func serve(ctx context.Context, config *rest.Config, port int, failed func(error)) error {
	handler, err := servedConversion()
	if err != nil {
		return err
	}
	clients, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, clients)
	if err != nil {
		return err
	}
	live, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		return err
	}
	keeper, err := certs.NewKeeper(live, live, certs.Options{
		Holder: "bench", Lifetime: certs.DefaultLifetime, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Clock: clock.RealClock{},
		Targets: []certs.Target{
			certs.CRD(servedResource + "." + rawGroup),
			certs.MutatingConfiguration(servedConfiguration), certs.ValidatingConfiguration(servedConfiguration),
		},
	})
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.GetCertificate, c.NextProtos = keeper.GetCertificate, []string{"http/1.1"} // as the operator does
	}}})
	server.Register(servedConvert, handler)
	server.Register(servedMutate, &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Patched("", jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{"seen": "true"}))
	})})
	server.Register(servedValidate, &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Allowed("")
	})})
	go func() { failed(server.Start(ctx)) }()
	go func() { failed(keeper.Run(ctx, config, mapper)) }()
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		return keeper.Trusted() == nil, nil
	})
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// servedConversion hands every object back under the version that is asked for.
func servedConversion() (http.Handler, error) {
	registry := conversion.NewRegistry()
	gk := schema.GroupKind{Group: rawGroup, Kind: servedKind}
	if err := registry.RegisterConverter(gk, servedConverter{}); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, version := range []string{"v1", "v1alpha1"} {
		scheme.AddKnownTypeWithName(gk.WithVersion(version), &unstructured.Unstructured{})
	}
	return conversion.NewWebhookHandler(scheme, registry), nil
}

type servedConverter struct{}

// ConvertObject implements conversion.Converter.
func (servedConverter) ConvertObject(_ context.Context, src, dst runtime.Object) error {
	from, to := src.(*unstructured.Unstructured), dst.(*unstructured.Unstructured)
	version := to.GetAPIVersion()
	to.Object = from.Object
	to.SetAPIVersion(version)
	return nil
}

// record writes what a controller with history and events writes once for a new
// object.
func (k *rawKeeper) record(ctx context.Context, fleet *unstructured.Unstructured) error {
	spec, _, err := unstructured.NestedMap(fleet.Object, "spec", "template")
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": spec}})
	if err != nil {
		return err
	}
	owner := fleetPod(fleet, 0).OwnerReferences
	revision := &kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: fleet.GetName() + "-1", Labels: map[string]string{fleetLabel: fleet.GetName()}, OwnerReferences: owner},
		Data:       runtime.RawExtension{Raw: data}, Revision: 1,
	}
	if _, err := k.clients.AppsV1().ControllerRevisions(k.namespace).Create(ctx, revision, metav1.CreateOptions{}); err != nil {
		return err
	}
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fleet.GetName() + "-made"},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: fleet.GetAPIVersion(), Kind: fleet.GetKind(), Namespace: k.namespace, Name: fleet.GetName(), UID: fleet.GetUID(),
		},
		Reason: "Scaled", Message: "Creating the pods of a new object", Type: corev1.EventTypeNormal, Count: 1,
		Source: corev1.EventSource{Component: RawResourceVerb}, FirstTimestamp: now, LastTimestamp: now,
	}
	_, err = k.clients.CoreV1().Events(k.namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}
