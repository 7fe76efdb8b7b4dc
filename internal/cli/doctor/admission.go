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

package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

const (
	podManagers   = "podmanagers.apps.mycompany.com"
	installAdvice = "kubectl apply -f dist/install.yaml, which make build-installer writes"
)

// hangsAdvice is for an API server that waits for the operator.
const hangsAdvice = "the operator, or another webhook, does not answer the API server: read its log, or restart it"

// otherKinds work without each other, so that one that is missing is no fault.
func otherKinds() []string {
	return []string{"imoocpods.batch.tutorial.kubebuilder.io", "helloworlds.test.jiaozi.com", "collectors.collector.ip.mycompany.com"}
}

// definitions looks at the CRDs.
func (c *checkup) definitions(ctx context.Context) []Finding {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := c.client.Get(ctx, client.ObjectKey{Name: podManagers}, crd)
	switch {
	case apierrors.IsForbidden(err):
		return []Finding{note("CRDs", "you may not read them, so their versions were not checked")}
	case apierrors.IsNotFound(err):
		return []Finding{todo("CRDs", podManagers+" is not installed", installAdvice)}
	case err != nil:
		return []Finding{todo("CRDs", cause(err), "try again")}
	}
	findings := crdFindings(crd, c.now())
	for _, name := range otherKinds() {
		switch err := c.client.Get(ctx, client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{}); {
		case apierrors.IsNotFound(err):
			findings = append(findings, note("CRDs", "%s is not installed; its controller waits until it is", name))
		case err == nil:
			findings = append(findings, ok("CRDs", "%s is installed", name))
		}
	}
	return findings
}

// crdFindings judges the CRD of the PodManagers.
func crdFindings(crd *apiextensionsv1.CustomResourceDefinition, now time.Time) []Finding {
	established := slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	if !established {
		return []Finding{todo("CRDs", crd.Name+" is not established", "kubectl describe crd "+crd.Name+" says why")}
	}
	served := map[string]bool{}
	storage := ""
	for _, v := range crd.Spec.Versions {
		served[v.Name] = v.Served
		if v.Storage {
			storage = v.Name
		}
	}
	var findings []Finding
	if !served["v1"] || storage != "v1" {
		findings = append(findings, todo("versions", crd.Name+" does not serve and store v1", installAdvice))
	} else {
		findings = append(findings, ok("CRDs", "%s is served as %s, stored as %s", crd.Name, strings.Join(servedNames(crd), " and "), storage))
	}
	if old := slices.DeleteFunc(slices.Clone(crd.Status.StoredVersions), func(v string) bool { return v == storage }); len(old) > 0 {
		findings = append(findings, note("versions", "objects may still be stored as %s; docs/versions.md tells how to write them anew", strings.Join(old, ", ")))
	}
	if conversion := conversionOf(crd); served["v1alpha1"] && conversion != nil {
		findings = append(findings, bundleFinding("conversion", conversion.CABundle, now))
		called := admissionv1.WebhookClientConfig{URL: conversion.URL}
		if s := conversion.Service; s != nil {
			called.Service = &admissionv1.ServiceReference{Path: s.Path}
		}
		findings = append(findings, pathFindings("conversion", map[string]admissionv1.WebhookClientConfig{paths.Conversion: called})...)
	}
	return findings
}

// conversionOf is where the API server has objects converted, or nil.
func conversionOf(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.WebhookClientConfig {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil {
		return nil
	}
	return crd.Spec.Conversion.Webhook.ClientConfig
}

// pathFindings judge where the API server calls the webhooks: at another path
// nothing answers, and those that fail open are passed by in silence.
func pathFindings(about string, configs map[string]admissionv1.WebhookClientConfig) []Finding {
	var findings []Finding
	var open []string
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		base, ours := paths.All()[name]
		got := pathOf(configs[name])
		switch served, isSecret := paths.IsServed(base, got); {
		case !ours: // a manifest gave it its path
		case !served:
			findings = append(findings, todo(about, fmt.Sprintf("%s is called at %s, and is served at %s",
				cmp.Or(name, "the conversion"), cmp.Or(paths.Redacted(got), "/"), base), "start the operator, which puts it right"))
		case !isSecret:
			open = append(open, cmp.Or(name, "the conversion"))
		}
	}
	if len(open) > 0 {
		findings = append(findings, todo(about, strings.Join(open, ", ")+": called at a path without a secret, so that any pod can call it in the API server's place",
			"upgrade the operator or start it: it puts the secret there within two minutes"))
	}
	return findings
}

func pathOf(config admissionv1.WebhookClientConfig) string {
	if config.Service != nil {
		return ptr.Deref(config.Service.Path, "")
	}
	u, err := url.Parse(ptr.Deref(config.URL, ""))
	if err != nil {
		return ""
	}
	return u.Path
}

func servedNames(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var names []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}

// webhooks checks the configurations: the certificates they trust and whether
// the webhooks answer.
func (c *checkup) webhooks(ctx context.Context) []Finding {
	var findings []Finding
	configs := map[string]admissionv1.WebhookClientConfig{}
	if f := c.unverified(ctx); f != nil {
		return f
	}
	installed := c.converts(ctx) || c.serves(ctx)
	mutating := &admissionv1.MutatingWebhookConfiguration{}
	validating := &admissionv1.ValidatingWebhookConfiguration{}
	for _, object := range []client.Object{mutating, validating} {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1.")
		err := c.client.Get(ctx, client.ObjectKey{Name: c.configuration}, object)
		switch {
		case apierrors.IsForbidden(err):
			findings = append(findings, note("webhooks", "you may not read the %s, so it was not checked", kind))
		case apierrors.IsNotFound(err):
			findings = append(findings, missingConfiguration(kind, c.configuration, installed))
		case err != nil:
			findings = append(findings, todo("webhooks", cause(err), "try again"))
		}
	}
	for i := range mutating.Webhooks {
		configs[mutating.Webhooks[i].Name] = mutating.Webhooks[i].ClientConfig
	}
	for i := range validating.Webhooks {
		configs[validating.Webhooks[i].Name] = validating.Webhooks[i].ClientConfig
	}
	if len(configs) == 0 {
		return findings
	}
	var worst Finding
	services, addresses := map[client.ObjectKey]bool{}, map[string][]byte{}
	for _, config := range configs {
		if f := bundleFinding("webhooks", config.CABundle, c.now()); f.Level == ToDo || worst.Level == "" {
			worst = f
		}
		if s := config.Service; s != nil {
			services[client.ObjectKey{Namespace: s.Namespace, Name: s.Name}] = true
		}
		if u, err := url.Parse(ptr.Deref(config.URL, "")); err == nil && u.Host != "" {
			addresses[u.Scheme+"://"+u.Host] = config.CABundle
		}
	}
	c.calledByURL = len(addresses) > 0
	findings = append(append(findings, worst), pathFindings("webhooks", configs)...)
	for service := range services {
		findings = append(findings, c.answers(ctx, service))
	}
	for _, address := range slices.Sorted(maps.Keys(addresses)) {
		u, _ := url.Parse(address) // it was parsed above
		findings = append(findings, c.dial(ctx, u, addresses[address]))
	}
	return findings
}

// converts: the API server trusts the operator to convert objects, so it serves
// webhooks.
func (c *checkup) converts(ctx context.Context) bool {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: podManagers}, crd); err != nil {
		return false
	}
	conversion := conversionOf(crd)
	return conversion != nil && len(conversion.CABundle) > 0
}

// serves: the Deployment has the operator serve webhooks. Without v1alpha1, as the
// chart installs it, nothing is converted.
func (c *checkup) serves(ctx context.Context) bool {
	args, ok := c.arguments(ctx)
	return ok && !slices.Contains(args, "--webhook-bind-address=0")
}

// arguments are the operator's, where its Deployment can be read.
func (c *checkup) arguments(ctx context.Context) ([]string, bool) {
	d := &kappsv1.Deployment{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.operator, Name: deploymentName}, d); err != nil {
		return nil, false
	}
	containers := d.Spec.Template.Spec.Containers
	n := slices.IndexFunc(containers, func(container corev1.Container) bool { return container.Name == "manager" })
	if n < 0 {
		return nil, false
	}
	return containers[n].Args, true
}

// unverified: another program, OLM, writes the webhook configurations. It has no
// words for a secret path, so only a client certificate shows who calls.
func (c *checkup) unverified(ctx context.Context) []Finding {
	args, _ := c.arguments(ctx)
	if !slices.Contains(args, "--webhook-configuration=") {
		return nil
	}
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--webhook-client-ca-file=") }) {
		return []Finding{ok("webhooks", "their configurations are another program's, and the API server is known by its certificate")}
	}
	return []Finding{todo("webhooks", "the operator cannot tell the API server from other clients, so no pod is tried, no warning is given and no eviction is held",
		"have the API server show a client certificate, and set --webhook-client-ca-file; docs/webhooks.md tells how")}
}

// missingConfiguration: an installation may go without webhooks, and then the operator
// neither converts nor serves any. The operator never makes a configuration again: it cannot
// tell a mistake from an uninstallation.
func missingConfiguration(kind, configuration string, installed bool) Finding {
	if installed {
		return todo("webhooks", "there is no "+kind+" "+configuration+", though the operator serves webhooks: objects are checked by their schemas only",
			installAdvice+", or helm upgrade")
	}
	return note("webhooks", "there is no %s %s: objects are checked by their schemas only", kind, configuration)
}

// answers reports whether a ready pod stands behind a Service.
func (c *checkup) answers(ctx context.Context, service client.ObjectKey) Finding {
	var slices discoveryv1.EndpointSliceList
	err := c.client.List(ctx, &slices, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err != nil {
		return note("webhooks", "you may not see whether a pod answers for Service %s", service)
	}
	ready := 0
	for i := range slices.Items {
		for _, endpoint := range slices.Items[i].Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) {
				ready++
			}
		}
	}
	if ready == 0 {
		return todo("webhooks", fmt.Sprintf("no pod answers for Service %s", service), "kubectl -n "+service.Namespace+" get pods: the operator has to run")
	}
	return ok("webhooks", "Service %s has %d ready", service, ready)
}

// soonLeft is the fraction of a certificate's life, one in so many, below which
// its renewal is overdue: the operator renews at half.
const soonLeft = 10

// bundleFinding judges the certificates of a bundle by the one that lasts
// longest: the others are of replicas that are gone.
func bundleFinding(about string, bundle []byte, now time.Time) Finding {
	var best *x509.Certificate
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if found, err := x509.ParseCertificate(block.Bytes); err == nil && (best == nil || found.NotAfter.After(best.NotAfter)) {
			best = found
		}
	}
	restart := "restart the operator: it makes a new certificate and has the API server trust it"
	if best == nil {
		return todo(about, "the API server trusts no certificate yet", "start the operator, which puts its own in place")
	}
	life, left := best.NotAfter.Sub(best.NotBefore), best.NotAfter.Sub(now)
	switch {
	case left <= 0:
		return todo(about, "the certificate expired "+duration.HumanDuration(-left)+" ago", restart)
	case best.NotBefore.After(now):
		return todo(about, "the certificate is valid only in "+duration.HumanDuration(best.NotBefore.Sub(now)), "look at the clocks")
	case left < life/soonLeft:
		return todo(about, "the certificate expires in "+duration.HumanDuration(left)+" and was not renewed", restart)
	}
	return ok(about, "the certificate is valid for %s", duration.HumanDuration(left))
}

// trial has the API server try a PodManager: schema, policies and webhooks, all
// that a real one passes. Nothing is stored.
func (c *checkup) trial(ctx context.Context) []Finding {
	pm := &appsv1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.user, GenerateName: "doctor-"},
		Spec:       appsv1.PodManagerSpec{Replicas: ptr.To[int32](1), Image: "registry.k8s.io/pause:3.10"},
	}
	err := c.client.Create(ctx, pm, client.DryRunAll)
	switch {
	case err == nil:
		return []Finding{ok("trial", "a PodManager in namespace %s would be accepted", c.user)}
	case errors.Is(err, context.DeadlineExceeded):
		return []Finding{todo("trial", fmt.Sprintf("a PodManager in namespace %s was tried: %v", c.user, cause(err)), hangsAdvice)}
	case apierrors.IsForbidden(err):
		return []Finding{note("trial", "you may not create a PodManager in namespace %s: %v", c.user, cause(err))}
	case apierrors.IsNotFound(err):
		return []Finding{note("trial", "none was made: %v", cause(err))}
	}
	return []Finding{todo("trial", fmt.Sprintf("a PodManager in namespace %s would be refused: %v", c.user, cause(err)), "read the message; if it names a webhook, the operator has to run")}
}

// cause is the API server's own message.
func cause(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer came in time"
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return cmp.Or(status.Status().Message, err.Error())
	}
	return err.Error()
}
