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
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKubernetesVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		goMod   string
		want    string
		wantErr string
	}{
		"the version stands in the require block": {
			goMod: "module x\n\nrequire (\n\tk8s.io/kubectl v0.0.0\n\tk8s.io/kubernetes v1.37.1\n)\n",
			want:  "v1.37.1",
		},
		"a replace of another module does not count": {
			goMod:   "module x\n\nreplace k8s.io/api => k8s.io/api v0.37.1\n",
			wantErr: "does not require k8s.io/kubernetes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "go.mod")
			write(t, path, tc.goMod)
			got, err := kubernetesVersion(path)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got error %v, want one that says %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestKubeFlagsStampBothPackages(t *testing.T) {
	got := kubeFlags("v1.37.1")
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.37.1",
		"-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/client-go/pkg/version.gitVersion=v1.37.1",
		"-X k8s.io/client-go/pkg/version.gitMinor=37",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

func TestFingerprint(t *testing.T) {
	targets := []target{{name: "kube", ldflags: "-s -w"}}
	for name, tc := range map[string]struct {
		change     func(t *testing.T, dir string, targets []target)
		wantChange bool
	}{
		"nothing changed": {
			change: func(*testing.T, string, []target) {},
		},
		"a file that is not compiled changed": {
			change: func(t *testing.T, dir string, _ []target) { write(t, filepath.Join(dir, "README.md"), "new") },
		},
		"a source changed": {
			change:     func(t *testing.T, dir string, _ []target) { write(t, filepath.Join(dir, "cmd", "main.go"), "new") },
			wantChange: true,
		},
		"a source came": {
			change:     func(t *testing.T, dir string, _ []target) { write(t, filepath.Join(dir, "cmd", "more.go"), "") },
			wantChange: true,
		},
		"go.sum changed": {
			change:     func(t *testing.T, dir string, _ []target) { write(t, filepath.Join(dir, "go.sum"), "new") },
			wantChange: true,
		},
		"a flag changed": {
			change:     func(_ *testing.T, _ string, targets []target) { targets[0].ldflags = "-s" },
			wantChange: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range []string{"go.mod", "go.sum", "cmd/main.go"} {
				write(t, filepath.Join(dir, file), file)
			}
			targets := append([]target(nil), targets...)
			before := mustFingerprint(t, dir, targets)
			tc.change(t, dir, targets)
			if changed := mustFingerprint(t, dir, targets) != before; changed != tc.wantChange {
				t.Errorf("the fingerprint changed: %t, want %t", changed, tc.wantChange)
			}
		})
	}
}

func TestUpToDate(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, dir string)
		want  bool
	}{
		"all is there":             {spoil: func(*testing.T, string) {}, want: true},
		"a symlink is gone":        {spoil: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "etcd")) }},
		"the symlinks dangle":      {spoil: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "kube")) }},
		"kwok is gone":             {spoil: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "kwok")) }},
		"the sources were others":  {spoil: func(t *testing.T, dir string) { write(t, filepath.Join(dir, stampName), "old") }},
		"it was never built whole": {spoil: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, stampName)) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range []string{"kube", "kwok"} {
				write(t, filepath.Join(dir, file), "")
			}
			write(t, filepath.Join(dir, stampName), "hash")
			if err := link(dir, names()); err != nil {
				t.Fatal(err)
			}
			tc.spoil(t, dir)
			if got := upToDate(filepath.Join(dir, stampName), "hash"); got != tc.want {
				t.Errorf("up to date: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestProgressTellsHowFarItIs(t *testing.T) {
	p := newProgress("Kubernetes v1.2.3", []string{"a", "b/c"})
	p.now = func() time.Time { return p.began.Add(90 * time.Second) }
	got := []string{p.line()}
	if p.compiled("# a: some compiler error") {
		t.Error("an error was taken for a package")
	}
	for _, line := range []string{"a", "b/c"} {
		if !p.compiled(line) {
			t.Errorf("%s was not taken for a package", line)
		}
		got = append(got, p.line())
	}
	want := []string{
		"Kubernetes v1.2.3: compiled 0 of 2 packages (0%), 1m30s ",
		"Kubernetes v1.2.3: compiled 1 of 2 packages (50%), 1m30s a",
		"Kubernetes v1.2.3: linking, 1m30s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func mustFingerprint(t *testing.T, dir string, targets []target) string {
	t.Helper()
	got, err := fingerprint(dir, targets)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
