//go:build unix && !linux

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
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childAttributes put a child into a process group of its own. Other systems
// than Linux have no parent death signal: there, children outlive a caller
// that is killed with SIGKILL, and "playground down" has to collect them.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// ProcessUsage is known on Linux only.
func ProcessUsage(pid int) (Usage, error) {
	return Usage{}, fmt.Errorf("usage of process %d: %w", pid, errors.ErrUnsupported)
}

// ProcessStartTime identifies a process together with its id.
func ProcessStartTime(pid int) (uint64, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("start time of process %d: %w", pid, err)
	}
	started, err := time.ParseInLocation(time.ANSIC, strings.TrimSpace(string(out)), time.Local)
	if err != nil {
		return 0, fmt.Errorf("start time of process %d: %w", pid, err)
	}
	return uint64(started.Unix()), nil
}
