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

// Command runtests runs "go test -json" with the arguments it is given and
// shows what happens: a line for each package that has finished, what runs for
// long, the output of what failed, and at the end the number of tests and the
// slowest ten. A test that failed runs once more, alone (flaky.go).
//
// It needs the standard library alone, so that it compiles in a moment.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}

// heartbeat is how often a line says what is still running.
const heartbeat = 15 * time.Second

func run(ctx context.Context, args []string, out io.Writer) error {
	r := newResults(out, packages(ctx, args))
	err := goTest(ctx, args, r)
	if ctx.Err() == nil {
		r.runAgain(func(pkg, test string, again *results) error {
			return goTest(ctx, alone(args, pkg, test), again)
		})
	}
	r.summary()
	if err != nil && !r.onlyFlaky() {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// goTest runs go test and has its events added to results.
func goTest(ctx context.Context, args []string, results *results) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	// The tests get the same signal and have time to stop what they started.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	return errors.Join(follow(stdout, results), cmd.Wait())
}

// follow reads events until the output ends, with a line about what is running
// now and then.
func follow(stdout io.Reader, results *results) error {
	lines := make(chan string)
	var readErr error
	go func() {
		defer close(lines)
		reader := bufio.NewReader(stdout)
		for {
			line, err := reader.ReadString('\n')
			if line != "" {
				lines <- line
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					readErr = err
				}
				return
			}
		}
	}()
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return readErr
			}
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				fmt.Fprint(results.out, line) // go's own words, such as a download
				continue
			}
			results.add(e)
		case <-ticker.C:
			results.heartbeat()
		}
	}
}

// packages counts what go test was asked for, so that progress has a total. The
// number is for show: without it, progress has none.
func packages(ctx context.Context, args []string) int {
	list := []string{"list"}
	for _, arg := range args {
		if isPackage(arg) || strings.HasPrefix(arg, "-tags") {
			list = append(list, arg)
		}
	}
	cmd := exec.CommandContext(ctx, "go", list...)
	out, err := cmd.Output()
	if err != nil {
		return 0
	}
	return len(strings.Fields(string(out)))
}

func isPackage(arg string) bool { return strings.HasPrefix(arg, "./") }
