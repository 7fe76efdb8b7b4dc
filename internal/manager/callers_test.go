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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// sign makes a certificate; without an authority it signs itself.
func (a *authority) sign(t *testing.T, c *x509.Certificate) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore = big.NewInt(1), time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	c.BasicConstraintsValid = true
	parent, signer := c, key
	if a != nil {
		parent, signer = a.certificate, a.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	return &authority{certificate: c, key: key}
}

func newAuthority(t *testing.T, of *authority, name string) *authority {
	t.Helper()
	return of.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, KeyUsage: x509.KeyUsageCertSign})
}

func newClient(t *testing.T, of *authority, name string, usage x509.ExtKeyUsage, until time.Time) *authority {
	t.Helper()
	return of.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{usage}, NotAfter: until})
}

// TestCallersShowACertificate: 0 is a handshake that fails.
func TestCallersShowACertificate(t *testing.T) {
	ours, others := newAuthority(t, nil, "ours"), newAuthority(t, nil, "others")
	between := newAuthority(t, ours, "between")
	deep := newAuthority(t, newAuthority(t, between, "deep"), "deeper")
	forged := newAuthority(t, nil, "ours")
	const client, server = x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	apiServer := newClient(t, ours, "api", client, time.Time{})
	for name, tc := range map[string]struct {
		chain []*authority
		want  int
	}{
		"no certificate":                          {nil, http.StatusForbidden},
		"the API server's":                        {[]*authority{apiServer}, http.StatusOK},
		"of an intermediate CA":                   {[]*authority{newClient(t, between, "api", client, time.Time{}), between}, http.StatusOK},
		"of an intermediate CA that is not shown": {[]*authority{newClient(t, between, "api", client, time.Time{})}, 0},
		"of another CA":                           {[]*authority{newClient(t, others, "api", client, time.Time{}), others}, 0},
		"of a CA that took the name":              {[]*authority{newClient(t, forged, "api", client, time.Time{}), forged}, 0},
		"of a client that is no CA":               {[]*authority{newClient(t, apiServer, "api", client, time.Time{}), apiServer}, 0},
		"signed by itself":                        {[]*authority{newClient(t, nil, "api", client, time.Time{})}, 0},
		"of a server":                             {[]*authority{newClient(t, ours, "api", server, time.Time{})}, 0},
		"that has expired":                        {[]*authority{newClient(t, ours, "api", client, time.Now().Add(-time.Minute))}, 0},
		"of another client":                       {[]*authority{newClient(t, ours, "kubelet", client, time.Time{})}, http.StatusForbidden},
		"with as many others as there may be":     {append([]*authority{apiServer}, slices.Repeat([]*authority{between}, longestChain-1)...), http.StatusOK},
		"with more":                               {append([]*authority{apiServer}, slices.Repeat([]*authority{deep}, longestChain)...), 0},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ca.crt")
			if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.certificate.Raw}), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := newCallers(Webhooks{ClientCAFile: file, ClientName: "api"})
			if err != nil {
				t.Fatal(err)
			}
			var logged strings.Builder
			s := httptest.NewUnstartedServer(c.only(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
			s.Config.ErrorLog = log.New(&logged, "", 0)
			own := newClient(t, nil, "operator", server, time.Time{})
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{own.certificate.Raw}, PrivateKey: own.key}}}
			c.ask(s.TLS)
			s.StartTLS()
			if got := statusFor(t, s, tc.chain); got != tc.want {
				t.Errorf("answered %d, want %d", got, tc.want)
			}
			s.Close()
			if long := len(tc.chain) > longestChain; long && !strings.Contains(logged.String(), "certificates were shown") {
				t.Errorf("a long chain is looked at: %s", logged.String())
			}
		})
	}
}

// statusFor asks with a certificate, twice: a session must not be taken up again
// without it.
func statusFor(t *testing.T, s *httptest.Server, chain []*authority) int {
	t.Helper()
	show := tls.Certificate{}
	for _, a := range chain {
		show.Certificate = append(show.Certificate, a.certificate.Raw)
	}
	if len(chain) > 0 {
		show.PrivateKey = chain[0].key
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &show, nil },
	}}
	status := 0
	for range 2 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return 0
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if status = response.StatusCode; response.TLS.DidResume {
			t.Error("the session was taken up again")
		}
	}
	return status
}
