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

package playground

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A process id that was given out again must not be signalled.
func TestDownSparesAStrangerWithARecycledID(t *testing.T) {
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait() // "signal: killed"
	}()
	now, err := describe("stranger", stranger.Process.Pid, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if !now.alive() {
		t.Fatal("a process that runs is not alive")
	}
	then := now
	then.StartTime--

	l := layout{root: t.TempDir()}
	if err := os.Mkdir(l.dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	s := &state{Supervisor: then, Processes: []process{then}}
	if err := s.write(l); err != nil {
		t.Fatal(err)
	}
	if err := down(t.Context(), l, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !now.alive() {
		t.Error("down killed a stranger")
	}
	if _, err := os.Stat(l.state()); err == nil {
		t.Error("the stale state file is still there")
	}
}

func TestStateIsReadAsItWasWritten(t *testing.T) {
	l := layout{root: t.TempDir()}
	if err := os.Mkdir(l.dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := readState(l); s != nil || err != nil {
		t.Errorf("without a file: got %v, %v", s, err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := &state{Supervisor: process{Name: "playground", PID: 1, StartTime: 2, Started: at}, Ready: at}
	want.set(process{Name: "etcd", PID: 3})
	want.set(process{Name: "kwok", PID: 4})
	want.set(process{Name: "etcd", PID: 5})
	if err := want.write(l); err != nil {
		t.Fatal(err)
	}
	got, err := readState(l)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if len(got.Processes) != 2 || got.Processes[0].PID != 5 {
		t.Errorf("a process of the same name was not replaced: %+v", got.Processes)
	}
}

func TestDamagedStateTellsHowToGoOn(t *testing.T) {
	p := newProject(t)
	if err := os.Mkdir(p.dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.state(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := p.run("status")
	if code != 1 {
		t.Errorf("status ended with %d", code)
	}
	contains(t, out, "is damaged", "bin/playground reset")
	p.mustRun("reset")
	contains(t, p.mustRun("down"), "is not up")
}
