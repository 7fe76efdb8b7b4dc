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

// Command conversion serves two versions of one kind: v1alpha1 has an address,
// v1 a host and a port. The objects are stored as v1.
//
// Look at types.go: both versions are converted from and to one of them, the
// hub, so n versions need n-1 pairs of functions. And look at what happens:
// a client that asks for a version gets it, whichever was written, and an edit
// through one is seen through the other.
package main

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

// controller-runtime logs the conversion that try has refused.
func main() { demo.Main(run, "conversion-webhook") }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	serving, err := demo.NewServing()
	if err != nil {
		return err
	}
	options := demo.Options(namespace)
	options.Scheme, options.WebhookServer = scheme, serving.Server
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return err
	}
	spoke := conversion.NewSpokeConverter(&Old{}, toOld, fromOld)
	if err := ctrl.NewWebhookManagedBy(mgr, &Target{}).
		WithConverter(conversion.NewHubSpokeConverter(&Target{}, spoke)).Complete(); err != nil {
		return err
	}
	user, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		if err := serving.Ready(ctx); err != nil {
			return err
		}
		crd := definition(serving)
		defer func() { _ = user.Delete(context.WithoutCancel(ctx), crd) }()
		if err := install(ctx, user, crd); err != nil {
			return err
		}
		return try(ctx, user, metav1.ObjectMeta{Namespace: namespace, Name: "web"})
	})
}

// try writes one version and reads the other.
func try(ctx context.Context, user client.Client, name metav1.ObjectMeta) error {
	old := &Old{ObjectMeta: name, Spec: OldSpec{Address: "example.com:80"}}
	// The CRD is established before every API server process serves it.
	if err := demo.Until(ctx, func(ctx context.Context) (bool, error) {
		err := user.Create(ctx, old)
		return err == nil, ignoreNotServed(err)
	}); err != nil {
		return err
	}
	fmt.Println("wrote v1alpha1: address", old.Spec.Address)

	var target Target
	if err := user.Get(ctx, client.ObjectKeyFromObject(old), &target); err != nil {
		return err
	}
	fmt.Printf("read  v1:       host %s, port %d\n", target.Spec.Host, target.Spec.Port)
	target.Spec.Port = 443
	if err := user.Update(ctx, &target); err != nil {
		return err
	}
	fmt.Printf("wrote v1:       host %s, port %d\n", target.Spec.Host, target.Spec.Port)
	if err := user.Get(ctx, client.ObjectKeyFromObject(old), old); err != nil {
		return err
	}
	fmt.Println("read  v1alpha1: address", old.Spec.Address)

	old.Spec.Address = "no port in it"
	fmt.Println("a v1alpha1 that is no v1:", user.Update(ctx, old))
	return nil
}

func definition(serving *demo.Serving) *apiextensionsv1.CustomResourceDefinition {
	version := func(name string, storage bool, properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: properties}},
			}},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "targets." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "targets", Singular: "target", Kind: "Target", ListKind: "TargetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				version("v1", true, map[string]apiextensionsv1.JSONSchemaProps{"host": {Type: "string"}, "port": {Type: "integer", Format: "int32"}}),
				version("v1alpha1", false, map[string]apiextensionsv1.JSONSchemaProps{"address": {Type: "string"}}),
			},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: ptr.To(serving.URL + "/convert"), CABundle: serving.CA},
					ConversionReviewVersions: []string{"v1"},
				},
			},
		},
	}
}

func install(ctx context.Context, user client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	if err := user.Create(ctx, crd); err != nil {
		return err
	}
	return demo.Until(ctx, func(ctx context.Context) (bool, error) {
		err := user.Get(ctx, client.ObjectKeyFromObject(crd), crd)
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, err
	})
}

func ignoreNotServed(err error) error {
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
