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

package execpages

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mapping is a part of the address space.
type mapping struct {
	begin, end uintptr
	// resident and changed are in bytes; changed are those that differ from
	// the file.
	resident, changed int
}

// Release gives back the pages of the executable that can be read again, and
// returns how many bytes were resident.
func Release() (bytes int, err error) {
	mappings, err := ofExecutable()
	if err != nil {
		return 0, fmt.Errorf("find the pages of the executable: %w", err)
	}
	var failures []error
	for _, m := range mappings {
		if m.changed > 0 {
			continue // relocated: the file does not have what is there
		}
		if _, _, code := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED); code != 0 {
			failures = append(failures, fmt.Errorf("release %x-%x: %w", m.begin, m.end, code))
			continue
		}
		bytes += m.resident
	}
	return bytes, errors.Join(failures...)
}

// ofExecutable are the mappings of the executable that cannot be written.
func ofExecutable() ([]mapping, error) {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	defer smaps.Close()
	var found []mapping
	var current *mapping
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if !strings.HasSuffix(fields[0], ":") { // the first line of a mapping
			current = nil
			if m, ok := readOnly(fields, path); ok {
				found = append(found, m)
				current = &found[len(found)-1]
			}
			continue
		}
		if current == nil {
			continue
		}
		kilobytes, _ := strconv.Atoi(fields[1])
		switch fields[0] {
		case "Rss:":
			current.resident = kilobytes << 10
		case "Anonymous:":
			current.changed = kilobytes << 10
		}
	}
	return found, lines.Err()
}

// readOnly reads "00400000-0244d000 r-xp 00000000 fe:00 1234 /manager".
func readOnly(fields []string, path string) (mapping, bool) {
	if len(fields) < 6 || strings.Contains(fields[1], "w") || strings.Join(fields[5:], " ") != path {
		return mapping{}, false
	}
	from, to, ok := strings.Cut(fields[0], "-")
	begin, err1 := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	return mapping{begin: uintptr(begin), end: uintptr(end)}, ok && err1 == nil && err2 == nil
}
