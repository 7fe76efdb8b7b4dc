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
// The conversion is served to every client, because the API server shows its
// certificate to admission webhooks only. It does nothing but compute. That is
// why a client without a certificate gets as far as HTTP.
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
		asking.ClientAuth = tls.VerifyClientCertIfGiven
		c.mu.Lock()
		defer c.mu.Unlock()
		asking.ClientCAs = c.roots
		return asking, nil
	}
}

// only serves callers and no other clients.
func (c *callers) only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.known(r.TLS); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (c *callers) known(connection *tls.ConnectionState) error {
	if connection == nil || len(connection.VerifiedChains) == 0 {
		return errors.New("this webhook answers the API server only: show a client certificate of its CA")
	}
	if got := connection.VerifiedChains[0][0].Subject.CommonName; c.name != "" && got != c.name {
		return fmt.Errorf("this webhook answers the API server only: the client certificate is of %q", got)
	}
	return nil
}
