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

package upgrade

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// operator is a build that runs.
type operator struct {
	cmd  *exec.Cmd
	done chan error
	log  string
}

// start runs a build of the operator with webhooks, and waits until the API
// server trusts them.
func start(t *testing.T, binary string, options manager.Options) *operator {
	t.Helper()
	login, err := suite.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := suite.Cluster.WriteKubeconfig(kubeconfig, login); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{done: make(chan error, 1), log: log.Name()}
	o.cmd = exec.Command(binary, "--kubeconfig="+kubeconfig, "--health-probe-bind-address="+options.ProbeAddress,
		"--webhook-bind-address="+options.Webhooks.Address, "--webhook-url="+options.Webhooks.URL,
		"--leader-election-namespace="+testkit.OperatorNamespace)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { o.done <- errors.Join(o.cmd.Wait(), log.Close()) }()
	t.Cleanup(func() {
		_ = o.cmd.Process.Kill()
		if text, err := os.ReadFile(o.log); err == nil && t.Failed() {
			t.Logf("the operator said:\n%s", text[max(0, len(text)-4000):])
		}
	})
	if err := testkit.WaitServing(t.Context(), options); err != nil {
		t.Fatalf("the operator does not become ready: %v", err)
	}
	return o
}

// stop ends the operator as a rollout of its Deployment would.
func (o *operator) stop(t *testing.T) {
	t.Helper()
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		select {
		case err := <-o.done:
			return true, err
		default:
			return false, nil
		}
	})
	if err != nil {
		t.Fatalf("the operator does not end well: %v", err)
	}
}
