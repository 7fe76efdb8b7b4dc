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
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// olderDir has a folder for each version of Kubernetes beside the usual one, so
// that versions live side by side: bin/k8s/1.36.
func olderDir(minor string) string { return filepath.Join(binDir, "k8s", minor) }

func modfile(minor string) string { return filepath.Join("versions", minor+".mod") }

// older is a Kubernetes of another version than playground/go.mod's. It is
// compiled from the same sources with other modules, playground/versions/1.36.mod;
// kwok is the usual one.
type older struct {
	minor, version string
	want           string // the fingerprint
}

// minors lists the versions that can be built: the usual one last.
func minors() ([]string, error) {
	usual, err := kubernetesVersion(filepath.Join(module, "go.mod"))
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(module, modfile("*")))
	if err != nil {
		return nil, err
	}
	var list []string
	for _, file := range files {
		list = append(list, strings.TrimSuffix(filepath.Base(file), ".mod"))
	}
	slices.Sort(list)
	return append(list, minorOf(usual)), nil
}

func minorOf(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return parts[0] + "." + parts[1]
}

// newOlder looks a version up; nil means the usual one.
func newOlder(minor string) (*older, error) {
	list, err := minors()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(list, minor) {
		return nil, fmt.Errorf("there is no Kubernetes %s here: choose one of %s", minor, strings.Join(list, ", "))
	}
	if minor == list[len(list)-1] {
		return nil, nil
	}
	o := &older{minor: minor}
	if o.version, err = kubernetesVersion(filepath.Join(module, modfile(minor))); err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(module, modfile(minor)))
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(module, strings.TrimSuffix(modfile(minor), "mod")+"sum"))
	if err != nil {
		return nil, err
	}
	o.want, err = fingerprint(filepath.Join(module, "cmd", "kube"), []string{kubeFlags(o.version), quick, string(mod), string(sum)}, "")
	return o, err
}

// linkUsual makes bin/k8s/1.37 the folder bin itself.
func linkUsual(minor string) error {
	if err := os.MkdirAll(filepath.Dir(olderDir(minor)), 0o755); err != nil {
		return err
	}
	return link(filepath.Dir(olderDir(minor)), []string{minor}, func(string) string { return ".." })
}

// build compiles what is not up to date.
func (o *older) build(ctx context.Context) error {
	dir := olderDir(o.minor)
	stamp := filepath.Join(dir, stampName)
	if upToDate(stamp, o.want, append(names(), "kube", "kwok")) {
		fmt.Printf("control plane: up to date, Kubernetes %s in %s\n", o.version, dir)
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.Remove(stamp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := o.compile(ctx, dir); err != nil {
		return err
	}
	if err := compileKwok(ctx); err != nil {
		return err
	}
	if err := link(dir, append(names(), "kwok"), func(name string) string {
		if name == "kwok" {
			return filepath.Join("..", "..", name)
		}
		return "kube"
	}); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(o.want), 0o644)
}

func (o *older) compile(ctx context.Context, dir string) error {
	began := time.Now()
	screen := newScreen(os.Stderr)
	output, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	fmt.Printf("building Kubernetes %s: minutes the first time\n", o.version)
	progress := newProgress(nil)
	screen.show(progress.line)
	defer screen.clear()
	lines, err := goWith(ctx, "off", []string{
		"build", "-C", module, "-v", "-modfile=" + modfile(o.minor), quick, "-o", output + string(filepath.Separator),
		"-ldflags", "-s -w " + kubeFlags(o.version), "./cmd/kube",
	}, nil, progress.compiled)
	if err != nil {
		return fmt.Errorf("compile Kubernetes %s: %w\n%s", o.version, err, strings.Join(lines, "\n"))
	}
	fmt.Printf("compiled Kubernetes %s in %s\n", o.version, time.Since(began).Round(time.Second))
	return nil
}

// compileKwok builds kwok where the usual control plane was never built.
func compileKwok(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(binDir, "kwok")); err == nil {
		return nil
	}
	plane, err := newControlPlane(func(string) string { return "" })
	if err != nil {
		return err
	}
	kwok := slices.DeleteFunc(slices.Clone(plane.targets), func(t target) bool { return t.name != "kwok" })
	return compile(ctx, kwok, plane.ldflags, true)
}
