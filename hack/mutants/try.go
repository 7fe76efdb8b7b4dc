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
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mycompany/pod-operator/hack/overlay"
)

// outcome is what became of a mutant.
type outcome int

const (
	lived     outcome = iota
	killed            // a test failed, or the tests hung
	notViable         // it does not compile
)

// trial tries the mutants of one package.
type trial struct {
	folder  string
	tests   []string // the folders whose tests run
	mutants []mutant
	dir     string // for what is compiled
	// alone are the mutants that cannot be switched, such as those of constants: they
	// are compiled one by one.
	alone map[int]bool
	// slow is a pattern of the tests that take long. They run when all others passed.
	slow    string
	timeout time.Duration
	// flags, of each folder's tests, keep what a mutant breaks from being stored, to be
	// tried again by others.
	flags [][]string
}

// begin compiles the tests with all mutants and runs them without one: they have to
// pass, and their time says when a test that hangs is given up.
func begin(ctx context.Context, target target, mutants []mutant) (*trial, error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	t := &trial{folder: target.folder, mutants: mutants, dir: dir, alone: map[int]bool{}, timeout: 10 * time.Minute}
	t.tests = append([]string{target.folder}, target.tests...)
	for i, m := range mutants {
		t.alone[i] = m.Constant
	}
	if err := t.prepare(ctx); err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

func (t *trial) prepare(ctx context.Context) error {
	if err := t.compileAll(ctx); err != nil {
		return fmt.Errorf("compile the tests of %s: %w", t.folder, err)
	}
	t.flags = make([][]string, len(t.tests))
	for i := range t.tests {
		if _, err := t.runOne(ctx, "all", i, -1, "-test.run=^$", "-rapid.nofailfile"); err == nil {
			t.flags[i] = []string{"-rapid.nofailfile"} // the tests use rapid
		}
	}
	began := time.Now()
	out, err := t.run(ctx, "all", -1, "-test.v")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", t.folder, err, out[max(0, len(out)-4000):])
	}
	t.slow = slowTests(out)
	t.timeout = 30*time.Second + 10*time.Since(began)
	return nil
}

var passed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \((\d+\.\d+)s\)$`)

// slowTests is a pattern of the tests that took a tenth of a second or more.
func slowTests(out []byte) string {
	var names []string
	for _, found := range passed.FindAllStringSubmatch(string(out), -1) {
		if seconds, err := strconv.ParseFloat(found[2], 64); err == nil && seconds >= 0.1 {
			names = append(names, found[1])
		}
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

func (t *trial) end() { _ = os.RemoveAll(t.dir) }

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

// compileAll compiles the tests with all mutants that can be switched. The compiler
// says which cannot.
func (t *trial) compileAll(ctx context.Context) error {
	for {
		contents := map[string]string{}
		for i := range t.mutants {
			file := t.mutants[i].File
			if _, done := contents[file]; done {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if content, err = switches(file, content, t.mutants, t.alone); err != nil {
				return err
			}
			contents[file] = string(content)
		}
		contents[filepath.Join(t.folder, "mutants_switches.go")] = "package " + filepath.Base(t.folder) + "\n" + calls
		out, err := t.compile(ctx, "all", contents)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if !t.setAside(out) {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
}

var compilerError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// setAside leaves the mutants of the lines that the compiler refuses for later.
// First those of arithmetic, whose types are the likely reason.
func (t *trial) setAside(out []byte) (found bool) {
	for _, place := range compilerError.FindAllStringSubmatch(string(out), -1) {
		line, err := strconv.Atoi(place[2])
		if err != nil {
			continue
		}
		var here, numeric []int
		for i, m := range t.mutants {
			if t.alone[i] || filepath.Base(m.File) != filepath.Base(place[1]) || line < m.First || line > m.Last {
				continue
			}
			here = append(here, i)
			if m.Kind == arithmetic || m.Kind == sign || m.Kind == count {
				numeric = append(numeric, i)
			}
		}
		if len(numeric) > 0 {
			here = numeric
		}
		for _, i := range here {
			t.alone[i], found = true, true
		}
	}
	return found
}

// compile compiles the package's tests with other contents of some files. The
// checkout is never changed.
func (t *trial) compile(ctx context.Context, name string, contents map[string]string) ([]byte, error) {
	file, err := overlay.Write(t.dir, name, contents)
	if err != nil {
		return nil, err
	}
	for i, folder := range t.tests {
		out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-gcflags=-e",
			"-overlay", file, "-o", t.binary(name, i), "./"+folder).CombinedOutput()
		if err != nil {
			return out, err
		}
	}
	return nil, nil
}

func (t *trial) binary(name string, tests int) string {
	return t.path(fmt.Sprintf("%s-%d.test", name, tests))
}

// run runs the tests of every folder with a mutant, until some fail.
func (t *trial) run(ctx context.Context, name string, number int, flags ...string) ([]byte, error) {
	var all []byte
	for i := range t.tests {
		out, err := t.runOne(ctx, name, i, number, flags...)
		if all = append(all, out...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// runOne runs compiled tests with a mutant. -short leaves out those that measure
// cost, and most of the random ones.
func (t *trial) runOne(ctx context.Context, name string, tests, number int, flags ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	flags = slices.Concat(flags, t.flags[tests], []string{"-test.short", "-test.failfast"})
	// A mutant that never ends may also fill the memory: 8 GiB of addresses are enough.
	limited := []string{"-c", `ulimit -v 8388608; exec "$0" "$@"`, t.binary(name, tests)}
	cmd := exec.CommandContext(ctx, "sh", append(limited, flags...)...) // #nosec G204 -- what it compiled itself
	cmd.Dir = t.tests[tests]
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(number))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	return out.Bytes(), err
}

// try runs the tests with a mutant.
func (t *trial) try(ctx context.Context, worker, number int) (outcome, error) {
	name := "all"
	if t.alone[number] {
		m := &t.mutants[number]
		content, err := os.ReadFile(m.File)
		if err != nil {
			return 0, err
		}
		name = fmt.Sprint("worker-", worker)
		if _, err := t.compile(ctx, name, map[string]string{m.File: string(m.apply(content))}); err != nil {
			return notViable, ctx.Err()
		}
	}
	for _, part := range []string{"-test.skip=", "-test.run="} {
		if _, err := t.run(ctx, name, number, part+t.slow); err != nil {
			return killed, ctx.Err()
		}
	}
	return lived, nil
}

// tryAll tries all mutants, workers at a time, and says now and then how far it is.
func (t *trial) tryAll(ctx context.Context, workers int, out io.Writer) ([]outcome, error) {
	outcomes := make([]outcome, len(t.mutants))
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		next  int
		done  [3]int
		errs  error
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	note := func(i int, o outcome, err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = errors.Join(errs, err)
		outcomes[i] = o
		done[o]++
		if o == lived {
			fmt.Fprintf(out, "lived: %s\n", t.mutants[i].describe())
		}
		if n := done[lived] + done[killed] + done[notViable]; n%50 == 0 {
			fmt.Fprintf(out, "%s: %d of %d tried: %d killed, %d lived, %d do not compile\n",
				t.folder, n, len(t.mutants), done[killed], done[lived], done[notViable])
		}
	}
	for worker := range workers {
		group.Go(func() {
			for i := take(); i < len(t.mutants) && ctx.Err() == nil; i = take() {
				o, err := t.try(ctx, worker, i)
				note(i, o, err)
			}
		})
	}
	group.Wait()
	return outcomes, errors.Join(errs, ctx.Err())
}

func (m *mutant) describe() string {
	return fmt.Sprintf("%s:%d %s, %s for %s: %s", m.File, m.Line, m.Kind, m.New, m.Old, m.Text)
}
