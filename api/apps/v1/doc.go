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

// Package v1 is the hub and storage version of PodManager, the one small
// object that asks for a set of Pods. The reasons that conditions, events,
// history, metrics and explanations share are documented constants here,
// beside the types they speak of.
//
// The package depends on apimachinery alone, so that a program which imports
// these types pulls in no controller machinery.
//
// +kubebuilder:object:generate=true
// +groupName=apps.mycompany.com
package v1
