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

// Package solution is a solution of exercise 10: what the old version has no field for
// travels in an annotation.
package solution

import (
	"encoding/json"
	"maps"

	"github.com/mycompany/pod-operator/lab/exercises/10-conversion/versions"
)

// kept is the annotation with the fields that the old version does not have.
const kept = "lab.mycompany.com/v1"

type fields struct {
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	Paused          bool  `json:"paused,omitempty"`
}

// ToV1 converts what a client of the old version wrote into what is stored. The
// annotation is taken off: it would be wrong as soon as a client of v1 writes.
func ToV1(in *versions.V1alpha1) *versions.V1 {
	out := &versions.V1{Annotations: maps.Clone(in.Annotations), Replicas: in.Size, Image: in.Image}
	var rest fields
	// A client can write anything into the annotation; what cannot be read is dropped.
	if json.Unmarshal([]byte(out.Annotations[kept]), &rest) == nil {
		out.MinReadySeconds, out.Paused = rest.MinReadySeconds, rest.Paused
	}
	delete(out.Annotations, kept)
	if len(out.Annotations) == 0 {
		out.Annotations = nil
	}
	return out
}

// FromV1 converts what is stored into what a client of the old version reads.
func FromV1(in *versions.V1) *versions.V1alpha1 {
	out := &versions.V1alpha1{Annotations: maps.Clone(in.Annotations), Size: in.Replicas, Image: in.Image}
	rest := fields{in.MinReadySeconds, in.Paused}
	raw, err := json.Marshal(rest)
	if err != nil || rest == (fields{}) {
		return out
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[kept] = string(raw)
	return out
}
