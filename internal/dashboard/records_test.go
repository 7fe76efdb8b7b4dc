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

package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// host is the manager of a recorder's tap.
type host struct{}

func (host) GetScheme() *runtime.Scheme              { return scheme.Scheme }
func (host) GetControllerOptions() config.Controller { return config.Controller{} }

// archive is a server with records of 8 kB, which everyone may read.
func archive(t *testing.T, records int) *Server {
	t.Helper()
	if err := appsv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	recorder, err := flightrecorder.New(flightrecorder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tap, err := flightrecorder.NewTap(recorder, host{}, "podmanager", &appsv1.PodManager{})
	if err != nil {
		t.Fatal(err)
	}
	reconciler := tap.Reconciler(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		flightrecorder.SetPayload(ctx, flight.Flight{Desired: plan.Desired{Reserved: make([]int, 4<<10)}})
		return reconcile.Result{}, nil
	}))
	for range records {
		_, _ = reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "farm", Name: "web"}})
	}
	allow := authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionAllow, "", nil
	})
	return New(Parts{
		Door: &Door{authorizer: allow}, Recorder: recorder,
		PodManagers: Kind{Resource: appsv1.GroupVersion.WithResource("podmanagers"), Kind: "PodManager"},
	})
}

// listener is a reader that knows the largest write and how long it may take.
type listener struct {
	*httptest.ResponseRecorder
	largest   int
	unlimited bool
	until     time.Time
}

func (m *listener) Write(p []byte) (int, error) {
	m.largest = max(m.largest, len(p))
	m.unlimited = m.unlimited || m.until.IsZero() || time.Until(m.until) > writePatience
	m.until = time.Time{}
	return m.ResponseRecorder.Write(p)
}

func (m *listener) SetWriteDeadline(until time.Time) error {
	m.until = until
	return nil
}

// A reader that does not read keeps alive what it is sent: no more than a record, and
// not for long.
func TestAListOfRecordsIsSentPieceByPiece(t *testing.T) {
	const records = 20
	s := archive(t, records)
	m := &listener{ResponseRecorder: httptest.NewRecorder()}
	request := httptest.NewRequest(http.MethodGet, "/api/records?namespace=farm&limit=500", http.NoBody)
	s.listRecords(m, request.WithContext(context.WithValue(t.Context(), visitorKey{}, user.Info(&user.DefaultInfo{Name: "ada"}))))
	var list struct{ Items []flight.Entry }
	if err := json.Unmarshal(m.Body.Bytes(), &list); err != nil || len(list.Items) != records {
		t.Fatalf("%d records, %v: %.200s", len(list.Items), err, m.Body)
	}
	if m.largest > m.Body.Len()/records+1000 || m.unlimited {
		t.Errorf("of %d bytes %d are written at once; for as long as the reader likes: %t", m.Body.Len(), m.largest, m.unlimited)
	}
}

func TestAnAnswerIsNotHeldForEver(t *testing.T) {
	m := &listener{ResponseRecorder: httptest.NewRecorder()}
	if answer(m, http.StatusOK, "all"); m.unlimited {
		t.Error("the reader may take as long as it likes")
	}
}
