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
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWebhookFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		want Webhooks
		// bad is a part of the error, or empty.
		bad string
	}{
		"by default the operator keeps its own certificate": {
			want: Webhooks{Address: ":9443", CertLifetime: 24 * time.Hour, Configuration: "pod-operator-admission", Identity: "pod-operator-identity"},
		},
		"outside the cluster": {
			args: []string{"--webhook-bind-address=127.0.0.1:1234", "--webhook-url=https://127.0.0.1:1234"},
			want: Webhooks{Address: "127.0.0.1:1234", URL: "https://127.0.0.1:1234", CertLifetime: 24 * time.Hour, Configuration: "pod-operator-admission", Identity: "pod-operator-identity"},
		},
		"with cert-manager": {
			args: []string{"--webhook-cert-path=/certs", "--webhook-cert-lifetime=0"},
			want: Webhooks{Address: ":9443", CertDir: "/certs", Configuration: "pod-operator-admission", Identity: "pod-operator-identity"},
		},
		"turned off, nothing else matters": {
			args: []string{"--webhook-bind-address=0", "--webhook-url=nonsense"},
			want: Webhooks{Address: "0", URL: "nonsense", CertLifetime: 24 * time.Hour, Configuration: "pod-operator-admission", Identity: "pod-operator-identity"},
		},
		"an address without a port": {
			args: []string{"--webhook-bind-address=localhost"},
			bad:  `--webhook-bind-address is "localhost": give HOST:PORT or :PORT, or 0 to turn it off`,
		},
		"a port beyond all ports": {
			args: []string{"--webhook-bind-address=:99999"},
			bad:  `--webhook-bind-address is ":99999": give HOST:PORT or :PORT, or 0 to turn it off`,
		},
		"a URL without TLS": {
			args: []string{"--webhook-url=http://127.0.0.1:9443"},
			bad:  `--webhook-url is "http://127.0.0.1:9443": give https://HOST:PORT`,
		},
		"a URL with a path": {
			args: []string{"--webhook-url=https://127.0.0.1:9443/convert"},
			bad:  `--webhook-url is "https://127.0.0.1:9443/convert": give https://HOST:PORT`,
		},
		"another's certificate for our own address": {
			args: []string{"--webhook-url=https://127.0.0.1:9443", "--webhook-cert-path=/certs"},
			bad:  "--webhook-url needs a certificate of the operator's own: leave --webhook-cert-path out",
		},
		"a caller's name without its CA": {
			args: []string{"--webhook-client-name=kube-apiserver"},
			bad:  "--webhook-client-name needs --webhook-client-ca-file",
		},
		"OLM writes the configurations": {
			args: []string{"--webhook-cert-path=/certs", "--webhook-configuration=", "--webhook-cert-lifetime=0"},
			want: Webhooks{Address: ":9443", CertDir: "/certs", Identity: "pod-operator-identity"},
		},
		"nothing says where the operator is called": {
			args: []string{"--webhook-configuration="},
			bad:  "--webhook-configuration is empty: then another program keeps the certificate, in --webhook-cert-path",
		},
		"a certificate for a moment": {
			args: []string{"--webhook-cert-lifetime=1ms"},
			bad:  "--webhook-cert-lifetime is 1ms: it must be at least 1s",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := ParseFlags(tt.args, io.Discard)
			if tt.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tt.bad) {
					t.Errorf("error %v, want %q", err, tt.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, o.Webhooks); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}
