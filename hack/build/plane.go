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
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// names are the programs of Kubernetes, called by symlinks.
func names() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}
}

// controlPlane is Kubernetes and kwok, compiled or, but for kwok, ready-made.
type controlPlane struct {
	title   string
	targets []target
	ldflags string
	// readyMade is the folder that holds the programs of Kubernetes; empty
	// means that they are compiled.
	readyMade string
	want      string // the fingerprint
}

// newControlPlane looks at the module and at the environment.
func newControlPlane(getenv func(string) string) (*controlPlane, error) {
	version, err := kubernetesVersion(filepath.Join(module, "go.mod"))
	if err != nil {
		return nil, err
	}
	kwok := target{name: "kwok", title: "kwok", path: "./" + module + "/cmd/kwok"}
	c := &controlPlane{title: "Kubernetes " + version, ldflags: kubeFlags(version), targets: []target{
		{name: "kube", title: "Kubernetes " + version, path: "./" + module + "/cmd/kube"}, kwok,
	}}
	dir, found, err := readyMade(getenv, version)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		c.readyMade, c.title, c.targets = dir, "Kubernetes "+found+" from "+dir, []target{kwok}
	}
	c.want, err = fingerprint(module, arguments(c.targets, "", c.ldflags), c.readyMade)
	return c, err
}

// readyMade finds a folder with the programs of Kubernetes, and their version.
// KUBE_BIN is meant for this command, so it has to be right; KUBEBUILDER_ASSETS
// is often set for envtest, which has no controller manager and no scheduler.
func readyMade(getenv func(string) string, newest string) (dir, version string, err error) {
	if dir = getenv("KUBE_BIN"); dir != "" {
		version, err = inspect(dir, newest)
		return dir, version, err
	}
	if dir = getenv("KUBEBUILDER_ASSETS"); dir == "" {
		return "", "", nil
	}
	if version, err = inspect(dir, newest); err != nil {
		fmt.Fprintf(os.Stderr, "KUBEBUILDER_ASSETS is not used: %v\n", err)
		return "", "", nil
	}
	return dir, version, nil
}

// oldest is the first minor version of Kubernetes 1 on which the operator works.
const oldest = 34

// inspect checks that a folder has all programs of Kubernetes, of a version
// that the operator supports, and returns that version.
func inspect(dir, newest string) (string, error) {
	var missing []string
	for _, name := range names() {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("%s has no %s: give a folder with %s, or none to have them compiled",
			dir, strings.Join(missing, ", "), strings.Join(names(), ", "))
	}
	out, err := exec.Command(filepath.Join(dir, "kube-apiserver"), "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s/kube-apiserver for its version: %w", dir, err)
	}
	match := regexp.MustCompile(`v1\.(\d+)\.\S+`).FindStringSubmatch(string(out))
	if match == nil {
		return "", fmt.Errorf("%s/kube-apiserver --version says %q, which names no version", dir, strings.TrimSpace(string(out)))
	}
	minor, err := strconv.Atoi(match[1])
	latest, newestErr := strconv.Atoi(strings.SplitN(newest, ".", 3)[1])
	if err := errors.Join(err, newestErr); err != nil {
		return "", err
	}
	if minor < oldest || minor > latest {
		return "", fmt.Errorf("%s has Kubernetes %s: give one from 1.%d to 1.%d", dir, match[0], oldest, latest)
	}
	return match[0], nil
}

// upToDate reports whether the last build was of the same sources and all of it
// is still there.
func (c *controlPlane) upToDate() bool {
	return upToDate(filepath.Join(binDir, stampName), c.want, c.programs())
}

// programs are the files in bin/ that the control plane consists of.
func (c *controlPlane) programs() []string {
	programs := names()
	for _, t := range c.targets {
		programs = append(programs, t.name)
	}
	return programs
}

// begin removes the stamp, so that a build that is interrupted is done again.
func (c *controlPlane) begin() error {
	err := os.Remove(filepath.Join(binDir, stampName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// finish makes the symlinks and writes the stamp.
func (c *controlPlane) finish() error {
	to := func(string) string { return "kube" } // relative, so that bin/ can be moved
	if c.readyMade != "" {
		dir, err := filepath.Abs(c.readyMade)
		if err != nil {
			return err
		}
		to = func(name string) string { return filepath.Join(dir, name) }
	}
	if err := link(binDir, names(), to); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(binDir, stampName), []byte(c.want), 0o644)
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

// kubeFlags stamp the version into the two packages that report it, as the
// release build does: the servers' and the client's.
func kubeFlags(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, variable := range [][2]string{
			{"gitVersion", version}, {"gitMajor", parts[0]}, {"gitMinor", parts[1]}, {"gitTreeState", "clean"},
		} {
			flags = append(flags, "-X", fmt.Sprintf("%s.%s=%s", pkg, variable[0], variable[1]))
		}
	}
	return strings.Join(flags, " ")
}

// link makes the symlinks. Each takes the place of the old one at once, because
// a test may be starting it right now.
func link(dir string, names []string, to func(name string) string) error {
	for _, name := range names {
		fresh := filepath.Join(dir, "."+name+".new")
		if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Symlink(to(name), fresh); err != nil {
			return err
		}
		if err := os.Rename(fresh, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// machine is what the compiler builds with and for.
func machine() string { return runtime.Version() + " " + runtime.GOOS + " " + runtime.GOARCH }
