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

// Package versions has the two versions of the kind of exercise 10. The API server
// stores v1; clients that were written for v1alpha1 still read and write that.
package versions

import "maps"

// V1alpha1 is the old version.
type V1alpha1 struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Size        int32             `json:"size"`
	Image       string            `json:"image,omitempty"`
}

// V1 is the stored version. It has fields that the old one does not have.
type V1 struct {
	Annotations     map[string]string `json:"annotations,omitempty"`
	Replicas        int32             `json:"replicas"`
	Image           string            `json:"image,omitempty"`
	MinReadySeconds int32             `json:"minReadySeconds,omitempty"`
	Paused          bool              `json:"paused,omitempty"`
}

// DeepCopy copies an object.
func (v *V1) DeepCopy() *V1 {
	out := *v
	out.Annotations = maps.Clone(v.Annotations)
	return &out
}
