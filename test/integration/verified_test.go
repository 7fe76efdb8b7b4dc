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

package integration

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// What config/ calls them.
const (
	metricsService = "pod-operator-controller-manager-metrics-service"
	explainService = "pod-operator-explain"
)

// inCluster is the name under which a pod calls a Service of the operator.
func inCluster(service string) string { return service + "." + testkit.OperatorNamespace + ".svc" }

// publishedCA reads what Prometheus verifies with.
func publishedCA(t *testing.T, s *testkit.Suite) (*x509.CertPool, error) {
	t.Helper()
	var published corev1.ConfigMap
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: testkit.OperatorNamespace, Name: testkit.ServingCA}, &published); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(published.Data["ca.crt"])) {
		return nil, errors.New("no CA is published")
	}
	return roots, nil
}

// verified asks as a client does that trusts roots and knows the server by its
// name.
func verified(t *testing.T, url, token string, roots *x509.CertPool, name string) (code int, serial string, err error) {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	return response.StatusCode, response.TLS.PeerCertificates[0].SerialNumber.String(), response.Body.Close()
}

// TestMetricsAndThePageAreVerified: a client that trusts the published CA reaches
// both under the names of their Services and no others, also while the
// certificate is renewed, and the operator writes the CA only when it changes.
func TestMetricsAndThePageAreVerified(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	t.Parallel()
	options := clusterOptions()
	options.Components = localkube.APIOnly()
	s := newCluster(t, options)
	login, err := s.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	metrics, page := freeAddress(t), freeAddress(t)
	p := startManager(t, s, login, "--metrics-bind-address="+metrics, "--explain-bind-address="+page,
		"--metrics-service="+metricsService, "--explain-service="+explainService, "--ca-configmap="+testkit.ServingCA,
		"--webhook-cert-lifetime=24s") // a new one after 12 s, served 3 s later
	p.expectServing(t)
	s.Kubectl(t, "-n", "default", "create", "serviceaccount", "prometheus")
	s.Kubectl(t, "create", "clusterrolebinding", "prometheus", "--clusterrole=pod-operator-metrics-reader", "--serviceaccount=default:prometheus")
	token := strings.TrimSpace(s.Kubectl(t, "-n", "default", "create", "token", "prometheus"))

	endpoints := map[string]string{
		inCluster(metricsService): "https://" + metrics + "/metrics",
		inCluster(explainService): "https://" + page + "/",
	}
	var roots *x509.CertPool
	for name, url := range endpoints {
		for _, name := range []string{name, name + ".cluster.local"} {
			testkit.Eventually(t, name+" is verified and answers", func() error {
				if roots, err = publishedCA(t, s); err != nil {
					return err
				}
				code, _, err := verified(t, url, token, roots, name)
				if err == nil && code != http.StatusOK {
					err = fmt.Errorf("it answers %d", code)
				}
				return err
			})
		}
		for what, test := range map[string]struct {
			roots *x509.CertPool
			name  string
		}{
			"another name":          {roots, "kubernetes.default.svc"},
			"a client without a CA": {x509.NewCertPool(), name},
		} {
			_, _, err := verified(t, url, token, test.roots, test.name)
			if failed := (*tls.CertificateVerificationError)(nil); !errors.As(err, &failed) {
				t.Errorf("%s: %s: %v, want an error of the certificate", url, what, err)
			}
		}
	}
	expectRenewal(t, s, endpoints, token)
	p.terminate(t)
}

// expectRenewal: the certificate is replaced twice, and each time a client trusts
// what is served by what was published before.
func expectRenewal(t *testing.T, s *testkit.Suite, endpoints map[string]string, token string) {
	t.Helper()
	mark, err := s.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	const renewals = 2
	served := map[string]bool{}
	testkit.EventuallyEvery(t, 200*time.Millisecond, "the certificate is renewed twice", func() error {
		roots, err := publishedCA(t, s)
		if err != nil {
			t.Fatal(err)
		}
		for name, url := range endpoints {
			_, serial, err := verified(t, url, token, roots, name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			served[serial] = true
		}
		if len(served) <= renewals {
			return fmt.Errorf("%d certificates were served", len(served))
		}
		return nil
	})
	events, err := s.Cluster.AuditEvents(mark)
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	for i := range events {
		if byOperator(&events[i]) && events[i].ObjectRef.Resource == "configmaps" && events[i].Mutating() {
			writes++
		}
	}
	// A CA joins and another leaves at each renewal.
	if most := 2*renewals + 1; writes > most {
		t.Errorf("%d writes of the CA in %d renewals, want at most %d", writes, renewals, most)
	}
}
