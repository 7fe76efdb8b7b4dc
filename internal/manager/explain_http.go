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
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mycompany/pod-operator/internal/dashboard"
	"github.com/mycompany/pod-operator/internal/desired"
)

// Explain are the options of the HTTP side.
type Explain struct {
	// Address is where it listens; empty and 0 turn it off.
	Address string
	// CertDir holds tls.crt and tls.key. Empty takes the certificate of the
	// webhook server, which the plugin can verify.
	CertDir string
	// RecordFile gets the records too, a line of JSON each. Empty keeps them
	// in memory only.
	RecordFile string
}

func (e *Explain) bindFlags(fs *flag.FlagSet) {
	fs.StringVar(&e.Address, "explain-bind-address", "0",
		"The address of the page and the API that explain what was done, over HTTPS, to those whom the API server "+
			"authenticates and authorizes; for example :8444. 0 turns them off.")
	fs.StringVar(&e.CertDir, "explain-cert-path", "",
		"A folder with tls.crt and tls.key for them. Empty takes the certificate of the webhook server, which kubectl podmanager "+
			"can verify; without webhooks the one for --explain-service, and without that a self-signed one.")
	fs.StringVar(&e.RecordFile, "record-file", "",
		"A file to write the records to as well, a line of JSON each, rotated at 64 MiB, three old ones kept; "+
			"for kubectl podmanager replay. Empty writes none.")
}

func (e *Explain) enabled() bool { return e.Address != "" && e.Address != "0" }

func (e *Explain) validate(o *Options) error {
	var errs []error
	if e.RecordFile != "" && !o.Record {
		errs = append(errs, errors.New("--record-file has nothing to write with --record=false"))
	}
	if !e.enabled() {
		return errors.Join(errs...)
	}
	if !o.Record {
		errs = append(errs, errors.New("--explain-bind-address has nothing to explain with --record=false"))
	}
	if len(o.Controllers) > 0 && !slices.Contains(o.Controllers, desired.PodManagerKind{}.Name()) {
		errs = append(errs, errors.New("--explain-bind-address explains PodManagers: --controllers leaves them out"))
	}
	if _, _, err := net.SplitHostPort(e.Address); err != nil {
		errs = append(errs, fmt.Errorf("--explain-bind-address is %q: give HOST:PORT or :PORT, or 0 to turn it off", e.Address))
	}
	return errors.Join(errs...)
}

// addExplain adds the HTTP side to the manager.
func addExplain(mgr ctrl.Manager, records *records, own *ownCertificate, o Options) error {
	door, err := dashboard.NewDoor(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	parts := dashboard.Parts{
		Door: door, Viewers: dashboard.NewViewers(mgr.GetConfig(), mgr.GetScheme(), mgr.GetRESTMapper()), Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: records.recorder, Clock: clock.RealClock{},
		MaxHold: o.MaxEvictionHold,
	}
	for _, k := range chosenKinds(o) {
		if shown := records.kind(k.gvk, k.gvk.GroupVersion().WithResource(k.resource())); k.gvk == desired.PodManagerGVK {
			parts.PodManagers = shown
		} else {
			parts.Others = append(parts.Others, shown)
		}
	}
	server := dashboard.New(parts)
	handler, err := server.Handler()
	if err != nil {
		return err
	}
	// The webhooks' certificate has its CA in the webhook configuration, so that the
	// plugin knows the operator by it.
	config, err := servingTLS(mgr, own, o.explainCertDir(), o.EnableHTTP2)
	if err != nil {
		return err
	}
	return mgr.Add(everyReplica(func(ctx context.Context) error {
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return nil
		}
		go server.Sample(ctx)
		return serveExplain(ctx, handler, config, o)
	}))
}

func (r *records) kind(gvk schema.GroupVersionKind, resource schema.GroupVersionResource) dashboard.Kind {
	served := func() bool { return false }
	if gate := r.gates[gvk.GroupKind()]; gate != nil {
		served = gate.IsOpen
	}
	return dashboard.Kind{Resource: resource, Kind: gvk.Kind, Served: served, Tap: r.taps[gvk.GroupKind()]}
}

// serveExplain serves until the context ends. Streams end with it.
func serveExplain(ctx context.Context, handler http.Handler, config *tls.Config, o Options) error {
	l, err := net.Listen("tcp", o.Explain.Address)
	if err != nil {
		return fmt.Errorf("listen for the explanations: %w", err)
	}
	server := &http.Server{
		Handler: handler, TLSConfig: config, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: errorLog("explain"),
	}
	if !o.EnableHTTP2 {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ServeTLS(newCrowd(l, mostOfAPort), "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the explanations on %s: %w", o.Explain.Address, err)
	}
	return nil
}

// explainCertDir is the folder with the page's certificate: its own or that of
// the webhooks.
func (o *Options) explainCertDir() string {
	if o.Webhooks.enabled() {
		return cmp.Or(o.Explain.CertDir, o.Webhooks.CertDir)
	}
	return o.Explain.CertDir
}
