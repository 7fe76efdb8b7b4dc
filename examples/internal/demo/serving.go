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

package demo

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Serving is a webhook server on this machine with a certificate from its own
// CA. In a cluster, a Service replaces the URL, and cert-manager or the operator
// itself provides the certificate.
type Serving struct {
	Server webhook.Server
	URL    string
	CA     []byte
}

// NewServing chooses a port and makes a certificate.
func NewServing() (*Serving, error) {
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	use := func(c *tls.Config) {
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return &Serving{
		Server: webhook.NewServer(webhook.Options{Host: host, Port: number, TLSOpts: []func(*tls.Config){use}}),
		URL:    "https://" + address, CA: chain,
	}, nil
}

// Ready waits until the server answers.
func (s *Serving) Ready(ctx context.Context) error {
	return Until(ctx, func(context.Context) (bool, error) { return s.Server.StartedChecker()(nil) == nil, nil })
}

// FreeAddress is an address on this machine that no process listens on. The port
// lies below those that the kernel gives to outgoing connections, or one of
// these could have it before the server does.
func FreeAddress() (string, error) {
	const lowest, highest, tries = 10000, 20000, 100
	for range tries {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest)) //nolint:gosec // a port to try is no secret
		if listener, err := net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("no free port between %d and %d", lowest, highest)
}

// PrintWarnings prints the warnings that the API server sends with an answer.
type PrintWarnings struct{}

// HandleWarningHeader prints one.
func (PrintWarnings) HandleWarningHeader(_ int, _, text string) { fmt.Println("warning:", text) }
