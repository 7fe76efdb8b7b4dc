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
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// beInit is the life of the namespaces' first process.
func beInit(work string) (int, error) {
	if err := furnish(work); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return cannot, nil
	}
	cmd := again(work, stageTests)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1, fmt.Errorf("wait for the tests: %w", err)
		case pid != cmd.Process.Pid:
			// An orphan, whose parent ended before it did.
		case status.Exited():
			return status.ExitStatus(), nil
		default:
			return 1, fmt.Errorf("the tests were ended by %s", status.Signal())
		}
	}
}

// furnish makes the inside fit for a node.
func furnish(work string) error {
	// First private, so that no mount gets out; then shared among ourselves,
	// because the kubelet and the runtime have to see each other's mounts.
	for _, flags := range []uintptr{unix.MS_REC | unix.MS_PRIVATE, unix.MS_REC | unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", flags, ""); err != nil {
			return fmt.Errorf("separate the mounts from the machine's: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// Programs write below these wherever they are told to write. What the
	// machine has there is not needed inside.
	for _, dir := range []string{"/run", "/var/lib", "/var/log"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
			return fmt.Errorf("mount over %s: %w", dir, err)
		}
	}
	if err := unix.Sethostname([]byte("e2e")); err != nil {
		return fmt.Errorf("name the host: %w", err)
	}
	return errors.Join(shieldSysctls(work), tryOverlay(work), connect())
}

// shieldSysctls gives the kubelet files to write to. Three of the settings that it
// puts right at its start are the whole machine's, in whichever namespace.
func shieldSysctls(work string) error {
	shield := filepath.Join(work, "sysctl")
	if err := os.Mkdir(shield, 0o700); err != nil {
		return err
	}
	for _, name := range sysctls() {
		sysctl := "/proc/sys/" + name
		value, err := os.ReadFile(sysctl)
		if errors.Is(err, os.ErrNotExist) {
			continue // this kernel has none
		}
		if err != nil {
			return err
		}
		copied := filepath.Join(shield, filepath.Base(name))
		if err := os.WriteFile(copied, value, 0o600); err != nil {
			return err
		}
		if err := unix.Mount(copied, sysctl, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("shield %s from the kubelet: %w", sysctl, err)
		}
	}
	return nil
}

// tryOverlay finds out whether the work folder can hold containers' files: not
// every file system can be the upper layer of an overlay.
func tryOverlay(work string) error {
	dir := filepath.Join(work, "overlay")
	for _, sub := range []string{"lower", "upper", "work", "merged"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	merged := filepath.Join(dir, "merged")
	layers := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	if err := unix.Mount("overlay", merged, "overlay", 0, layers); err != nil {
		return fmt.Errorf("no overlay file system on %s: %w", work, err)
	}
	return errors.Join(unix.Unmount(merged, 0), os.RemoveAll(dir))
}

// Kubernetes is where pods look for the API server: the first address of the
// Services' range. There is no kube-proxy, so the API server itself listens there.
// It is the one Service that pods can call by its address.
func Kubernetes() net.IP { return net.IPv4(10, 96, 0, 1) }

// NodeAddress is the address of a node, counted from 0.
func NodeAddress(node int) net.IP { return net.IPv4(10, 97, 0, byte(node+1)) }

const maxNodes = 4

// connect brings the loopback interface up and gives it the addresses. Pods come
// from bridges that the network plugin makes.
func connect() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	addresses := []net.IP{Kubernetes()}
	for node := range maxNodes {
		addresses = append(addresses, NodeAddress(node))
	}
	for i, address := range addresses {
		if err := assign(socket, fmt.Sprintf("lo:%d", i+1), address); err != nil {
			return fmt.Errorf("give the loopback interface %s: %w", address, err)
		}
	}
	return nil
}

func assign(socket int, alias string, address net.IP) error {
	request, err := unix.NewIfreq(alias)
	if err != nil {
		return err
	}
	if err := request.SetInet4Addr(address.To4()); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFADDR, request); err != nil {
		return err
	}
	// This address alone: the kernel takes it for all of 10.0.0.0/8.
	if err := request.SetInet4Addr(net.IPv4bcast.To4()); err != nil {
		return err
	}
	return unix.IoctlIfreq(socket, unix.SIOCSIFNETMASK, request)
}
