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
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childAttributes put a child into a process group of its own, so that Ctrl-C
// reaches us alone and we stop the components in order; and make the kernel
// kill it when we are gone, however we went.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// clockTicks is the unit of the times in /proc/PID/stat. It is 100 per second
// on every Linux that Go runs on.
const clockTicks = 100

// ProcessUsage reads what a process has used so far.
func ProcessUsage(pid int) (Usage, error) {
	fields, err := procStat(pid)
	if err != nil {
		return Usage{}, err
	}
	// Numbered as in proc(5), less the pid and the name that were cut off.
	user, err1 := strconv.ParseInt(fields[14-3], 10, 64)
	system, err2 := strconv.ParseInt(fields[15-3], 10, 64)
	pages, err3 := strconv.ParseInt(fields[24-3], 10, 64)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return Usage{}, fmt.Errorf("usage of process %d: %w", pid, err)
		}
	}
	return Usage{
		CPU: time.Duration(user+system) * (time.Second / clockTicks),
		RSS: pages * int64(os.Getpagesize()),
	}, nil
}

// ProcessStartTime identifies a process together with its id, in ticks since
// boot: the kernel gives ids out again, but not at the same time.
func ProcessStartTime(pid int) (uint64, error) {
	fields, err := procStat(pid)
	if err != nil {
		return 0, err
	}
	if fields[0] == "Z" {
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	return strconv.ParseUint(fields[22-3], 10, 64)
}

// procStat returns the fields after the command's name, which may itself hold
// spaces and parentheses.
func procStat(pid int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(data, ')')
	fields := strings.Fields(string(data[end+1:]))
	if end < 0 || len(fields) < 22 {
		return nil, fmt.Errorf("/proc/%d/stat: not understood: %q", pid, data)
	}
	return fields, nil
}
