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
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// layout knows where things are, from the project's root.
type layout struct {
	root string
	// kubernetes is the version that was asked for, 1.36; empty means the usual one.
	kubernetes string
}

func (l layout) bin(name string) string { return filepath.Join(l.root, "bin", name) }
func (l layout) binDir() string         { return filepath.Join(l.root, "bin") }
func (l layout) planeDir() string       { return localkube.VersionDir(l.binDir(), l.kubernetes) }
func (l layout) manifests() string      { return filepath.Join(l.root, "config", "playground") }
func (l layout) sample() string {
	return filepath.Join(l.root, "config", "samples", "apps_v1_podmanager.yaml")
}

// What the playground keeps lies in one folder. Tests keep theirs in "run"
// beside it, which is not ours.
func (l layout) dir() string                { return filepath.Join(l.root, ".playground") }
func (l layout) state() string              { return filepath.Join(l.dir(), "state.json") }
func (l layout) kubeconfig() string         { return filepath.Join(l.dir(), "kubeconfig") }
func (l layout) operatorKubeconfig() string { return filepath.Join(l.dir(), "operator.kubeconfig") }
func (l layout) upLog() string              { return filepath.Join(l.dir(), "up.log") }

// cluster has the data of the cluster. Each version has its own: an older API
// server and an older etcd do not read what newer ones wrote.
func (l layout) cluster() string {
	if l.kubernetes == "" {
		return filepath.Join(l.dir(), "cluster")
	}
	return filepath.Join(l.dir(), "cluster-"+l.kubernetes)
}

// operatorLog is where the cluster has the output of the operator's process.
func (l layout) operatorLog() string {
	return filepath.Join(l.cluster(), "logs", operatorName+".log")
}

// clusters are those of all versions.
func (l layout) clusters() ([]string, error) {
	return filepath.Glob(filepath.Join(l.dir(), "cluster*"))
}

// findRoot looks for the project above the working folder and above the
// command itself, so that it works from anywhere.
func findRoot() (layout, error) {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if executable, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(executable); err == nil {
			starts = append(starts, filepath.Dir(resolved))
		}
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			l := layout{root: dir}
			if _, err := os.Stat(l.manifests()); err == nil {
				return l, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return layout{}, errors.New("run it inside the project: there is no folder with config/playground above this one")
}

// checkParts says what is missing before anything is started. That the control
// plane is built, localkube checks.
func (l layout) checkParts(operator bool) error {
	parts := map[string]string{l.manifests(): "the manifests to install"}
	if operator {
		parts[l.sample()] = "the sample"
		parts[l.bin("manager")] = `the operator; "make binaries" builds it`
	}
	for path, what := range parts {
		if _, err := os.Stat(path); err != nil {
			relative, relErr := filepath.Rel(l.root, path)
			if relErr != nil {
				relative = path
			}
			return fmt.Errorf("%s is missing: %s", relative, what)
		}
	}
	return nil
}
