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
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// compileTime is how long a target may compile the operator before it runs it.
const compileTime = 5 * time.Minute

// TestMakeTargets runs the targets that a tutorial's reader types, on a playground
// without an operator.
func TestMakeTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the operator for make run: make test-rest runs it")
	}
	p := newProject(t).withMakefile()
	t.Cleanup(func() { p.run("down") })
	contains(t, p.mustRun("up", "--detach", "--without-operator"), "make run", "bin/playground page", "kubectl apply -f config/samples/")

	t.Run("make install keeps every version served", func(t *testing.T) {
		contains(t, p.mustMake("install"), "on the playground", "applied CustomResourceDefinition podmanagers.apps.mycompany.com")
		served := p.mustRun("kubectl", "--", "get", "crd", podManagerCRD, "-o", "jsonpath={.spec.versions[*].served}")
		if served != "true true" {
			t.Errorf("of v1 and v1alpha1 are served: %s", served)
		}
	})
	t.Run("make run runs the operator on free ports", func(t *testing.T) {
		operator := p.start("run")
		defer operator.end()
		within(t, compileTime, "it works", operator.hasSaid("the page at https://127.0.0.1:", "Starting workers"))
		p.mustRun("kubectl", "--", "apply", "-f", filepath.Join(p.root, "config", "samples", "apps_v1_podmanager.yaml"))
		p.mustRun("kubectl", "--", "wait", "--for=condition=Ready", "pm/my-pod-manager", "--timeout=60s")
		contains(t, p.mustRun("page"), "https://127.0.0.1:", "/#token=")

		contains(t, p.mustMake("deploy"), "applied ClusterRole", "run no containers")
		p.mustRun("kubectl", "--", "delete", "pod", "my-pod-manager-1")
		p.mustRun("kubectl", "--", "wait", "--for=create", "pod/my-pod-manager-1", "--timeout=60s")

		contains(t, p.mustMake("uninstall"), `"podmanagers.apps.mycompany.com" deleted`)
		if pods := p.mustRun("kubectl", "--", "get", "pods", "-o", "name"); pods != "" {
			t.Errorf("make uninstall leaves %s", pods)
		}
		p.mustMake("install")
		// It begins with make uninstall, for which the operator has to run.
		contains(t, p.mustMake("undeploy"), `"podmanagers.apps.mycompany.com" deleted`, `"pod-operator-system" deleted`, "make down up")
	})
}

// TestMakeRunBesideAnotherOperator: on a playground with its own operator, make run
// says so, and works nevertheless.
func TestMakeRunBesideAnotherOperator(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the operator for make run: make test-rest runs it")
	}
	p := newProject(t).withMakefile()
	t.Cleanup(func() { p.run("down") })
	p.mustRun("up", "--detach")
	operator := p.start("run")
	defer operator.end()
	within(t, compileTime, "it works", operator.hasSaid("Starting workers"))
	contains(t, operator.said(), "WARNING: the playground's own operator is active too", "bin/playground up --detach --without-operator",
		"the page at https://127.0.0.1:")
}

// TestMakeDebug connects to make debug as a reader does, stops the operator at a
// breakpoint, lets it go on, and ends it.
func TestMakeDebug(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the operator for the debugger: make test-rest runs it")
	}
	p := newProject(t).withMakefile()
	t.Cleanup(func() { p.run("down") })
	p.mustRun("up", "--detach", "--without-operator")
	p.mustRun("kubectl", "--", "apply", "-f", filepath.Join(p.root, "config", "samples", "apps_v1_podmanager.yaml"))

	port, err := localkube.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	debugger := p.start("debug", fmt.Sprintf("DEBUG_ADDR=127.0.0.1:%d", port))
	defer debugger.end()
	connect := fmt.Sprintf("bin/dlv connect 127.0.0.1:%d", port)
	within(t, compileTime, "it says how to connect, and listens", debugger.hasSaid("connect with: "+connect, "API server listening at"))

	client := exec.CommandContext(t.Context(), "bash", "-c", connect+" --allow-non-terminal-interactive")
	client.Dir = p.root
	client.Stdin = strings.NewReader(`break fleet.(*Reconciler).Reconcile
continue
print req.NamespacedName.Name
clearall
exit -c
`)
	seen, err := client.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\nmake debug says:\n%s", connect, err, seen, debugger.said())
	}
	contains(t, string(seen), "[Breakpoint 1] github.com/mycompany/pod-operator/internal/controller/fleet.(*Reconciler).Reconcile", `"my-pod-manager"`)
	p.mustRun("kubectl", "--", "wait", "--for=condition=Ready", "pm/my-pod-manager", "--timeout=60s")

	// Ctrl-C, which a terminal sends to make and to the debugger, and not to the operator.
	left := p.debugged()
	if len(left) == 0 {
		t.Fatal("no process runs bin/manager-debug")
	}
	_ = syscall.Kill(-debugger.command.Process.Pid, syscall.SIGINT)
	eventually(t, "nothing is left", func() error {
		if left := p.debugged(); len(left) > 0 {
			return fmt.Errorf("processes %v run bin/manager-debug", left)
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		return listener.Close()
	})
}

// debugged are the processes that run the operator that make debug built.
func (p *project) debugged() []string {
	p.t.Helper()
	programs, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		p.t.Fatal(err)
	}
	var found []string
	for _, link := range programs {
		if program, err := os.Readlink(link); err == nil && program == p.bin("manager-debug") {
			found = append(found, filepath.Base(filepath.Dir(link)))
		}
	}
	return found
}

// withMakefile makes the project complete: all files of the repository, but for
// what is built and the developer's own playground.
func (p *project) withMakefile() *project {
	p.t.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		p.t.Fatal(err)
	}
	link := func(from, to string, skip ...string) {
		entries, err := os.ReadDir(from)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, e := range entries {
			if slices.Contains(skip, e.Name()) {
				continue
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil && !errors.Is(err, os.ErrExist) {
				p.t.Fatal(err)
			}
		}
	}
	link(repository, p.root, "bin", "dist", ".playground", "test-output")
	link(filepath.Join(repository, "bin"), p.binDir(), "playground")
	build := exec.CommandContext(p.t.Context(), "go", "build", "-o", p.bin("playground"), "../../cmd/playground")
	if out, err := build.CombinedOutput(); err != nil {
		p.t.Fatalf("build the playground: %v\n%s", err, out)
	}
	return p
}

func (p *project) make(target string, variables ...string) *exec.Cmd {
	command := exec.CommandContext(p.t.Context(), "make", append([]string{"--no-print-directory", target}, variables...)...)
	command.Dir = p.root
	command.Env = append(os.Environ(), "KUBECONFIG=", "MAKEFLAGS=", "MAKELEVEL=")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return command
}

func (p *project) mustMake(target string) string {
	p.t.Helper()
	out, err := p.make(target).CombinedOutput()
	if err != nil {
		p.t.Fatalf("make %s: %v\n%s", target, err, out)
	}
	return string(out)
}

// target is a target that runs until it is ended.
type target struct {
	command *exec.Cmd
	mu      sync.Mutex
	out     bytes.Buffer
	done    chan struct{}
}

func (p *project) start(name string, variables ...string) *target {
	p.t.Helper()
	run := &target{command: p.make(name, variables...), done: make(chan struct{})}
	out, in := io.Pipe()
	run.command.Stdout, run.command.Stderr = in, in
	if err := run.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(run.done)
		buffer := make([]byte, 4096)
		for {
			n, err := out.Read(buffer)
			run.mu.Lock()
			run.out.Write(buffer[:n])
			run.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { _ = in.CloseWithError(run.command.Wait()) }() // its end is what we ask for
	return run
}

func (r *target) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// hasSaid returns a check that all words were said.
func (r *target) hasSaid(words ...string) func() error {
	return func() error {
		for _, word := range words {
			if said := r.said(); !strings.Contains(said, word) {
				return fmt.Errorf("no %q in:\n%s", word, said)
			}
		}
		return nil
	}
}

// end ends make and what it runs.
func (r *target) end() {
	_ = syscall.Kill(-r.command.Process.Pid, syscall.SIGTERM)
	<-r.done
}
