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
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	webhookapps "github.com/mycompany/pod-operator/internal/webhook/apps"
	webhookappsv1 "github.com/mycompany/pod-operator/internal/webhook/apps/v1"
	webhookappsv1alpha1 "github.com/mycompany/pod-operator/internal/webhook/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

// webhookServer serves the API server and no other client, and keeps the
// operator's own certificate unless a folder has another one. Both begin before the
// manager's caches: a cache of objects that are stored in another version fills
// only once the conversion is served and trusted.
type webhookServer struct {
	webhook.Server // it keeps the handlers; this type listens itself
	address        string
	mux            *http.ServeMux
	tls            *tls.Config
	certDir        string
	// own keeps the paths at which the API server calls, and the certificate where
	// no folder has one. It is nil where another program does both.
	own *ownCertificate
	// callers is nil where no client certificate is asked for.
	callers *callers
	bounds  *bounds
	scheme  *runtime.Scheme
	started atomic.Bool
}

func newWebhookServer(o Options, own *ownCertificate, scheme *runtime.Scheme) (*webhookServer, error) {
	host, port, err := o.Webhooks.listen()
	if err != nil {
		return nil, err
	}
	s := &webhookServer{
		address: o.Webhooks.Address, certDir: o.Webhooks.CertDir, scheme: scheme, bounds: newBounds(), mux: http.NewServeMux(),
		tls: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}
	if o.EnableHTTP2 {
		s.tls.NextProtos = []string{"h2", "http/1.1"}
	}
	if s.callers, err = newCallers(o.Webhooks); err != nil {
		return nil, err
	}
	switch {
	case o.Webhooks.keepsCertificate():
		s.own = own
		own.use(s.tls)
	case o.Webhooks.keepsConfiguration():
		s.own = &ownCertificate{foreign: true}
	}
	if s.callers != nil {
		s.callers.ask(s.tls)
	}
	s.Server = webhook.NewServer(webhook.Options{Host: host, Port: port, WebhookMux: s.mux})
	return s, nil
}

// Register implements webhook.Server. It lets updates through that repair an
// object which cannot be decoded, bounds what a review costs, and answers the API
// server alone.
func (s *webhookServer) Register(path string, hook http.Handler) {
	if w, ok := hook.(*admission.Webhook); ok {
		w.Handler = preflight.Mend(w.Handler, s.scheme)
	}
	bounded := s.bounds.within(hook)
	if path == webhookapps.ConversionPath {
		bounded = s.bounds.weighed(weighConversion, hook)
	}
	hook = s.only(path, bounded)
	s.Server.Register(path, hook)
	if ours(path) { // metrics are labelled with the path without the secret
		labelled, _ := s.mux.Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}})
		s.mux.Handle(path+"/{secret}", labelled)
	}
}

func ours(path string) bool { return slices.Contains(slices.Collect(maps.Values(paths.All())), path) }

// only serves the API server: it shows a certificate, or it knows the path.
func (s *webhookServer) only(path string, next http.Handler) http.Handler {
	switch {
	case s.callers != nil && path != webhookapps.ConversionPath:
		return s.callers.only(next)
	case s.own != nil:
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !s.own.keeper.Answers(r.Context(), r.URL.Path) {
				w.Header().Set("Connection", "close")
				http.NotFound(w, r)
				return
			}
			welcomed(next, w, r)
		})
	case ours(path) && !slices.Contains(computed(), path):
		return s.bounds.within(&admission.Webhook{Handler: admission.HandlerFunc(sayNothing)})
	case path == webhookapps.ConversionPath:
		return next // the gate welcomes those whom it answers
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { welcomed(next, w, r) })
}

// computed are the webhooks whose answer follows from the review alone. They are
// served also where the API server cannot be told from other clients: they tell
// nothing, and without them v1alpha1 could not be used.
func computed() []string {
	return []string{webhookapps.ConversionPath, webhookappsv1.DefaultPath, webhookappsv1alpha1.KeepPath, paths.All()["validate.v1alpha1.podmanager.apps.mycompany.com"]}
}

// sayNothing is the answer to a client that may be any: nothing is read, written
// or told.
func sayNothing(context.Context, admission.Request) admission.Response { return admission.Allowed("") }

// Start implements manager.Runnable.
func (s *webhookServer) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if s.own != nil {
		group.Go(func() error { return s.own.run(ctx) })
	}
	group.Go(func() error { return s.serve(ctx) })
	return group.Wait()
}

// serve listens until the context ends, and then lets what is in flight end.
func (s *webhookServer) serve(ctx context.Context) error {
	if s.tls.GetCertificate == nil {
		watcher, err := certwatcher.New(filepath.Join(s.certDir, "tls.crt"), filepath.Join(s.certDir, "tls.key"))
		if err != nil {
			return fmt.Errorf("read the certificate in %s: %w", s.certDir, err)
		}
		s.tls.GetCertificate = watcher.GetCertificate
		go func() { _ = watcher.Start(ctx) }() // it ends with the context, and logs what it cannot read
	}
	plain, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen for webhooks: %w", err)
	}
	server := &http.Server{
		Handler: s.mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }, ConnContext: asGuest,
		ErrorLog: errorLog("webhooks"),
	}
	door := newDoor(plain)
	door.own = []string{"127.0.0.1", "::1", hostOf(s.address)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		_ = server.Shutdown(grace) // what has not ended by then is cut off with the process
	}()
	s.started.Store(true)
	if err := server.Serve(tls.NewListener(door, s.tls)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	<-ended
	return nil
}

// StartedChecker implements webhook.Server: it answers where a handshake succeeds.
func (s *webhookServer) StartedChecker() healthz.Checker {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} //nolint:gosec // only whether there is an answer matters
	return func(r *http.Request) error {
		if !s.started.Load() {
			return errors.New("the webhook server has not been started yet")
		}
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		conn, err := dialer.DialContext(ctx, "tcp", s.address)
		if err != nil {
			return fmt.Errorf("the webhook server is not reachable: %w", err)
		}
		return conn.Close()
	}
}

// ready is a readiness probe.
func (s *webhookServer) ready(request *http.Request) error {
	if s.own != nil {
		if err := s.own.keeper.Trusted(); err != nil {
			return err
		}
	}
	return s.StartedChecker()(request)
}
