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

// Package node is a Kubernetes node: a real kubelet with a real containerd, runc
// and network plugins, inside a sandbox. Several of them share one kernel; each
// has its own folders, cgroups, bridge and address, and can lose its power alone.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/test/e2e/sandbox"
)

// Options say which node to start.
type Options struct {
	Name  string
	Index int // counted from 0; it decides the addresses

	// Memory is what the scheduler and the kubelet may give to pods, in bytes;
	// the rest of the machine's is reserved.
	Memory int64

	Cluster *localkube.Cluster
	BinDir  string   // where hack/build-e2e put its work
	Work    string   // the sandbox's folder
	Images  []string // archives that the node knows from its start
}

// Node is a running node.
type Node struct {
	opts    Options
	dir     string // data that is large or worth reading
	run     string // sockets, whose paths must be short
	cgroup  sandbox.Cgroup
	daemons sandbox.Cgroup

	containerd, kubelet *localkube.Process
}

// Start starts the node and returns when its kubelet runs. The API says when the
// node is ready.
func Start(ctx context.Context, opts Options) (*Node, error) {
	n := &Node{opts: opts, dir: filepath.Join(opts.Work, opts.Name), run: "/run/" + opts.Name}
	var err error
	if n.cgroup, err = sandbox.NewCgroup(opts.Work, opts.Name); err != nil {
		return nil, err
	}
	if n.daemons, err = sandbox.NewCgroup(opts.Work, filepath.Join(opts.Name, "daemons")); err != nil {
		return nil, err
	}
	for _, dir := range []string{n.dir, n.run, filepath.Join(n.dir, "cni")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := n.writeFiles(); err != nil {
		return nil, fmt.Errorf("node %s: %w", opts.Name, err)
	}
	if err := n.PowerOn(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// Name is the node's.
func (n *Node) Name() string { return n.opts.Name }

// Cgroup holds the node's pods.
func (n *Node) Cgroup() sandbox.Cgroup { return n.cgroup }

// Dir is where the node keeps its files. Pods that mount a folder of the host may
// have it here.
func (n *Node) Dir() string { return n.dir }

// PowerOn starts the node's daemons.
func (n *Node) PowerOn(ctx context.Context) error {
	var err error
	n.containerd, err = n.daemon("containerd", "--config", n.file("containerd.toml"))
	if err != nil {
		return err
	}
	if err := n.importImages(ctx); err != nil {
		return err
	}
	n.kubelet, err = n.daemon("kubelet",
		"--config="+n.file("kubelet.yaml"), "--kubeconfig="+n.file("kubeconfig"), "--root-dir="+n.file("kubelet"),
		"--cert-dir="+n.file("kubelet-pki"), "--hostname-override="+n.opts.Name, "--node-ip="+n.address(), "--v=2")
	return err
}

// PowerOff kills every process of the node at once: containers, shims, daemons.
// None can shut down gracefully.
func (n *Node) PowerOff() error {
	n.kubelet.Kill()
	n.containerd.Kill()
	if err := n.cgroup.Kill(); err != nil {
		return fmt.Errorf("node %s: %w", n.opts.Name, err)
	}
	return nil
}

func (n *Node) file(name string) string { return filepath.Join(n.dir, name) }

func (n *Node) socket() string { return filepath.Join(n.run, "containerd.sock") }

func (n *Node) address() string { return sandbox.NodeAddress(n.opts.Index).String() }

// daemon runs a program of the node in the node's cgroup.
func (n *Node) daemon(program string, args ...string) (*localkube.Process, error) {
	process, err := n.opts.Cluster.RunProcess(localkube.ProcessSpec{
		Name: program + " of " + n.opts.Name, Path: filepath.Join(n.opts.BinDir, program), Args: args,
		Env: []string{"PATH=" + n.opts.BinDir + ":" + os.Getenv("PATH")}, LogPath: n.file(program + ".log"),
	})
	if err != nil {
		return nil, err
	}
	return process, n.daemons.Add(process.PID())
}

// importImages waits for containerd and gives it what a registry would have.
func (n *Node) importImages(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := n.ctr(ctx, "version")
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("containerd of node %s does not answer, see %s: %w", n.opts.Name, n.file("containerd.log"), err)
	}
	for _, archive := range n.opts.Images {
		if out, err := n.ctr(ctx, "--namespace", "k8s.io", "images", "import", archive); err != nil {
			return fmt.Errorf("import %s on node %s: %w\n%s", archive, n.opts.Name, err, out)
		}
	}
	return nil
}

func (n *Node) ctr(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(n.opts.BinDir, "ctr"), append([]string{"--address", n.socket()}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Missing tells which of the files that hack/build-e2e makes are not there.
func Missing(binDir string) error {
	var missing error
	for _, name := range []string{
		"containerd", "containerd-shim-runc-v2", "ctr", "kubelet", "runc", "cni/bridge", "cni/host-local", "cni/loopback",
	} {
		if _, err := os.Stat(filepath.Join(binDir, name)); err != nil {
			missing = errors.Join(missing, err)
		}
	}
	return missing
}
