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
package apps

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
)

// ConversionPath is where the CRD says that the conversion webhook is.
const ConversionPath = "/convert"

const kind = "PodManager"

// NewConversionHandler makes the conversion webhook and puts the converter of
// PodManager into the registry.
func NewConversionHandler(registry conversion.Registry) (http.Handler, error) {
	scheme := runtime.NewScheme()
	for _, version := range []schema.GroupVersion{appsv1.GroupVersion, v1alpha1.GroupVersion} {
		scheme.AddKnownTypeWithName(version.WithKind(kind), &unstructured.Unstructured{})
	}
	if err := registry.RegisterConverter(appsv1.GroupVersion.WithKind(kind).GroupKind(), converter{}); err != nil {
		return nil, err
	}
	convert := conversion.NewWebhookHandler(scheme, registry)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		convert.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), unpackedKey{}, new(int))))
	}), nil
}

// unpackedKey is the key of the number of values that the annotations of a review
// have unpacked to so far.
type unpackedKey struct{}

// mostUnpacked bounds that number: a review may hold any number of objects.
const mostUnpacked = 200_000

// weigh counts what an object's annotation unpacks to, before it is built. An
// annotation that is malformed or too large by itself is not built at all.
func weigh(ctx context.Context, object *unstructured.Unstructured) error {
	total, ok := ctx.Value(unpackedKey{}).(*int)
	values, err := v1alpha1.WeighKept(object.GetAnnotations())
	if err != nil || !ok {
		return nil //nolint:nilerr // admission says what is wrong with it, and the conversion passes it over
	}
	if *total += values; *total > mostUnpacked {
		return fmt.Errorf("the annotations %s of this review hold more than %d JSON values", v1alpha1.AnnotationKept, mostUnpacked)
	}
	return nil
}

// converter converts PodManagers between their versions.
type converter struct{}

// ConvertObject implements conversion.Converter.
func (converter) ConvertObject(ctx context.Context, src, dst runtime.Object) error {
	from, ok := src.(*unstructured.Unstructured)
	to, ok2 := dst.(*unstructured.Unstructured)
	if !ok || !ok2 {
		return fmt.Errorf("convert %T to %T: both have to be JSON objects", src, dst)
	}
	have, want := from.GroupVersionKind().GroupVersion(), to.GroupVersionKind().GroupVersion()
	switch {
	case have == v1alpha1.GroupVersion && want == appsv1.GroupVersion:
		err := weigh(ctx, from)
		var hub map[string]any
		if err == nil {
			hub, err = v1alpha1.ToHub(from.Object)
		}
		if err != nil {
			return fmt.Errorf("convert PodManager %s/%s: %w", from.GetNamespace(), from.GetName(), err)
		}
		to.Object = hub
	case have == appsv1.GroupVersion && want == v1alpha1.GroupVersion:
		to.Object, _ = v1alpha1.FromHub(from.Object) // what does not fit is marked
	default:
		return fmt.Errorf("PodManager %s/%s cannot be converted from %s to %s",
			from.GetNamespace(), from.GetName(), have, want)
	}
	return nil
}
