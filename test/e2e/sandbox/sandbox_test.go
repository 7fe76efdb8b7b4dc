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
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test runs its own program in a sandbox, which does what this says there.
const (
	roleVariable = "SANDBOX_TEST_ROLE"
	baseVariable = "SANDBOX_TEST_BASE"

	failedCode = 3
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	code, err := Main(os.Getenv(baseVariable), func(work string) int { return play(role, work) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if errors.Is(err, ErrCannot) {
		code = cannot
	}
	os.Exit(code)
}

// play leaves as much behind as it can, and then ends as the role says.
func play(role, work string) int {
	group, err := NewCgroup(work, "node/deeper")
	if err == nil {
		err = group.Add(os.Getpid())
	}
	for _, sysctl := range sysctls() {
		if _, missing := os.Stat("/proc/sys/" + sysctl); missing == nil {
			err = errors.Join(err, os.WriteFile("/proc/sys/"+sysctl, []byte("424242"), 0o600))
		}
	}
	err = errors.Join(err,
		os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600),
		os.MkdirAll("/var/lib/kubelet", 0o700), os.MkdirAll("/run/containerd", 0o700),
		syscall.Mount("tmpfs", "/mnt", "tmpfs", 0, ""),
		exec.Command("/bin/sh", "-c", "sleep 3600 &").Run(),
		os.WriteFile(filepath.Join(work, "..", "ready"), nil, 0o600))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch role {
	case "fails":
		return failedCode
	case "panics":
		panic("as asked")
	case "hangs":
		select {}
	}
	return 0
}

// run plays the role and returns how it ended, and what it was called.
func run(t *testing.T, base, role string) (code int, name string) {
	t.Helper()
	cmd := command(t, base, role)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code == cannot {
		t.Skipf("no sandbox here: %s", out)
	}
	t.Logf("%s", out)
	return cmd.ProcessState.ExitCode(), nameOf(cmd)
}

func nameOf(cmd *exec.Cmd) string { return fmt.Sprintf("%s%d", folderPrefix, cmd.Process.Pid) }

func command(t *testing.T, base, role string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, baseVariable+"="+base)
	return cmd
}

// left lists the folders and cgroups of that name.
func left(t *testing.T, base, name string) []string {
	t.Helper()
	one, two, err := mountedHierarchies()
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(base, name)}
	for _, tree := range append(one, two...) {
		paths = append(paths, filepath.Join(tree.mount, name))
	}
	return slices.DeleteFunc(paths, func(path string) bool { _, err := os.Stat(path); return err != nil })
}

func TestNothingIsLeftBehind(t *testing.T) {
	for role, want := range map[string]int{"passes": 0, "fails": failedCode, "panics": 2} {
		t.Run("when what runs inside "+role, func(t *testing.T) {
			base, before := t.TempDir(), machine()
			code, name := run(t, base, role)
			if code != want {
				t.Fatalf("it ended with %d, want %d", code, want)
			}
			if _, err := os.Stat(filepath.Join(base, "ready")); err != nil {
				t.Fatalf("nothing was done inside, so this shows nothing: %v", err)
			}
			if found := left(t, base, name); len(found) > 0 {
				t.Errorf("left behind: %v", found)
			}
			if err := before.compare(machine()); err != nil {
				t.Error(err)
			}
			mounts, err := os.ReadFile("/proc/mounts")
			if err != nil || strings.Contains(string(mounts), " /mnt tmpfs") || strings.Contains(string(mounts), base) {
				t.Errorf("a mount got out, or: %v", err)
			}
		})
	}
}

// A killed process cannot clean up after itself; but everything inside ends, and
// the next run removes the folders.
func TestTheNextRunRemovesWhatAKilledOneLeft(t *testing.T) {
	base := t.TempDir()
	if code, _ := run(t, base, "passes"); code != 0 {
		t.Fatal("no sandbox")
	}
	if err := os.Remove(filepath.Join(base, "ready")); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, base, "hangs")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "it hangs inside", func() bool {
		_, err := os.Stat(filepath.Join(base, "ready"))
		return err == nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	found := left(t, base, nameOf(cmd))
	if len(found) < 2 {
		t.Fatal("it left nothing, so this shows nothing")
	}
	await(t, "everything inside has ended", func() bool {
		for _, path := range found {
			if len(processes(path)) > 0 {
				return false
			}
		}
		return true
	})
	if code, _ := run(t, base, "passes"); code != 0 {
		t.Fatalf("the next run ended with %d", code)
	}
	for _, path := range found {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for give := time.Now().Add(time.Minute); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(give) {
			t.Fatalf("waited a minute until %s", what)
		}
	}
}
