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

// Package chart tests charts/pod-operator with the real helm: what it renders
// over many values, that the values' schema refuses bad ones, that it says the
// same as config/, and that fleets live through the life of a release.
package chart

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// As config/default calls them, so that names can be compared.
const (
	release   = "pod-operator"
	namespace = testkit.OperatorNamespace
)

// helm runs bin/helm with folders of its own.
type helm struct {
	testing.TB
	home, kubeconfig string
}

func newHelm(t testing.TB, kubeconfig string) *helm {
	t.Helper()
	if _, err := os.Stat(filepath.Join(testkit.Root(), "bin", "helm")); err != nil {
		t.Fatalf("no helm: make bin/helm builds it: %v", err)
	}
	return &helm{TB: t, home: t.TempDir(), kubeconfig: kubeconfig}
}

// try runs helm and returns what it printed on each stream.
func (h *helm) try(args ...string) (string, error) {
	h.Helper()
	cmd := exec.CommandContext(h.Context(), filepath.Join(testkit.Root(), "bin", "helm"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+h.kubeconfig, "HOME="+h.home,
		"HELM_CACHE_HOME="+h.home, "HELM_CONFIG_HOME="+h.home, "HELM_DATA_HOME="+h.home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), errors.Join(err, errors.New(stderr.String()))
	}
	return stdout.String(), nil
}

func (h *helm) run(args ...string) string {
	h.Helper()
	out, err := h.try(args...)
	if err != nil {
		h.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func chartDir() string { return filepath.Join(testkit.Root(), "charts", "pod-operator") }

// values writes values into a file and returns the arguments that name it.
func values(t testing.TB, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--values", path}
}

// template renders the chart.
func (h *helm) template(text string) []*unstructured.Unstructured {
	h.Helper()
	args := slices.Concat([]string{"template", release, chartDir(), "--namespace", namespace, "--kube-version", "1.37.1"}, values(h, text))
	return decode(h, h.run(args...))
}

func decode(t testing.TB, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("what helm renders is no YAML: %v", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// find returns the one object of a kind whose name ends so.
func find(t testing.TB, objects []*unstructured.Unstructured, kind, suffix string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == kind && strings.HasSuffix(object.GetName(), suffix) {
			return object
		}
	}
	t.Fatalf("no %s …%s", kind, suffix)
	return nil
}
