//go:build linux

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

// Package sandbox runs a program of tests where containers can be run for real
// without the machine being changed: in mount, process, network, UTS and IPC
// namespaces of its own, and with a cgroup subtree of its own.
//
// The program runs itself twice more. The first process stays outside; it makes
// the work folder and the cgroups, and removes them when the others are gone,
// whatever became of them. The second is the first process of the namespaces; it
// mounts what hides the machine's own folders, takes in orphans, and when it
// ends the kernel ends everything inside. The third runs the tests.
//
// What a killed first process leaves behind, two folders, the next one removes.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

const (
	stageVariable = "E2E_STAGE"
	stageInit     = "init"
	stageTests    = "tests"

	workVariable = "E2E_WORK"

	// cannot is how the second process says that this machine will not do; it
	// has told why.
	cannot = 77
)

// ErrCannot says that the machine lacks something that containers need.
var ErrCannot = errors.New("containers cannot be run here")

// Main runs tests inside, and returns what they returned. The error is ErrCannot
// where the machine will not do. Inside, the folder is given to the tests.
func Main(base string, tests func(work string) int) (int, error) {
	switch os.Getenv(stageVariable) {
	case stageTests:
		return tests(os.Getenv(workVariable)), nil
	case stageInit:
		return beInit(os.Getenv(workVariable))
	default:
		return outside(base)
	}
}

// cgroupOf is the folder's name as the cgroups know it.
func cgroupOf(work string) string { return filepath.Base(work) }

const folderPrefix = "pod-operator-e2e-"

func outside(base string) (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, fmt.Errorf("%w: only root can make the namespaces", ErrCannot)
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return 0, err
	}
	sweep(base)
	work := filepath.Join(base, fmt.Sprintf("%s%d", folderPrefix, os.Getpid()))
	if err := os.Mkdir(work, 0o700); err != nil {
		return 0, err
	}
	before := machine()
	defer func() { err = errors.Join(err, remove(work), before.compare(machine())) }()
	if err := makeCgroups(cgroupOf(work)); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCannot, err)
	}
	return runInside(work)
}

// runInside starts the second process and waits until it, and with it everything
// inside, is gone.
func runInside(work string) (int, error) {
	// The kernel ends the child when the thread that made it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := again(work, stageInit)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%w: no namespaces: %w", ErrCannot, err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		// The first process of a namespace gets only the signals that it handles,
		// and SIGKILL from outside.
		if _, ok := <-signals; ok {
			_ = cmd.Process.Kill()
		}
	}()
	err := cmd.Wait()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &ended) && ended.ExitCode() == cannot:
		return 0, ErrCannot
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return ended.ExitCode(), nil
	default:
		return 1, fmt.Errorf("the tests were ended: %w", err)
	}
}

// again is this program, in its next stage.
func again(work, stage string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), stageVariable+"="+stage, workVariable+"="+work)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, os.Stdout, os.Stderr
	return cmd
}

// remove takes away what was made outside. The mounts went with their namespace.
func remove(work string) error {
	return errors.Join(removeCgroups(cgroupOf(work)), os.RemoveAll(work))
}

// sweep removes what runs left behind that were killed.
func sweep(base string) {
	found, err := filepath.Glob(filepath.Join(base, folderPrefix+"*"))
	if err != nil {
		return
	}
	for _, work := range found {
		if _, err := os.Stat("/proc/" + strings.TrimPrefix(filepath.Base(work), folderPrefix)); os.IsNotExist(err) {
			_ = remove(work) // the next run tries again
		}
	}
}
