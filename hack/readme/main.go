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

// Command readme runs the transcripts of a Markdown file again and writes down
// what was really said.
//
//	readme FILE
//
// A transcript is a fenced block of the language console. Its lines that begin
// with "$ " are commands, run in order from the working folder; whatever stood
// between them is replaced by their output, with the working folder written as
// ~/pod-operator. A command that fails ends it all, and the file stays as it
// was; one that ends with "# refused" has to fail. "$ make up" runs until it
// says that it is up and goes on in the background, as in a terminal of its own.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	fence = "```"
	// upTakes and commandTakes bound a command; the first includes a build.
	upTakes      = 40 * time.Minute
	commandTakes = 2 * time.Minute
	// lastWords is in the last line that make up prints.
	lastWords = "stops it all"
	// refused marks a command that has to fail.
	refused = "# refused"
	// home stands for the working folder, which differs from reader to reader.
	home = "~/pod-operator"
)

// token is the login in a link, good for a day and in this playground only.
var token = regexp.MustCompile(`#token=[\w.-]+`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: readme FILE")
		os.Exit(2)
	}
	if err := rewrite(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

func rewrite(ctx context.Context, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	r := &runner{}
	defer r.stop()
	var out bytes.Buffer
	inside := false
	for line := range strings.Lines(string(raw)) {
		switch command, isCommand := strings.CutPrefix(line, "$ "); {
		case !inside:
			out.WriteString(line)
			inside = strings.TrimSpace(line) == fence+"console"
		case strings.TrimSpace(line) == fence:
			out.WriteString(line)
			inside = false
		case isCommand:
			said, err := r.run(ctx, strings.TrimSpace(command))
			if err != nil {
				return fmt.Errorf("%s: %w\n%s", strings.TrimSpace(command), err, said)
			}
			out.WriteString(line)
			out.WriteString(token.ReplaceAllString(strings.ReplaceAll(trimmed(said), folder, home), "#token=…"))
		}
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// runner runs commands, and remembers the one in the background.
type runner struct {
	up *exec.Cmd
}

func (r *runner) run(ctx context.Context, command string) (string, error) {
	fmt.Fprintln(os.Stderr, "$", command)
	if command == "make up" {
		return r.startUp(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, commandTakes)
	defer cancel()
	said, err := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command).CombinedOutput()
	if strings.HasSuffix(command, refused) {
		if exit := (&exec.ExitError{}); errors.As(err, &exit) {
			return string(said), nil
		}
		return string(said), errors.New("it was to be refused")
	}
	return string(said), err
}

// startUp reads what make up says until its last words.
func (r *runner) startUp(ctx context.Context) (string, error) {
	r.up = exec.Command("make", "--no-print-directory", "up")
	pipe, err := r.up.StdoutPipe()
	if err != nil {
		return "", err
	}
	r.up.Stderr = r.up.Stdout
	if err := r.up.Start(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, upTakes)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = pipe.Close() })()

	var said strings.Builder
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), lastWords) {
			go io.Copy(io.Discard, pipe) //nolint:errcheck // it ends with make up, and nothing reads it
			return said.String(), nil
		}
	}
	return said.String(), errors.Join(errors.New("it ended before it was up"), lines.Err())
}

// stop ends make up. It is SIGTERM, because make passes that on and leaves
// SIGINT to the terminal.
func (r *runner) stop() {
	if r.up == nil || r.up.Process == nil {
		return
	}
	_ = r.up.Process.Signal(syscall.SIGTERM)
	_ = r.up.Wait()
}

// trimmed takes the blanks off that terminals do not show and Markdown does.
func trimmed(said string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimRight(said, "\n")) {
		out.WriteString(strings.TrimRight(line, " \r\n"))
		out.WriteString("\n")
	}
	return out.String()
}
