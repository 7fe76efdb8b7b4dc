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

// Package lab drives the lab: the taps, the gates and the faults on a real API server, and the
// page in a browser.
package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/lab"
	"github.com/mycompany/pod-operator/lab/operator"
	"github.com/mycompany/pod-operator/lab/trace"
)

const namespace = "lab"

// cluster is shared by all tests, which run one after the other: each starts an operator and
// leaves a Web with three pods behind.
var cluster *localkube.Cluster

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	var err error
	if cluster, err = localkube.Start(context.Background(), localkube.Options{OnAPIReady: operator.Install(namespace), StartTimeout: 5 * time.Minute}); err == nil {
		err = operator.Await(context.Background(), cluster.RESTConfig(), namespace)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start a cluster:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the cluster:", err)
		code = 1
	}
	os.Exit(code)
}

// patience is how long a test waits for something that has to happen. It is long because machines
// are slow, not because the lab is.
const patience = 2 * time.Minute

// room is a lab with a running operator.
type room struct {
	*testing.T
	lab    *lab.Lab
	origin string
	token  string
}

// open starts an operator in a lab and waits until it rests with three pods.
func open(t *testing.T, options lab.Options) *room {
	t.Helper()
	show, err := operator.NewShow(cluster.RESTConfig(), namespace, options)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served, ran := make(chan error, 1), make(chan error, 1)
	go func() { served <- show.Lab.Serve(ctx, listener) }()
	go func() { ran <- show.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for what, ended := range map[string]chan error{"serving": served, "running": ran} {
			if err := <-ended; err != nil {
				t.Errorf("%s ended with %v", what, err)
			}
		}
	})
	origin, token, _ := strings.Cut(show.Lab.Link(listener), "/#token=")
	r := &room{T: t, lab: show.Lab, origin: origin, token: token}
	r.rest(0)
	return r
}

// steps are all steps from a number on.
func (r *room) steps(from int) []trace.Step {
	steps := r.lab.Walk().Steps
	return steps[min(from, len(steps)):]
}

// mark is the number of the next step.
func (r *room) mark() int { return len(r.lab.Walk().Steps) }

// await waits for a step that matches, from a number on, and returns its number.
func (r *room) await(from int, what string, matches func(trace.Step) bool) int {
	r.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if i := slices.IndexFunc(r.steps(from), matches); i >= 0 {
			return from + i
		}
		<-time.After(10 * time.Millisecond)
	}
	r.Fatalf("waited for %s; the steps were\n%s", what, told(r.steps(from)))
	return 0
}

// see waits for a step at a box with a verb, and an object where one is given.
func (r *room) see(from int, box, verb, object string) int {
	r.Helper()
	return r.await(from, fmt.Sprintf("%s %s %s", box, verb, object), func(s trace.Step) bool {
		return s.Box == box && s.Verb == verb && (object == "" || s.Object == object)
	})
}

// rest waits until no step has come for a moment and the queue is empty but for what waits for its time.
func (r *room) rest(from int) {
	r.Helper()
	r.see(from, trace.BoxReconcile, "end", "")
	deadline := time.Now().Add(patience)
	for last, since := r.mark(), time.Now(); time.Since(since) < time.Second; {
		<-time.After(20 * time.Millisecond)
		if now := r.mark(); now != last {
			last, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			r.Fatalf("it does not come to rest; the last steps were\n%s", told(r.steps(max(0, last-40))))
		}
	}
}

func told(steps []trace.Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%6d %s %-9s %-14s %s\n", s.At, s.Process, s.Box, s.Verb, s.Text.EN)
	}
	return b.String()
}

// held waits until something is held at a gate.
func (r *room) held(gate string) {
	r.Helper()
	deadline := time.Now().Add(patience)
	for len(r.lab.State().Held[gate]) == 0 {
		if time.Now().After(deadline) {
			r.Fatalf("nothing is held at the gate %s; held are %v", gate, r.lab.State().Held)
		}
		<-time.After(10 * time.Millisecond)
	}
}
