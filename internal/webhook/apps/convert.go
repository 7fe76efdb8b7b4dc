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
	return conversion.NewWebhookHandler(scheme, registry), nil
}

// converter converts PodManagers between their versions.
type converter struct{}

// ConvertObject implements conversion.Converter.
func (converter) ConvertObject(_ context.Context, src, dst runtime.Object) error {
	from, ok := src.(*unstructured.Unstructured)
	to, ok2 := dst.(*unstructured.Unstructured)
	if !ok || !ok2 {
		return fmt.Errorf("convert %T to %T: both have to be JSON objects", src, dst)
	}
	have, want := from.GroupVersionKind().GroupVersion(), to.GroupVersionKind().GroupVersion()
	switch {
	case have == v1alpha1.GroupVersion && want == appsv1.GroupVersion:
		hub, err := v1alpha1.ToHub(from.Object)
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
