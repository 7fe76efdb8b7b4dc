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

package shards

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var operators atomic.Int64

// operator is a process with a user of its own.
type operator struct {
	*localkube.Process
	user string
}

// start runs the operator with the given flags until the test ends.
func start(t *testing.T, flags ...string) *operator {
	t.Helper()
	user := fmt.Sprintf("operator-%d", operators.Add(1))
	config, err := suite.Cluster.RESTConfigFor(user, group)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := suite.Cluster.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	process, err := suite.Cluster.RunProcess(localkube.ProcessSpec{
		Name: user, Path: suite.Program(t),
		Args: append([]string{
			"--kubeconfig=" + kubeconfig, "--leader-election-namespace=" + testkit.OperatorNamespace,
			"--health-probe-bind-address=0", "--webhook-bind-address=0",
		}, flags...),
	})
	if err != nil {
		t.Fatalf("start %s: %v", user, err)
	}
	t.Cleanup(func() { process.Stop(testkit.Patience) })
	return &operator{Process: process, user: user}
}

// startSharded starts an operator with short Leases, for tests in which one dies.
func startSharded(t *testing.T, count int) *operator {
	t.Helper()
	return start(t, fmt.Sprintf("--shards=%d", count), "--shard-lease-duration=3s")
}

// holders is who holds each shard.
func holders(t *testing.T, count int) map[int]string {
	t.Helper()
	return heldIn(t, testkit.OperatorNamespace, "pod-operator", count)
}

func heldIn(t *testing.T, namespace, name string, count int) map[int]string {
	t.Helper()
	var leases coordinationv1.LeaseList
	if err := suite.Client.List(t.Context(), &leases, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	held := map[int]string{}
	for _, lease := range leases.Items {
		var n, of int
		if _, err := fmt.Sscanf(lease.Name, name+"-shard-%d-of-%d", &n, &of); err != nil || of != count {
			continue
		}
		if h := lease.Spec.HolderIdentity; h != nil && *h != "" {
			held[n] = *h
		}
	}
	return held
}

// shared waits until all shards are held by so many operators, evenly.
func shared(t *testing.T, count, operators int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%d operators hold %d shards", operators, count), func() error {
		held := holders(t, count)
		load := map[string]int{}
		for _, h := range held {
			load[h]++
		}
		if len(held) != count || len(load) != operators {
			return fmt.Errorf("%d are held, as %v", len(held), load)
		}
		for h, n := range load {
			if n < count/operators || n > (count+operators-1)/operators {
				return fmt.Errorf("%s has %d: %v", h, n, load)
			}
		}
		return nil
	})
}
