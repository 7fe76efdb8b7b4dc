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

// Package conversion is exercise 10: a conversion that loses a field.
//
// This is the file to edit.
package conversion

import (
	"maps"

	"github.com/mycompany/pod-operator/lab/exercises/10-conversion/versions"
)

// ToV1 converts what a client of the old version wrote into what is stored.
func ToV1(in *versions.V1alpha1) *versions.V1 {
	return &versions.V1{Annotations: maps.Clone(in.Annotations), Replicas: in.Size, Image: in.Image}
}

// FromV1 converts what is stored into what a client of the old version reads.
func FromV1(in *versions.V1) *versions.V1alpha1 {
	return &versions.V1alpha1{Annotations: maps.Clone(in.Annotations), Size: in.Replicas, Image: in.Image}
}
