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
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// detach starts "up" in a session of its own, so that it outlives the terminal,
// and passes on what it says until it is ready or gone.
func detach(ctx context.Context, l layout, opts upOptions, out io.Writer) error {
	if err := l.checkParts(!opts.noOperator); err != nil {
		return err
	}
	if running, err := lookForEarlier(l, out); err != nil || running {
		return err
	}
	if err := os.MkdirAll(l.dir(), 0o700); err != nil {
		return err
	}
	log, err := os.Create(l.upLog())
	if err != nil {
		return err
	}
	defer log.Close()
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(executable, opts.arguments(l)...)
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return fmt.Errorf("start the playground in the background: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Wait() // that it ended is all there is to know
	}()
	return follow(ctx, l, out, ended)
}

// arguments repeat the flags for the process in the background.
func (o upOptions) arguments(l layout) []string {
	args := []string{
		"up", "--root=" + l.root, "--in-background",
		"--port=" + strconv.Itoa(o.port), "--nodes=" + strconv.Itoa(o.nodes),
		"--audit=" + strconv.FormatBool(o.audit), "--without-operator=" + strconv.FormatBool(o.noOperator),
	}
	if l.kubernetes != "" {
		args = append(args, "--kubernetes="+l.kubernetes)
	}
	if len(o.operatorArgs) > 0 {
		args = append(append(args, "--"), o.operatorArgs...)
	}
	return args
}

var errBackgroundEnded = errors.New("the playground did not come up; what it said stands above")

// follow copies the log of the background process. When we are interrupted, it
// stays: it was asked to.
func follow(ctx context.Context, l layout, out io.Writer, ended <-chan struct{}) error {
	log, err := os.Open(l.upLog())
	if err != nil {
		return err
	}
	defer log.Close()
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		// First ask, then read: what was said before the answer is in the log.
		s, stateErr := readState(l)
		gone := false
		select {
		case <-ended:
			gone = true
		default:
		}
		if _, err := io.Copy(out, log); err != nil {
			return false, err
		}
		if gone {
			return false, errBackgroundEnded
		}
		return stateErr == nil && s != nil && !s.Ready.IsZero(), nil
	})
}
