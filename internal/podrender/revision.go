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

package podrender

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
)

// LabelManagedBy with the value ManagedBy is on every revision, so that the
// cache can leave out the revisions of other controllers. ManagedBy is also the
// field manager of what we write: managedFields tell it from what others wrote.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "pod-operator"
)

// revisionData is how a template is stored, in the shape that StatefulSets and
// DaemonSets use.
type revisionData struct {
	Spec struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

// Encode is the stored form of a template, with its keys sorted. The API server
// decodes and encodes the data of a revision when it applies a strategic merge
// patch, and refuses the patch where the bytes differ then, because the data is
// immutable. The garbage collector sends such patches when an owner is deleted
// with --cascade=orphan.
func Encode(template *corev1.PodTemplateSpec) ([]byte, error) {
	var data revisionData
	data.Spec.Template = *template
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode the template: %w", err)
	}
	var sorted map[string]any
	if err := utiljson.Unmarshal(raw, &sorted); err != nil {
		return nil, fmt.Errorf("sort the template: %w", err)
	}
	if raw, err = json.Marshal(sorted); err != nil {
		return nil, fmt.Errorf("encode the template: %w", err)
	}
	return raw, nil
}

// Decode reads a template back from a revision.
func Decode(revision *kappsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var data revisionData
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("decode revision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return &data.Spec.Template, nil
}

// Means reports whether a stored revision means the same as a template. Equal
// bytes are the common case; otherwise both are compared as the API's types,
// where 1000m is 1, an empty list is no list and a default is the same whether
// it is written down or not. A hash of our own encoding would differ as soon as
// a library adds a field, and replace every pod.
func Means(revision *kappsv1.ControllerRevision, template *corev1.PodTemplateSpec, encoded []byte) (bool, error) {
	if bytes.Equal(revision.Data.Raw, encoded) {
		return true, nil
	}
	stored, err := Decode(revision)
	if err != nil {
		return false, err
	}
	a, b := meanings(stored, template)
	return equality.Semantic.DeepEqual(a, b), nil
}

// RevisionName is the name that a new revision gets. The salt tells apart two
// templates with one hash; it is 0 unless the name is taken by another
// template.
func RevisionName(owner string, encoded []byte, salt int) string {
	h := fnv.New64a()
	_, _ = h.Write(encoded)
	if salt > 0 {
		fmt.Fprintf(h, "/%d", salt)
	}
	return owner + "-" + rand.SafeEncodeString(fmt.Sprintf("%016x", h.Sum64()))[6:]
}

// RevisionOwner is the name of the owner that a revision's name begins with.
func RevisionOwner(revision string) string {
	return revision[:max(0, strings.LastIndexByte(revision, '-'))]
}

// Revision renders the ControllerRevision that stores a template.
func Revision(owner Owner, encoded []byte, name string, number int64) *kappsv1.ControllerRevision {
	labels := maps.Clone(owner.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelManagedBy] = ManagedBy
	return &kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: owner.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{owner.Reference()},
		},
		Data:     runtime.RawExtension{Raw: encoded},
		Revision: number,
	}
}
