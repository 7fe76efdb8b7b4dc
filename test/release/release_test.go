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

// Package release puts a small release together, for one platform, as make
// release does for all: what is in it works, is what its checksums say, and is
// the same when it is made again.
package release

import (
	"archive/tar"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/testkit"
)

const (
	version    = "v1.2.3-test.1"
	provenance = "provenance.intoto.json"
)

// assemble runs the command that make release ends with.
func assemble(t *testing.T, args ...string) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "install.yaml"), []byte("kind: List\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{
		"run", "./release", "--out", dir, "--plugins", "linux/amd64", "--managers", "", "--bundle", "bundle", "--commit", "c0ffee",
		"--date", "2026-01-02T03:04:05Z", "--downloads", "https://downloads.example.com/files",
	}, args...)...)
	cmd.Dir = filepath.Join(testkit.Root(), "tools")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, errors.Join(err, errors.New(string(out)))
	}
	return dir, nil
}

func sum(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

// sums are the checksums of all files, as the release says and as they are.
func sums(t *testing.T, dir string) (said, are map[string]string) {
	t.Helper()
	said, are = map[string]string{}, map[string]string{}
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		said[name] = digest
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		about := file.Name() == "SHA256SUMS" || file.Name() == provenance || strings.HasSuffix(file.Name(), ".sig")
		if !about {
			are[file.Name()] = sum(t, filepath.Join(dir, file.Name()))
		}
	}
	return said, are
}

// unpack unpacks a tar.gz.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+header.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, os.FileMode(header.Mode))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARelease(t *testing.T) {
	private, public := throwAwayKey(t)
	dir, err := assemble(t, "--version", version, "--key", private)
	if err != nil {
		t.Fatal(err)
	}
	said, are := sums(t, dir)
	if diff := cmp.Diff(are, said); diff != "" {
		t.Errorf("SHA256SUMS (-files +said):\n%s", diff)
	}
	plugin := "kubectl-podmanager_" + version + "_linux_amd64.tar.gz"
	for _, name := range []string{plugin, "pod-operator-1.2.3-test.1.tgz", "pod-operator-bundle_" + version + ".tar.gz", "krew.yaml", "install.yaml"} {
		if are[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	checkProvenance(t, dir, are)
	checkSignatures(t, dir, public)
	again, err := assemble(t, "--version", version)
	if err != nil {
		t.Fatal(err)
	}
	if first, second := sum(t, filepath.Join(dir, provenance)), sum(t, filepath.Join(again, provenance)); first != second {
		t.Error("made again it has another provenance")
	}
	if _, repeated := sums(t, again); cmp.Diff(are, repeated) != "" {
		t.Errorf("made again it is another (-first +second):\n%s", cmp.Diff(are, repeated))
	}
	checkKrew(t, dir, plugin, are[plugin])
	checkChart(t, unpack(t, filepath.Join(dir, "pod-operator-1.2.3-test.1.tgz")))
}

// throwAwayKey makes a key as the docs say, and returns the files of both halves.
func throwAwayKey(t *testing.T) (private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	half, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	private, public = filepath.Join(dir, "release.key"), filepath.Join(dir, "release.pub")
	for path, block := range map[string]*pem.Block{private: {Type: "EC PRIVATE KEY", Bytes: raw}, public: {Type: "PUBLIC KEY", Bytes: half}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return private, public
}

// checkProvenance: the statement names every file, and the commit.
func checkProvenance(t *testing.T, dir string, are map[string]string) {
	t.Helper()
	var s struct {
		Type          string `json:"_type"`
		PredicateType string
		Subject       []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, provenance))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	for _, subject := range s.Subject {
		named[subject.Name] = subject.Digest["sha256"]
	}
	if diff := cmp.Diff(are, named); diff != "" {
		t.Errorf("the provenance (-files +named):\n%s", diff)
	}
	sources := s.Predicate.BuildDefinition.ResolvedDependencies
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" || len(sources) != 1 || sources[0].Digest["gitCommit"] != "c0ffee" {
		t.Errorf("the provenance is %s", raw)
	}
}

// checkSignatures with the command that docs/operations.md gives, and notices a
// file that was changed.
func checkSignatures(t *testing.T, dir, public string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl to verify with")
	}
	verify := func(name string) error {
		file := filepath.Join(dir, name)
		return exec.CommandContext(t.Context(), "openssl", "dgst", "-sha256", "-verify", public, "-signature", file+".sig", file).Run()
	}
	for _, name := range []string{"SHA256SUMS", provenance} {
		if err := verify(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	changed := filepath.Join(dir, "SHA256SUMS")
	text, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, append(text, 'x'), 0o600); err != nil {
		t.Fatal(err)
	}
	if verify("SHA256SUMS") == nil {
		t.Error("a changed file is verified")
	}
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkKrew: the manifest describes what is in the archive.
func checkKrew(t *testing.T, dir, plugin, digest string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description string
			Platforms                                        []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
				Files            []struct{ From, To string }
			}
		}
	}
	if err := yaml.UnmarshalStrict(text, &manifest); err != nil {
		t.Fatalf("krew.yaml: %v", err)
	}
	if manifest.Kind != "Plugin" || manifest.Metadata.Name != "podmanager" || manifest.Spec.Version != version || len(manifest.Spec.Platforms) != 1 {
		t.Fatalf("krew.yaml:\n%s", text)
	}
	p := manifest.Spec.Platforms[0]
	if want := "https://downloads.example.com/files/" + version + "/" + plugin; p.URI != want || p.SHA256 != digest {
		t.Errorf("krew would get %s with %s, want %s with %s", p.URI, p.SHA256, want, digest)
	}
	unpacked := unpack(t, filepath.Join(dir, plugin))
	for _, file := range p.Files {
		if _, err := os.Stat(filepath.Join(unpacked, file.From)); err != nil {
			t.Errorf("the archive has no %s: %v", file.From, err)
		}
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(unpacked, p.Bin), "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "kubectl podmanager [command]") {
		t.Errorf("the plugin says %q: %v", out, err)
	}
}

// checkChart: helm takes it, and it installs the release's image.
func checkChart(t *testing.T, dir string) {
	t.Helper()
	chart := filepath.Join(dir, "pod-operator")
	out, err := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(), "bin", "helm"), "template", "pod-operator", chart).CombinedOutput()
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, out)
	}
	for _, want := range []string{fmt.Sprintf(`image: "controller:%s"`, version), "helm.sh/chart: pod-operator-1.2.3-test.1"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("what helm renders has no %s", want)
		}
	}
}

func TestAReleaseHasAVersion(t *testing.T) {
	for _, bad := range []string{"", "1.2.3", "latest", "v1", "0f3a9c1-dirty"} {
		if _, err := assemble(t, "--version", bad); err == nil || !strings.Contains(err.Error(), "give one like VERSION=v1.2.3") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestAReleaseNamesWhereToReport: an address that was invented swallows reports, so
// there is no default.
func TestAReleaseNamesWhereToReport(t *testing.T) {
	t.Parallel()
	for contact, want := range map[string]bool{
		"": false, "maintainers@mycompany.com": false, "security": false, "security@example.org": true,
	} {
		cmd := exec.Command("make", "-C", "../..", "security-contact", "SECURITY_CONTACT="+contact)
		if out, err := cmd.CombinedOutput(); (err == nil) != want {
			t.Errorf("make release with SECURITY_CONTACT=%s: %v\n%s", contact, err, out)
		}
	}
	rule, err := exec.Command("grep", "^release: security-contact ", "../../Makefile").Output()
	if err != nil || len(rule) == 0 {
		t.Errorf("make release does not ask for it: %v", err)
	}
}
