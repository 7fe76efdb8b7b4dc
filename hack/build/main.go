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

// Command build compiles the project into bin/: our own programs, Kubernetes
// and kwok.
//
// Kubernetes is one binary that is etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kubectl, with a symlink for each
// name. All programs of both modules are compiled by one "go build" in the
// workspace hack/build.work, so that a package they share is compiled once.
// bin/.controlplane.stamp keeps a hash of everything that shapes the control
// plane; while it holds, only our own programs are compiled.
//
// With -k8s, Kubernetes is one of the older versions of playground/versions, in
// a folder of its own.
//
// With KUBE_BIN (or KUBEBUILDER_ASSETS) set, the programs of Kubernetes are
// taken from that folder instead.
//
// It needs the standard library alone, so that it runs before anything else of
// ours is built.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const (
	module    = "playground"
	binDir    = "bin"
	stampName = ".controlplane.stamp"
	lockName  = ".controlplane.lock"

	// versionVariable holds what our programs say to --version.
	versionVariable = "github.com/mycompany/pod-operator/internal/version.Version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	version := flags.String("version", "", "what our programs say to --version")
	only := flags.String("only", "", "compile only these: ours, control-plane")
	k8s := flags.String("k8s", "", "build this version of Kubernetes, 1.36, into bin/k8s/1.36 instead of the usual one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *only != "" && *only != "ours" && *only != "control-plane" {
		return errors.New("usage: build [-version V] [-only ours|control-plane] [-k8s 1.36]")
	}
	if _, err := os.Stat(filepath.Join(module, "go.mod")); err != nil {
		return fmt.Errorf("run it from the repository's root: %w", err)
	}
	if err := os.MkdirAll(binDir, 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(binDir, lockName))
	if err != nil {
		return err
	}
	defer unlock()
	if *k8s != "" {
		return compileOlder(ctx, *version, *only, *k8s)
	}
	return compileAll(ctx, *version, *only)
}

// compileOlder is compileAll with another version of Kubernetes.
func compileOlder(ctx context.Context, version, only, minor string) error {
	plane, err := newOlder(minor)
	if err != nil {
		return err
	}
	if plane == nil { // it is the usual one
		return errors.Join(linkUsual(minor), compileAll(ctx, version, only))
	}
	if only != "control-plane" {
		if err := compileAll(ctx, version, "ours"); err != nil {
			return err
		}
	}
	if only == "ours" {
		return nil
	}
	return plane.build(ctx)
}

// compileAll finds out what there is to do and does it.
func compileAll(ctx context.Context, version, only string) error {
	getenv := os.Getenv
	if only == "ours" { // then nothing of Kubernetes is looked for
		getenv = func(string) string { return "" }
	}
	plane, err := newControlPlane(getenv)
	if err != nil {
		return err
	}
	var targets []target
	if only != "control-plane" {
		targets = append(targets, ours()...)
	}
	planeDue := only != "ours" && !plane.upToDate()
	if planeDue {
		targets = append(targets, plane.targets...)
	}
	if planeDue {
		if err := plane.begin(); err != nil {
			return err
		}
	}
	if len(targets) > 0 {
		if err := compile(ctx, targets, plane.ldflags+" -X "+versionVariable+"="+version, planeDue); err != nil {
			return err
		}
	}
	switch {
	case planeDue:
		if err := plane.finish(); err != nil {
			return err
		}
		fmt.Println("control plane: " + plane.title)
	case only != "ours":
		fmt.Println("control plane: up to date, " + plane.title)
	}
	return nil
}

// compile shows its progress. Where there is much to do, it first downloads and
// counts; where there is not, counting would take longer than compiling.
func compile(ctx context.Context, targets []target, ldflags string, much bool) error {
	began := time.Now()
	screen := newScreen(os.Stderr)
	var stale []string
	if much {
		var err error
		if stale, err = prepare(ctx, screen, targets); err != nil {
			return err
		}
	}
	if err := build(ctx, screen, targets, ldflags, stale); err != nil {
		return err
	}
	fmt.Printf("compiled %s in %s\n", titles(targets), time.Since(began).Round(time.Second))
	return nil
}

// lock keeps two builds from doing the same work at the same time: the second
// waits and finds it done.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		fmt.Fprintln(os.Stderr, "another build is running, waiting for it")
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return func() { _ = f.Close() }, nil
}
