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

// Package localkube runs a real Kubernetes control plane as child processes:
// etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok,
// which plays the kubelets of nodes that do not exist. The playground shows
// the operator on it; tests use it in place of envtest, because envtest brings
// neither a garbage collector nor a scheduler nor anything that runs pods.
//
// Start writes keys, kubeconfigs and configuration files into one folder,
// starts etcd and the API server together, and the other components as soon as
// the API server is ready. Each component listens on 127.0.0.1 only and writes
// into a log file of its own; where one fails, the error carries the end of
// that file.
//
// Three things hold at any time:
//
//   - No child outlives the process that called Start, however it ends: the
//     kernel kills the children when their parent dies (Linux), and Stop kills
//     what is left.
//   - Two clusters never share a folder: it is locked while in use.
//   - kwok ends only pods that are terminating. It deletes by name, without a
//     UID, and sometimes late; an admission policy refuses what would hit a pod
//     that was created again under the same name.
package localkube
