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

// Package tutorial follows docs/tutorial/README.md to the letter, in a
// temporary folder and on a real cluster: it types every command of its sh
// blocks, in one shell, writes the files whose names stand behind a block's
// language, applies its diffs, and compares what the commands of its console
// blocks print with what stands below them.
//
//	go test ./test/tutorial -update
//
// writes what was printed into the page; test/translation then takes it over
// into the translation.
//
// The whole takes minutes of compiling, so by default the sections after
// wholeUntil are only built: their files, diffs and scaffolds have to compile,
// and what needs no cluster is tested. With TUTORIAL=full, as make tutorial
// sets it, everything runs.
package tutorial

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var update = flag.Bool("update", false, "write what the commands print into the tutorial")

// patience bounds the whole page. It compiles, on a machine that may be slow.
const patience = 15 * time.Minute

// wholeUntil is the last section of which everything runs in any case.
const wholeUntil = "## 4. "

// builds are the commands that make the project what it is, by their first
// words; others only try it.
var builds = []string{"kubebuilder ", "sed ", "gofmt ", "export ", "make manifests"}

// offlineFrom is the section from which on nothing may be downloaded.
const offlineFrom = "## 2. "

func page() string { return filepath.Join(testkit.Root(), "docs", "tutorial", "README.md") }

func TestTheTutorialWorks(t *testing.T) {
	raw, err := os.ReadFile(page())
	if err != nil {
		t.Fatal(err)
	}
	cluster := kubetest.Start(t, localkube.Options{})
	blocks := parse(string(raw))
	dir := t.TempDir()
	full := os.Getenv("TUTORIAL") == "full" || *update
	if !full {
		blocks = shortened(blocks)
	}
	script := write(t, filepath.Join(dir, "blocks"), blocks)
	follow(t, dir, script, cluster.KubeconfigPath())

	said := string(raw)
	for i, block := range blocks {
		if block.language != "console" {
			continue
		}
		got := transcript(t, filepath.Join(dir, "blocks"), i, block)
		if *update {
			said = strings.Replace(said, "```console\n"+block.text+"```", "```console\n"+got+"```", 1)
		} else if diff := cmp.Diff(block.text, got); diff != "" {
			t.Errorf("under %q, the page (-) and what was printed (+); -update writes it down:\n%s", block.heading, diff)
		}
	}
	if *update && said != string(raw) {
		if err := os.WriteFile(page(), []byte(said), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// follow runs the script in a shell of its own and tells how long each section
// took.
func follow(t *testing.T, dir, script, kubeconfig string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	port, err := localkube.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, "bash", script)
	command.Dir = dir
	command.Env = append(environment(t),
		"HOME="+dir, "POD_OPERATOR="+testkit.Root(), "KUBECONFIG="+kubeconfig, fmt.Sprintf("METRICS_PORT=%d", port),
		"GIT_AUTHOR_NAME=reader", "GIT_AUTHOR_EMAIL=reader@example.com", "GIT_COMMITTER_NAME=reader", "GIT_COMMITTER_EMAIL=reader@example.com")
	// What the page starts in the background goes with the shell.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err = command.Run()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	for line := range strings.Lines(out.String()) {
		if after, ok := strings.CutPrefix(line, "=== "); ok {
			t.Log(strings.TrimSpace(after))
		}
	}
	if err != nil {
		t.Fatalf("the tutorial fails: %v\n%s", err, lastLines(out.String(), 60))
	}
}

// environment is ours without what belongs to the make that may have started
// us, and with Go's folders, which would follow HOME.
func environment(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !strings.HasPrefix(name, "MAKE") && name != "MFLAGS" {
			env = append(env, variable)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return env
}

// block is a fenced block of the page.
type block struct {
	heading  string // the section it is in
	language string
	file     string // the file it is the content of, where it is one
	text     string
}

var fenced = regexp.MustCompile("(?m)^(## .*|```([a-z]+)(?: (\\S+))?)$")

func parse(page string) []block {
	var blocks []block
	heading := ""
	for {
		at := fenced.FindStringSubmatchIndex(page)
		if at == nil {
			return blocks
		}
		match := fenced.FindStringSubmatch(page)
		page = page[at[1]+1:]
		if match[2] == "" {
			heading = match[1]
			continue
		}
		text, rest, _ := strings.Cut(page, "```\n")
		blocks = append(blocks, block{heading: heading, language: match[2], file: match[3], text: text})
		page = rest
	}
}

// shortened leaves out what only tries the project, after wholeUntil.
func shortened(blocks []block) []block {
	var out []block
	whole, last := true, ""
	for _, b := range blocks {
		if strings.HasPrefix(last, wholeUntil) && b.heading != last {
			whole = false
		}
		last = b.heading
		switch {
		case whole || b.file != "" || b.language == "diff":
			out = append(out, b)
		case b.language == "sh":
			b.text = only(b.text, builds)
			out = append(out, b)
		}
	}
	return append(out, block{heading: "## All of it compiles", language: "sh", text: "go vet ./...\ngo test ./api/...\n"})
}

func only(text string, prefixes []string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// write puts every block into a file and returns a script that uses them in
// order, in one shell, so that cd and export hold for those that follow.
func write(t *testing.T, dir string, blocks []block) (script string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var out strings.Builder
	fmt.Fprintln(&out, "set -euo pipefail")
	heading := ""
	for i, b := range blocks {
		if b.heading != heading {
			heading = b.heading
			fmt.Fprintf(&out, "{ set +x; } 2>/dev/null\necho \"=== after $SECONDS s: %s\"\n", strings.TrimPrefix(heading, "## "))
			if strings.HasPrefix(heading, offlineFrom) {
				fmt.Fprintln(&out, "export GOPROXY=off")
			}
			fmt.Fprintln(&out, "set -x")
		}
		path := put(fmt.Sprint(i), b.text)
		switch {
		case b.file != "":
			fmt.Fprintf(&out, "mkdir -p $(dirname %s) && cp %s %s\n", b.file, path, b.file)
		case b.language == "sh":
			fmt.Fprintf(&out, "source %s\n", path)
		case b.language == "diff":
			fmt.Fprintf(&out, "git apply %s\n", path)
		case b.language == "console":
			for n, command := range commands(b.text) {
				fmt.Fprintf(&out, "{ set +x; } 2>/dev/null; { %s\n} > %s.%d 2>&1; set -x\n", command, path, n)
			}
		default:
			t.Errorf("under %q is a block of %q that nothing runs", b.heading, b.language)
		}
	}
	fmt.Fprintf(&out, "{ set +x; } 2>/dev/null\necho \"=== after $SECONDS s: the end\"\n")
	return put("script", out.String())
}

// commands are the lines of a console block that begin with a dollar.
func commands(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, strings.TrimSpace(command))
		}
	}
	return out
}

// transcript is a console block with what its commands really printed.
func transcript(t *testing.T, dir string, i int, b block) string {
	t.Helper()
	var out strings.Builder
	for n, command := range commands(b.text) {
		printed, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.%d", i, n)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "$ %s\n%s", command, printed)
	}
	return out.String()
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
