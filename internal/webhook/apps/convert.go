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

// Package apps serves the conversion of the group apps.mycompany.com. The
// logic is in api/apps/v1alpha1; this package hooks it into controller-runtime.
//
// The objects are handed through as JSON, never decoded into the Go types of
// either version. What this operator's types do not know, because the CRD is
// newer, comes out as it went in.
//
// One object is built at a time, and none that has too many values for that: such a
// v1 object is shown as an excerpt, and such a v1alpha1 object is refused. So an
// object that another tenant stored makes no list fail, and a review takes the memory
// of its largest object.
package apps

import (
	"encoding/json"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	ctrl "sigs.k8s.io/controller-runtime"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
)

// ConversionPath is where the CRD says that the conversion webhook is.
const ConversionPath = "/convert"

const (
	kind = "PodManager"
	// MostValues is how many JSON values an object may have to be built.
	MostValues = 200_000
	// mostUnpacked bounds what all annotations of a review unpack to, because the
	// answer holds it: a review may have any number of objects.
	mostUnpacked = 200_000
)

// Convert is the conversion webhook.
func Convert(w http.ResponseWriter, r *http.Request) {
	log := ctrl.LoggerFrom(r.Context()).WithName("conversion")
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "this is no ConversionReview with a request", http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	objects, err := convertAll(review.Request)
	if err != nil {
		log.Error(err, "Conversion failed", "request", review.Request.UID)
		response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	}
	response.ConvertedObjects = objects
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(&review); err != nil {
		log.Error(err, "Cannot answer a conversion")
	}
}

func convertAll(request *apiextensionsv1.ConversionRequest) ([]runtime.RawExtension, error) {
	converted := make([]runtime.RawExtension, 0, len(request.Objects))
	unpacked := 0
	for i := range request.Objects {
		object, err := convertOne(request.Objects[i].Raw, request.DesiredAPIVersion, &unpacked)
		if err != nil {
			return nil, err
		}
		converted = append(converted, runtime.RawExtension{Raw: object})
	}
	return converted, nil
}

// convertOne converts an object. It counts what annotations unpack to.
func convertOne(raw []byte, want string, unpacked *int) ([]byte, error) {
	var is struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct{ Name, Namespace string } `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return nil, fmt.Errorf("read an object to convert: %w", err)
	}
	convert := map[[2]string]func([]byte, *int) ([]byte, error){
		{appsv1.GroupVersion.String(), v1alpha1.GroupVersion.String()}: fromHub,
		{v1alpha1.GroupVersion.String(), appsv1.GroupVersion.String()}: toHub,
	}[[2]string{is.APIVersion, want}]
	if is.Kind != kind || convert == nil {
		return nil, fmt.Errorf("%s %s/%s cannot be converted from %s to %s", is.Kind, is.Metadata.Namespace, is.Metadata.Name, is.APIVersion, want)
	}
	converted, err := convert(raw, unpacked)
	if err != nil {
		return nil, fmt.Errorf("convert PodManager %s/%s: %w", is.Metadata.Namespace, is.Metadata.Name, err)
	}
	return converted, nil
}

// fromHub shows a v1 object as v1alpha1. What does not fit is marked.
func fromHub(raw []byte, _ *int) ([]byte, error) {
	if v1alpha1.CountValues(raw) > MostValues {
		return v1alpha1.Excerpt(raw)
	}
	var hub map[string]any
	if err := utiljson.Unmarshal(raw, &hub); err != nil {
		return nil, err
	}
	spoke, _ := v1alpha1.FromHub(hub)
	return json.Marshal(spoke)
}

// toHub reads a v1alpha1 object.
func toHub(raw []byte, unpacked *int) ([]byte, error) {
	if v1alpha1.CountValues(raw) > MostValues {
		return nil, v1alpha1.ErrTooLarge
	}
	var spoke map[string]any
	if err := utiljson.Unmarshal(raw, &spoke); err != nil {
		return nil, err
	}
	if err := weigh(spoke, unpacked); err != nil {
		return nil, err
	}
	hub, err := v1alpha1.ToHub(spoke)
	if err != nil {
		return nil, err
	}
	return json.Marshal(hub)
}

// weigh counts what an object's annotation unpacks to, before it is built. An
// annotation that is malformed or too large by itself is not built at all.
func weigh(object map[string]any, total *int) error {
	values, err := v1alpha1.WeighKept((&unstructured.Unstructured{Object: object}).GetAnnotations())
	if err != nil {
		return nil //nolint:nilerr // admission says what is wrong with it, and the conversion passes it over
	}
	if *total += values; *total > mostUnpacked {
		return fmt.Errorf("the annotations %s of this review hold more than %d JSON values", v1alpha1.AnnotationKept, mostUnpacked)
	}
	return nil
}
