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

package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const group = "examples.mycompany.com"

// Target is version v1, the hub.
type Target struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TargetSpec `json:"spec"`
}

// TargetSpec names a host and a port.
type TargetSpec struct {
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// Old is version v1alpha1, a spoke.
type Old struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              OldSpec `json:"spec"`
}

// OldSpec names both in one string.
type OldSpec struct {
	Address string `json:"address"`
}

// toOld cannot fail: whatever is stored has to be readable.
func toOld(_ context.Context, from *Target, to *Old) error {
	to.ObjectMeta = from.ObjectMeta
	to.Spec.Address = net.JoinHostPort(from.Spec.Host, strconv.Itoa(int(from.Spec.Port)))
	return nil
}

func fromOld(_ context.Context, from *Old, to *Target) error {
	host, port, err := net.SplitHostPort(from.Spec.Address)
	if err != nil {
		return fmt.Errorf("spec.address: %w", err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return fmt.Errorf("spec.address: %w", err)
	}
	to.ObjectMeta = from.ObjectMeta
	to.Spec = TargetSpec{Host: host, Port: int32(number)}
	return nil
}

// DeepCopyObject is what controller-gen writes for you in a real project.
func (t *Target) DeepCopyObject() runtime.Object {
	out := *t
	t.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject is what controller-gen writes for you in a real project.
func (o *Old) DeepCopyObject() runtime.Object {
	out := *o
	o.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Target"}, &Target{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: "Target"}, &Old{})
	for _, version := range []string{"v1", "v1alpha1"} {
		metav1.AddToGroupVersion(scheme, schema.GroupVersion{Group: group, Version: version})
	}
	return scheme, apiextensionsv1.AddToScheme(scheme)
}
