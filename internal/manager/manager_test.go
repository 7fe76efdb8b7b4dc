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
	"crypto/tls"
	"slices"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

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
	secure := metricsOptions(Options{MetricsAddress: ":8443", SecureMetrics: true}, nil)
	if !secure.SecureServing || secure.FilterProvider == nil {
		t.Errorf("they are readable without rights: %+v", secure)
	}
	config := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	for _, change := range secure.TLSOpts {
		change(config)
	}
	if slices.Contains(config.NextProtos, "h2") {
		t.Error("HTTP/2 is served unasked")
	}
	if plain := metricsOptions(Options{MetricsAddress: ":8080"}, nil); plain.SecureServing || plain.FilterProvider != nil {
		t.Errorf("plain metrics are guarded: %+v", plain)
	}
	if own := metricsOptions(Options{SecureMetrics: true, MetricsCertDir: "/certs/"}, &ownCertificate{}); len(own.TLSOpts) > 1 || own.CertDir != "/certs" {
		t.Errorf("certificates come from %q", own.CertDir)
	}
	if h2 := metricsOptions(Options{SecureMetrics: true, EnableHTTP2: true}, nil); len(h2.TLSOpts) > 0 {
		t.Error("HTTP/2 was asked for and is not served")
	}
}
