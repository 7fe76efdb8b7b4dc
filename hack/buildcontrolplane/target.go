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

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// target is one command of the module.
type target struct {
	name    string // of the command and of the binary
	title   string // what the progress line calls it
	ldflags string
}

func (t target) arguments(output string) []string {
	return []string{"build", "-trimpath", "-v", "-ldflags", t.ldflags, "-o", output, "./cmd/" + t.name}
}

// build compiles beside the old binary and then takes its place, so that one
// that is running or a build that is interrupted do no harm.
func (t target) build(ctx context.Context, screen *screen) error {
	stale, err := t.stale(ctx, screen)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(binDir)
	if err != nil {
		return err
	}
	fresh := filepath.Join(dir, "."+t.name+".new")
	defer os.Remove(fresh)
	progress := newProgress(t.title, stale)
	screen.show(progress.line)
	defer screen.clear()
	output, err := goCommand(ctx, t.arguments(fresh), nil, progress.compiled)
	if err != nil {
		return fmt.Errorf("compile %s: %w\n%s", t.title, err, strings.Join(output, "\n"))
	}
	return os.Rename(fresh, filepath.Join(dir, t.name))
}

// stale lists the packages that go build will compile: those that are not in
// the build cache. The command itself is left out, because go calls it stale
// whenever it is not installed. Asking for the packages downloads the modules.
func (t target) stale(ctx context.Context, screen *screen) ([]string, error) {
	downloads := newDownloads(t.title)
	screen.show(downloads.line)
	defer screen.clear()
	var stale []string
	args := []string{"list", "-trimpath", "-deps", "-f", "{{if and .Stale (ne .Name \"main\")}}{{.ImportPath}}{{end}}", "./cmd/" + t.name}
	output, err := goCommand(ctx, args, func(line string) { stale = append(stale, line) }, downloads.saw)
	if err != nil {
		return nil, fmt.Errorf("look at the packages of %s: %w\n%s", t.title, err, strings.Join(output, "\n"))
	}
	return stale, nil
}

// keptLines is how much of go's own words an error shows.
const keptLines = 40

// goCommand runs go in the module. Each line of its standard error goes to
// saw, which says whether it was progress; the others are returned.
func goCommand(ctx context.Context, args []string, out func(string), saw func(string) bool) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var other []string
	done := make(chan error)
	go func() {
		done <- eachLine(stderr, func(line string) {
			if !saw(line) {
				other = append(other, line)
			}
		})
	}()
	err = eachLine(stdout, func(line string) {
		if out != nil && line != "" {
			out(line)
		}
	})
	err = errors.Join(err, <-done, cmd.Wait())
	return slices.Clone(other[max(0, len(other)-keptLines):]), err
}

func eachLine(r io.Reader, do func(string)) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		do(scanner.Text())
	}
	return scanner.Err()
}
