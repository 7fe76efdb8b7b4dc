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

package chart

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// matrix is what people set, alone and together.
var matrix = map[string]string{
	"nothing":           "{}",
	"another prefix":    "{fullnameOverride: fleet}",
	"a pinned image":    "{image: {repository: registry.example.com/pod-operator, digest: 'sha256:" + strings.Repeat("a", 64) + "', pullPolicy: Always}, imagePullSecrets: [{name: pull}]}",
	"shards":            "{shards: 32, replicas: 3, metrics: {rules: {enabled: true}}, podDisruptionBudget: {enabled: true, maxUnavailable: '50%'}}",
	"one namespace":     "{watchNamespaces: [team]}",
	"two and shards":    "{watchNamespaces: [team, other], shards: 8, replicas: 2, webhooks: {enabled: false}}",
	"no webhooks":       "{webhooks: {enabled: false}, admissionPolicy: {enabled: false}}",
	"cert-manager":      "{webhooks: {certificates: cert-manager}, metrics: {rules: {enabled: true}, serviceMonitor: {enabled: true}}}",
	"callers":           "{webhooks: {clientCA: {configMap: callers, name: kube-apiserver}}}",
	"callers by Secret": "{webhooks: {certificates: cert-manager, clientCA: {secret: callers, key: tls.crt}}}",
	"an issuer of ours": "{webhooks: {certificates: cert-manager, certManager: {issuerRef: {kind: ClusterIssuer, name: company}}}}",
	"all of monitoring": "{metrics: {readers: [{name: prometheus, namespace: monitoring}], serviceMonitor: {enabled: true, interval: 30s, labels: {team: a}}, " +
		"rules: {enabled: true, labels: {team: a}, alertLabels: {team: a}, runbookURL: 'https://docs.example.com/operations'}, dashboard: {enabled: true}}}",
	"no metrics":         "{metrics: {enabled: false}, networkPolicy: {enabled: true}}",
	"no ingress allowed": "{metrics: {enabled: false}, webhooks: {enabled: false}, networkPolicy: {enabled: true}}",
	"explanations":       "{explain: {enabled: true}, networkPolicy: {enabled: true}, replicas: 2, podDisruptionBudget: {enabled: true}}",
	"roles of another":   "{rbac: {create: false}, serviceAccount: {create: false, name: theirs}}",
	"production":         "{tutorialKinds: false, watchNamespaces: [team]}",
	"CRDs of another":    "{crds: {install: false}, controllers: [imoocpod, helloworld, collector]}",
	"where the pods run": "{nodeSelector: {pool: system}, tolerations: [{key: system, operator: Exists}], priorityClassName: system-cluster-critical, " +
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}], podLabels: {team: a}, podAnnotations: {note: b}, " +
		"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}}",
	"how it works": "{maxConcurrentReconciles: 16, maxEvictionHold: 30m, kubeAPI: {qps: 50, burst: 200}, log: {level: 3, format: console}, extraArgs: ['--shard-lease-duration=30s']}",
}

// elsewhere are kinds that a bare API server does not know.
var elsewhere = []string{"cert-manager.io", "monitoring.coreos.com"}

// Whatever is set, each object is of our types to the letter, an API server takes
// it, and the operator takes its flags.
func TestWhatIsRenderedIsTaken(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	server := apiServer(t)
	for name, text := range matrix {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, object := range newHelm(t, "").template(text) {
				group := object.GroupVersionKind().Group
				raw, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				if group != "cert-manager.io" { // compared with config/certmanager
					if _, _, err := strict.Decode(raw, nil, nil); err != nil {
						t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
					}
				}
				if object.GetKind() == "Deployment" {
					flags(t, object.DeepCopy())
				}
				if slices.Contains(elsewhere, group) {
					continue
				}
				body := client.ApplyConfigurationFromUnstructured(object)
				if err := server.Apply(t.Context(), body, client.DryRunAll, client.FieldOwner("helm"), client.ForceOwnership); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}

// apiServer has the namespaces that the matrix names. One enforces what the
// chart promises of its pods.
func apiServer(t *testing.T) client.Client {
	t.Helper()
	cluster := kubetest.Start(t, localkube.Options{
		Components: localkube.APIOnly(),
		OnAPIReady: func(ctx context.Context, admin *rest.Config) error {
			c, err := client.New(admin, client.Options{})
			if err != nil {
				return err
			}
			for _, name := range []string{namespace, "team", "other"} {
				labels := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
				if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
					return err
				}
			}
			return nil
		},
	})
	c, err := client.New(cluster.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"nothing": "{}", "cert-manager": matrix["cert-manager"]} {
		pod := podOf(t, newHelm(t, "").template(text))
		if err := c.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("%s: a namespace with the level restricted refuses the operator's pod: %v", name, err)
		}
	}
	return c
}

// podOf is the pod that the Deployment makes, for the namespace's default account.
func podOf(t *testing.T, objects []*unstructured.Unstructured) *corev1.Pod {
	t.Helper()
	template := into[kappsv1.Deployment](t, find(t, objects, "Deployment", "")).Spec.Template
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator", Labels: template.Labels}, Spec: template.Spec,
	}
}

func into[T any](t testing.TB, object *unstructured.Unstructured) T {
	t.Helper()
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}

// With watchNamespaces the operator has nothing cluster-wide but the right to
// read what has no namespace, and to ask who may do what; the same rules as ever
// are in each namespace.
func TestANamespacedInstallMayDoNothingElsewhere(t *testing.T) {
	t.Parallel()
	h := newHelm(t, "")
	everywhere := into[rbacv1.ClusterRole](t, find(t, h.template("{}"), "ClusterRole", "-manager-role"))
	objects := h.template("{watchNamespaces: [team, other]}")
	cluster := into[rbacv1.ClusterRole](t, find(t, objects, "ClusterRole", "-manager-role"))
	for _, rule := range cluster.Rules {
		if slices.Equal(rule.Resources, []string{"subjectaccessreviews"}) && slices.Equal(rule.Verbs, []string{"create"}) {
			continue // a question, which is not stored
		}
		for _, resource := range rule.Resources {
			if !slices.Contains([]string{"nodes", "namespaces", "customresourcedefinitions"}, resource) {
				t.Errorf("cluster-wide it may %v %s", rule.Verbs, resource)
			}
		}
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("cluster-wide it may %s %v", verb, rule.Resources)
			}
		}
	}
	var in []string
	for _, object := range objects {
		if object.GetKind() != "Role" || !strings.HasSuffix(object.GetName(), "-manager-role") {
			continue
		}
		in = append(in, object.GetNamespace())
		role := into[rbacv1.Role](t, object)
		if got, want := len(role.Rules)+len(cluster.Rules), len(everywhere.Rules); got != want {
			t.Errorf("in %s: %d rules of %d got lost", object.GetNamespace(), want-got, want)
		}
	}
	if diff := cmp.Diff([]string{"team", "other"}, in); diff != "" {
		t.Errorf("Roles in (-want +got):\n%s", diff)
	}
	expectSelectors(t, objects)
	expectSelectors(t, h.template("{watchNamespaces: [team, other], webhooks: {certificates: cert-manager}}"))
}

// expectSelectors: all webhooks that fail open are called for the namespaces that are
// watched. Those for evictions the operator selects itself.
func expectSelectors(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	var webhooks []admissionregistrationv1.ValidatingWebhook
	for _, object := range objects {
		if object.GetKind() == "ValidatingWebhookConfiguration" {
			webhooks = append(webhooks, into[admissionregistrationv1.ValidatingWebhookConfiguration](t, object).Webhooks...)
		}
	}
	if len(webhooks) < 3 {
		t.Errorf("%d webhooks", len(webhooks))
	}
	for i := range webhooks {
		w := &webhooks[i]
		if len(w.Rules) == 0 {
			continue // it is never called, and says where the operator is
		}
		everywhere := *w.FailurePolicy == admissionregistrationv1.Fail || w.Name == paths.Evictions
		if everywhere == (w.NamespaceSelector != nil) {
			t.Errorf("%s fails with %s and is called for namespaces %v", w.Name, *w.FailurePolicy, w.NamespaceSelector)
		}
	}
}

// v1alpha1 is served only where it is asked for, and the conversion is there for what is stored.
func TestOldVersionsAreServedWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	for values, asked := range map[string]bool{
		"{}": false, "{webhooks: {certificates: cert-manager}}": false, "{webhooks: {enabled: false}}": false,
		"{crds: {v1alpha1: true}}": true, "{crds: {v1alpha1: true}, webhooks: {certificates: cert-manager}}": true,
	} {
		objects := newHelm(t, "").template(values)
		crd := into[apiextensionsv1.CustomResourceDefinition](t, find(t, objects, "CustomResourceDefinition", "podmanagers.apps.mycompany.com"))
		if converted := crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter; converted == strings.Contains(values, "enabled: false") {
			t.Errorf("%s: converted %t", values, converted)
		}
		for _, version := range crd.Spec.Versions {
			if want := version.Storage || asked; version.Served != want {
				t.Errorf("%s: %s: served %t", values, version.Name, version.Served)
			}
		}
	}
}

func TestWithoutWebhooksNoObjectIsForThem(t *testing.T) {
	t.Parallel()
	objects := newHelm(t, "").template("{webhooks: {enabled: false}}")
	for _, object := range objects {
		if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") {
			continue // what the account may not do does not depend on what it serves
		}
		if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") || strings.Contains(object.GetName(), "webhook") {
			t.Errorf("%s %s is not needed", object.GetKind(), object.GetName())
		}
	}
}
