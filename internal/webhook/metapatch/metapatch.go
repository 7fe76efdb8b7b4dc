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

// Package metapatch is a mutating webhook that changes an object's finalizers,
// labels and annotations and nothing else.
//
// A webhook that decodes an object into its Go type and encodes it again
// rewrites what it never meant to touch: 1000m becomes 1, and fields of a newer
// CRD are gone. Here the rest of the object is not even decoded.
package metapatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Edit changes the metadata of an object that is about to be created or
// updated. old is nil for a create. An error refuses the object.
type Edit func(metadata, old *metav1.ObjectMeta) error

// Handle implements admission.Handler.
func (edit Edit) Handle(_ context.Context, req admission.Request) admission.Response {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(req.Object.Raw, &object); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read %s %s/%s: %w", req.Kind.Kind, req.Namespace, req.Name, err))
	}
	var old *metav1.ObjectMeta
	if len(req.OldObject.Raw) > 0 {
		var stored metav1.PartialObjectMetadata
		if err := json.Unmarshal(req.OldObject.Raw, &stored); err != nil {
			return admission.Errored(http.StatusBadRequest, fmt.Errorf("read the stored %s %s/%s: %w", req.Kind.Kind, req.Namespace, req.Name, err))
		}
		old = &stored.ObjectMeta
	}
	before := object.ObjectMeta.DeepCopy()
	if err := edit(&object.ObjectMeta, old); err != nil {
		return refuse(err)
	}

	var patches []jsonpatch.Operation
	if !slices.Equal(before.Finalizers, object.Finalizers) {
		patches = append(patches, replace("finalizers", object.Finalizers, len(object.Finalizers)))
	}
	if !maps.Equal(before.Labels, object.Labels) {
		patches = append(patches, replace("labels", object.Labels, len(object.Labels)))
	}
	if !maps.Equal(before.Annotations, object.Annotations) {
		patches = append(patches, replace("annotations", object.Annotations, len(object.Annotations)))
	}
	return admission.Patched("", patches...)
}

// refuse answers with an API error as it is, and with any other as a denial.
func refuse(err error) admission.Response {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return admission.Denied(err.Error())
	}
	result := status.Status()
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &result}}
}

// replace sets a field, or removes it when nothing is left in it.
func replace(field string, value any, left int) jsonpatch.Operation {
	if left == 0 {
		return jsonpatch.NewOperation("remove", "/metadata/"+field, nil)
	}
	return jsonpatch.NewOperation("add", "/metadata/"+field, value)
}
