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

package explain

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/utils/ptr"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/flight"
)

// operator answers as the operator does, to requests with ada's token.
func operator(t *testing.T) *httptest.Server {
	t.Helper()
	answer := func(w http.ResponseWriter, code int, body any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/whoami", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]string{"user": "ada"})
	})
	mux.HandleFunc("GET /api/records", func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, map[string]any{"items": []map[string]any{{"id": r.URL.Query().Get("object"), "seq": 1, "triggers": []any{}}}})
	})
	mux.HandleFunc("GET /api/records/stream", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, ": beat\n\nid: a\nevent: record\ndata: {\"id\":\"a\"}\n\nid: b\nevent: record\ndata: {\"id\":\"b\"}\n\n")
	})
	mux.HandleFunc("POST /api/podmanagers/{namespace}/{name}/reconcile", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 403, map[string]string{"message": "ada may not update it."})
	})
	mux.HandleFunc("GET /moved/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://evil.example", http.StatusFound)
	})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer ada's" {
			answer(w, 401, map[string]string{"message": "The API server does not know this token."})
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func ada() *rest.Config { return &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "ada's"} }

// reach is a client of a server that is verified by its own certificate.
func reach(t *testing.T, server *httptest.Server, config *rest.Config, path string) *Client {
	t.Helper()
	o := Options{}
	login, err := o.login(t.Context(), config, Hint{})
	if err != nil {
		t.Fatal(err)
	}
	operator, _ := placeOf(admission(t, server).Webhooks[0].ClientConfig)
	operator.host = "example.com"
	verify, err := o.verification("", operator, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dial(server.URL+path, verify, login)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAClientAsksWithTheUsersToken(t *testing.T) {
	c := reach(t, operator(t), ada(), "")
	if user, err := c.Whoami(t.Context()); err != nil || user != "ada" {
		t.Errorf("%q, %v", user, err)
	}
	records, err := c.Records(t.Context(), Query{Object: "shop/web", Limit: 5})
	if err != nil || len(records) != 1 || records[0].ID != "shop/web" {
		t.Errorf("%v, %v", records, err)
	}
	var seen []string
	if err := c.Stream(t.Context(), Query{}, func(e flight.Entry) { seen = append(seen, e.ID) }); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
	if strings.Join(seen, "") != "ab" {
		t.Errorf("streamed %v", seen)
	}
}

// A token that is made is for the operator alone, unless its page shall ask the API
// server as the user.
func TestATokenIsForTheOperatorAloneUnlessThePageActs(t *testing.T) {
	var asked authenticationv1.TokenRequest
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = authenticationv1.TokenRequest{}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		asked.Status = authenticationv1.TokenRequestStatus{Token: "made", ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(asked)
	}))
	t.Cleanup(cluster.Close)
	for acts, want := range map[bool][]string{false: {flight.Audience}, true: nil} {
		o := Options{Account: "shop/ada", Acts: acts}
		config := &rest.Config{
			Host: cluster.URL, Transport: &http.Transport{DisableKeepAlives: true},
			ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
		}
		if _, err := o.login(t.Context(), config, Hint{}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(asked.Spec.Audiences, want) {
			t.Errorf("for a page that acts (%t) the token is for %v, want %v", acts, asked.Spec.Audiences, want)
		}
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	server := operator(t)
	var refused *RefusedError
	err := reach(t, server, ada(), "").Reconcile(t.Context(), "shop", "web")
	if !errors.As(err, &refused) || refused.Code != 403 || err.Error() != "ada may not update it." {
		t.Errorf("%v", err)
	}
	stranger := ada()
	stranger.BearerToken = "a stranger's"
	if _, err := reach(t, server, stranger, "").Whoami(t.Context()); !errors.As(err, &refused) || refused.Code != 401 {
		t.Errorf("%v", err)
	}
	if _, err := reach(t, server, ada(), "/moved").Whoami(t.Context()); !errors.As(err, &refused) || refused.Code != http.StatusFound {
		t.Errorf("a redirect is followed, with the token: %v", err)
	}
}

func TestALoginThatCannotBeUsedIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		config *rest.Config
		o      Options
		want   string
	}{
		"a client certificate": {&rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: []byte("x")}}, Options{}, "your login has none"},
		"acting as another":    {&rest.Config{BearerToken: "x", Impersonate: rest.ImpersonationConfig{UserName: "grace"}}, Options{}, "leave --as out"},
		"half an account":      {&rest.Config{}, Options{Account: "web"}, "give NAMESPACE/NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.o.login(t.Context(), c.config, Hint{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if _, err := (&Options{Off: true}).Connect(t.Context(), kube.NewSession(genericiooptions.NewTestIOStreamsDiscard())); !errors.Is(err, ErrOff) {
		t.Errorf("%v", err)
	}
}

func pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: name, Labels: map[string]string{
			"control-plane": "controller-manager", "app.kubernetes.io/name": "pod-operator",
		}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "manager"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if change != nil {
		change(p)
	}
	return p
}

func TestThePodThatLeadsIsFound(t *testing.T) {
	held := func(by string) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: lease}, Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(by)},
		}
	}
	pending := pod("c", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })
	for name, c := range map[string]struct {
		clients *fake.Clientset
		want    string
		err     string
	}{
		"the only one":     {fake.NewClientset(pod("a", nil), pending), "a", ""},
		"of two, the lead": {fake.NewClientset(pod("a", nil), pod("b", nil), held("b_0f1e")), "b", ""},
		"of two, none":     {fake.NewClientset(pod("a", nil), pod("b", nil), held("gone_0f1e")), "", "does not say which of them leads"},
		"none":             {fake.NewClientset(pending), "", "no pod of the operator runs"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := leader(t.Context(), c.clients, DefaultNamespace)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil || got.Name != c.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestThePortIsTheDeclaredOneOrTheFlags(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Container)
		want   int32
	}{
		"declared": {func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{Name: "explain", ContainerPort: 9}} }, 9},
		"in the flag": {func(c *corev1.Container) {
			c.Args = []string{"--leader-elect", "--explain-bind-address=127.0.0.1:8444"}
		}, 8444},
		"after the flag":  {func(c *corev1.Container) { c.Args = []string{"--explain-bind-address", ":8445"} }, 8445},
		"turned off":      {func(c *corev1.Container) { c.Args = []string{"--explain-bind-address=0"} }, 0},
		"not asked about": {func(*corev1.Container) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := explainPort(pod("a", func(p *corev1.Pod) { c.change(&p.Spec.Containers[0]) }))
			if got != c.want || (err != nil) != (c.want == 0) {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
}

// The API server's part of a port-forward: it takes SPDY and leads the streams
// to the operator.
func kubelet(t *testing.T, target string, configuration *admissionv1.ValidatingWebhookConfiguration) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if configuration == nil || r.PathValue("name") != configuration.Name {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonNotFound, Code: 404})
			return
		}
		_ = json.NewEncoder(w).Encode(configuration)
	})
	mux.HandleFunc("GET /api/v1/namespaces/"+DefaultNamespace+"/pods", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		leader := pod("a", func(p *corev1.Pod) { p.Spec.Containers[0].Args = []string{"--explain-bind-address=127.0.0.1:8444"} })
		_ = json.NewEncoder(w).Encode(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{*leader}})
	})
	mux.HandleFunc("POST /api/v1/namespaces/"+DefaultNamespace+"/pods/a/portforward", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(httpstream.HeaderProtocolVersion, "portforward.k8s.io")
		var wait sync.WaitGroup
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			if s.Headers().Get(corev1.StreamType) != corev1.StreamTypeData {
				return nil
			}
			if port := s.Headers().Get(corev1.PortHeader); port != "8444" {
				t.Errorf("forwarded to port %s", port)
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				return err
			}
			wait.Go(func() { _, _ = io.Copy(out, s); _ = out.Close() })
			wait.Go(func() { _, _ = io.Copy(s, out); _ = s.Close() })
			return nil
		})
		if conn != nil {
			<-conn.CloseChan()
			wait.Wait()
		}
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	return server
}

// adaAt is ada's session with an API server.
func adaAt(t *testing.T, apiserver *httptest.Server) *kube.Session {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"x","contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}],
		"clusters":[{"name":"x","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"x","user":{"token":"ada's"}}]}`, apiserver.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	session := kube.NewSession(genericiooptions.NewTestIOStreamsDiscard())
	session.Flags.KubeConfig = &file
	return session
}

// admission is a webhook configuration that calls a Service of the operator's
// namespace and trusts the certificate of a server, or another one.
func admission(t *testing.T, trusted *httptest.Server) *admissionv1.ValidatingWebhookConfiguration {
	t.Helper()
	if trusted == nil {
		ca, _, err := certutil.GenerateSelfSignedCertKey("example.com", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return configured(ca)
	}
	return configured(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted.Certificate().Raw}))
}

func configured(bundle []byte) *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "pod-operator-admission"},
		Webhooks: []admissionv1.ValidatingWebhook{{Name: "validate.example", ClientConfig: admissionv1.WebhookClientConfig{
			CABundle: bundle,
			Service:  &admissionv1.ServiceReference{Namespace: DefaultNamespace, Name: "example"},
		}}},
	}
}

func TestAPortIsForwardedToThePodThatLeads(t *testing.T) {
	server := operator(t)
	apiserver := kubelet(t, server.Listener.Addr().String(), admission(t, server))
	c, err := (&Options{ServerName: "example.com"}).Connect(t.Context(), adaAt(t, apiserver))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if user, err := c.Whoami(t.Context()); err != nil || user != "ada" {
		t.Errorf("%q, %v", user, err)
	}
}
