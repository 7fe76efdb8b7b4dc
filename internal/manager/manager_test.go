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
	"net"
	"net/http"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// TestScheme knows what the operator reads and writes.
func TestScheme(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, gvk := range []string{"PodManager", "PodManagerList"} {
		if !scheme.Recognizes(appsv1.GroupVersion.WithKind(gvk)) {
			t.Errorf("it does not know %s", gvk)
		}
	}
}

// A caller that adds controllers has more types.
func TestTheCallersSchemeIsTaken(t *testing.T) {
	own := runtime.NewScheme()
	if scheme, err := (&Options{Scheme: own}).scheme(); err != nil || scheme != own {
		t.Errorf("it takes another scheme, %v", err)
	}
	scheme, err := (&Options{}).scheme()
	if err != nil || !scheme.Recognizes(appsv1.GroupVersion.WithKind("PodManager")) {
		t.Errorf("without one it does not know PodManagers, %v", err)
	}
}

// TestTheCacheIsSmall: of pods it keeps what planners read, of revisions ours.
func TestTheCacheIsSmall(t *testing.T) {
	options := cacheOptions(Options{}, nil)
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if len(options.DefaultNamespaces) > 0 {
		t.Errorf("without a flag only %v is watched", options.DefaultNamespaces)
	}
	seen := map[string]cache.ByObject{}
	for obj, by := range options.ByObject {
		switch obj.(type) {
		case *corev1.Pod:
			seen["pods"] = by
		case *kappsv1.ControllerRevision:
			seen["revisions"] = by
		}
		if gvk, err := apiutil.GVKForObject(obj, scheme); err != nil || gvk.Group != apiextensionsv1.GroupName && !clientgoscheme.Scheme.Recognizes(gvk) {
			t.Errorf("without the CRD of %s the operator does not start: %v", gvk, err)
		}
	}
	slim, err := seen["pods"].Transform(&corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data"}}}})
	if err != nil || len(slim.(*corev1.Pod).Spec.Volumes) > 0 {
		t.Errorf("pods are kept whole: %+v, %v", slim, err)
	}
	theirs, ours := labels.Set{}, labels.Set{podrender.LabelManagedBy: podrender.ManagedBy}
	if by := seen["revisions"]; by.Label == nil || by.Label.Matches(theirs) || !by.Label.Matches(ours) {
		t.Errorf("revisions are picked by %v", by.Label)
	}
}

func TestTheCacheKeepsToItsNamespaces(t *testing.T) {
	options := cacheOptions(Options{Namespaces: []string{"a", "b"}}, nil)
	if _, ok := options.DefaultNamespaces["a"]; !ok || len(options.DefaultNamespaces) != 2 {
		t.Errorf("it watches %v", options.DefaultNamespaces)
	}
}

// TestMetricsAreGuarded unless the options say otherwise.
func TestMetricsAreGuarded(t *testing.T) {
	for name, test := range map[string]struct {
		scheme string
		o      Options
		want   int
		major  int
	}{
		"as they are by default": {"https", Options{SecureMetrics: true}, http.StatusUnauthorized, 1},
		"with HTTP/2":            {"https", Options{SecureMetrics: true, EnableHTTP2: true}, http.StatusUnauthorized, 2},
		"plain":                  {"http", Options{}, http.StatusOK, 1},
		"secure, asked plainly":  {"http", Options{SecureMetrics: true}, http.StatusBadRequest, 1},
	} {
		t.Run(name, func(t *testing.T) {
			test.o.MetricsAddress = startMetrics(t, test.o)
			client := &http.Client{Transport: &http.Transport{
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
			}}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.scheme+"://"+test.o.MetricsAddress+"/metrics", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != test.want || response.ProtoMajor != test.major {
				t.Errorf("they are answered %s over %s, want %d over HTTP/%d", response.Status, response.Proto, test.want, test.major)
			}
		})
	}
}

// startMetrics serves metrics, of a manager without an API server, and returns the address.
func startMetrics(t *testing.T, o Options) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.MetricsAddress = l.Addr().String()
	_ = l.Close()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: ptr.To(time.Duration(0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := addMetrics(mgr, nil, o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return o.MetricsAddress
}
