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

package release

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// dockerfiles are those in the repository.
func dockerfiles(t *testing.T) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--", "*Dockerfile*", "*Containerfile*")
	cmd.Dir = testkit.Root()
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("git does not list the files: %v", err)
	}
	files := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(testkit.Root(), name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

// A tag can be moved to another image, a digest cannot. scratch is no image.
func TestNoImageHasABaseThatCanChange(t *testing.T) {
	pinned := regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
	files := dockerfiles(t)
	if files["Dockerfile"] == "" || files["bundle/bundle.Dockerfile"] == "" {
		t.Fatalf("there are %d Dockerfiles, and not those of the operator and the bundle", len(files))
	}
	for name, text := range files {
		stages := map[string]bool{"scratch": true}
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) < 2 || !strings.EqualFold(words[0], "FROM") {
				continue
			}
			words = words[1:]
			for strings.HasPrefix(words[0], "--") {
				words = words[1:]
			}
			if !stages[words[0]] && !pinned.MatchString(words[0]) {
				t.Errorf("%s: %q names no digest", name, strings.TrimSpace(line))
			}
			if len(words) == 3 {
				stages[words[2]] = true
			}
		}
		for _, copied := range regexp.MustCompile(`(?im)^COPY .*--from=([^\s]+)`).FindAllStringSubmatch(text, -1) {
			if !stages[copied[1]] {
				t.Errorf("%s copies from %s", name, copied[1])
			}
		}
	}
}

// imageConfig is what an image says about how it runs.
type imageConfig struct {
	Entrypoint, Env  []string
	User, WorkingDir string
}

// The Dockerfile copies what make image has laid out, all of it, and says the
// same about how it runs.
func TestTheDockerfileMakesTheImageOfTheRelease(t *testing.T) {
	root := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./image", "--root", "..", "--out", relativeToRoot(t, root),
		"--platforms", "linux/"+runtime.GOARCH, "--version", version, "--commit", "c0ffee", "--date", "2026-01-02T03:04:05Z")
	cmd.Dir = filepath.Join(testkit.Root(), "tools")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := dockerfiles(t)["Dockerfile"]
	var got imageConfig
	var copied []string
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "COPY":
			copied = append(copied, strings.ReplaceAll(rest, "${TARGETARCH}", runtime.GOARCH))
		case "ENV":
			got.Env = strings.Fields(rest)
		case "USER":
			got.User = rest
		case "WORKDIR":
			got.WorkingDir = rest
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &got.Entrypoint); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(released(t, filepath.Join(root, "oci")), got); diff != "" {
		t.Errorf("how it runs (-make image +Dockerfile):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"dist/image/base/ /", "dist/image/manager-" + runtime.GOARCH + " /manager"}, copied); diff != "" {
		t.Errorf("what it has (-make image +Dockerfile):\n%s", diff)
	}
	for _, name := range []string{"base/etc/passwd", "base/etc/group", "base/etc/ssl/certs/ca-certificates.crt", "base/tmp", "manager-" + runtime.GOARCH} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "manager-"+runtime.GOARCH), "--version").CombinedOutput()
	if runtime.GOOS == "linux" && (err != nil || !bytes.Contains(out, []byte(version))) {
		t.Errorf("the operator says %q: %v", out, err)
	}
}

// relativeToRoot is a folder as seen from the project's.
func relativeToRoot(t *testing.T, dir string) string {
	t.Helper()
	path, err := filepath.Rel(testkit.Root(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// released reads the configuration of the one image in an OCI layout.
func released(t *testing.T, layout string) imageConfig {
	t.Helper()
	type descriptor struct{ Digest string }
	blob := func(digest string, into any) {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(layout, "blobs", strings.Replace(digest, ":", "/", 1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	var top, index struct{ Manifests []descriptor }
	raw, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Config descriptor }
	var config struct{ Config imageConfig }
	blob(top.Manifests[0].Digest, &index)
	blob(index.Manifests[0].Digest, &manifest)
	blob(manifest.Config.Digest, &config)
	return config.Config
}
