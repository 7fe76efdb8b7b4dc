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

package playground

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
)

// TestUpOnCurrentCluster runs the operator on a cluster that the playground did
// not start.
func TestUpOnCurrentCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts one more cluster: make test-rest runs it")
	}
	cluster := kubetest.Start(t, localkube.Options{})
	p := newProject(t).withOperator()
	command := p.command("up", "--cluster=current")
	command.Env = append(command.Env, "KUBECONFIG="+cluster.KubeconfigPath())
	var out lockedBuffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	eventually(t, "the sample is ready", out.has("my-pod-manager: 3 pods wanted, 3 there, 3 ready", "Ctrl-C stops it"))
	served := kubectl(t, p, cluster, "get", "crd", "podmanagers.apps.mycompany.com", "-o", "jsonpath={.spec.versions[?(@.served==true)].name}")
	if served != "v1" {
		t.Errorf("without webhooks, %q is served: want v1 alone", served)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, out.String())
	}
	contains(t, out.String(), "the CRDs and the PodManagers are still there")

	t.Run("a cluster that has an operator is refused", func(t *testing.T) {
		kubectl(t, p, cluster, "create", "deployment", operatorDeployment, "-n", operatorNamespace, "--image=controller")
		command := p.command("up", "--cluster=current")
		command.Env = append(command.Env, "KUBECONFIG="+cluster.KubeconfigPath())
		said, err := command.CombinedOutput()
		if err == nil {
			t.Error("it ran beside the other operator")
		}
		contains(t, string(said), "the cluster has an operator", "make undeploy")
	})
}

func TestUpOnCurrentClusterNeedsAContext(t *testing.T) {
	p := newProject(t)
	if err := os.WriteFile(p.bin("manager"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	command := p.command("up", "--cluster=current")
	command.Env = append(command.Env, "KUBECONFIG=/dev/null")
	said, err := command.CombinedOutput()
	if err == nil {
		t.Error("it ran without a cluster")
	}
	contains(t, string(said), "no current context", "CLUSTER=current")
}

func kubectl(t *testing.T, p *project, cluster *localkube.Cluster, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), p.bin("kubectl"), args...)
	command.Env = append(command.Environ(), "KUBECONFIG="+cluster.KubeconfigPath())
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// lockedBuffer is written by a process while the test reads it.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// has returns a check that all words were written.
func (b *lockedBuffer) has(words ...string) func() error {
	return func() error {
		for _, word := range words {
			if text := b.String(); !strings.Contains(text, word) {
				return fmt.Errorf("no %q in:\n%s", word, text)
			}
		}
		return nil
	}
}
