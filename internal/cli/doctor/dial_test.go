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
	"encoding/pem"
	"net/http/httptest"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// A webhook server that is called by address is called by doctor, too.
func TestAWebhookServerIsDialled(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	here, there := &checkup{config: &rest.Config{Host: "https://127.0.0.1:6443"}}, &checkup{config: &rest.Config{Host: "https://cluster.example"}}
	expect(t, here.dial(t.Context(), address, bundle), OK, "the operator answers at")
	expect(t, here.dial(t.Context(), address, certificate(t, -1, 1)), ToDo, "certificate")
	expect(t, there.dial(t.Context(), address, bundle), Note, "on its own machine")
	server.Close()
	expect(t, here.dial(t.Context(), address, bundle), ToDo, "refused")
}

// Nothing holds the lease where there is none.
func TestWithoutALeaseNoOperatorLeads(t *testing.T) {
	c := &checkup{operator: "pod-operator-system"}
	expect(t, c.noLease(false), ToDo, "no operator holds the lease pod-operator-system/pod-operator.mycompany.com")
	expect(t, c.noLease(true), ToDo, "no operator holds the lease")
	c.calledByURL = true
	expect(t, c.noLease(true), Note, "--leader-elect=false")
}
