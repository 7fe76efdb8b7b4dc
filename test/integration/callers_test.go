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
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// signer is a CA for client certificates.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	s := &signer{}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "clients"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	s.certificate, s.key = s.sign(t, template)
	return s
}

// sign signs, with the signer's own key where it has none yet.
func (s *signer) sign(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signing := s.certificate, s.key
	if parent == nil {
		parent, signing = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signing)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func (s *signer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certificate.Raw})
}

// client makes a client certificate and its key, as PEM.
func (s *signer) client(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	leaf, private := s.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
}

// admissionConfig has the API server show a client certificate to the webhooks at
// an address, as docs/webhooks.md says, and returns the file.
func admissionConfig(t *testing.T, address string, certificate, key []byte) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	users := write("clients.yaml", fmt.Sprintf(`apiVersion: v1
kind: Config
users:
- name: %s
  user:
    client-certificate: %s
    client-key: %s
`, address, write("client.crt", string(certificate)), write("client.key", string(key))))
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for _, plugin := range []string{"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"} {
		text += fmt.Sprintf(`- name: %s
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: %s
`, plugin, users)
	}
	return write("admission.yaml", text)
}

// TestTheWebhooksAreForTheAPIServer: with --webhook-client-ca-file the operator
// admits for the API server, which shows its certificate, and for no other
// client. The conversion stays open, because the API server shows none there.
func TestTheWebhooksAreForTheAPIServer(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	t.Parallel()
	const name = "kube-apiserver-webhook-client"
	ca, other := newSigner(t), newSigner(t)
	address := freeAddress(t)
	certificate, key := ca.client(t, name)
	options := clusterOptions()
	options.Components = localkube.APIOnly()
	options.APIServerArgs = append(options.APIServerArgs, "--admission-control-config-file="+admissionConfig(t, address, certificate, key))
	s, err := testkit.NewWebhookSuite(t.Context(), options)
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(caFile, ca.pem(), 0o600); err != nil {
		t.Fatal(err)
	}
	login, err := s.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := startManager(t, s, login, "--webhook-bind-address="+address, "--webhook-url=https://"+address,
		"--webhook-client-ca-file="+caFile, "--webhook-client-name="+name)
	p.expectServing(t)

	testkit.Eventually(t, "the API server calls the webhooks", func() error {
		pm := testkit.MakePodManager("default", "web").Obj()
		if err := s.Client.Create(t.Context(), pm, client.DryRunAll); err != nil {
			return err
		}
		if len(pm.Finalizers) == 0 {
			return errors.New("no webhook has added the finalizer")
		}
		return nil
	})
	if err := s.Client.Create(t.Context(), testkit.MakePodManager("default", "web").Replicas(0).Obj()); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &v1alpha1.PodManager{}); err != nil {
		t.Errorf("the conversion: %v", err)
	}

	try := func(certificate, key []byte) (int, error) { return callWebhook(t, s, address, certificate, key) }
	stranger, strangersKey := ca.client(t, "kubelet")
	foreign, foreignKey := other.client(t, name)
	for what, test := range map[string]struct {
		certificate, key []byte
		want             int
	}{
		"the API server's certificate":         {certificate, key, http.StatusOK},
		"no certificate":                       {nil, nil, http.StatusForbidden},
		"a certificate of the CA, of another":  {stranger, strangersKey, http.StatusForbidden},
		"the right name, signed by another CA": {foreign, foreignKey, 0},
	} {
		code, err := try(test.certificate, test.key)
		if code != test.want || (err != nil) != (test.want == 0) {
			t.Errorf("%s: answered %d, %v; want %d", what, code, err, test.want)
		}
	}

	if err := os.WriteFile(caFile, other.pem(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, err := try(foreign, foreignKey); err != nil || code != http.StatusOK {
		t.Errorf("the CA was replaced, and its certificate is answered %d: %v", code, err)
	}
	if code, err := try(certificate, key); err == nil {
		t.Errorf("the CA was replaced, and a certificate of the old one is answered %d", code)
	}
	p.terminate(t)
}

// callWebhook calls a webhook as any pod can, with a certificate or without.
func callWebhook(t *testing.T, s *testkit.Suite, address string, certificate, key []byte) (code int, err error) {
	t.Helper()
	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	if err := s.Client.Get(t.Context(), client.ObjectKey{Name: testkit.WebhookConfiguration}, &hooks); err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AppendCertsFromPEM(hooks.Webhooks[0].ClientConfig.CABundle)
	if certificate != nil {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		// Shown also where the server names other CAs.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	review := []byte(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1"}}`)
	url := "https://" + address + paths.All()[hooks.Webhooks[0].Name]
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		if !strings.Contains(err.Error(), "tls: ") {
			t.Errorf("the webhook is not reached: %v", err)
		}
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
