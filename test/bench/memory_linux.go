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

package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// resetPeak makes the kernel forget a process's peak of resident memory.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakMemory is the largest resident memory since the last reset.
func peakMemory(pid int) (int64, error) { return statusField(pid, "VmHWM") }

// privateMemory is the resident memory that is not a file's: without the pages
// of the executable.
func privateMemory(pid int) (int64, error) { return statusField(pid, "RssAnon") }

func statusField(pid int, name string) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(raw) {
		rest, ok := bytes.CutPrefix(line, []byte(name+":"))
		if !ok {
			continue
		}
		number, ok := bytes.CutSuffix(bytes.TrimSpace(rest), []byte(" kB"))
		if !ok {
			break
		}
		kb, err := strconv.ParseInt(string(number), 10, 64)
		return kb * 1024, err
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s in kB", pid, name)
}

// machineMemory is what there is in all, in bytes.
func machineMemory() (int64, error) {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var kb int64
	if _, err := fmt.Sscanf(string(raw), "MemTotal: %d kB", &kb); err != nil {
		return 0, fmt.Errorf("/proc/meminfo: %w", err)
	}
	return kb * 1024, nil
}

// machineCPU is what all programs have used of the machine so far.
func machineCPU() (time.Duration, error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0, fmt.Errorf("/proc/stat: not understood: %q", line)
	}
	var ticks int64
	for i, field := range fields[1:9] {
		if i == 3 || i == 4 { // idle, and waiting for a disk
			continue
		}
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		ticks += n
	}
	const tick = 10 * time.Millisecond // on every Linux that Go runs on
	return time.Duration(ticks) * tick, nil
}
