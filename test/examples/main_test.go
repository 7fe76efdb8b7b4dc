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

// Package examples runs the programs under examples/ on a real cluster with
// the operator on it, and holds docs/tour.md to what they print: the tour's
// transcripts are the expected output. What differs from run to run, such as
// the names of namespaces, is taken out of both sides before they are compared.
//
//	go test ./test/examples -update
//
// writes what was printed into docs/tour.md, where it differs; test/translation
// then takes it over into the translation.
package examples

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mycompany/pod-operator/internal/testkit"
)

var update = flag.Bool("update", false, "write what the examples print into docs/tour.md")

var (
	// suite is the shared cluster, which is as the playground.
	suite *testkit.Suite
	// binaries is where the examples are built to. It is not a temporary
	// folder, because there go build finds what it need not link again.
	binaries = filepath.Join(testkit.Root(), "bin", "examples")
)

func TestMain(m *testing.M) { testkit.Main(m, &suite, testkit.Setup{Webhooks: true, Before: build}) }

func build(ctx context.Context, _ *testkit.Suite) error {
	if err := os.MkdirAll(binaries, 0o755); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", binaries+string(filepath.Separator), "./examples/...")
	command.Dir = testkit.Root()
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the examples: %w\n%s", err, out)
	}
	return nil
}
