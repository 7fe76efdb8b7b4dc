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

package manager

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	webhookapps "github.com/mycompany/pod-operator/internal/webhook/apps"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// Where OLM writes the configurations and the API server shows no certificate, no
// webhook that reads or writes is asked. What follows from the review alone is
// answered: v1alpha1 could not be used without it.
func TestWithoutAProofNothingIsReadOrWritten(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Webhooks: Webhooks{Address: "127.0.0.1:9443", CertDir: t.TempDir()}}
	s, err := newWebhookServer(o, nil, scheme)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, path := range paths.All() {
		s.Register(path, &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
			asked[path] = true
			return admission.Denied("asked")
		})})
	}
	for _, path := range paths.All() {
		for _, at := range []string{path, path + "/" + strings.Repeat("0", 32)} {
			review := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "7", "operation": "CREATE", "object": {}}}`
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(review))
			request.Header.Set("Content-Type", "application/json")
			recorder := httptest.NewRecorder()
			s.mux.ServeHTTP(recorder, request)
			computes := asked[path]
			if answer := recorder.Body.String(); !computes && !strings.Contains(answer, `"uid":"7","allowed":true`) {
				t.Errorf("%s is answered with %s", at, answer)
			}
		}
	}
	want := []string{
		webhookapps.ConversionPath, "/mutate-apps-mycompany-com-v1-podmanager",
		"/mutate-apps-mycompany-com-v1alpha1-podmanager", "/validate-apps-mycompany-com-v1alpha1-podmanager",
	}
	if len(asked) != len(want) {
		t.Errorf("asked are %v, want %v", asked, want)
	}
	for _, path := range want {
		if !asked[path] {
			t.Errorf("%s is not asked", path)
		}
	}
}
