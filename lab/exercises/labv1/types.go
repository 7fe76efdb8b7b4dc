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

// Package labv1 has the kind that the exercises reconcile: a Web asks for pods with an
// image. It is as small as a kind can be, so that the mistakes are in the reconcilers.
package labv1

import (
	_ "embed"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CRD is the CustomResourceDefinition of Webs, in YAML.
//
//go:embed crd.yaml
var CRD []byte

// Finalizer is the finalizer of the exercises that need one.
const Finalizer = "lab.mycompany.com/cleanup"

// GroupVersion is the version of Webs.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "lab.mycompany.com", Version: "v1"}
}

// AddToScheme adds Webs to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &Web{}, &WebList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}

// WebSpec is what the user asks for.
type WebSpec struct {
	// Replicas is the number of pods.
	Replicas int32 `json:"replicas,omitempty"`
	// Image is the image of the pods.
	Image string `json:"image,omitempty"`
}

// WebStatus is what the operator saw and did. Each exercise uses some of the fields.
type WebStatus struct {
	ObservedGeneration int64    `json:"observedGeneration,omitempty"`
	Ready              int32    `json:"ready,omitempty"`
	Pods               []string `json:"pods,omitempty"`
	Image              string   `json:"image,omitempty"`
	Reconciles         int64    `json:"reconciles,omitempty"`
}

// Web asks for pods.
type Web struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebSpec   `json:"spec,omitempty"`
	Status            WebStatus `json:"status,omitempty"`
}

// WebList is a list of Webs.
type WebList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Web `json:"items"`
}

// DeepCopy copies a Web.
func (w *Web) DeepCopy() *Web {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Pods = slices.Clone(w.Status.Pods)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (w *Web) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *WebList) DeepCopyObject() runtime.Object {
	out := &WebList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return out
}
