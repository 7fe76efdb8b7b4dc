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

// Package operator is the small operator that the lab shows: a Web keeps a number of pods with
// an image. It is as short as an operator can be that does no harm: names follow from the owner
// and a number, deletes carry the UID, and the status is written only where it changed.
package operator

import (
	_ "embed"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CRD is the CustomResourceDefinition of Web, as YAML.
//
//go:embed crd.yaml
var CRD []byte

// GroupVersion is that of Web.
var GroupVersion = schema.GroupVersion{Group: "lab.mycompany.com", Version: "v1"}

// WebSpec is what the user asks for.
type WebSpec struct {
	Replicas int32  `json:"replicas"`
	Image    string `json:"image"`
}

// WebStatus is what the operator saw.
type WebStatus struct {
	Replicas int32    `json:"replicas"`
	Pods     []string `json:"pods,omitempty"`
}

// Web keeps pods.
type Web struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebSpec   `json:"spec"`
	Status            WebStatus `json:"status,omitzero"`
}

// WebList is a list of Webs.
type WebList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Web `json:"items"`
}

// AddToScheme registers the types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Web{}, &WebList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// DeepCopy copies.
func (w *Web) DeepCopy() *Web {
	c := *w
	c.ObjectMeta = *w.ObjectMeta.DeepCopy()
	c.Status.Pods = slices.Clone(w.Status.Pods)
	return &c
}

// DeepCopyObject implements runtime.Object.
func (w *Web) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *WebList) DeepCopyObject() runtime.Object {
	c := *l
	l.DeepCopyInto(&c.ListMeta)
	c.Items = make([]Web, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopy()
	}
	return &c
}
