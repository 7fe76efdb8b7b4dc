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

package binary

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/proxy"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

// change is something that a user asks for while things break.
type change struct {
	name string
	do   func(*appsv1.PodManager)
}

// changes have one way to get there, so that creates and deletes can be counted.
func changes() []change {
	return []change{
		{"scale up", func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptr.To[int32](8) }},
		{"roll out in place", func(pm *appsv1.PodManager) { pm.Spec.Image = "nginx:1.28" }},
		{"recreate", func(pm *appsv1.PodManager) {
			pm.Spec.Image, pm.Spec.Update.Strategy = "nginx:1.29", appsv1.UpdateRecreate
			pm.Spec.Update.MaxSurge = ptr.To(intstr.FromInt32(0))
		}},
		{"scale down", func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptr.To[int32](2) }},
	}
}

// trouble is what happens while the fleet follows a change. It returns when the
// operator is left alone again.
type trouble struct {
	name string
	long bool // make faults alone has the time
	make func(t *testing.T, g *ground, o *operators)
	// seen has to have happened, or nothing was tried.
	seen string
	// alone: it looks itself after programs that end.
	alone bool
}

// storm plays faults, and the fleet has to get there all the same. Where
// watches are reset it only has to once that ends: a client that cannot watch
// is blind, and waits longer each time before it tries again.
func storm(faults proxy.Faults) func(*testing.T, *ground, *operators) {
	return func(t *testing.T, g *ground, o *operators) {
		o.Play(faults)
		if faults.ResetWatches > 0 {
			g.wait(t.Context(), 3*faults.ResetWatches)
		} else {
			g.settle(t, o.namespace)
		}
		o.Play(proxy.Faults{})
	}
}

func troubles() []trouble {
	return []trouble{
		{name: "killed at random", make: killed, long: true}, // as in everything at once
		{
			name: "time-outs with effect", seen: proxy.Unanswered,
			make: storm(proxy.Faults{Unanswered: 0.4}),
		},
		{
			name: "time-outs without effect", seen: proxy.Lost, long: true,
			make: storm(proxy.Faults{Lost: 0.4}),
		},
		{
			name: "429 with Retry-After", seen: proxy.TooMany, long: true,
			make: storm(proxy.Faults{TooMany: 0.25}),
		},
		{
			name: "500", seen: proxy.Broken, long: true,
			make: storm(proxy.Faults{Broken: 0.5}),
		},
		{
			name: "watches are reset", seen: proxy.Reset, long: true,
			make: storm(proxy.Faults{ResetWatches: 2 * time.Second}),
		},
		{
			name: "everything at once", seen: proxy.Reset, long: true,
			make: storm(proxy.Faults{Lost: 0.1, Unanswered: 0.2, TooMany: 0.1, Broken: 0.1, ResetWatches: time.Second}),
		},
		{
			name: "everything at once, and killed", seen: proxy.Reset,
			make: func(t *testing.T, g *ground, o *operators) {
				o.Play(proxy.Faults{Lost: 0.1, Unanswered: 0.1, TooMany: 0.1, Broken: 0.1, ResetWatches: 300 * time.Millisecond})
				o.ResetWatches() // it may be killed before the first time, and slow to watch again
				killed(t, g, o)
				o.Play(proxy.Faults{})
			},
		},
		{name: "the API server restarts", long: true, make: restart(localkube.APIServer)},
		{name: "etcd restarts", long: true, make: restart(localkube.Etcd)},
		{name: "the API server hangs", long: true, make: func(t *testing.T, g *ground, _ *operators) {
			g.pause(t.Context(), 500*time.Millisecond)
			if err := g.Cluster.Pause(localkube.APIServer); err != nil {
				t.Fatal(err)
			}
			g.pause(t.Context(), 3*time.Second)
			if err := g.Cluster.Resume(localkube.APIServer); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "etcd is compacted behind its watches", long: true, make: compacted, seen: proxy.Expired},
		{name: "out of memory", long: true, make: starved, alone: true},
	}
}

func killed(t *testing.T, g *ground, o *operators) {
	for range 3 {
		g.pause(t.Context(), 700*time.Millisecond)
		o.killFirst()
		o.start()
	}
}

func restart(component localkube.Component) func(*testing.T, *ground, *operators) {
	return func(t *testing.T, g *ground, _ *operators) {
		g.pause(t.Context(), 500*time.Millisecond)
		if err := g.Cluster.Restart(t.Context(), component); err != nil {
			t.Fatal(err)
		}
	}
}

// compacted keeps the operator from watching until the versions that it has
// not seen are no longer kept: it gets 410 and has to list again. The API
// server restarts because it would still know them from its own cache.
func compacted(t *testing.T, g *ground, o *operators) {
	o.Refuse("pods")
	o.Refuse("podmanagers")
	g.pause(t.Context(), time.Second)
	if err := compact(t.Context(), g.Cluster); err != nil {
		t.Fatal(err)
	}
	if err := g.Cluster.Restart(t.Context(), localkube.APIServer); err != nil {
		t.Fatal(err)
	}
	o.Thaw()
}

// compact makes etcd forget all versions but the newest.
func compact(ctx context.Context, cluster *localkube.Cluster) error {
	pki := filepath.Join(cluster.Dir(), "pki")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "apiserver-client.crt"), filepath.Join(pki, "apiserver-client.key"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cluster.RESTConfig().CAData)
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	ask := func(path, body string) (revision string, err error) {
		url := fmt.Sprintf("https://127.0.0.1:%d%s", cluster.Port(localkube.Etcd), path)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewBufferString(body))
		if err != nil {
			return "", err
		}
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var answer struct{ Header struct{ Revision string } }
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return "", err
		}
		if resp.StatusCode != http.StatusOK {
			return "", fmt.Errorf("etcd says %s to %s", resp.Status, path)
		}
		return answer.Header.Revision, nil
	}
	revision, err := ask("/v3/kv/range", `{"key":"AA=="}`)
	if err != nil {
		return err
	}
	_, err = ask("/v3/kv/compaction", fmt.Sprintf(`{"revision":%q,"physical":true}`, revision))
	return err
}

// starved gives the operator less memory than it needs, then a little more,
// and so on: each time it dies at another place.
func starved(t *testing.T, _ *ground, o *operators) {
	path, args := o.path, o.args
	defer func() { o.path, o.args = path, args }()
	deaths := 0
	for limit := 120; limit <= 200; limit += 10 {
		o.killFirst()
		o.path = "/bin/sh"
		o.args = append([]string{"-c", fmt.Sprintf(`ulimit -d %d; exec "$0" "$@"`, limit<<10), path}, args...)
		p := o.start()
		select {
		case <-p.Exited():
			deaths++
		case <-t.Context().Done():
		case <-time.After(2 * time.Second):
		}
	}
	o.killFirst()
	o.path, o.args = path, args
	o.start()
	t.Logf("it ran out of memory %d times", deaths)
	if deaths == 0 {
		t.Error("it never ran out of memory, so nothing was tried")
	}
}

// TestBrokenProgram plays every change under every trouble.
func TestBrokenProgram(t *testing.T) {
	g := field
	t.Logf("seed %d", g.seed)
	cases, violations, longest := 0, 0, time.Duration(0)
	var fair map[string]int
	play := func(t *testing.T, tr trouble) {
		o := newOperators(t, g)
		o.start()
		if !tr.alone {
			o.supervise()
		}
		namespace := g.Namespace(t)
		o.namespace = namespace
		if err := g.Client.Create(t.Context(), testkit.MakePodManager(namespace, "web").Replicas(3).Obj()); err != nil {
			t.Fatal(err)
		}
		g.settle(t, namespace)
		for _, c := range changes() {
			start := time.Now()
			g.edit(t, namespace, c.name, c.do)
			if tr.make != nil {
				tr.make(t, g, o)
			}
			g.settle(t, namespace)
			took := time.Since(start)
			longest = max(longest, took)
			t.Logf("%s: ready after %s; %v", c.name, took.Round(time.Millisecond), o.Seen())
			cases++
		}
		found, tally := o.judge(t, namespace, oracle.Rules{}, fair)
		violations += found
		if fair == nil {
			fair = tally
		}
		if tr.seen != "" && o.Seen()[tr.seen] == 0 {
			t.Errorf("nothing was tried: %s never happened", tr.seen)
		}
	}
	t.Run("in peace", func(t *testing.T) { play(t, trouble{}) })
	for _, tr := range troubles() {
		if tr.long && !*all {
			continue
		}
		// One that never got to its end was not judged, and broke L1.
		if before := violations; !t.Run(tr.name, func(t *testing.T) { play(t, tr) }) && violations == before {
			violations++
		}
	}
	line := summary.Line{Tier: "3 real program, broken while it works", Cases: cases, Violations: violations, Longest: longest, Seed: g.seed}
	if err := summary.Write("3-binary", line); err != nil {
		t.Error(err)
	}
	t.Logf("%+v", line)
}
