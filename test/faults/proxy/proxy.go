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

// Package proxy stands between a program and the API server and gets in its
// way. It ends TLS with the cluster's own serving certificate, so a program
// only needs another address in its kubeconfig; a token passes through, a
// client certificate does not.
//
// What goes wrong is drawn from a seed, one draw a request, in the order in
// which requests arrive. The proxy also knows what was written through it, so
// the oracles can tell the program's writes from all others.
package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// Faults are the chances, between 0 and 1, of a request to go wrong.
type Faults struct {
	// Lost requests time out before they reach the API server.
	Lost float64
	// Unanswered requests are done, and then time out.
	Unanswered float64
	// TooMany are answered 429 with Retry-After.
	TooMany float64
	// Broken are answered 500.
	Broken float64
	// Conflict are answered 409, where a request changes or deletes something.
	Conflict float64
	// ResetWatches ends every watch this often; 0 never does.
	ResetWatches time.Duration
}

// What happened to requests, as Seen counts it.
const (
	Lost       = "lost"
	Unanswered = "unanswered"
	TooMany    = "429"
	Broken     = "500"
	Conflict   = "409"
	Reset      = "watches reset"
	Expired    = "410"
	Dated      = "old lists"
)

// Proxy is a running proxy.
type Proxy struct {
	config *rest.Config
	server *http.Server
	next   http.RoundTripper
	done   chan struct{}

	mu      sync.Mutex
	faults  Faults
	rng     *rand.Rand
	watches map[*stream]bool
	stop    context.CancelFunc // of the resets
	frozen  map[string]chan struct{}
	refused map[string]bool // resources whose watches cannot be opened
	past    map[string]string
	after   *trigger
	wrote   map[string]bool
	seen    map[string]int
}

// trigger fires at the n-th request that matches.
type trigger struct {
	method, resource string
	left             int
	fire             func()
}

// Start begins to listen on a port of its own, until Stop.
func Start(cluster *localkube.Cluster, seed uint64) (*Proxy, error) {
	pki := filepath.Join(cluster.Dir(), "pki")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "serving.crt"), filepath.Join(pki, "serving.key"))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	config := cluster.RESTConfig()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	})
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p := &Proxy{
		config: &rest.Config{Host: "https://" + listener.Addr().String(), QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData}},
		next: &http.Transport{
			ForceAttemptHTTP2: true, DialContext: (&net.Dialer{Timeout: time.Second}).DialContext,
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		},
		done: make(chan struct{}), rng: rand.New(rand.NewPCG(seed, 5)), watches: map[*stream]bool{}, frozen: map[string]chan struct{}{},
		refused: map[string]bool{}, past: map[string]string{}, wrote: map[string]bool{}, seen: map[string]int{},
	}
	quiet := log.New(io.Discard, "", 0) // what it would complain of is what it does
	p.server = &http.Server{
		ReadHeaderTimeout: time.Minute, ErrorLog: quiet,
		Handler: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport:     p,
			FlushInterval: -1,
			ErrorLog:      quiet,
			ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
	}
	go func() {
		defer close(p.done)
		_ = p.server.Serve(listener) // it ends with Stop and only then
	}()
	return p, nil
}

// Login is a login that goes through the proxy.
func (p *Proxy) Login(config *rest.Config) *rest.Config {
	through := rest.CopyConfig(p.config)
	through.BearerToken = config.BearerToken
	return through
}

// Stop ends the proxy and every connection through it.
func (p *Proxy) Stop() error {
	p.Play(Faults{})
	p.Thaw()
	err := p.server.Close()
	<-p.done
	p.next.(*http.Transport).CloseIdleConnections()
	return err
}

// Play makes things go wrong, until the next call. No faults is peace.
func (p *Proxy) Play(faults Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = faults
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	if faults.ResetWatches > 0 {
		var ctx context.Context
		ctx, p.stop = context.WithCancel(context.Background())
		go p.resetEvery(ctx, faults.ResetWatches)
	}
}

func (p *Proxy) resetEvery(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.ResetWatches()
		}
	}
}

// ResetWatches ends all watches now.
func (p *Proxy) ResetWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.watches {
		p.seen[Reset]++
		s.stop(errReset)
	}
}

// Freeze keeps the events of a resource back, until Thaw.
func (p *Proxy) Freeze(resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen[resource] == nil {
		p.frozen[resource] = make(chan struct{})
	}
}

// Refuse ends the watches of a resource as an API server does after a while,
// and lets no new one open, until Thaw.
func (p *Proxy) Refuse(resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[resource] = true
	for s := range p.watches {
		if s.resource == resource {
			s.stop(io.EOF)
		}
	}
}

// Backdate answers lists that need not be new as of an old version, and keeps
// back what happened since, until Thaw: an API server that is behind.
func (p *Proxy) Backdate(resource, version string) {
	p.Freeze(resource)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past[resource] = version
}

// Thaw ends what Freeze, Refuse and Backdate began.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, thaw := range p.frozen {
		close(thaw)
	}
	clear(p.frozen)
	clear(p.refused)
	clear(p.past)
}

// After calls fire when the n-th request like this from now on has been done,
// before the program gets the answer.
func (p *Proxy) After(n int, method, resource string, fire func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = &trigger{method, resource, n, fire}
}

// Seen is how often each thing happened.
func (p *Proxy) Seen() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.seen)
}

// Sign names the program as the actor of what it wrote.
func (p *Proxy) Sign(history []oracle.Revision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range history {
		if p.wrote[history[i].Object.GetResourceVersion()] {
			history[i].Actor = oracle.Operator
		}
	}
}

// RoundTrip implements http.RoundTripper.
func (p *Proxy) RoundTrip(req *http.Request) (*http.Response, error) {
	resource := resourceOf(req.URL.Path)
	if req.Method == http.MethodGet && req.URL.Query().Get("watch") != "" {
		return p.watch(req, resource)
	}
	fault := p.draw(req.Method)
	switch fault {
	case Lost:
		return p.timeout(req)
	case TooMany:
		return refuse(req, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1), nil
	case Broken:
		return refuse(req, http.StatusInternalServerError, metav1.StatusReasonInternalError, 0), nil
	case Conflict:
		return refuse(req, http.StatusConflict, metav1.StatusReasonConflict, 0), nil
	}
	resp, err := p.pass(req, resource)
	if err == nil && fault == Unanswered {
		_ = resp.Body.Close() // it is not read
		return p.timeout(req)
	}
	return resp, err
}

// pass sends a request on.
func (p *Proxy) pass(req *http.Request, resource string) (*http.Response, error) {
	write := req.Method != http.MethodGet && watched[resource]
	if write {
		asJSON(req)
	} else {
		p.date(req, resource)
	}
	resp, err := p.next.RoundTrip(req)
	if err == nil && write {
		err = p.note(resp)
	}
	var due *trigger
	p.mu.Lock()
	if after := p.after; err == nil && after != nil && after.method == req.Method && after.resource == resource {
		if after.left--; after.left == 0 {
			due, p.after = after, nil
		}
	}
	p.mu.Unlock()
	if due != nil {
		due.fire()
	}
	return resp, err
}

func (p *Proxy) count(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[what]++
}

// draw decides what happens to a request.
func (p *Proxy) draw(method string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.rng.Float64()
	conflict := p.faults.Conflict
	if method == http.MethodGet || method == http.MethodPost {
		conflict = 0
	}
	for _, f := range []struct {
		what   string
		chance float64
	}{{Lost, p.faults.Lost}, {Unanswered, p.faults.Unanswered}, {TooMany, p.faults.TooMany}, {Broken, p.faults.Broken}, {Conflict, conflict}} {
		if at -= f.chance; at < 0 {
			p.seen[f.what]++
			return f.what
		}
	}
	return ""
}

// timeout is one of the two ways in which an answer stays away: the connection
// breaks, or the API server says that it does not know.
func (p *Proxy) timeout(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rng.IntN(2) == 0 {
		return nil, errors.New("the connection is cut")
	}
	return refuse(req, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, 0), nil
}

// refuse answers in the API server's place.
func refuse(req *http.Request, code int, reason metav1.StatusReason, after int32) *http.Response {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: "a fault of the test",
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if after > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: after}
		header.Set("Retry-After", fmt.Sprint(after))
	}
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a status always has a JSON form
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// note remembers the version that a write made.
func (p *Proxy) note(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var obj struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if json.Unmarshal(body, &obj) == nil && obj.ResourceVersion != "" {
		p.wrote[obj.ResourceVersion] = true
	}
	return nil
}

// date makes a list that need not be new an old one.
func (p *Proxy) date(req *http.Request, resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	query := req.URL.Query()
	if p.past[resource] == "" || query.Get("resourceVersion") != "0" {
		return
	}
	p.seen[Dated]++
	query.Set("resourceVersion", p.past[resource])
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	req.URL.RawQuery = query.Encode()
}

// asJSON asks for an answer that we can read.
func asJSON(req *http.Request) {
	accept := req.Header.Get("Accept")
	req.Header.Set("Accept", strings.ReplaceAll(accept, "application/vnd.kubernetes.protobuf", "application/json"))
	req.Header.Del("Accept-Encoding")
}

// watched are the resources that the oracles look at.
var watched = map[string]bool{"pods": true, "podmanagers": true, "controllerrevisions": true, "replicasets": true}

// resourceOf is the resource that a path names.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch { // api/v1/…, apis/GROUP/VERSION/…
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return ""
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		return parts[2]
	}
	return parts[0]
}
