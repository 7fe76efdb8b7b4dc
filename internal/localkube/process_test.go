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

package localkube

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for name, tc := range map[string]struct {
		log  string
		want string
	}{
		"an empty log has no end":                {log: "", want: ""},
		"a short log is shown whole":             {log: "a\nb\n", want: "a\nb"},
		"exactly as many lines are shown":        {log: "a\nb\nc\n", want: "a\nb\nc"},
		"the last lines of a longer one":         {log: "a\nb\nc\nd\n", want: "b\nc\nd"},
		"a line that is not finished counts too": {log: "a\nb\nc\nd", want: "b\nc\nd"},
		"a huge log is not read whole":           {log: long + "\na\nb\nc\n", want: "a\nb\nc"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tc.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := tail(path, 3); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestProcess(t *testing.T) {
	s := newSpawner()
	t.Cleanup(s.close)
	died := make(chan error, 1)
	start := func(t *testing.T, script string) *Process {
		t.Helper()
		p, err := startProcess(s, ProcessSpec{
			Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GREETING=hello"},
			LogPath: filepath.Join(t.TempDir(), "log"),
		}, func(err error) { died <- err })
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Run("one that ends on its own is reported", func(t *testing.T) {
		p := start(t, `echo "$GREETING"; exit 3`)
		<-p.Exited()
		var got *DiedError
		if !errors.As(<-died, &got) || got.How != "exit status 3" || got.LogTail != "hello" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("one that is paused gets SIGTERM all the same", func(t *testing.T) {
		p := start(t, `trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
		waitForWord(t, p) // that its trap is set
		if err := p.Pause(); err != nil {
			t.Fatal(err)
		}
		if !p.Stop(time.Minute) {
			t.Error("it had to be killed")
		}
	})
	t.Run("one that ignores SIGTERM is killed after the grace", func(t *testing.T) {
		p := start(t, `trap '' TERM; echo ready; while :; do sleep 0.05; done`)
		waitForWord(t, p) // that its trap is set
		if p.Stop(100*time.Millisecond) || p.Running() {
			t.Error("it ended by itself, or not at all")
		}
	})
	select {
	case err := <-died:
		t.Errorf("what was stopped is reported as dead: %v", err)
	default:
	}
}

func waitForWord(t *testing.T, p *Process) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return tail(p.LogPath(), 1) == "ready", nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPortsAreFreeAndGivenOnce(t *testing.T) {
	p := newPorts()
	seen := map[int]bool{}
	for range 100 {
		port, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] || port < lowestPort || port >= highestPort {
			t.Fatalf("port %d is out of range or was given before", port)
		}
		seen[port] = true
	}
}
