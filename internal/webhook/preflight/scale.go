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
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/mycompany/pod-operator/internal/desired"
)

// ScalePath is where scale requests are looked at.
const ScalePath = "/validate-scale"

// Foresee says what a new number of pods will cause.
type Foresee func(ctx context.Context, key client.ObjectKey, before, after int32) ([]string, error)

// Scale warns of what kubectl scale will do. It refuses nothing: numbers are
// checked by the schema.
type Scale struct {
	Scope Scope
	Kinds map[schema.GroupResource]Foresee
}

// Handle implements admission.Handler.
func (s *Scale) Handle(ctx context.Context, req admission.Request) admission.Response {
	foresee, ok := s.Kinds[schema.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource}]
	if !ok || !s.Scope.Has(req.Namespace) {
		return admission.Allowed("")
	}
	var before, after autoscalingv1.Scale
	if err := errors.Join(json.Unmarshal(req.OldObject.Raw, &before), json.Unmarshal(req.Object.Raw, &after)); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read the scale of %s/%s: %w", req.Namespace, req.Name, err))
	}
	key := client.ObjectKey{Namespace: req.Namespace, Name: req.Name}
	warnings, err := foresee(ctx, key, before.Spec.Replicas, after.Spec.Replicas)
	if err != nil {
		warnings = []string{fmt.Sprintf("what this does to the pods was not foreseen: %v", err)}
	}
	return admission.Allowed("").WithWarnings(warnings...)
}

// ScaleFleet foresees for a kind that keeps pods itself. set puts a number of
// pods into an object.
func (i *Inspector) ScaleFleet(kind desired.Kind, set func(owner client.Object, replicas int32)) Foresee {
	return func(ctx context.Context, key client.ObjectKey, before, after int32) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, Budget)
		defer cancel()
		owner := kind.New()
		if err := i.live.Get(ctx, key, owner); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", kind.Name(), key, err)
		}
		old, scaled := owner, owner.DeepCopyObject().(client.Object)
		set(old, before)
		set(scaled, after)
		scaled.SetGeneration(old.GetGeneration() + 1) // as the API server will
		return i.foresee(ctx, Change{Kind: kind, Old: old, New: scaled}, kind.Fleet(scaled)).Warnings, nil
	}
}
