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

package certs

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func mustIssue(t *testing.T, holder string, at time.Time, lifetime time.Duration, hosts ...string) *pair {
	t.Helper()
	p, err := issue(holder, hosts, at, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPairIsTrustedForItsHostsAlone(t *testing.T) {
	p := mustIssue(t, "pod-1", noon, time.Hour, "hook.system.svc", "127.0.0.1")
	roots := x509.NewCertPool()
	roots.AddCert(p.ca)
	tests := map[string]struct {
		host string
		at   time.Time
		ok   bool
	}{
		"its name":                   {host: "hook.system.svc", at: noon, ok: true},
		"its address":                {host: "127.0.0.1", at: noon, ok: true},
		"a clock that is behind":     {host: "127.0.0.1", at: noon.Add(-30 * time.Minute), ok: true},
		"another name":               {host: "kubernetes.default.svc", at: noon},
		"after its lifetime":         {host: "hook.system.svc", at: noon.Add(61 * time.Minute)},
		"long before it was made":    {host: "hook.system.svc", at: noon.Add(-2 * time.Hour)},
		"an address that is not its": {host: "127.0.0.2", at: noon},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := p.certificate.Leaf.Verify(x509.VerifyOptions{DNSName: tt.host, Roots: roots, CurrentTime: tt.at})
			if (err == nil) != tt.ok {
				t.Errorf("verify: %v", err)
			}
		})
	}
	if p.ca.PermittedDNSDomainsCritical != true || len(p.ca.PermittedIPRanges) != 1 || !p.ca.MaxPathLenZero {
		t.Error("the CA could vouch for more than its hosts")
	}
}

func TestMerge(t *testing.T) {
	mine := mustIssue(t, "me", noon, time.Hour, "h").ca
	before := mustIssue(t, "me", noon.Add(-time.Minute), time.Hour, "h").ca
	other := mustIssue(t, "other", noon.Add(-2*time.Minute), time.Hour, "h").ca
	expired := mustIssue(t, "gone", noon.Add(-3*time.Hour), time.Hour, "h").ca
	foreign := foreignCA(t)
	bundle := func(cas ...*x509.Certificate) []byte {
		var b []byte
		for _, ca := range cas {
			b = append(b, encodePEM(ca)...)
		}
		return b
	}
	tests := map[string]struct {
		bundle []byte
		mine   []*x509.Certificate
		want   []byte
	}{
		"an empty bundle":                              {nil, []*x509.Certificate{mine}, bundle(mine)},
		"one that has it already":                      {bundle(mine), []*x509.Certificate{mine}, bundle(mine)},
		"another replica's stays":                      {bundle(other), []*x509.Certificate{mine}, bundle(other, mine)},
		"the order does not depend on who comes first": {bundle(mine, other), []*x509.Certificate{mine}, bundle(other, mine)},
		"what expired goes":                            {bundle(expired, other), []*x509.Certificate{mine}, bundle(other, mine)},
		"my own that I no longer serve with goes":      {bundle(before), []*x509.Certificate{mine}, bundle(mine)},
		"my own that I still serve with stays":         {bundle(before), []*x509.Certificate{before, mine}, bundle(before, mine)},
		"a CA that is not ours stays, even expired":    {bundle(foreign, expired), []*x509.Certificate{mine}, bundle(foreign, mine)},
		"something that is no PEM goes":                {[]byte("\n"), []*x509.Certificate{mine}, bundle(mine)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(string(tt.want), string(merge(tt.bundle, "me", tt.mine, noon))); diff != "" {
				t.Errorf("bundle (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a crowd of vanished replicas leaves its newest", func(t *testing.T) {
		var crowd []byte
		for i := range 2 * maxBundle {
			crowd = append(crowd, encodePEM(mustIssue(t, fmt.Sprint("r", i), noon.Add(time.Duration(i-200)*time.Second), time.Hour, "h").ca)...)
		}
		merged := merge(crowd, "me", []*x509.Certificate{mine}, noon)
		if n := bytes.Count(merged, []byte("BEGIN")); n != maxBundle || !bytes.HasSuffix(merged, encodePEM(mine)) {
			t.Errorf("%d certificates, mine last: %v", n, bytes.HasSuffix(merged, encodePEM(mine)))
		}
	})
}

// TestRotationHasNoGap walks a Keeper through three rotations minute by minute.
// At every moment the certificate that is served has to be trusted by the
// bundles as they were a settling time ago: that is what the slowest API
// server may still believe.
func TestRotationHasNoGap(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	k, err := NewKeeper(nil, nil, Options{Holder: "me", Lifetime: DefaultLifetime, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	var bundles [][]*x509.Certificate
	served := map[string]bool{}
	for minute := 0; minute < 40*60; minute++ {
		now := clock.Now()
		cas, err := k.prepare([]string{"h"}, now)
		if err != nil {
			t.Fatal(err)
		}
		bundles = append(bundles, cas)
		if wait := k.advance(now); wait <= 0 {
			t.Fatalf("minute %d: the next step is due and was not taken", minute)
		}
		certificate, err := k.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		served[certificate.Leaf.SerialNumber.String()] = true
		for _, believed := range [][]*x509.Certificate{bundles[max(0, minute-int(k.settle().Minutes()))], bundles[minute]} {
			roots := x509.NewCertPool()
			for _, ca := range believed {
				roots.AddCert(ca)
			}
			if _, err := certificate.Leaf.Verify(x509.VerifyOptions{DNSName: "h", Roots: roots, CurrentTime: now}); err != nil {
				t.Fatalf("minute %d: %v", minute, err)
			}
		}
		if len(cas) > 3 {
			t.Fatalf("minute %d: %d CAs of one replica", minute, len(cas))
		}
		clock.Step(time.Minute)
	}
	if len(served) != 4 {
		t.Errorf("%d certificates in 40 hours, want 4", len(served))
	}
	if got := len(bundles[len(bundles)-1]); got != 1 {
		t.Errorf("at rest the bundle holds %d CAs of this replica, want 1", got)
	}
}

func TestNewHostsGetACertificateAtOnce(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	k, err := NewKeeper(nil, nil, Options{Holder: "me", Lifetime: time.Hour, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.GetCertificate(nil); err == nil {
		t.Error("a certificate before anything was read")
	}
	for _, tt := range []struct{ hosts, want []string }{
		{nil, []string{"localhost"}},
		{[]string{"a"}, []string{"a"}},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{nil, []string{"a", "b"}}, // uninstalled: there are no callers, so nothing has to change
		{[]string{"b"}, []string{"a", "b"}},
	} {
		if _, err := k.prepare(tt.hosts, noon); err != nil {
			t.Fatal(err)
		}
		got, err := k.GetCertificate(nil)
		if err != nil || !slices.Equal(got.Leaf.DNSNames, tt.want) {
			t.Errorf("for %v: %v %v", tt.hosts, got, err)
		}
	}
}

func TestTrustedWaitsForTheBundles(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	k, err := NewKeeper(nil, nil, Options{Holder: "me", Lifetime: time.Hour, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.prepare([]string{"a"}, clock.Now()); err != nil || k.Trusted() == nil {
		t.Errorf("trusted before any bundle was written, or %v", err)
	}
	k.advance(clock.Now())
	if k.Trusted() == nil {
		t.Error("trusted before the bundles reached the API servers")
	}
	clock.Step(propagation)
	if err := k.Trusted(); err != nil {
		t.Error(err)
	}
}

func TestPatches(t *testing.T) {
	bundle := func(old []byte) []byte { return append(old, "new"...) }
	encoded := base64.StdEncoding.EncodeToString
	tests := map[string]struct {
		object, base string
		want         []patch
	}{
		"every webhook of a configuration": {
			object: `{metadata: {resourceVersion: "7"}, webhooks: [{clientConfig: {service: {name: s, namespace: n, path: /a}}},
				{clientConfig: {caBundle: ` + encoded([]byte("old")) + `, service: {name: s, namespace: n, path: /b}}}]}`,
			want: []patch{
				{"add", "/metadata/resourceVersion", "7"},
				{"add", "/webhooks/0/clientConfig/caBundle", []byte("new")},
				{"add", "/webhooks/1/clientConfig/caBundle", []byte("oldnew")},
			},
		},
		"the conversion of a CRD, called by address": {
			object: `{metadata: {resourceVersion: "7"}, spec: {conversion: {webhook: {clientConfig: {service: {name: s, namespace: n, path: /convert}}}}}}`,
			base:   "https://127.0.0.1:9443",
			want: []patch{
				{"add", "/metadata/resourceVersion", "7"},
				{"replace", "/spec/conversion/webhook/clientConfig", map[string]any{
					"url": "https://127.0.0.1:9443/convert", "caBundle": []byte("new"),
				}},
			},
		},
		"an address that is right already": {
			object: `{metadata: {resourceVersion: "7"}, spec: {conversion: {webhook: {clientConfig: {url: "https://127.0.0.1:9443/convert"}}}}}`,
			base:   "https://127.0.0.1:9443",
			want: []patch{
				{"add", "/metadata/resourceVersion", "7"},
				{"add", "/spec/conversion/webhook/clientConfig/caBundle", []byte("new")},
			},
		},
		"a path that is not the webhook's": {
			object: `{metadata: {resourceVersion: "7"}, webhooks: [{name: known, clientConfig: {service: {name: s, namespace: n, path: /gone}}},
				{name: other, clientConfig: {service: {name: s, namespace: n, path: /its-own}}}]}`,
			want: []patch{
				{"add", "/metadata/resourceVersion", "7"},
				{"add", "/webhooks/0/clientConfig/service/path", "/known"},
				{"add", "/webhooks/0/clientConfig/caBundle", []byte("new")},
				{"add", "/webhooks/1/clientConfig/caBundle", []byte("new")},
			},
		},
		"a path that is not the webhook's, called by address": {
			object: `{metadata: {resourceVersion: "7"}, webhooks: [{name: known, clientConfig: {url: "https://127.0.0.1:9443/gone"}}]}`,
			base:   "https://127.0.0.1:9443",
			want: []patch{
				{"add", "/metadata/resourceVersion", "7"},
				{"replace", "/webhooks/0/clientConfig", map[string]any{"url": "https://127.0.0.1:9443/known", "caBundle": []byte("new")}},
			},
		},
		"an address that another program wrote, without a path": {
			object: `{metadata: {resourceVersion: "7"}, webhooks: [{name: known, clientConfig: {url: "https://127.0.0.1:9443", caBundle: ` + encoded([]byte("old")) + `}},
				{name: other, clientConfig: {url: "https://127.0.0.1:9443/its-own"}}]}`,
			want: []patch{
				{"add", "/metadata/resourceVersion", "7"},
				{"replace", "/webhooks/0/clientConfig", map[string]any{"url": "https://127.0.0.1:9443/known", "caBundle": []byte("oldnew")}},
				{"add", "/webhooks/1/clientConfig/caBundle", []byte("new")},
			},
		},
		"a CRD without conversion": {object: `{spec: {conversion: {strategy: None}}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.object), &object.Object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, patches(object, tt.base, map[string]string{"known": "/known"}, bundle)); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, bad := range []string{"http://127.0.0.1:1", "127.0.0.1:1", "https://127.0.0.1:1/path", "https://"} {
		if _, err := NewKeeper(nil, nil, Options{URL: bad, Lifetime: time.Hour}); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if _, err := NewKeeper(nil, nil, Options{}); err == nil {
		t.Error("a lifetime of nothing was taken")
	}
}

// foreignCA is an expired CA that is not ours.
func foreignCA(t *testing.T) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made, err := template("me", noon.Add(-3*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	made.Subject.Organization = []string{"another"}
	ca, err := sign(made, made, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestPublication(t *testing.T) {
	bundle := func([]byte) []byte { return []byte("new") }
	version := patch{"add", "/metadata/resourceVersion", "7"}
	tests := map[string]struct {
		object string
		want   []patch
	}{
		"an empty ConfigMap": {
			object: `{metadata: {resourceVersion: "7"}}`,
			want:   []patch{version, {"add", "/data", map[string]string{"ca.crt": "new"}}},
		},
		"other keys stay": {
			object: `{metadata: {resourceVersion: "7"}, data: {other: "1", ca.crt: old}}`,
			want:   []patch{version, {"add", "/data/ca.crt", "new"}},
		},
		"at rest nothing is written": {object: `{metadata: {resourceVersion: "7"}, data: {ca.crt: new}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.object), &object.Object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, publication(object, bundle)); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostsAreThoseOfTargetsAndServices(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    []string
	}{
		"called by address":       {Options{URL: "https://127.0.0.1:9443", Hosts: []string{"m.n.svc"}}, []string{"127.0.0.1", "m.n.svc"}},
		"called through Services": {Options{Hosts: []string{"m.n.svc"}}, []string{"m.n.svc", "w.n.svc"}},
		"webhooks alone":          {Options{}, []string{"w.n.svc"}},
	}
	object := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{
		map[string]any{"clientConfig": map[string]any{"service": map[string]any{"name": "w", "namespace": "n"}}},
	}}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := &Keeper{options: tt.options}
			if diff := cmp.Diff(tt.want, k.hosts([]*unstructured.Unstructured{object})); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAConfigMapThatCannotBeWrittenDelaysNoWebhook: the rotation goes on, and
// the error is returned to be logged.
func TestAConfigMapThatCannotBeWrittenDelaysNoWebhook(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	k, err := NewKeeper(refusing{}, nil, Options{
		Holder: "me", Lifetime: time.Hour, Clock: clock, ConfigMap: types.NamespacedName{Namespace: "n", Name: "ca"},
	})
	if err != nil {
		t.Fatal(err)
	}
	wait, err := k.Tend(t.Context())
	if err == nil || wait > republish {
		t.Errorf("wait %s, %v: want an error, and another attempt within %s", wait, err, republish)
	}
	clock.Step(propagation)
	if err := k.Trusted(); err != nil {
		t.Error(err)
	}
}

// refusing reads nothing.
type refusing struct{ client.Reader }

func (refusing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("forbidden")
}
