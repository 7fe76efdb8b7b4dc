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
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// probes is a manager that serves its probes with limits. The kubelet has no
// credentials, so that every client in the pod network may call them, and
// controller-runtime's own server takes a megabyte of headers from each of any number
// of connections.
type probes struct {
	ctrl.Manager
	alive, ready *healthz.Handler
}

func withProbes(mgr ctrl.Manager) *probes {
	return &probes{Manager: mgr, alive: &healthz.Handler{Checks: map[string]healthz.Checker{}}, ready: &healthz.Handler{Checks: map[string]healthz.Checker{}}}
}

// AddHealthzCheck implements manager.Manager.
func (p *probes) AddHealthzCheck(name string, check healthz.Checker) error {
	p.alive.Checks[name] = check
	return nil
}

// AddReadyzCheck implements manager.Manager.
func (p *probes) AddReadyzCheck(name string, check healthz.Checker) error {
	p.ready.Checks[name] = (&answered{name: name, check: check}).ask
	return nil
}

// listen serves the probes from when the manager starts. All checks are there by then.
func (p *probes) listen(address string) error {
	if address == "" || address == "0" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for probes: %w", err)
	}
	c := newCrowd(l, mostOfAPort)
	c.paces = nil // no handshake, and others may share the kubelet's address
	return p.Add(&manager.Server{Name: "health probe", Server: p.server(), Listener: c, ShutdownTimeout: ptr.To(shutdownGrace)})
}

func (p *probes) server() *http.Server {
	mux := http.NewServeMux()
	for path, handler := range map[string]http.Handler{"/healthz": p.alive, "/readyz": p.ready} {
		mux.Handle(path, http.StripPrefix(path, handler))
		mux.Handle(path+"/", http.StripPrefix(path, handler))
	}
	return &http.Server{
		Handler: mux, MaxHeaderBytes: 4 << 10, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 30 * time.Second,
		ErrorLog: errorLog("probes"),
	}
}

// answerFor is for how long an answer holds: a check of the webhooks costs a handshake,
// and every client may ask.
const answerFor = 100 * time.Millisecond

// errWithheld is all that a client is told. An error of a watch names namespaces and
// accounts, and healthz shows the error of a check that is asked for by its name.
var errWithheld = errors.New("reason withheld: it is in the operator's log")

// answered is a check with its last answer.
type answered struct {
	name  string
	check healthz.Checker

	mu    sync.Mutex
	until time.Time
	err   error
}

func (a *answered) ask(r *http.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Now().After(a.until) {
		// One who hangs up does not answer for all others.
		err := a.check(r.WithContext(context.WithoutCancel(r.Context())))
		if err != nil {
			if a.err == nil {
				ctrl.Log.WithName("probes").Info("Not ready", "check", a.name, "reason", err.Error())
			}
			err = errWithheld
		}
		a.err, a.until = err, time.Now().Add(answerFor)
	}
	return a.err
}
