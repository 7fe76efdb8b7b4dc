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
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"
)

// callers are the clients that the admission webhooks serve: those with a
// certificate of a CA in a file, which is the API server's.
//
// The API server shows its certificate to admission webhooks only, and calls the
// conversion at a path that it alone knows. That is why a client without a
// certificate gets as far as HTTP.
type callers struct {
	file string
	// name, where set, is the common name that the certificate must have.
	name string

	mu    sync.Mutex
	text  []byte
	roots *x509.CertPool
}

// newCallers returns nil where every client is served.
func newCallers(w Webhooks) (*callers, error) {
	if w.ClientCAFile == "" {
		return nil, nil
	}
	c := &callers{file: w.ClientCAFile, name: w.ClientName}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("--webhook-client-ca-file: %w", err)
	}
	return c, nil
}

// read reads the file again where it has changed. A file that cannot be read
// changes nothing: it may be half written.
func (c *callers) read() error {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Equal(text, c.text) {
		return nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s holds no certificate", c.file)
	}
	c.text, c.roots = text, roots
	return nil
}

// ask has a server ask for certificates and verify those that it is shown. The
// file is read at each handshake; the API server keeps its connections open.
func (c *callers) ask(config *tls.Config) {
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if err := c.read(); err != nil {
			ctrl.Log.WithName("webhooks").Error(err, "Cannot read the CA of the webhooks' callers, going on with the last one")
		}
		asking := config.Clone()
		asking.GetConfigForClient = nil
		// Every connection is checked against the CA as it is now.
		asking.SessionTicketsDisabled = true
		// crypto/tls would check up to a hundred signatures of a stranger's chain, which is
		// a third of a second of CPU for each handshake.
		asking.ClientAuth = tls.RequestClientCert
		c.mu.Lock()
		defer c.mu.Unlock()
		roots := c.roots
		asking.ClientCAs = roots
		asking.VerifyConnection = func(s tls.ConnectionState) error { return verify(roots, s.PeerCertificates) }
		return asking, nil
	}
}

// longestChain is how many certificates a caller may show.
const longestChain = 4

// verify refuses what crypto/tls refuses, and long chains. No certificate is none to
// refuse.
func verify(roots *x509.CertPool, chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return nil
	}
	if len(chain) > longestChain {
		return fmt.Errorf("%d certificates were shown, and %d are the most", len(chain), longestChain)
	}
	options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, certificate := range chain[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err := chain[0].Verify(options)
	return err
}

// only serves callers and no other clients.
func (c *callers) only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.known(r.TLS); err != nil {
			w.Header().Set("Connection", "close")
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		welcomed(next, w, r)
	})
}

// known: a connection with a certificate that does not verify never gets this far.
func (c *callers) known(connection *tls.ConnectionState) error {
	if connection == nil || len(connection.PeerCertificates) == 0 {
		return errors.New("this webhook answers the API server only: show a client certificate of its CA")
	}
	if got := connection.PeerCertificates[0].Subject.CommonName; c.name != "" && got != c.name {
		return fmt.Errorf("this webhook answers the API server only: the client certificate is of %q", got)
	}
	return nil
}
