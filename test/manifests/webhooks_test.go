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

package manifests

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

func find(t *testing.T, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

// services are the Services that the API server calls.
func services(t *testing.T, objects []*unstructured.Unstructured, configuration string) map[string]string {
	t.Helper()
	called := map[string]string{}
	mutating := into[admissionregistrationv1.MutatingWebhookConfiguration](t, find(t, objects, "MutatingWebhookConfiguration", configuration))
	for _, w := range mutating.Webhooks {
		called[w.Name] = w.ClientConfig.Service.Name + "." + w.ClientConfig.Service.Namespace + ".svc"
	}
	validating := into[admissionregistrationv1.ValidatingWebhookConfiguration](t, find(t, objects, "ValidatingWebhookConfiguration", configuration))
	for _, w := range validating.Webhooks {
		called[w.Name] = w.ClientConfig.Service.Name + "." + w.ClientConfig.Service.Namespace + ".svc"
	}
	crd := into[apiextensionsv1.CustomResourceDefinition](t, find(t, objects, "CustomResourceDefinition", "podmanagers.apps.mycompany.com"))
	service := crd.Spec.Conversion.Webhook.ClientConfig.Service
	called["conversion"] = service.Name + "." + service.Namespace + ".svc"
	return called
}

// The operator writes the CA into objects that it knows by name, and may write
// to no others.
func TestTheOperatorMayMakeItsWebhooksTrusted(t *testing.T) {
	options, err := manager.ParseFlags(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	objects := render(t, "default")
	for name, host := range services(t, objects, options.Webhooks.Configuration) {
		if host != "pod-operator-webhook-service.pod-operator-system.svc" {
			t.Errorf("%s calls %s", name, host)
		}
	}
	find(t, objects, "Service", "pod-operator-webhook-service")
	role := into[rbacv1.ClusterRole](t, find(t, objects, "ClusterRole", "pod-operator-webhook-trust-role"))
	var names []string
	for _, rule := range role.Rules {
		if len(rule.ResourceNames) == 0 || slices.Contains(rule.Verbs, "create") || slices.Contains(rule.Verbs, "delete") {
			t.Errorf("the trust role grants more than to change what is there: %v", rule)
		}
		names = append(names, rule.ResourceNames...)
	}
	if diff := cmp.Diff([]string{options.Webhooks.Configuration, options.Webhooks.Identity, "podmanagers.apps.mycompany.com"}, names); diff != "" {
		t.Errorf("names in the trust role (-want +got):\n%s", diff)
	}
}

// v1alpha1 is served where it is asked for.
func TestWhichVersionsAreServed(t *testing.T) {
	for folder, want := range map[string][]string{"crd": {"v1"}, "default": {"v1"}, "playground": {"v1", "v1alpha1"}} {
		crd := into[apiextensionsv1.CustomResourceDefinition](t, find(t, render(t, folder), "CustomResourceDefinition", "podmanagers.apps.mycompany.com"))
		var served []string
		for _, v := range crd.Spec.Versions {
			if v.Served {
				served = append(served, v.Name)
			}
		}
		if diff := cmp.Diff(want, served); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
}

func TestWithCertManager(t *testing.T) {
	objects := render(t, "certmanager")
	certificate := find(t, objects, "Certificate", "pod-operator-webhook-cert")
	hosts, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	issuer, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name")
	find(t, objects, "Issuer", issuer)
	for name, host := range services(t, objects, "pod-operator-admission") {
		if !slices.Contains(hosts, host) {
			t.Errorf("%s calls %s, and the certificate is for %v", name, host, hosts)
		}
	}
	from := certificate.GetNamespace() + "/" + certificate.GetName()
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		if got := find(t, objects, kind, "pod-operator-admission").GetAnnotations()["cert-manager.io/inject-ca-from"]; got != from {
			t.Errorf("%s gets its CA from %q, want %q", kind, got, from)
		}
	}
	crd := find(t, objects, "CustomResourceDefinition", "podmanagers.apps.mycompany.com")
	if got := crd.GetAnnotations()["cert-manager.io/inject-ca-from"]; got != from {
		t.Errorf("the CRD gets its CA from %q, want %q", got, from)
	}
	pod := into[kappsv1.Deployment](t, find(t, objects, "Deployment", "pod-operator-controller-manager")).Spec.Template.Spec
	options, err := manager.ParseFlags(pod.Containers[0].Args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	mount := pod.Containers[0].VolumeMounts[0]
	if options.Webhooks.CertDir != mount.MountPath || pod.Volumes[0].Name != mount.Name || pod.Volumes[0].Secret.SecretName != secret {
		t.Errorf("the operator reads %s, mounted is %+v from %+v", options.Webhooks.CertDir, mount, pod.Volumes[0])
	}
	// The patch replaces the arguments as a whole.
	plain := into[kappsv1.Deployment](t, find(t, render(t, "default"), "Deployment", "pod-operator-controller-manager")).Spec.Template.Spec
	want := slices.DeleteFunc(plain.Containers[0].Args, func(arg string) bool {
		return strings.HasPrefix(arg, "--metrics-service=") || strings.HasPrefix(arg, "--ca-configmap=")
	})
	want = append(want, "--webhook-cert-path="+mount.MountPath, "--metrics-cert-path="+mount.MountPath)
	if diff := cmp.Diff(want, pod.Containers[0].Args); diff != "" {
		t.Errorf("arguments (-default +certmanager):\n%s", diff)
	}
}

// calledAt are the paths in webhook configurations, by webhook.
func calledAt(t *testing.T, objects []*unstructured.Unstructured, configuration string) map[string]string {
	t.Helper()
	called := map[string]string{}
	mutating := into[admissionregistrationv1.MutatingWebhookConfiguration](t, find(t, objects, "MutatingWebhookConfiguration", configuration))
	for _, w := range mutating.Webhooks {
		called[w.Name] = ptr.Deref(w.ClientConfig.Service.Path, "")
	}
	validating := into[admissionregistrationv1.ValidatingWebhookConfiguration](t, find(t, objects, "ValidatingWebhookConfiguration", configuration))
	for _, w := range validating.Webhooks {
		called[w.Name] = ptr.Deref(w.ClientConfig.Service.Path, "")
	}
	return called
}

// The paths in config/webhook, which OLM's bundle is made from, are those that the
// operator serves.
func TestWebhooksAreCalledWhereTheyAreServed(t *testing.T) {
	called := calledAt(t, render(t, "webhook"), "admission")
	called[paths.Conversion] = "/convert" // OLM converts nothing
	if diff := cmp.Diff(called, paths.All()); diff != "" {
		t.Errorf("paths (-manifests +operator):\n%s", diff)
	}
}

// What is installed names no paths: the operator writes them, with secrets, and
// applying the manifests again would take these away.
func TestNoPathIsInstalled(t *testing.T) {
	options, err := manager.ParseFlags(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"default", "certmanager"} {
		objects := render(t, dir)
		called := calledAt(t, objects, options.Webhooks.Configuration)
		crd := into[apiextensionsv1.CustomResourceDefinition](t, find(t, objects, "CustomResourceDefinition", "podmanagers.apps.mycompany.com"))
		called[paths.Conversion] = ptr.Deref(crd.Spec.Conversion.Webhook.ClientConfig.Service.Path, "")
		for name, path := range called {
			if path != "" {
				t.Errorf("%s: %q is called at %s", dir, name, path)
			}
		}
		find(t, objects, "ClusterRole", "pod-operator-webhook-trust-role")
		identity := into[admissionregistrationv1.ValidatingWebhookConfiguration](t, find(t, objects, "ValidatingWebhookConfiguration", options.Webhooks.Identity))
		if len(identity.Webhooks) != 1 || len(identity.Webhooks[0].Rules) > 0 {
			t.Errorf("%s: what everyone reads is called: %+v", dir, identity.Webhooks)
		}
		reader := into[rbacv1.ClusterRole](t, find(t, objects, "ClusterRole", "pod-operator-webhook-reader"))
		if diff := cmp.Diff([]string{options.Webhooks.Identity}, reader.Rules[0].ResourceNames); diff != "" || len(reader.Rules) != 1 {
			t.Errorf("%s: everyone reads more than the identity (-want +got):\n%s", dir, diff)
		}
	}
}
