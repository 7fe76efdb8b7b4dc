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
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// verifying are the commands with which docs/operations.md verifies an image.
func verifying(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "cosign verify") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	if len(commands) != 3 {
		t.Fatalf("docs/operations.md verifies with %q, want the signature, the provenance and the SBOM", commands)
	}
	return commands
}

// registry runs one on this machine until the test ends, and returns its address.
func registry(t *testing.T) string {
	t.Helper()
	address, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(), "bin", "crane"), "registry", "serve", "--address", address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context ends it
	testkit.Eventually(t, "the registry listens", func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return address
}

// image builds a small one in the shape of the operator's.
func image(t *testing.T, version string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./image", "--out", relativeToRoot(t, folder), "--package", "./hack/crdtrim",
		"--platforms", "linux/"+runtime.GOARCH, "--version", version, "--commit", "c0ffee", "--date", "2026-01-02T03:04:05Z")
	cmd.Dir = filepath.Join(testkit.Root(), "tools")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

func program(name string) string { return filepath.Join(testkit.Root(), "bin", name) }

// make sign pushes an image, signs it and attaches its provenance and its SBOM; the
// documented commands accept that, with the key's public half, and nothing else.
func TestAnImageIsSignedAndAttested(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs bin/cosign: make test-rest runs it")
	}
	private, public := throwAwayKey(t)
	_, another := throwAwayKey(t)
	name := registry(t) + "/pod-operator:" + version
	folder := image(t, version)
	cmd := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(), "hack", "sign"), program("cosign"), program("crane"), folder, name, private)
	cmd.Dir = testkit.Root()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hack/sign: %v\n%s", err, out)
	}
	lines := strings.Fields(string(out))
	pushed := lines[len(lines)-1]

	// An image with other content in the same repository, which was not signed.
	out, err = exec.CommandContext(t.Context(), program("crane"), "push", filepath.Join(image(t, "v9.9.9"), "oci"), name+"-other").Output()
	if err != nil {
		t.Fatal(err)
	}
	unsigned := strings.TrimSpace(string(out))

	for _, command := range verifying(t) {
		said, err := verify(t, command, pushed, public)
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		checkEnvelope(t, command, said)
		if said, err := verify(t, command, pushed, another); err == nil {
			t.Errorf("%s accepts another key:\n%s", command, said)
		}
		if said, err := verify(t, command, unsigned, public); err == nil {
			t.Errorf("%s accepts an image that was not signed:\n%s", command, said)
		}
	}
}

// verify runs a documented command as a reader would, with the public key beside it.
func verify(t *testing.T, command, image, public string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	raw, err := os.ReadFile(public)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "release.pub"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "IMAGE="+image, "HOME="+dir, "PATH="+filepath.Join(testkit.Root(), "bin")+":"+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), errors.Join(err, errors.New(stderr.String()))
	}
	return stdout.String(), nil
}

// checkEnvelope: an attestation is a DSSE envelope around a statement about this
// image, and holds what make image wrote.
func checkEnvelope(t *testing.T, command, said string) {
	t.Helper()
	want := map[string]string{"slsaprovenance1": `"gitCommit":"c0ffee"`, "spdxjson": `"SPDX-2.3"`}
	for kind, content := range want {
		if !strings.Contains(command, kind) {
			continue
		}
		var envelope struct {
			PayloadType string
			Payload     string
			Signatures  []struct{ Sig string }
		}
		if err := json.Unmarshal([]byte(said), &envelope); err != nil {
			t.Fatalf("%s prints no envelope: %v\n%s", command, err, said)
		}
		payload, err := base64.StdEncoding.DecodeString(envelope.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if envelope.PayloadType != "application/vnd.in-toto+json" || len(envelope.Signatures) == 0 || !bytes.Contains(payload, []byte(content)) {
			t.Errorf("%s: an envelope of %s with %d signatures, want in-toto with %s:\n%s", command, envelope.PayloadType, len(envelope.Signatures), content, payload)
		}
	}
}
