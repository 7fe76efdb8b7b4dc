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
	arguments := []string{"-s -w"}
	for name, tc := range map[string]struct {
		change     func(t *testing.T, dir string, arguments []string)
		wantChange bool
	}{
		"nothing changed": {
			change: func(*testing.T, string, []string) {},
		},
		"a file that is not compiled changed": {
			change: func(t *testing.T, dir string, _ []string) { write(t, filepath.Join(dir, "README.md"), "new") },
		},
		"a source changed": {
			change:     func(t *testing.T, dir string, _ []string) { write(t, filepath.Join(dir, "cmd", "main.go"), "new") },
			wantChange: true,
		},
		"a source came": {
			change:     func(t *testing.T, dir string, _ []string) { write(t, filepath.Join(dir, "cmd", "more.go"), "") },
			wantChange: true,
		},
		"go.sum changed": {
			change:     func(t *testing.T, dir string, _ []string) { write(t, filepath.Join(dir, "go.sum"), "new") },
			wantChange: true,
		},
		"a flag changed": {
			change:     func(_ *testing.T, _ string, arguments []string) { arguments[0] = "-s" },
			wantChange: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range []string{"go.mod", "go.sum", "cmd/main.go"} {
				write(t, filepath.Join(dir, file), file)
			}
			arguments := append([]string(nil), arguments...)
			before := mustFingerprint(t, dir, arguments)
			tc.change(t, dir, arguments)
			if changed := mustFingerprint(t, dir, arguments) != before; changed != tc.wantChange {
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
			if err := link(dir, names(), func(string) string { return "kube" }); err != nil {
				t.Fatal(err)
			}
			tc.spoil(t, dir)
			if got := upToDate(filepath.Join(dir, stampName), "hash", append(names(), "kube", "kwok")); got != tc.want {
				t.Errorf("up to date: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestProgressShowsWhatIsLeft(t *testing.T) {
	p := newProgress([]string{"a", "b/c"})
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
		"compiling: 0 of 2 packages (0%), after 1m30s ",
		"compiling: 1 of 2 packages (50%), after 1m30s, about 2 min left a",
		"linking, after 1m30s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestReadyMadePrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		leaveOut string
		version  string
		want     string
		wantErr  string
	}{
		"all are there, and the version is supported": {version: "Kubernetes v1.35.6", want: "v1.35.6"},
		"the newest version is supported":             {version: "Kubernetes v1.37.0", want: "v1.37.0"},
		"one is missing":                              {leaveOut: "kube-scheduler", version: "Kubernetes v1.35.6", wantErr: "has no kube-scheduler"},
		"the version is too old":                      {version: "Kubernetes v1.28.2", wantErr: "give one from 1.34 to 1.37"},
		"the version is too new":                      {version: "Kubernetes v1.38.0", wantErr: "give one from 1.34 to 1.37"},
		"the program is another one":                  {version: "hello", wantErr: "names no version"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, program := range names() {
				if program != tc.leaveOut {
					write(t, filepath.Join(dir, program), "#!/bin/sh\necho "+tc.version+"\n")
					if err := os.Chmod(filepath.Join(dir, program), 0o755); err != nil {
						t.Fatal(err)
					}
				}
			}
			got, err := inspect(dir, "v1.37.1")
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

// TestEnvtestAssetsAreNotEnough: a folder made for envtest is no reason to stop.
func TestEnvtestAssetsAreNotEnough(t *testing.T) {
	dir := t.TempDir()
	get := func(set string) func(string) string {
		return func(name string) string {
			if name == set {
				return dir
			}
			return ""
		}
	}
	if got, _, err := readyMade(get("KUBEBUILDER_ASSETS"), "v1.37.1"); got != "" || err != nil {
		t.Errorf("got %q, %v, want neither a folder nor an error", got, err)
	}
	if _, _, err := readyMade(get("KUBE_BIN"), "v1.37.1"); err == nil {
		t.Error("KUBE_BIN was taken without the programs in it")
	}
}

// TestModulesAgree: where the two modules need different versions of a module,
// all that builds on it is compiled twice.
func TestModulesAgree(t *testing.T) {
	ours, theirs := required(t, "../../go.mod"), required(t, "../../playground/go.mod")
	for path, version := range ours {
		if other, ok := theirs[path]; ok && other != version {
			t.Errorf("go.mod has %s %s and playground/go.mod %s: take one version in both", path, version, other)
		}
	}
}

// required reads the versions that a go.mod names, with its replacements.
func required(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(strings.SplitN(line, "//", 2)[0])
		switch {
		case len(fields) == 2 && strings.HasPrefix(fields[1], "v"):
			versions[fields[0]] = fields[1]
		case len(fields) >= 4 && fields[len(fields)-3] == "=>":
			versions[fields[len(fields)-4]] = fields[len(fields)-1]
		}
	}
	if len(versions) < 10 {
		t.Fatalf("%s requires %d modules: the test does not read it rightly", path, len(versions))
	}
	return versions
}

func mustFingerprint(t *testing.T, dir string, arguments []string) string {
	t.Helper()
	got, err := fingerprint(dir, arguments, "")
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

// TestOlderVersions: each file in playground/versions is a version that can be built.
func TestOlderVersions(t *testing.T) {
	t.Chdir("../..")
	list, err := minors()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1.34", "1.35", "1.36", "1.37"}; !cmp.Equal(want, list) {
		t.Errorf("versions %v, want %v", list, want)
	}
	for _, minor := range list[:len(list)-1] {
		o, err := newOlder(minor)
		if err != nil {
			t.Error(err)
			continue
		}
		if minorOf(o.version) != minor || len(o.want) != 64 {
			t.Errorf("%s is %s with the fingerprint %s", minor, o.version, o.want)
		}
	}
	if o, err := newOlder(list[len(list)-1]); o != nil || err != nil {
		t.Errorf("the usual version is %v, %v, want none of its own", o, err)
	}
	if _, err := newOlder("1.29"); err == nil || !strings.Contains(err.Error(), "choose one of 1.34, 1.35, 1.36, 1.37") {
		t.Errorf("got %v, want an error that names the versions", err)
	}
}
