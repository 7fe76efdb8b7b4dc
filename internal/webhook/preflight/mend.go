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

package preflight

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// mended is the warning of an update whose old object cannot be read.
const mended = "the stored object cannot be read, so this change was looked at as if the object were new"

// Mend lets updates through that mend an object which cannot be decoded: without
// it the old object would be refused, and could not be corrected. Such an update
// is judged as the creation of the new object.
func Mend(next admission.Handler, scheme *runtime.Scheme) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
		if req.Operation != admissionv1.Update || readable(scheme, req) {
			return next.Handle(ctx, req)
		}
		req.Operation = admissionv1.Create
		req.OldObject = runtime.RawExtension{}
		response := next.Handle(ctx, req)
		response.Warnings = append(response.Warnings, mended)
		return response
	})
}

// readable: the old object can be decoded, or is of a kind that no webhook here
// decodes.
func readable(scheme *runtime.Scheme, req admission.Request) bool {
	old, err := scheme.New(schema.GroupVersionKind(req.Kind))
	return err != nil || kjson.UnmarshalCaseSensitivePreserveInts(req.OldObject.Raw, old) == nil
}
