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

// Package v1alpha1 is PodManager as an older, smaller API: a size, an image
// and the names of the pods. It is a spoke: every object is stored as v1, the
// hub, and converted when a client asks for v1alpha1.
//
// The conversion works on the objects' JSON and not on Go types, so it keeps
// what this program's types do not know, too: a field that a newer CRD added
// survives an operator that is older than the CRD, and a quantity written as
// 1000m stays 1000m. What v1alpha1 has no field for travels in one annotation,
// AnnotationKept, on the v1alpha1 object alone.
//
// Invariants:
//   - v1 -> v1alpha1 -> v1 gives the same object;
//   - an edit of size, image or nodes in between changes that and nothing else;
//   - a v1 object never carries the annotation;
//   - reading never fails, because an error would make every list that holds
//     the object unreadable. An unreadable annotation is dropped; the admission
//     webhook refuses it when it is written. An object that is too large for an
//     annotation is shown with a label in its place, and a write that brings the
//     label back is refused.
//
// The package depends on apimachinery alone.
//
// +kubebuilder:object:generate=true
// +groupName=apps.mycompany.com
package v1alpha1
