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
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/mycompany/pod-operator/internal/localkube"
)

const (
	// downTimeout is longer than the supervisor takes to stop its children in order.
	downTimeout = 30 * time.Second
	killTimeout = 10 * time.Second
)

// down ends the supervisor, which ends everything else.
func down(ctx context.Context, l layout, out io.Writer) error {
	s, err := readState(l)
	if err != nil {
		return err
	}
	if s == nil {
		fmt.Fprintln(out, "The playground is not up.")
		return nil
	}
	if !s.Supervisor.alive() {
		if err := s.killRest(); err != nil {
			return err
		}
		fmt.Fprintf(out, "The playground (process %d) was killed earlier; nothing of it is left running.\n", s.Supervisor.PID)
		return os.Remove(l.state())
	}
	if err := signalProcess(s.Supervisor, syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.Supervisor.waitGone(ctx, downTimeout); err != nil {
		fmt.Fprintf(out, "%v; killing it\n", err)
		if err := signalProcess(s.Supervisor, syscall.SIGKILL); err != nil {
			return err
		}
		if err := s.Supervisor.waitGone(ctx, killTimeout); err != nil {
			return err
		}
	}
	if err := s.killRest(); err != nil {
		return err
	}
	if err := os.Remove(l.state()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fmt.Fprintln(out, "The playground is down; nothing of it is left running. Its data is kept for the next \"up\".")
	return nil
}

// reset is down and a clean table.
func reset(ctx context.Context, l layout, out io.Writer) error {
	if _, err := readState(l); err != nil {
		// A damaged file names no process to stop. The lock shows whether one runs.
		if err := os.Remove(l.state()); err != nil {
			return err
		}
	}
	if err := down(ctx, l, out); err != nil {
		return err
	}
	clusters, err := l.clusters()
	if err != nil {
		return err
	}
	for _, dir := range clusters {
		if localkube.DirInUse(dir) {
			return fmt.Errorf("a playground that left no state file still uses %s: stop it first", dir)
		}
	}
	for _, path := range append(clusters, l.kubeconfig(), l.operatorKubeconfig(), l.upLog()) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "The playground's data is removed; the next \"up\" starts afresh.")
	return nil
}

// killRest ends what is left of the recorded processes. On Linux nothing is,
// because the kernel ends them with the supervisor; it may take a moment.
func (s *state) killRest() error {
	for _, p := range s.Processes {
		if err := signalProcess(p, syscall.SIGKILL); err != nil {
			return err
		}
	}
	for _, p := range s.Processes {
		if err := p.waitGone(context.Background(), killTimeout); err != nil {
			return err
		}
	}
	return nil
}

// signalProcess signals this very process, or none.
func signalProcess(p process, signal syscall.Signal) error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop %s (process %d): %w", p.Name, p.PID, err)
	}
	return nil
}

func (p process) waitGone(ctx context.Context, timeout time.Duration) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		return !p.alive(), nil
	})
	if err != nil {
		return fmt.Errorf("%s (process %d) is still there: %w", p.Name, p.PID, err)
	}
	return nil
}
