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
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
)

// Page serves the operator's page on this machine, to a browser that has the
// page's own token. The browser never gets the user's token: a request with the
// page's token is sent on as the user, and any other without a login. So the
// link is worth nothing once the command has ended. The operator's certificate is
// verified here, where a browser would only warn.
type Page struct {
	// Token is the one that the browser has to have.
	Token string
	// host is the address that the browser has to use, against other sites
	// whose name leads here.
	host             string
	known, strangers http.Handler
}

// NewPage makes the page of an operator, for a browser that opens
// http://HOST.
func (c *Client) NewPage(host string) *Page {
	return &Page{Token: rand.Text(), host: host, known: c.proxy(c.http.Transport), strangers: c.proxy(c.plain)}
}

// Link is what to open in a browser.
func (p *Page) Link() string { return "http://" + p.host + "/#token=" + p.Token }

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host != p.host {
		http.Error(w, "Open the link that kubectl podmanager dashboard printed.", http.StatusMisdirectedRequest)
		return
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(p.Token)) == 1 {
		p.known.ServeHTTP(w, r)
		return
	}
	p.strangers.ServeHTTP(w, r)
}

func (c *Client) proxy(transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Transport: transport,
		// Records are streamed.
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(c.base)
			// The operator compares it with the origin of the request.
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Authorization")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprintf(w, `{"message":%q}`, "The operator does not answer: "+untrusted(err).Error())
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
}
