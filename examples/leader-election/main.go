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

// Command leader-election runs three managers as processes of their own, of
// which only the one that holds the Lease works, and times two hand-overs.
//
// Look at the times. A leader that is asked to stop gives the Lease back, and
// the next one takes it when it looks again. A leader that is killed cannot, so
// the next one waits until the Lease has run out. That wait is what keeps two
// from working at once, so short times are bought with risk and with requests.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

const (
	leaseDuration = 8 * time.Second
	renewDeadline = 6 * time.Second
	retryPeriod   = 500 * time.Millisecond
	leads         = "leads"
)

func main() {
	if namespace := os.Getenv("CANDIDATE_IN"); namespace != "" {
		if err := candidate(ctrl.SetupSignalHandler(), namespace); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	demo.Main(run)
}

// candidate is what each of the processes runs.
func candidate(ctx context.Context, namespace string) error {
	cfg, err := demo.Config()
	if err != nil {
		return err
	}
	options := demo.Options(namespace)
	options.LeaderElection, options.LeaderElectionID, options.LeaderElectionNamespace = true, "demo", namespace
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = ptr.To(leaseDuration), ptr.To(renewDeadline), ptr.To(retryPeriod)
	// Only safe because the process ends when the manager does.
	options.LeaderElectionReleaseOnCancel = true
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return err
	}
	// A runnable runs on the leader alone, unless it says otherwise.
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		fmt.Println(leads)
		<-ctx.Done()
		return nil
	})); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func run(ctx context.Context, _ *rest.Config, namespace string) error {
	leader := make(chan string, 3)
	candidates := map[string]*exec.Cmd{}
	defer func() {
		for _, c := range candidates {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	for _, name := range []string{"one", "two", "three"} {
		c, err := start(ctx, name, namespace, leader)
		if err != nil {
			return err
		}
		candidates[name] = c
	}
	var first string
	select {
	case first = <-leader:
	case <-ctx.Done():
		return ctx.Err()
	}
	fmt.Println("three candidates, one of them leads")

	for _, end := range []struct {
		how    string
		signal os.Signal
	}{{"asked to stop", syscall.SIGTERM}, {"killed", syscall.SIGKILL}} {
		if len(leader) > 0 {
			return fmt.Errorf("%s leads, and %s does too", first, <-leader)
		}
		begin := time.Now()
		if err := candidates[first].Process.Signal(end.signal); err != nil {
			return err
		}
		select {
		case next := <-leader:
			fmt.Printf("the leader was %s, another leads after %.1f s\n", end.how, time.Since(begin).Seconds())
			first = next
		case <-ctx.Done():
			return fmt.Errorf("no candidate took over from a leader that was %s: %w", end.how, ctx.Err())
		}
	}
	return nil
}

// start runs this program again as a candidate, and tells when it leads.
func start(ctx context.Context, name, namespace string, leader chan<- string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self)
	c.Env = append(os.Environ(), "CANDIDATE_IN="+namespace)
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.TrimSpace(lines.Text()) == leads {
				leader <- name
			}
		}
	}()
	return c, nil
}
