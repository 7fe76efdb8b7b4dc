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

package webhooks

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestEveryWebhookIsServed: a path that the manifests name and the operator
// does not know would fail open, unnoticed.
func TestEveryWebhookIsServed(t *testing.T) {
	t.Parallel()
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	var crd apiextensionsv1.CustomResourceDefinition
	for obj, name := range map[client.Object]string{
		&mutating: testkit.WebhookConfiguration, &validating: testkit.WebhookConfiguration, &crd: podManagers,
	} {
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Name: name}, obj); err != nil {
			t.Fatal(err)
		}
	}
	calls := map[string]string{"conversion": *crd.Spec.Conversion.Webhook.ClientConfig.URL}
	for _, w := range mutating.Webhooks {
		calls[w.Name] = *w.ClientConfig.URL
	}
	for _, w := range validating.Webhooks {
		calls[w.Name] = *w.ClientConfig.URL
	}
	// Whose certificate it is, is another test's question.
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}}
	for name, call := range calls {
		target, err := url.Parse(call)
		if err != nil || target.Host != suite.Operator.Webhooks.Address {
			t.Errorf("%s is called at %s (%v), the operator listens on %s", name, call, err, suite.Operator.Webhooks.Address)
			continue
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, call, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := c.Do(request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode == http.StatusNotFound {
			t.Errorf("%s: the operator serves nothing at %s", name, target.Path)
		}
	}
	if len(calls) < 9 {
		t.Errorf("only %d webhooks", len(calls))
	}
}
