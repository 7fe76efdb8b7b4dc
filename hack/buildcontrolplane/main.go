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

// Command buildcontrolplane compiles the module playground/ into bin/: one
// binary that is etcd, kube-apiserver, kube-controller-manager, kube-scheduler
// and kubectl, with a symlink for each name, and kwok.
//
// It does so when there is something to do: bin/.controlplane.stamp keeps a
// hash of the module's sources and of everything else that shapes the result.
// It needs the standard library alone, so that it runs before anything else of
// ours is built.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	module    = "playground"
	binDir    = "bin"
	stampName = ".controlplane.stamp"
	lockName  = ".controlplane.lock"
)

// names are the programs in the one binary, called by symlinks to it.
func names() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "buildcontrolplane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
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

	version, err := kubernetesVersion(filepath.Join(module, "go.mod"))
	if err != nil {
		return err
	}
	targets := []target{
		{name: "kube", title: "Kubernetes " + version, ldflags: kubeFlags(version)},
		{name: "kwok", title: "kwok", ldflags: "-s -w"},
	}
	want, err := fingerprint(module, targets)
	if err != nil {
		return err
	}
	stamp := filepath.Join(binDir, stampName)
	if upToDate(stamp, want) {
		fmt.Printf("control plane: up to date (Kubernetes %s)\n", version)
		return nil
	}
	return build(ctx, targets, stamp, want)
}

func build(ctx context.Context, targets []target, stamp, want string) error {
	began := time.Now()
	if err := os.Remove(stamp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	screen := newScreen(os.Stderr)
	for _, t := range targets {
		if err := t.build(ctx, screen); err != nil {
			return err
		}
	}
	if err := link(binDir, names()); err != nil {
		return err
	}
	if err := os.WriteFile(stamp, []byte(want), 0o644); err != nil {
		return err
	}
	fmt.Printf("control plane: built in %s\n", time.Since(began).Round(time.Second))
	return nil
}

// kubernetesVersion reads it from go.mod, where it is written once.
func kubernetesVersion(goMod string) (string, error) {
	data, err := os.ReadFile(goMod)
	if err != nil {
		return "", err
	}
	match := regexp.MustCompile(`(?m)^\s*(?:require\s+)?k8s\.io/kubernetes (v\d+\.\d+\.\S+)`).FindSubmatch(data)
	if match == nil {
		return "", fmt.Errorf("%s does not require k8s.io/kubernetes", goMod)
	}
	return string(match[1]), nil
}

// kubeFlags stamp the version into the two packages that tell it, as the
// release build does: the servers' and the client's.
func kubeFlags(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, variable := range [][2]string{
			{"gitVersion", version}, {"gitMajor", parts[0]}, {"gitMinor", parts[1]}, {"gitTreeState", "clean"},
		} {
			flags = append(flags, "-X", fmt.Sprintf("%s.%s=%s", pkg, variable[0], variable[1]))
		}
	}
	return strings.Join(flags, " ")
}

// link makes the symlinks, relative, so that bin/ can be moved. Each takes the
// place of the old one at once: somebody may be starting it right now.
func link(dir string, names []string) error {
	for _, name := range names {
		fresh := filepath.Join(dir, "."+name+".new")
		if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Symlink("kube", fresh); err != nil {
			return err
		}
		if err := os.Rename(fresh, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
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
		fmt.Fprintln(os.Stderr, "control plane: another build is running, waiting for it")
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return func() { _ = f.Close() }, nil
}
