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

package node

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/mycompany/pod-operator/test/e2e/sandbox"
)

// PauseImage holds a pod's namespaces.
const PauseImage = "e2e.local/pause:1"

// writeFiles writes what the daemons read.
func (n *Node) writeFiles() error {
	config, err := n.opts.Cluster.RESTConfigFor("system:node:"+n.opts.Name, "system:nodes")
	if err != nil {
		return err
	}
	if err := n.opts.Cluster.WriteKubeconfig(n.file("kubeconfig"), config); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"containerd.toml":     n.containerdConfig(),
		"kubelet.yaml":        n.kubeletConfig(),
		"cni/10-e2e.conflist": n.networkConfig(),
	} {
		if err := os.WriteFile(n.file(name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// containerdConfig: plugins that would write to folders of the machine are off.
// Inside a sandbox within another, oom_score_adj can only be raised and AppArmor
// not be loaded.
func (n *Node) containerdConfig() string {
	return fmt.Sprintf(`version = 3
root = %[1]q
state = %[2]q
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri", "io.containerd.internal.v1.tracing",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.differ.v1.erofs",
]

[grpc]
  address = %[3]q

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = %[4]q

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  disable_apparmor = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = [%[5]q]
  conf_dir = %[6]q
[plugins.'io.containerd.cri.v1.runtime'.containerd]
  default_runtime_name = "runc"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = %[7]q
  SystemdCgroup = false
`, n.file("containerd"), filepath.Join(n.run, "containerd"), n.socket(), PauseImage,
		filepath.Join(n.opts.BinDir, "cni"), n.file("cni"), filepath.Join(n.opts.BinDir, "runc"))
}

// kubeletConfig: no reservations, no iptables, no evictions by a disk that is the
// machine's and not ours; and what the tests would otherwise wait for, faster.
func (n *Node) kubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
containerRuntimeEndpoint: unix://%[2]s
cgroupRoot: %[3]s
cgroupDriver: cgroupfs
cgroupsPerQOS: true
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
resolvConf: ""
clusterDomain: cluster.local
podLogsDir: %[4]s
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[5]s}
authorization: {mode: Webhook}
evictionHard: {memory.available: "0%%", nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%", imagefs.inodesFree: "0%%"}
imageGCHighThresholdPercent: 100
imageMaximumGCAge: 0s
syncFrequency: 1s
nodeStatusUpdateFrequency: 4s
nodeLeaseDurationSeconds: 20
featureGates: {KubeletCrashLoopBackOffMax: true}
crashLoopBackOff: {maxContainerRestartPeriod: 2s}
maxPods: 60
systemReserved: {memory: "%[6]d"}
`, n.address(), n.socket(), n.cgroup.Path(), n.file("pods"), filepath.Join(n.opts.Cluster.Dir(), "pki", "ca.crt"),
		max(0, memoryOfMachine()-n.opts.Memory))
}

// memoryOfMachine is what the kubelet takes for the node's capacity.
func memoryOfMachine() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// networkConfig: a bridge for each node. The kernel routes between them.
func (n *Node) networkConfig() string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "e2e",
  "plugins": [{
    "type": "bridge", "bridge": "%[3]s%[1]d", "isGateway": true, "ipMasq": false, "hairpinMode": true,
    "ipam": {
      "type": "host-local", "dataDir": %[2]q,
      "ranges": [[{"subnet": "10.244.%[1]d.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`, n.opts.Index, n.file("ipam"), sandbox.BridgePrefix)
}
