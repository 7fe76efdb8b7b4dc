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

// Package native foresees what a change does to the pods of Kubernetes' own
// workloads: Deployment, ReplicaSet, StatefulSet and DaemonSet, and which pods read
// a ConfigMap or a Secret.
//
// A model gets the workload as it is, the workload as the API server's dry run
// returned it, and what surrounds it, as plain values. It plays the documented
// behaviour of the controller forward in waves: a wave ends when the pods that came
// in it are available. Pods of the new template are assumed to become available, and
// pods of an old template that are not ready are assumed to stay so. What the
// controller does not define, and what could not be read, is Unknown and not a guess.
//
// The models are pure: no client, no clock. They share nothing with the planner of
// PodManagers. test/native compares them with the real kube-controller-manager.
package native
