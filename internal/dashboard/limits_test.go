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
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// village is a server where the token USER.NAMESPACE is of a user who may do
// everything in that namespace, USER.* in all of them, and USER. in none.
func village(t *testing.T) (https *httptest.Server, reviews *atomic.Int64) {
	t.Helper()
	if err := appsv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	reviews = &atomic.Int64{}
	door := &Door{
		authenticator: authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			reviews.Add(1)
			name, namespace, known := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
			if !known {
				return nil, false, errors.New("invalid bearer token")
			}
			return &authenticator.Response{User: &user.DefaultInfo{Name: name, Groups: []string{namespace}}}, true, nil
		}),
		authorizer: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if in := a.GetUser().GetGroups()[0]; in == "*" || in != "" && in == a.GetNamespace() {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		}),
	}
	recorder, err := flightrecorder.New(flightrecorder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
		&appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
		&appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "farm", Name: "web"}},
	).Build()
	handler, err := New(Parts{
		Door: door, Cache: c, Live: c, Recorder: recorder, Clock: clocktesting.NewFakeClock(time.Now()),
		PodManagers: Kind{Resource: appsv1.GroupVersion.WithResource("podmanagers"), Kind: "PodManager", Served: func() bool { return true }},
	}).Handler()
	if err != nil {
		t.Fatal(err)
	}
	https = httptest.NewTLSServer(handler)
	t.Cleanup(https.Close)
	return https, reviews
}

// follow opens a stream and returns the status; it stays open until the test ends.
func follow(t *testing.T, https *httptest.Server, token, query string) int {
	t.Helper()
	response := ask(t, https, token, "/api/records/stream"+query)
	t.Cleanup(func() { response.Body.Close() })
	return response.StatusCode
}

func get(t *testing.T, https *httptest.Server, token, path string) int {
	t.Helper()
	response := ask(t, https, token, path)
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func ask(t *testing.T, https *httptest.Server, token, path string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, https.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := https.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// Streams that show their readers nothing lock others out.
func TestStreamsAreForThoseWhoMayReadSomething(t *testing.T) {
	https, _ := village(t)
	for range maxStreams {
		if code := follow(t, https, "mallory.", ""); code != http.StatusForbidden {
			t.Errorf("mallory, who may nothing, is answered %d", code)
			break
		}
	}
	for range maxStreams {
		follow(t, https, "mallory.", "")
	}
	if code := follow(t, https, "ada.shop", "?object=shop/web"); code != http.StatusOK {
		t.Errorf("ada is answered %d", code)
	}
}

// Neither one user nor all users of one namespace lock others out.
func TestStreamsAreSharedAmongUsersAndNamespaces(t *testing.T) {
	for name, token := range map[string]func(i int) string{
		"one user":                      func(int) string { return "mallory.farm" },
		"one user of all namespaces":    func(int) string { return "mallory.*" },
		"the accounts of one namespace": func(i int) string { return fmt.Sprintf("mallory-%d.farm", i) },
	} {
		t.Run(name, func(t *testing.T) {
			https, _ := village(t)
			for i := range maxStreams {
				follow(t, https, token(i), "")
			}
			if code := follow(t, https, token(maxStreams), ""); code != http.StatusTooManyRequests {
				t.Errorf("one more is answered %d", code)
			}
			for query, token := range map[string]string{"?object=shop/web": "ada.shop", "": "grace.*"} {
				if code := follow(t, https, token, query); code != http.StatusOK {
					t.Errorf("%s is answered %d", token, code)
				}
			}
		})
	}
}

// Each new token costs the API server a review: one source gets only so many.
func TestRandomTokensCostLittle(t *testing.T) {
	https, reviews := village(t)
	if code := get(t, https, "ada.shop", "/api/whoami"); code != http.StatusOK {
		t.Fatalf("ada is answered %d", code)
	}
	const tries = 500
	refused := 0
	for i := range tries {
		if get(t, https, fmt.Sprintf("random-%d", i), "/api/whoami") == http.StatusTooManyRequests {
			refused++
		}
	}
	if made := reviews.Load(); made > tries/2 || refused < tries/2 {
		t.Errorf("%d random tokens cost %d reviews, %d were refused", tries, made, refused)
	}
	if code := get(t, https, "ada.shop", "/api/whoami"); code != http.StatusOK {
		t.Errorf("ada, who was known before, is answered %d", code)
	}
}

// One user's questions about many objects cost a review each.
func TestOneUserAsksOnlySoMuch(t *testing.T) {
	https, _ := village(t)
	busy := 0
	for i := range 1000 {
		if get(t, https, "mallory.", fmt.Sprintf("/api/podmanagers/n-%d/web", i)) == http.StatusTooManyRequests {
			busy++
		}
	}
	if busy == 0 {
		t.Error("a thousand questions at once are all asked")
	}
	if code := get(t, https, "ada.shop", "/api/podmanagers"); code != http.StatusOK {
		t.Errorf("ada is answered %d", code)
	}
}

// The owner of a namespace can make any number of accounts in it.
func TestTheAccountsOfOneNamespaceShareTheirRequests(t *testing.T) {
	https, _ := village(t)
	busy := 0
	for i := range 4 * requestsAtOnce {
		token := fmt.Sprintf("system:serviceaccount:farm:a-%d.farm", i%8)
		if get(t, https, token, "/api/whoami") == http.StatusTooManyRequests {
			busy++
		}
	}
	if busy == 0 {
		t.Error("the accounts of a namespace are answered as often as they like")
	}
	if code := get(t, https, "system:serviceaccount:shop:ada.shop", "/api/whoami"); code != http.StatusOK {
		t.Errorf("an account of another namespace is answered %d", code)
	}
}
