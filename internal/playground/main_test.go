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
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
)

// commandEnv makes the test binary the command itself, which is how the tests
// run it: as a process, with an exit code and signals.
const commandEnv = "PLAYGROUND_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// project is a project of its own: our config and binaries, and a .playground
// that has nothing to do with the developer's.
type project struct {
	layout
	t *testing.T
}

func newProject(t *testing.T) *project {
	t.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	p := &project{layout: layout{root: t.TempDir()}, t: t}
	if err := os.Symlink(filepath.Join(repository, "config"), filepath.Join(p.root, "config")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.binDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl"} {
		if err := os.Symlink(filepath.Join(repository, "bin", name), p.bin(name)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// withOperator builds the operator as it is now; bin/ may hold an old one.
func (p *project) withOperator() *project {
	p.t.Helper()
	build := exec.CommandContext(p.t.Context(), "go", "build", "-o", p.bin("manager"), "../../cmd/manager")
	if out, err := build.CombinedOutput(); err != nil {
		p.t.Fatalf("build the operator: %v\n%s", err, out)
	}
	return p
}

func (p *project) command(args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], append([]string{"--root=" + p.root}, args...)...)
	command.Env = append(os.Environ(), commandEnv+"=1")
	return command
}

// run returns what the command said and its exit code.
func (p *project) run(args ...string) (string, int) {
	p.t.Helper()
	command := p.command(args...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return out.String(), command.ProcessState.ExitCode()
}

func (p *project) mustRun(args ...string) string {
	p.t.Helper()
	out, code := p.run(args...)
	if code != 0 {
		p.t.Fatalf("%v ended with %d:\n%s", args, code, out)
	}
	return out
}

// traces are what must be gone afterwards.
func (p *project) traces() []process {
	p.t.Helper()
	s, err := readState(p.layout)
	if err != nil || s == nil {
		p.t.Fatalf("state file: %v, %v", s, err)
	}
	if len(s.Processes) < 5 {
		p.t.Fatalf("the state file names %d processes only", len(s.Processes))
	}
	return append(s.Processes, s.Supervisor)
}

func (p *project) waitGone(traces []process) {
	p.t.Helper()
	eventually(p.t, "nothing is left", func() error {
		for _, left := range traces {
			if left.alive() {
				return fmt.Errorf("%s (process %d) is there", left.Name, left.PID)
			}
			if left.Port == 0 {
				continue
			}
			listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", left.Port))
			if err != nil {
				return err
			}
			if err := listener.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

const patience = time.Minute

func eventually(t *testing.T, what string, ask func() error) {
	t.Helper()
	within(t, patience, what, ask)
}

// within is eventually for what takes its time.
func within(t *testing.T, limit time.Duration, what string, ask func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: still not after %s: %v", what, limit, last)
	}
}
