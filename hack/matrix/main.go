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

// Command matrix tries the project on each version of Kubernetes that
// playground/versions has: the integration tests, upgrades of the operator under
// running pods, and the conformance of the built-in kinds and of our own. The results
// go to conformance/reports, and from there into docs/comparison.md and docs/versions.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mycompany/pod-operator/conformance"
)

const reports = "conformance/reports"

// packages are the project's own tests, by the name in the report, with their flags.
var packages = map[string][]string{"integration": {"./test/integration"}, "upgrade": {"./test/upgrade", "-releases=2"}}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	versions := flag.String("versions", "1.34,1.35,1.36,1.37", "which ones")
	only := flag.String("only", "", "only this part: tests, conformance")
	suite := flag.String("suite", "", "the commit, for the reports")
	flag.Parse()
	var errs []error
	for _, minor := range strings.Split(*versions, ",") {
		errs = append(errs, try(ctx, minor, *only, *suite))
	}
	errs = append(errs, run(ctx, "go", "test", "-count=1", "-run", "Pages", "./conformance", "-update"))
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

// try goes on after failures: they are results, too.
func try(ctx context.Context, minor, only, suite string) error {
	fmt.Printf("\nKubernetes %s\n", minor)
	if err := run(ctx, "go", "run", "./hack/build", "-only", "control-plane", "-k8s", minor); err != nil {
		return err
	}
	var errs []error
	if only != "conformance" {
		errs = append(errs, tests(ctx, minor, suite))
	}
	if only != "tests" {
		kinds, err := conformance.Startable()
		if err != nil {
			return err
		}
		errs = append(errs, run(ctx, filepath.Join("bin", "conformance"), "--bin", filepath.Join("bin", "k8s", minor), "--out", reports,
			"--kind", strings.Join(kinds, ","), "--suite", suite, "--version", suite))
	}
	return errors.Join(errs...)
}

// tests runs the project's own and writes down what came of them.
func tests(ctx context.Context, minor, suite string) error {
	out, err := exec.CommandContext(ctx, filepath.Join("bin", "k8s", minor, "kube-apiserver"), "--version").Output()
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	report := &conformance.TestReport{
		APIVersion: conformance.APIVersion, Kind: conformance.TestsKind, Date: time.Now().UTC().Format(time.RFC3339), Suite: suite,
		Kubernetes: strings.TrimPrefix(strings.TrimSpace(string(out)), "Kubernetes "),
	}
	failed := 0
	for _, name := range []string{"integration", "upgrade"} {
		s, err := goTest(ctx, minor, name)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d passed, %d skipped, failed: %v\n", name, s.Passed, s.Skipped, s.Failed)
		failed += len(s.Failed)
		report.Tests = append(report.Tests, *s)
	}
	if err := report.Write(reports, minor); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d tests failed on Kubernetes %s", failed, minor)
	}
	return nil
}

// maxLine is longer than any line that a test prints.
const maxLine = 16 << 20

// goTest counts tests, without their parts.
func goTest(ctx context.Context, minor, name string) (*conformance.TestSuite, error) {
	args := []string{"test", "-json", "-count=1", "-short", "-vet=off", "-timeout=25m"}
	cmd := exec.CommandContext(ctx, "go", append(args, packages[name]...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "K8S="+minor), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &conformance.TestSuite{Name: name}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" || strings.Contains(e.Test, "/") {
			continue
		}
		switch e.Action {
		case "pass":
			s.Passed++
		case "skip":
			s.Skipped++
		case "fail":
			s.Failed = append(s.Failed, e.Test)
		}
	}
	slices.Sort(s.Failed)
	if err := cmd.Wait(); err != nil && len(s.Failed) == 0 {
		s.Failed = []string{"the package: " + err.Error()}
	}
	return s, nil
}

func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return nil
}
