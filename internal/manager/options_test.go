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
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zapcore"
)

// TestDefaults: those that kubebuilder's users know.
func TestDefaults(t *testing.T) {
	o, err := ParseFlags(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{
		"metrics-bind-address": o.MetricsAddress, "metrics-secure": o.SecureMetrics, "health-probe-bind-address": o.ProbeAddress,
		"leader-elect": o.LeaderElection, "enable-http2": o.EnableHTTP2, "max-concurrent-reconciles": o.ConcurrentReconciles,
		"namespaces": o.Namespaces, "kube-api-qps": o.QPS, "kube-api-burst": o.Burst,
		"collector-watches": o.CollectorWatches,
	}
	want := map[string]any{
		"metrics-bind-address": "0", "metrics-secure": true, "health-probe-bind-address": ":8081",
		"leader-elect": false, "enable-http2": false, "max-concurrent-reconciles": 8,
		"namespaces": []string(nil), "kube-api-qps": -1.0, "kube-api-burst": 100,
		"collector-watches": 1200,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFlagsAreRead, those of zap among them.
func TestFlagsAreRead(t *testing.T) {
	o, err := ParseFlags([]string{
		"--leader-elect", "--metrics-bind-address=:8443", "--health-probe-bind-address=127.0.0.1:1", "--namespaces= a, b ,,c",
		"--max-concurrent-reconciles=9", "--kube-api-qps=7.5", "--kube-api-burst=3", "--zap-devel", "--metrics-cert-path=/certs",
		"--leader-election-namespace=lead",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !o.LeaderElection || o.LeaderElectionNamespace != "lead" || o.MetricsAddress != ":8443" || o.ProbeAddress != "127.0.0.1:1" ||
		o.ConcurrentReconciles != 9 || o.QPS != 7.5 || o.Burst != 3 || !o.Zap.Development || o.MetricsCertDir != "/certs" {
		t.Errorf("options: %+v", o)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, o.Namespaces); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

// TestVerbosity: -v counts as it does for kubectl.
func TestVerbosity(t *testing.T) {
	for args, want := range map[string]int8{"-v=0": 0, "-v=1": -1, "--v=4": -4, "--zap-log-level=2": -2} {
		o, err := ParseFlags([]string{args}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		for level := int8(-6); level <= 0; level++ {
			if got := o.Zap.Level.Enabled(zapcore.Level(level)); got != (level >= want) {
				t.Errorf("%s: level %d is logged: %t", args, level, got)
			}
		}
	}
}

// TestBadFlags: each gets a sentence.
func TestBadFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown":         {[]string{"--nonsense"}, "flag provided but not defined: -nonsense; see --help"},
		"not a number":    {[]string{"--kube-api-burst=many"}, `invalid value "many" for flag -kube-api-burst: parse error; see --help`},
		"no verbosity":    {[]string{"-v=much"}, `invalid value "much" for flag -v: take a number from 0 to 127; see --help`},
		"not a flag":      {[]string{"run"}, `"run" is not a flag: the manager takes flags only, see --help`},
		"no worker":       {[]string{"--max-concurrent-reconciles=0"}, "--max-concurrent-reconciles is 0: it must be at least 1"},
		"no watch":        {[]string{"--collector-watches=5"}, "--collector-watches is 5: reading one namespace takes 6"},
		"no request":      {[]string{"--kube-api-qps=0"}, "--kube-api-qps is 0: give a positive number, or a negative one for no limit"},
		"no burst":        {[]string{"--kube-api-qps=5", "--kube-api-burst=0"}, "--kube-api-burst is 0: it must be at least 1"},
		"too many shards": {[]string{"--shards=257"}, "--shards is 257: give a number from 1 to 256, or 0 for none"},
		"fewer than none": {[]string{"--shards=-1"}, "--shards is -1: give a number from 1 to 256, or 0 for none"},
		"hasty leases":    {[]string{"--shards=8", "--shard-lease-duration=1s"}, "--shard-lease-duration is 1s: it must be at least 2s"},
		"shards and lead": {[]string{"--shards=8", "--leader-elect"}, "--shards and --leader-elect exclude each other"},
		"shards of pages": {[]string{"--shards=8", "--explain-bind-address=:1"}, "--explain-bind-address shows one replica's records"},
		"other kinds":     {[]string{"--shards=8", "--controllers=collector"}, "--shards is for PodManagers: run --controllers=collector in an operator of its own"},
		"not a Service":   {[]string{"--metrics-service=a.b"}, `--metrics-service is "a.b": a DNS-1035 label`},
		"not a ConfigMap": {[]string{"--ca-configmap=A"}, `--ca-configmap is "A": a lowercase RFC 1123 subdomain`},
		"not a namespace": {[]string{"--namespaces=a,B"}, `--namespaces: "B" is not a namespace name: a lowercase RFC 1123 label`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := ParseFlags(test.args, &out)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
			if out.Len() > 0 {
				t.Errorf("and it printed\n%s", &out)
			}
		})
	}
}

// TestABurstThatDoesNotMatter: without a limit there is nothing to exceed.
func TestABurstThatDoesNotMatter(t *testing.T) {
	if _, err := ParseFlags([]string{"--kube-api-burst=0"}, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	_, err := ParseFlags([]string{"--help"}, &out)
	if !errors.Is(err, ErrHelp) || !strings.Contains(out.String(), "-leader-elect") {
		t.Errorf("%v\n%s", err, &out)
	}
}
