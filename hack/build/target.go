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
	"runtime"
	"slices"
	"strings"
	"sync"
)

// target is one program.
type target struct {
	name  string // of the binary
	title string // what people call it
	path  string // of its package, from the root
}

// ours are the programs under cmd/.
func ours() []target {
	return []target{
		{name: "manager", title: "the operator", path: "./cmd/manager"},
		{name: "playground", title: "the playground", path: "./cmd/playground"},
		{name: "kubectl-podmanager", title: "the kubectl plugin", path: "./cmd/kubectl-podmanager"},
	}
}

func titles(targets []target) string {
	all := make([]string, len(targets))
	for i, t := range targets {
		all[i] = t.title
	}
	return strings.Join(all, ", ")
}

func paths(targets []target) []string {
	all := make([]string, len(targets))
	for i, t := range targets {
		all[i] = t.path
	}
	return all
}

// quick compiles what only the control plane imports without inlining and without
// debug information: a fifth less time for a third of all packages. Packages that
// our own programs and tests share keep the flags of plain go commands.
const quick = "-gcflags=k8s.io/kubernetes/...=-l -dwarf=false"

// arguments are those of the one go build for all targets. The flags are the
// same whatever the targets are, because go links a program again when they
// change. There is no symbol table: what is to be debugged, "make debug"
// compiles anew.
func arguments(targets []target, output, ldflags string) []string {
	return append([]string{"build", "-v", quick, "-o", output, "-ldflags", "-s -w " + ldflags}, paths(targets)...)
}

// standardLibrary names packages that between them import nearly all that we
// need of it. It is compiled while modules are downloaded.
func standardLibrary() []string {
	return []string{
		"net/http/pprof", "net/http/httputil", "html/template", "encoding/gob", "encoding/xml", "archive/tar", "archive/zip",
		"go/format", "log/slog", "testing", "os/user", "compress/zlib", "crypto/ed25519", "expvar", "net/rpc", "time/tzdata",
	}
}

// prepare downloads the modules, compiles the standard library meanwhile, and
// returns the packages that go build will compile: those that are not in the
// build cache. The programs themselves are left out, because go calls them
// stale whenever they are not installed, and the standard library, because it
// is being compiled.
func prepare(ctx context.Context, screen *screen, targets []target) ([]string, error) {
	downloads := &downloads{}
	screen.show(downloads.line)
	defer screen.clear()
	var library sync.WaitGroup
	library.Go(func() {
		// What fails here fails again in build, which says so.
		_, _ = goCommand(ctx, append([]string{"build"}, standardLibrary()...), nil, nil)
	})
	var stale []string
	args := []string{"list", quick, "-deps", "-f", "{{if and .Stale (not .Standard) (ne .Name \"main\")}}{{.ImportPath}}{{end}}"}
	output, err := goCommand(ctx, append(args, paths(targets)...), func(line string) { stale = append(stale, line) }, downloads.saw)
	library.Wait()
	if err != nil {
		return nil, fmt.Errorf("download what %s need: %w\n%s", titles(targets), err, strings.Join(output, "\n"))
	}
	return stale, nil
}

// build compiles straight into bin/: go leaves alone what is up to date there,
// and puts a new file in the place of one that is running.
func build(ctx context.Context, screen *screen, targets []target, ldflags string, stale []string) error {
	progress := newProgress(stale)
	screen.show(progress.line)
	defer screen.clear()
	output, err := goCommand(ctx, arguments(targets, binDir+string(filepath.Separator), ldflags), nil, progress.compiled)
	if err != nil {
		return fmt.Errorf("compile %s: %w\n%s", titles(targets), err, strings.Join(output, "\n"))
	}
	return nil
}

// keptLines is how much of go's own output an error shows.
const keptLines = 40

// goCommand runs go in the workspace of both modules. Each line of its standard
// error goes to saw, which reports whether it was progress; the others are
// returned.
func goCommand(ctx context.Context, args []string, out func(string), saw func(string) bool) ([]string, error) {
	workspace, err := filepath.Abs(filepath.Join("hack", "build.work"))
	if err != nil {
		return nil, err
	}
	return goWith(ctx, workspace, args, out, saw)
}

// goWith is goCommand in any workspace.
func goWith(ctx context.Context, workspace string, args []string, out func(string), saw func(string) bool) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK="+workspace)
	if args[0] == "list" {
		// go downloads as many modules at a time as it may use processors, and
		// downloading waits for the network.
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOMAXPROCS=%d", max(16, runtime.NumCPU())))
	} else if os.Getenv("GOGC") == "" {
		// A compiler lives for seconds: collecting less often costs memory (600 MB
		// for the largest package) and saves a tenth of the time.
		cmd.Env = append(cmd.Env, "GOGC=400")
	}
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
			if saw == nil || !saw(line) {
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
