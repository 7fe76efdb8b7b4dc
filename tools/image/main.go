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

// Command image builds the operator's image without Docker and without a
// registry: it cross-compiles the binary, lays it on a base of its own making
// (certificates, a user, nothing else) and writes a multi-architecture OCI
// layout, the same as a tar archive, and a list of what is in it (SPDX). The
// binaries and the base stay beside them, from which the Dockerfile makes the same
// image.
//
// The same commit gives the same digest, wherever it is built: paths are
// trimmed, times are the commit's, and the certificates come from a module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stamp is what the binary and the image say of themselves.
type stamp struct {
	version, commit string
	date            time.Time
}

type options struct {
	root, out, name string
	program         string // the package whose binary goes into the image
	platforms       []string
	stamp           stamp
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var o options
	var platforms, version, commit, date string
	fs := flag.NewFlagSet("image", flag.ContinueOnError)
	fs.StringVar(&o.root, "root", "..", "The project's folder.")
	fs.StringVar(&o.out, "out", "dist/image", "Where to write, in the project's folder.")
	fs.StringVar(&o.name, "name", "controller:latest", "The image's name.")
	fs.StringVar(&o.program, "package", "./cmd/manager", "What to build, in the project's folder. The end to end tests have images of their own.")
	fs.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "What to build for.")
	fs.StringVar(&version, "version", "", "The version to stamp. Empty asks git.")
	fs.StringVar(&commit, "commit", "", "The commit to stamp. Empty asks git.")
	fs.StringVar(&date, "date", "", "The date to stamp, in RFC 3339. Empty asks git for the commit's.")
	if err := fs.Parse(args); err != nil {
		return err
	}
	o.platforms = strings.Split(platforms, ",")
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if o.stamp, err = newStamp(ctx, o.root, version, commit, date); err != nil {
		return err
	}
	return build(ctx, o)
}

// newStamp asks git for what was not given.
func newStamp(ctx context.Context, root, version, commit, date string) (stamp, error) {
	git := func(given string, args ...string) (string, error) {
		if given != "" {
			return given, nil
		}
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w (outside a repository give --version, --commit and --date)", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	version, err1 := git(version, "describe", "--tags", "--always", "--dirty")
	commit, err2 := git(commit, "rev-parse", "HEAD")
	date, err3 := git(date, "log", "-1", "--format=%cI")
	if err := errors.Join(err1, err2, err3); err != nil {
		return stamp{}, err
	}
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return stamp{}, fmt.Errorf("the date %q is not in RFC 3339, like 2026-01-02T03:04:05Z: %w", date, err)
	}
	return stamp{version: version, commit: commit, date: at.UTC()}, nil
}

// tags are those of the Makefile.
const tags = "grpcnotrace"

// compile builds the static binary for a platform.
func compile(ctx context.Context, o options, goos, goarch, to string) error {
	const pkg = "github.com/mycompany/pod-operator/internal/version"
	flags := fmt.Sprintf("-s -w -X %s.Version=%s -X %s.Commit=%s -X %s.Date=%s",
		pkg, o.stamp.version, pkg, o.stamp.commit, pkg, o.stamp.date.Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags="+tags, "-buildvcs=false", "-ldflags="+flags, "-o", to, o.program)
	cmd.Dir = o.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compile for %s/%s: %w", goos, goarch, err)
	}
	return nil
}
