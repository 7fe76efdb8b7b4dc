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

package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"time"
)

// dialPatience is how long a webhook server may take to answer.
const dialPatience = 5 * time.Second

// dial calls a webhook server by the address that the API server calls, and
// verifies it as the API server does.
func (c *checkup) dial(ctx context.Context, address *url.URL, bundle []byte) Finding {
	where := address.Host
	if local(address.Hostname()) && !c.serverIsLocal() {
		return note("webhooks", "the API server calls %s on its own machine, which was not tried", where)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	port := address.Port()
	if port == "" {
		port = "443"
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	dialer := &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: address.Hostname()}}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address.Hostname(), port))
	if err != nil {
		return todo("webhooks", fmt.Sprintf("the API server calls %s, and that does not work from here: %v", where, err),
			"start the operator; if it runs, look at its --webhook-url and at what is between here and there")
	}
	_ = conn.Close() // nothing was said
	return ok("webhooks", "the operator answers at %s, on the certificate that the API server trusts", where)
}

func (c *checkup) serverIsLocal() bool {
	u, err := url.Parse(c.config.Host)
	return err == nil && local(u.Hostname())
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
