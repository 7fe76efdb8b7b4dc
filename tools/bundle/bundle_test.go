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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shippedBundle = "../../bundle"

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"*.Dockerfile", "manifests/*", "metadata/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no %s in %s: %v", pattern, dir, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[strings.TrimPrefix(path, dir)] = string(text)
		}
	}
	return files
}

// The bundle is what config/ gives; make bundle writes it again.
func TestTheBundleIsUpToDate(t *testing.T) {
	made := t.TempDir()
	if err := run([]string{"--root", "../..", "--out", made}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, shippedBundle), read(t, made)); diff != "" {
		t.Errorf("run make bundle (-shipped +made):\n%s", diff)
	}
}

// In production, the kinds of tutorials are left out, and with them their examples and
// the right to create Deployments.
func TestABundleWithoutTheKindsOfTutorials(t *testing.T) {
	made := t.TempDir()
	if err := run([]string{"--root", "../..", "--config", "production", "--out", made}); err != nil {
		t.Fatal(err)
	}
	files := read(t, made)
	for name := range files {
		for _, kind := range []string{"imoocpod", "helloworld", "collector"} {
			if strings.Contains(name, kind) {
				t.Errorf("it has %s", name)
			}
		}
	}
	csv := files["/manifests/pod-operator.clusterserviceversion.yaml"]
	if !strings.Contains(csv, "--controllers=podmanager") {
		t.Error("the operator is to reconcile PodManagers only")
	}
	for _, text := range []string{"kind: HelloWorld", `"kind": "Collector"`, "- deployments\n"} {
		if strings.Contains(csv, text) {
			t.Errorf("the ClusterServiceVersion has %q", text)
		}
	}
}

func TestTheValidatorsAreContentWithTheBundle(t *testing.T) {
	if _, err := judge(shippedBundle); err != nil {
		t.Error(err)
	}
}

// The validators are really asked: what is broken is refused.
func TestTheValidatorsRefuse(t *testing.T) {
	const csv = "manifests/pod-operator.clusterserviceversion.yaml"
	for name, test := range map[string]struct{ file, old, next, want string }{
		"a version that is none":     {csv, "\n  version: 0.1.0", "\n  version: one", "one"},
		"an unknown capability":      {csv, "capabilities: Seamless Upgrades", "capabilities: Magic", "capabilities"},
		"an example that is no JSON": {csv, `"apiVersion": "apps.mycompany.com/v1",`, `"apiVersion"`, "invalid example"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(shippedBundle)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, test.file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), test.old) {
				t.Fatalf("it has no %q any more", test.old)
			}
			changed := strings.Replace(string(text), test.old, test.next, 1)
			if err := os.WriteFile(filepath.Join(dir, test.file), []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := judge(dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("they say %v, want something about %q", err, test.want)
			}
		})
	}
}
