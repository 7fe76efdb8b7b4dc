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

package plugin

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// listener answers in the operator's place, on a certificate of its own, and
// keeps the tokens it is sent.
func listener(t *testing.T) (address string, tokens func() []string) {
	t.Helper()
	var mu sync.Mutex
	var received []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		received = append(received, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		_, _ = w.Write([]byte(`{"items":[]}`))
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return received
	}
}

// A process that gets the operator's address, by being faster after a restart say, gets
// no token.
func TestAnImpostorGetsNoToken(t *testing.T) {
	namespace := suite.Namespace(t)
	ada := as(t, namespace, "ada")
	fleet(t, namespace, 1)
	address, tokens := listener(t)
	for _, verb := range [][]string{{"why", "web"}, {"events", "web"}, {"reconcile", "web"}, {"top", "--once"}, {"doctor"}} {
		out, err := ada.with("--explain-url", address).try(t, verb...)
		if err != nil {
			out += err.Error()
		}
		// top's line ends where the screen does.
		if !strings.Contains(out, "failed to verify certificate") {
			t.Errorf("%s does not say why the operator was not asked:\n%s", verb[0], out)
		}
	}
	if got := tokens(); len(got) > 0 {
		t.Errorf("%d tokens were sent", len(got))
	}
}

// Who insists on asking sends a token that is good for the operator alone.
func TestAnInsecureQuestionBringsATokenForTheOperatorAlone(t *testing.T) {
	namespace := suite.Namespace(t)
	ada := as(t, namespace, "ada")
	fleet(t, namespace, 1)
	address, tokens := listener(t)
	ada.with("--explain-url", address, "--explain-insecure").must(t, "why", "web")
	if len(tokens()) == 0 {
		t.Fatal("the operator's address was not asked")
	}
	for _, token := range tokens() {
		claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		if err != nil || !strings.Contains(string(claims), `"aud":["`+flight.Audience+`"]`) {
			t.Errorf("the token says %s: %v", claims, err)
		}
		stolen := suite.Cluster.RESTConfig()
		stolen.CertData, stolen.KeyData, stolen.BearerToken = nil, nil, token
		stolen.CertFile, stolen.KeyFile = "", ""
		c, err := testkit.NewClient(stolen)
		if err == nil {
			err = c.List(t.Context(), &appsv1.PodManagerList{}, client.InNamespace(namespace))
		}
		if !apierrors.IsUnauthorized(err) {
			t.Errorf("the API server says to it: %v", err)
		}
	}
}

// Without a webhook configuration the operator cannot be told from others.
func TestAnOperatorThatCannotBeVerifiedIsNotAsked(t *testing.T) {
	namespace := suite.Namespace(t)
	ada := as(t, namespace, "ada")
	fleet(t, namespace, 1)
	for _, name := range []string{testkit.WebhookConfiguration, testkit.IdentityConfiguration} {
		configuration := &admissionv1.ValidatingWebhookConfiguration{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Name: name}, configuration); err != nil {
			t.Fatal(err)
		}
		if err := suite.Client.Delete(t.Context(), configuration.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			configuration.ResourceVersion, configuration.UID = "", ""
			if err := suite.Client.Create(context.Background(), configuration); err != nil {
				t.Error(err)
			}
		})
	}
	if out := ada.must(t, "why", "web"); !strings.Contains(out, "there is no ValidatingWebhookConfiguration") || !strings.Contains(out, "--explain-insecure") {
		t.Errorf("why does not say what to do:\n%s", out)
	}
	if out := ada.with("--explain-url", origin, "--explain-insecure").must(t, "reconcile", "web"); !strings.Contains(out, ":ada.") {
		t.Errorf("the operator was not asked:\n%s", out)
	}
}
