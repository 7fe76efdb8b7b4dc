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
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// The operator may change every PodManager of the cluster. Nothing of its login may
// get into a client that works for a visitor.
func TestAViewersClientHasNothingOfTheOperatorsLogin(t *testing.T) {
	operator := &rest.Config{
		Host: "https://cluster:6443", BearerToken: "operator", BearerTokenFile: "/var/run/secrets/token", Username: "operator", Password: "secret",
		Impersonate: rest.ImpersonationConfig{UserName: "admin", Groups: []string{"system:masters"}},
		TLSClientConfig: rest.TLSClientConfig{
			CAData: []byte("ca"), CertData: []byte("certificate"), KeyData: []byte("key"), CertFile: "/tls.crt", KeyFile: "/tls.key", ServerName: "cluster",
		},
		AuthProvider: &clientcmdapi.AuthProviderConfig{Name: "oidc"}, ExecProvider: &clientcmdapi.ExecConfig{Command: "login"},
		WrapTransport: func(rt http.RoundTripper) http.RoundTripper { return rt },
	}
	viewers := NewViewers(operator, scheme.Scheme, meta.NewDefaultRESTMapper(nil))
	got, err := viewers.config("ada")
	if err != nil {
		t.Fatal(err)
	}
	want := &rest.Config{
		Host: "https://cluster:6443", BearerToken: "ada", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "cluster"},
		QPS: -1, UserAgent: pageManager, Timeout: viewerPatience,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(rest.Config{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the client of a visitor (-want +got):\n%s", diff)
	}
	for _, header := range []string{"", "Bearer", "Bearer ", "Basic YWRhOmFkYQ==", "bearer", "ada"} {
		if config, err := viewers.config(bearer(header)); err == nil {
			t.Errorf("with Authorization %q the login is %q", header, config.BearerToken)
		}
	}
	if _, err := viewers.of(t.Context()); err == nil {
		t.Error("there is a client of a request that was not authenticated")
	}
	var none *Viewers
	if _, err := none.config("ada"); err == nil {
		t.Error("there is a client without viewers")
	}
}

// guard is an API server that refuses everything and remembers who asked.
type guard struct {
	mu     sync.Mutex
	logins map[string]int
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.logins[r.Header.Get("Authorization")]++
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"ada may not"}`)
}

func guarded(t *testing.T) (*httptest.Server, *guard) {
	t.Helper()
	if err := appsv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	g := &guard{logins: map[string]int{}}
	cluster := httptest.NewServer(g)
	t.Cleanup(cluster.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(desired.PodManagerGVK, meta.RESTScopeNamespace)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		switch gvk.Group {
		case "", "apps":
			mapper.Add(gvk, meta.RESTScopeNamespace)
		case "authorization.k8s.io":
			mapper.Add(gvk, meta.RESTScopeRoot)
		}
	}
	pm := &appsv1.PodManager{}
	pm.Namespace, pm.Name = "shop", "web"
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pm).Build()
	recorder, err := flightrecorder.New(flightrecorder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := New(Parts{
		Door: openDoor(), Viewers: NewViewers(&rest.Config{Host: cluster.URL, BearerToken: "operator"}, scheme.Scheme, mapper),
		Cache: observe.Indexed(c, appsv1.LabelName), Live: c, Recorder: recorder, Clock: clock.RealClock{},
		PodManagers: Kind{Resource: appsv1.GroupVersion.WithResource("podmanagers"), Kind: "PodManager", Served: func() bool { return true }},
	})
	handler, err := server.Handler()
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(handler)
	t.Cleanup(page.Close)
	return page, g
}

type answered struct {
	code int
	body string
}

func post(t *testing.T, url, body string, headers map[string]string) answered {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer ada")
	request.Header.Set("Content-Type", "application/json")
	for key, value := range headers {
		request.Header.Set(key, value)
	}
	response, err := (&http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{response.StatusCode, string(raw)}
}

// Whatever is done or read beyond the planner's view is asked as the visitor, and the
// API server's refusal is the page's.
func TestOnlyTheVisitorsTokenIsUsed(t *testing.T) {
	page, guard := guarded(t)
	one := page.URL + "/api/fleets/podmanagers/shop/web"
	for what, request := range map[string]struct{ url, body string }{
		"a plan":         {one + "/plan", `{"verb":"pause"}`},
		"an action":      {one + "/act", `{"verb":"pause","basis":"x"}`},
		"a pod's end":    {one + "/act", `{"verb":"delete-pod","pod":"web-0","basis":"x"}`},
		"the revisions":  {page.URL + "/api/podmanagers/shop/web/revisions", ""},
		"a pod's YAML":   {page.URL + "/api/pods/shop/web-0", ""},
		"a pod's events": {page.URL + "/api/pods/shop/web-0/events", ""},
		"a pod's log":    {page.URL + "/api/pods/shop/web-0/log", ""},
	} {
		if got := post(t, request.url, request.body, nil); got.code != http.StatusForbidden || !strings.Contains(got.body, "ada may not") {
			t.Errorf("%s answers %d: %s", what, got.code, got.body)
		}
	}
	if got := post(t, one+"/rights", "", nil); got.code != http.StatusOK || !strings.Contains(got.body, `"actions":[]`) || !strings.Contains(got.body, `"sights":[]`) {
		t.Errorf("without an answer the rights are %d: %s", got.code, got.body)
	}
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if len(guard.logins) != 1 || guard.logins["Bearer ada"] < 8 {
		t.Errorf("the API server was asked by %v", guard.logins)
	}
}

func TestWhatIsNoActionIsRefused(t *testing.T) {
	page, guard := guarded(t)
	one := page.URL + "/api/fleets/podmanagers/shop/web"
	for what, c := range map[string]struct {
		path, body string
		headers    map[string]string
		code       int
	}{
		"a form":                   {"/act", `{"verb":"pause","basis":"x"}`, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415},
		"text":                     {"/plan", `{"verb":"pause"}`, map[string]string{"Content-Type": "text/plain"}, 415},
		"another site's request":   {"/act", `{"verb":"pause","basis":"x"}`, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"another site's origin":    {"/act", `{"verb":"pause","basis":"x"}`, map[string]string{"Origin": "https://evil.example"}, 403},
		"a field that is unknown":  {"/plan", `{"verb":"pause","force":true}`, nil, 400},
		"two actions":              {"/plan", `{"verb":"pause"}{"verb":"resume"}`, nil, 400},
		"a body without an end":    {"/plan", `{"verb":"` + strings.Repeat("x", 2*maxBody) + `"}`, nil, 400},
		"a verb that is unknown":   {"/plan", `{"verb":"drain"}`, nil, 422},
		"an action without a plan": {"/act", `{"verb":"pause"}`, nil, 422},
		"a scale to no number":     {"/plan", `{"verb":"scale"}`, nil, 422},
		"a scale below none":       {"/plan", `{"verb":"scale","replicas":-1}`, nil, 422},
		"no image":                 {"/plan", `{"verb":"set-image"}`, nil, 422},
		"an image of no container": {"/plan", `{"verb":"set-image","images":["A B=nginx"]}`, nil, 422},
		"no revision":              {"/plan", `{"verb":"undo"}`, nil, 422},
		"no pod":                   {"/plan", `{"verb":"delete-pod"}`, nil, 422},
		"a kind that is unknown":   {"/../../../secrets/shop/web/plan", `{"verb":"pause"}`, nil, 404},
	} {
		if got := post(t, one+c.path, c.body, c.headers); got.code != c.code {
			t.Errorf("%s answers %d, want %d: %s", what, got.code, c.code, got.body)
		}
	}
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if len(guard.logins) > 0 {
		t.Errorf("the API server was asked by %v", guard.logins)
	}
}

func TestCostlyRequestsAreLimited(t *testing.T) {
	page, _ := guarded(t)
	codes := map[int]int{}
	for range costlyAtOnce + 20 {
		codes[post(t, page.URL+"/api/fleets/podmanagers/shop/web/plan", `{"verb":"drain"}`, nil).code]++
	}
	if codes[http.StatusTooManyRequests] == 0 || codes[http.StatusUnprocessableEntity] < costlyAtOnce {
		t.Errorf("the answers are %v", codes)
	}
}
