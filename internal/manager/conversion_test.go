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
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	webhookapps "github.com/mycompany/pod-operator/internal/webhook/apps"
)

// crdReader lists one CRD, and counts how often.
type crdReader struct {
	client.Reader
	strategy apiextensionsv1.ConversionStrategyType
	err      error
	lists    int
}

func (r *crdReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	r.lists++
	crd := apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: r.strategy}
	list.(*apiextensionsv1.CustomResourceDefinitionList).Items = []apiextensionsv1.CustomResourceDefinition{crd}
	return r.err
}

func TestTheConversionIsServedWhereTheCRDNamesIt(t *testing.T) {
	reader := &crdReader{strategy: apiextensionsv1.NoneConverter}
	clock := testingclock.NewFakeClock(time.Now())
	gate := &conversionGate{live: reader, clock: clock, next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	answer := func() int {
		w := httptest.NewRecorder()
		gate.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/convert", http.NoBody))
		return w.Code
	}
	for range 100 {
		if got := answer(); got != http.StatusNotFound {
			t.Fatalf("a CRD without a conversion: answered %d", got)
		}
	}
	if reader.lists != 1 {
		t.Errorf("100 requests of strangers read the CRD %d times", reader.lists)
	}
	reader.strategy = apiextensionsv1.WebhookConverter
	clock.Step(conversionFor)
	if got := answer(); got != http.StatusOK {
		t.Errorf("v1alpha1 was switched on: answered %d", got)
	}
	reader.strategy, reader.err = apiextensionsv1.NoneConverter, errors.New("the API server is away")
	clock.Step(conversionFor)
	if got := answer(); got != http.StatusOK {
		t.Errorf("the CRD cannot be read: answered %d", got)
	}
}

// Where clients show nothing, only those who are answered count as the API server.
func TestAConversionThatIsNotServedMakesNoOneKnown(t *testing.T) {
	reader := &crdReader{strategy: apiextensionsv1.NoneConverter}
	clock := testingclock.NewFakeClock(time.Now())
	convert := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	s := &webhookServer{bounds: newBounds()}
	hook := s.only(webhookapps.ConversionPath, &conversionGate{live: reader, clock: clock, next: convert})
	known := func() bool {
		d := newDoor(nil)
		request := httptest.NewRequest(http.MethodPost, webhookapps.ConversionPath, http.NoBody)
		hook.ServeHTTP(httptest.NewRecorder(), request.WithContext(asGuest(t.Context(), &guest{Conn: &silent{from: "10.0.0.8"}, door: d})))
		return d.knows("10.0.0.8")
	}
	if known() {
		t.Error("a client that was answered 404 is known")
	}
	reader.strategy = apiextensionsv1.WebhookConverter
	clock.Step(conversionFor)
	if !known() {
		t.Error("a client whose objects were converted is not known")
	}
}
