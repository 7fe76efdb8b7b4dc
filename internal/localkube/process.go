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
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// logTailLines is how much of a dead process's log its obituary carries.
const logTailLines = 20

// spawner starts child processes from one OS thread that lives as long as the
// cluster. The kernel delivers the parent death signal when the *thread* that
// started the child ends, not the process; a thread of the Go runtime may end
// at any time and would take the child with it.
type spawner struct {
	requests chan func()
	done     chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for request := range s.requests {
			request()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	result := make(chan error)
	s.requests <- func() { result <- cmd.Start() }
	return <-result
}

// close ends the thread, and with it every child that is still alive.
func (s *spawner) close() {
	close(s.requests)
	<-s.done
}

// ProcessSpec says what to run.
type ProcessSpec struct {
	Name    string // what errors call it
	Path    string
	Args    []string
	Env     []string // on top of our own environment
	LogPath string   // its output is appended here
}

// Process is a child that dies with us, unless it was ended before.
type Process struct {
	spec    ProcessSpec
	cmd     *exec.Cmd
	started time.Time
	exited  chan struct{} // closed when the process is gone and exitErr is set

	mu      sync.Mutex
	wanted  bool // its end was requested
	exitErr error
}

// startProcess runs the command. onDeath is called once, when the process
// ended without being asked to.
func startProcess(s *spawner, spec ProcessSpec, onDeath func(error)) (*Process, error) {
	log, err := os.OpenFile(spec.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	defer log.Close()                            // the child has its own descriptor
	cmd := exec.Command(spec.Path, spec.Args...) //nolint:gosec // the programs of the control plane are what it is for
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.SysProcAttr = childAttributes()
	p := &Process{spec: spec, cmd: cmd, started: time.Now(), exited: make(chan struct{})}
	if err := s.start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	go p.wait(onDeath)
	return p, nil
}

func (p *Process) wait(onDeath func(error)) {
	err := p.cmd.Wait()
	p.mu.Lock()
	p.exitErr = err
	wanted := p.wanted
	p.mu.Unlock()
	if !wanted && onDeath != nil {
		onDeath(p.obituary())
	}
	close(p.exited)
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Started is when it was started.
func (p *Process) Started() time.Time { return p.started }

// LogPath is where its output goes.
func (p *Process) LogPath() string { return p.spec.LogPath }

// Exited is closed when the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running reports whether the process is there; a paused one is.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Kill ends the process with SIGKILL and returns when it is gone.
func (p *Process) Kill() {
	p.expectExit()
	_ = p.cmd.Process.Kill() // an error means that it is gone already
	<-p.exited
}

// Stop asks the process to end with SIGTERM, and kills it when it has not
// after the grace. It tells whether the process ended by itself.
func (p *Process) Stop(grace time.Duration) bool {
	p.expectExit()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a paused process does not handle SIGTERM
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		p.Kill()
		return false
	}
}

// Pause freezes the process with SIGSTOP; Resume lets it go on.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// Usage is what the process has used so far.
func (p *Process) Usage() (Usage, error) {
	usage, err := ProcessUsage(p.PID())
	if err != nil {
		return Usage{}, fmt.Errorf("usage of %s: %w", p.spec.Name, err)
	}
	return usage, nil
}

func (p *Process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %q to %s: %w", s, p.spec.Name, err)
	}
	return nil
}

func (p *Process) expectExit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = true
}

// obituary says how the process ended, with the end of its log.
func (p *Process) obituary() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	how := "exit status 0"
	if p.exitErr != nil {
		how = p.exitErr.Error()
	}
	return &DiedError{Name: p.spec.Name, How: how, LogPath: p.spec.LogPath, LogTail: tail(p.spec.LogPath, logTailLines)}
}

// Usage is what a process has used: CPU time since its start, and the memory
// it holds now.
type Usage struct {
	CPU time.Duration
	RSS int64
}

// DiedError reports a process that ended on its own.
type DiedError struct {
	Name    string // "kube-apiserver"
	How     string // "exit status 1", "signal: killed"
	LogPath string
	LogTail string
}

func (e *DiedError) Error() string {
	return fmt.Sprintf("%s died (%s); the end of %s:\n%s", e.Name, e.How, e.LogPath, e.LogTail)
}

// tail returns the last lines of a file; what cannot be read is said in place
// of them.
func tail(path string, lines int) string {
	const enough = 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > enough {
		if _, err := f.Seek(-enough, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	data = bytes.TrimRight(data, "\n")
	for start := len(data); start > 0 && lines > 0; lines-- {
		start = bytes.LastIndexByte(data[:start], '\n')
		if lines == 1 && start >= 0 {
			return string(data[start+1:])
		}
	}
	return string(data)
}
