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

// Package e2e drives the operator where nothing is played: real kubelets,
// containerd and runc run real containers, and the operator runs in a pod from
// its own image, installed by the Helm chart. docs/e2e.md tells what is checked
// and how it works; make e2e builds what it takes and runs it.
package e2e
