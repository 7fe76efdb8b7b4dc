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
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/mycompany/pod-operator/internal/desired"
)

// Scope are the namespaces that the operator watches; none means all. Objects
// in other namespaces are not judged.
type Scope []string

// Has reports whether the operator watches a namespace.
func (s Scope) Has(namespace string) bool { return len(s) == 0 || slices.Contains(s, namespace) }

// Validator admits a kind that keeps pods.
type Validator[T client.Object] struct {
	Inspector *Inspector
	Kind      desired.Kind
	GroupKind schema.GroupKind
	Scope     Scope
	// Path and ClaimPath are those of Change, for an object.
	Path      func(T) func(podField string) string
	ClaimPath func(T) func(template, claimField string) string
}

// ValidateCreate implements admission.Validator.
func (v *Validator[T]) ValidateCreate(ctx context.Context, obj T) (admission.Warnings, error) {
	return v.inspect(ctx, nil, obj)
}

// ValidateUpdate implements admission.Validator.
func (v *Validator[T]) ValidateUpdate(ctx context.Context, old, obj T) (admission.Warnings, error) {
	return v.inspect(ctx, old, obj)
}

// ValidateDelete implements admission.Validator. The configuration does not ask
// for it.
func (*Validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (v *Validator[T]) inspect(ctx context.Context, old client.Object, obj T) (admission.Warnings, error) {
	if !v.Scope.Has(obj.GetNamespace()) {
		return nil, nil
	}
	change := Change{Kind: v.Kind, Old: old, New: obj}
	if v.Path != nil {
		change.Path = v.Path(obj)
	}
	if v.ClaimPath != nil {
		change.ClaimPath = v.ClaimPath(obj)
	}
	found := v.Inspector.Inspect(ctx, change)
	if len(found.Problems) > 0 {
		// The object is refused, so warnings about its effects do not apply.
		return nil, Refuse(v.GroupKind, obj.GetName(), found.Problems)
	}
	return found.Warnings, nil
}

// Refuse is the answer to an object with problems, in the form that the API
// server gives to its own.
func Refuse(kind schema.GroupKind, name string, problems []Problem) error {
	causes := make([]metav1.StatusCause, 0, len(problems))
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseType(p.Type), Field: p.Field, Message: p.Message})
		texts = append(texts, p.Field+": "+p.Message)
	}
	message := texts[0]
	if len(texts) > 1 {
		message = "[" + strings.Join(texts, ", ") + "]"
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("%s %q is invalid: %s", kind, name, message),
		Details: &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: name, Causes: causes},
	}}
}
