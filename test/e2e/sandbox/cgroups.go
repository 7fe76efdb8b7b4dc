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

package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hierarchy is one tree of cgroups: with version 1 there is one for each set of
// controllers, with version 2 a single one.
type hierarchy struct {
	mount   string
	unified bool
	options []string
}

func (h hierarchy) has(controller string) bool {
	return h.unified || slices.Contains(h.options, controller)
}

// hierarchies are those that have controllers. A version 2 beside version 1 has
// none.
func hierarchies() ([]hierarchy, error) {
	one, two, err := mountedHierarchies()
	switch {
	case err != nil:
		return nil, err
	case len(one) > 0:
		return one, nil
	case len(two) > 0:
		return two[:1], nil
	default:
		return nil, errors.New("no cgroups are mounted")
	}
}

// mountedHierarchies reads where the cgroups of both versions are mounted.
func mountedHierarchies() (one, two []hierarchy, err error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(mounts))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) < 4:
		case fields[2] == "cgroup":
			one = append(one, hierarchy{mount: fields[1], options: strings.Split(fields[3], ",")})
		case fields[2] == "cgroup2":
			two = append(two, hierarchy{mount: fields[1], unified: true})
		}
	}
	return one, two, lines.Err()
}

// makeCgroups makes a cgroup in every hierarchy.
func makeCgroups(name string) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if err := tree.make(name); err != nil {
			return fmt.Errorf("make the cgroup %s: %w", filepath.Join(tree.mount, name), err)
		}
	}
	return nil
}

func (h hierarchy) make(name string) error {
	dir := filepath.Join(h.mount, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if h.unified {
		return h.delegate(dir)
	}
	if !h.has("cpuset") {
		return nil
	}
	// With version 1 a new cpuset is empty, and what is empty takes no process.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// delegate lets the cgroup and its parents hand the controllers down.
func (h hierarchy) delegate(dir string) error {
	available, err := os.ReadFile(filepath.Join(h.mount, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for parent := h.mount; ; parent = filepath.Join(parent, strings.Split(strings.TrimPrefix(dir, parent+"/"), "/")[0]) {
		for _, controller := range strings.Fields(string(available)) {
			// One by one, because one that a process with real time priority
			// forbids must not keep the others.
			_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
		}
		if parent == dir {
			return nil
		}
	}
}

// removeCgroups removes the cgroup everywhere, the deepest first. The runtime makes
// some in a version 2 without controllers, too.
func removeCgroups(name string) error {
	one, two, err := mountedHierarchies()
	if err != nil {
		return err
	}
	var failed error
	for _, tree := range append(one, two...) {
		failed = errors.Join(failed, removeTree(filepath.Join(tree.mount, name)))
	}
	return failed
}

// removePatience is for the kernel, which lets go of a cgroup a moment after its
// last process is gone.
const removePatience = 10 * time.Second

func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // what vanishes meanwhile need not be removed
	})
	if err != nil {
		return err
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		give := time.Now().Add(removePatience)
		for {
			err := syscall.Rmdir(dir)
			if err == nil || errors.Is(err, syscall.ENOENT) {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || time.Now().After(give) {
				return fmt.Errorf("remove the cgroup %s: %w", dir, err)
			}
			<-time.After(50 * time.Millisecond)
		}
	}
	return nil
}

// Cgroup is a node's share of the subtree, or a folder below it.
type Cgroup struct{ path string }

// NewCgroup makes a cgroup below the sandbox's.
func NewCgroup(work, name string) (Cgroup, error) {
	path := filepath.Join(cgroupOf(work), name)
	return Cgroup{path: path}, makeCgroups(path)
}

// Path is the path to give to the kubelet.
func (c Cgroup) Path() string { return "/" + c.path }

// Add puts a process into it, in the hierarchy by which Kill finds its processes;
// its children follow.
func (c Cgroup) Add(pid int) error {
	dir, err := c.dir("pids")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
}

// Kill ends all processes in it and below, as a power cut does.
func (c Cgroup) Kill() error {
	dir, err := c.dir("pids")
	if err != nil {
		return err
	}
	return killAll(dir)
}

// KillContainer kills the processes of one container below it.
func (c Cgroup) KillContainer(id string) error {
	dir, err := c.find("pids", id)
	if err != nil {
		return err
	}
	return killAll(dir)
}

func killAll(dir string) error {
	give := time.Now().Add(removePatience)
	for {
		pids := processes(dir)
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(give) {
			return fmt.Errorf("processes of %s survive: %v", dir, pids)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (c Cgroup) dir(controller string) (string, error) {
	trees, err := hierarchies()
	if err != nil {
		return "", err
	}
	for _, tree := range trees {
		if tree.has(controller) {
			return filepath.Join(tree.mount, c.path), nil
		}
	}
	return "", fmt.Errorf("no cgroups have the controller %s", controller)
}

func processes(dir string) []int {
	var pids []int
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "cgroup.procs" {
			return nil // a cgroup may vanish meanwhile
		}
		data, _ := os.ReadFile(path)
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// MemoryLimit reads the limit in bytes of a container below it.
func (c Cgroup) MemoryLimit(id string) (string, error) {
	return c.read("memory", id, "memory.limit_in_bytes", "memory.max")
}

// CPUQuota reads how many microseconds in each period a container may use: a number
// alone with version 1, followed by the period with version 2.
func (c Cgroup) CPUQuota(id string) (string, error) {
	quota, err := c.read("cpu", id, "cpu.cfs_quota_us", "cpu.max")
	quota, _, _ = strings.Cut(quota, " ")
	return quota, err
}

func (c Cgroup) read(controller, name, one, two string) (string, error) {
	found, err := c.find(controller, name)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(found, one))
	if errors.Is(err, os.ErrNotExist) {
		data, err = os.ReadFile(filepath.Join(found, two))
	}
	return strings.TrimSpace(string(data)), err
}

// find looks for the cgroup whose path ends so, wherever below it is.
func (c Cgroup) find(controller, name string) (string, error) {
	dir, err := c.dir(controller)
	if err != nil {
		return "", err
	}
	var found string
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasSuffix(path, name) {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || found == "" {
		return "", errors.Join(err, fmt.Errorf("no cgroup %s below %s", name, dir))
	}
	return found, nil
}
