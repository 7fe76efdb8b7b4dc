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
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// A client that skips the verification sends its token to anyone who answers.
func TestNothingIsScrapedUnverified(t *testing.T) {
	for _, folder := range []string{"config", "charts", "bundle", "docs", "examples"} {
		err := filepath.WalkDir(filepath.Join(testkit.Root(), folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) == ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(bytes.ToLower(text), []byte("insecureskipverify")) {
				t.Errorf("%s skips the verification of a certificate", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// monitored renders a folder of config/ with the ServiceMonitor of config/default
// turned on, after edit has changed config/default's kustomization.
func monitored(t *testing.T, folder string, edit *strings.Replacer) []*unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(config)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "default", "kustomization.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	turnedOn := strings.Replace(string(text), "# - ../prometheus", "- ../prometheus", 1)
	turnedOn = strings.Replace(turnedOn, "- ../crd\n", "", 1) // they take seconds, and are not what this is about
	if err := os.WriteFile(path, []byte(edit.Replace(turnedOn)), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := install.Render(filepath.Join(dir, folder))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func only(t *testing.T, objects []*unstructured.Unstructured, kind, suffix string) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == kind && strings.HasSuffix(object.GetName(), suffix) {
			if found != nil {
				t.Fatalf("two of kind %s end in %s", kind, suffix)
			}
			found = object
		}
	}
	if found == nil {
		t.Fatalf("no %s ends in %s", kind, suffix)
	}
	return found
}

// The name in the operator's certificate, the place where it publishes the CA
// and the configuration of Prometheus agree, for any prefix and namespace.
func TestTheServiceMonitorVerifiesTheOperator(t *testing.T) {
	for name, edit := range map[string]*strings.Replacer{
		"as it is": strings.NewReplacer(),
		"with another prefix and namespace": strings.NewReplacer(
			"namespace: pod-operator-system", "namespace: elsewhere", "namePrefix: pod-operator-", "namePrefix: other-"),
	} {
		t.Run(name, func(t *testing.T) {
			objects := monitored(t, "default", edit)
			service := into[corev1.Service](t, only(t, objects, "Service", "-metrics-service"))
			ca := into[corev1.ConfigMap](t, only(t, objects, "ConfigMap", "-serving-ca"))
			role := into[rbacv1.Role](t, only(t, objects, "Role", "-serving-ca-role"))
			deployment := into[kappsv1.Deployment](t, only(t, objects, "Deployment", ""))
			options, err := manager.ParseFlags(deployment.Spec.Template.Spec.Containers[0].Args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if options.Certificate.MetricsService != service.Name || options.Certificate.ConfigMap != ca.Name {
				t.Errorf("the operator's flags name %+v, want %s and %s", options.Certificate, service.Name, ca.Name)
			}
			if diff := cmp.Diff([]string{ca.Name}, role.Rules[0].ResourceNames); diff != "" || len(role.Rules) != 1 {
				t.Errorf("it may write (-want +got):\n%s", diff)
			}
			want := monitoringv1.SafeTLSConfig{
				CA:         monitoringv1.SecretOrConfigMap{ConfigMap: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: ca.Name}, Key: "ca.crt"}},
				ServerName: new(service.Name + "." + service.Namespace + ".svc"),
			}
			expectTLS(t, objects, want)
		})
	}
}

// cert-manager's certificate is for all that is served, and Prometheus verifies
// with the CA that cert-manager wrote beside it.
func TestTheServiceMonitorVerifiesCertManagersCertificate(t *testing.T) {
	objects := monitored(t, "certmanager", strings.NewReplacer())
	certificate := only(t, objects, "Certificate", "")
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	hosts, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	var want []string
	for _, service := range []string{"pod-operator-webhook-service", "pod-operator-controller-manager-metrics-service", "pod-operator-explain"} {
		host := service + ".pod-operator-system.svc"
		want = append(want, host, host+".cluster.local")
	}
	if diff := cmp.Diff(want, hosts); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	expectTLS(t, objects, monitoringv1.SafeTLSConfig{
		CA:         monitoringv1.SecretOrConfigMap{Secret: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: "ca.crt"}},
		ServerName: new("pod-operator-controller-manager-metrics-service.pod-operator-system.svc"),
	})
	deployment := into[kappsv1.Deployment](t, only(t, objects, "Deployment", ""))
	options, err := manager.ParseFlags(deployment.Spec.Template.Spec.Containers[0].Args, io.Discard)
	if err != nil || options.MetricsCertDir == "" || options.MetricsCertDir != options.Webhooks.CertDir || options.Certificate.ConfigMap != "" {
		t.Errorf("the operator serves with %+v: %v", options.Certificate, err)
	}
	for _, object := range objects {
		if strings.Contains(object.GetName(), "serving-ca") {
			t.Errorf("%s %s is left over", object.GetKind(), object.GetName())
		}
	}
}

func expectTLS(t *testing.T, objects []*unstructured.Unstructured, want monitoringv1.SafeTLSConfig) {
	t.Helper()
	monitor := into[monitoringv1.ServiceMonitor](t, only(t, objects, "ServiceMonitor", ""))
	got := monitor.Spec.Endpoints[0].TLSConfig
	if got == nil {
		t.Fatal("the ServiceMonitor says nothing about TLS")
	}
	if diff := cmp.Diff(want, got.SafeTLSConfig); diff != "" {
		t.Errorf("tlsConfig (-want +got):\n%s", diff)
	}
}
