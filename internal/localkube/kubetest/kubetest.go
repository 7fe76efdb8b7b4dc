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

// Package kubetest starts a localkube cluster for a test and ends it with the
// test. A component that dies on its own fails the test that runs meanwhile.
package kubetest

import (
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// Start starts a cluster that is stopped when the test ends. A test that ends
// a component on purpose uses Kill, or reads Died itself.
func Start(tb testing.TB, opts localkube.Options) *localkube.Cluster {
	tb.Helper()
	if opts.Log == nil {
		opts.Log = logWriter{tb}
	}
	cluster, err := localkube.Start(tb.Context(), opts)
	if err != nil {
		tb.Fatalf("start a cluster: %v", err)
	}
	tb.Cleanup(func() {
		select {
		case err := <-cluster.Died():
			tb.Errorf("during the test, %v", err)
		default:
		}
		if err := cluster.Stop(); err != nil {
			tb.Errorf("stop the cluster: %v", err)
		}
	})
	return cluster
}

type logWriter struct{ tb testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.tb.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}
