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
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// thief answers like an operator on a certificate of its own, and keeps the
// tokens it is sent.
func thief(t *testing.T) (server *httptest.Server, stolen *atomic.Pointer[string]) {
	t.Helper()
	stolen = &atomic.Pointer[string]{}
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		stolen.Store(&token)
		_, _ = w.Write([]byte(`{"user":"ada"}`))
	}))
	t.Cleanup(server.Close)
	return server, stolen
}

// A pod with the operator's labels, in a namespace of the expected name, is
// not the operator.
func TestAPodThatIsNotTheOperatorGetsNoToken(t *testing.T) {
	evil, stolen := thief(t)
	session := adaAt(t, kubelet(t, evil.Listener.Addr().String(), admission(t, nil)))
	c, err := (&Options{}).Connect(t.Context(), session)
	if err == nil {
		defer c.Close()
		_, err = c.Whoami(t.Context())
	}
	if token := stolen.Load(); token != nil {
		t.Errorf("it was sent %q", *token)
	}
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the error is %v", err)
	}
}

// Which servers get a token, and which do not.
func TestWhoIsTrusted(t *testing.T) {
	server := operator(t)
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, own, 0o600); err != nil {
		t.Fatal(err)
	}
	outside := func(bundle []byte) place {
		p, _ := placeOf(admissionv1.WebhookClientConfig{URL: ptr.To(server.URL + "/validate"), CABundle: bundle})
		return p
	}
	for name, c := range map[string]struct {
		o        Options
		operator place
		unknown  error
		want     string
	}{
		"by the CA of its webhook configuration":    {operator: outside(own)},
		"by a CA in a file":                         {o: Options{CAFile: ca}, unknown: errors.New("no configuration")},
		"by another CA":                             {operator: outside(admission(t, nil).Webhooks[0].ClientConfig.CABundle), want: "nothing was sent"},
		"by another name":                           {o: Options{ServerName: "operator.example"}, operator: outside(own), want: "nothing was sent"},
		"without a configuration":                   {unknown: errors.New("no configuration"), want: "no configuration; or name the file"},
		"without a CA in the configuration":         {operator: outside(nil), want: "has no CA"},
		"without a configuration, if the user says": {o: Options{Insecure: true}, unknown: errors.New("no configuration")},
	} {
		t.Run(name, func(t *testing.T) {
			login, err := c.o.login(t.Context(), ada(), Hint{})
			if err != nil {
				t.Fatal(err)
			}
			verify, err := c.o.verification(server.URL, c.operator, c.unknown)
			if err == nil {
				var client *Client
				if client, err = dial(server.URL, verify, login); err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				_, err = client.Whoami(t.Context())
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
	if _, err := dial("http://127.0.0.1:1", nil, nil); err == nil {
		t.Error("a token would be sent in the clear")
	}
}

// A host that the user names elsewhere is verified as any host on the web is.
func TestTheSystemsCertificatesVouchForOtherHosts(t *testing.T) {
	outside, _ := placeOf(admissionv1.WebhookClientConfig{URL: ptr.To("https://operator.example:9443/validate")})
	for address, want := range map[string]bool{
		"": false, "https://127.0.0.1:1": false, "https://localhost:1": false, "https://operator.example:8444": false, "https://page.example": true,
	} {
		verify, err := (&Options{}).verification(address, outside, nil)
		if got := err == nil && verify.RootCAs == nil && !verify.InsecureSkipVerify; got != want {
			t.Errorf("%s: %t, %v", address, got, err)
		}
	}
}

func TestTheAccountOfAToken(t *testing.T) {
	jwt := func(claims string) string { return "x." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".x" }
	for token, want := range map[string]string{
		jwt(`{"sub":"system:serviceaccount:shop:ada"}`): "shop/ada",
		jwt(`{"sub":"ada@example.com"}`):                "",
		jwt(`nonsense`):                                 "",
		"ada's":                                         "",
	} {
		if got := accountOf(&rest.Config{BearerToken: token}); got != want {
			t.Errorf("%s is of %q, want %q", token, got, want)
		}
	}
}
