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

package migrate

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// right is what a user has to be allowed to do.
type right struct {
	schema.GroupResource
	verbs []string
}

var (
	pods       = schema.GroupResource{Resource: "pods"}
	claims     = schema.GroupResource{Resource: "persistentvolumeclaims"}
	configMaps = schema.GroupResource{Resource: "configmaps"}
	budgets    = schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}
	scalers    = schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}
	managers   = schema.GroupResource{Group: appsv1.GroupVersion.Group, Resource: "podmanagers"}
	sets       = schema.GroupResource{Group: "apps", Resource: "replicasets"}
)

// CheckRights asks beforehand whether the user may do everything that a
// migration needs, there and back: half of one is of no use.
func CheckRights(ctx context.Context, c client.Client, w *Workload) error {
	own := schema.GroupResource{Group: w.Kind.Group, Resource: w.Kind.Resource}
	needed := []right{
		{managers, []string{"get", "create", "update", "patch", "delete"}},
		{configMaps, []string{"get", "list", "create", "update", "patch", "delete"}},
		{pods, []string{"list", "patch"}},
	}
	if w.Kind != BarePods {
		needed = append(needed, right{own, []string{"get", "create", "patch", "delete"}}, right{scalers, []string{"list", "patch"}})
	}
	if w.Kind == Deployments {
		needed = append(needed, right{own, []string{"list"}}, right{sets, []string{"get", "list", "create", "patch", "delete"}}, right{budgets, []string{"get", "create", "delete"}})
	}
	if w.Kind == ReplicaSets {
		needed = append(needed, right{budgets, []string{"get", "create", "delete"}})
	}
	if w.Kind.Ordinal {
		needed = append(needed, right{claims, []string{"list", "patch"}})
		if keep := w.Spec.PersistentVolumeClaimRetentionPolicy; keep.WhenDeleted == appsv1.ClaimDelete || keep.WhenScaled == appsv1.ClaimDelete {
			needed = append(needed, right{claims, []string{"delete"}}) // the policy may-create-pods asks for it
		}
	}
	return check(ctx, c, w.Namespace, needed)
}

func check(ctx context.Context, c client.Client, namespace string, needed []right) error {
	var reviews []client.Object
	for _, n := range needed {
		for _, verb := range n.verbs {
			reviews = append(reviews, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: n.Group, Resource: n.Resource},
			}})
		}
	}
	err := inParallel(ctx, reviews, func(ctx context.Context, review client.Object) error { return c.Create(ctx, review) })
	if err != nil {
		return fmt.Errorf("ask what you may do: %w", err)
	}
	var refused []string
	for _, obj := range reviews {
		if review, ok := obj.(*authorizationv1.SelfSubjectAccessReview); ok && !review.Status.Allowed {
			asked := review.Spec.ResourceAttributes
			refused = append(refused, asked.Verb+" "+schema.GroupResource{Group: asked.Group, Resource: asked.Resource}.String())
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("you may not: %s, in namespace %s; nothing was changed", strings.Join(refused, ", "), namespace)
	}
	return nil
}
