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

package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// listClaims finds the fleet's volume claims, if it has any. They are found by
// the owner's name: an earlier owner of the same name may have left some.
func (o *Observer) listClaims(ctx context.Context, f desired.Fleet) ([]*corev1.PersistentVolumeClaim, error) {
	if len(f.Desired.Claims.Templates) == 0 {
		return nil, nil
	}
	var list corev1.PersistentVolumeClaimList
	err := o.cache.List(ctx, &list, client.InNamespace(f.Ref.Namespace),
		client.MatchingFields{IndexClaims: f.Ref.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the volume claims of %s/%s: %w", f.Ref.Namespace, f.Ref.Name, err)
	}
	claims := make([]*corev1.PersistentVolumeClaim, len(list.Items))
	for i := range list.Items {
		claims[i] = &list.Items[i]
	}
	return claims, nil
}

// ClaimChanged reports whether an update of a claim changes what the planner reads
// of it. Its version alone is only a precondition.
func ClaimChanged(before, after *corev1.PersistentVolumeClaim) bool {
	was, is := describeClaim(before), describeClaim(after)
	was.ResourceVersion, is.ResourceVersion = "", ""
	return was != is || before.Labels[appsv1.LabelName] != after.Labels[appsv1.LabelName]
}

// describeClaims takes from the claims what the planner reads.
func describeClaims(desired *plan.Desired, list []*corev1.PersistentVolumeClaim) []plan.Claim {
	if list == nil {
		return nil
	}
	claims := make([]plan.Claim, 0, len(list))
	for _, claim := range list {
		c := describeClaim(claim)
		c.Slot = plan.ClaimSlot(desired, claim.Name)
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b plan.Claim) int { return a.Slot - b.Slot })
	return claims
}

func describeClaim(claim *corev1.PersistentVolumeClaim) plan.Claim {
	return plan.Claim{
		Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion, Terminating: claim.DeletionTimestamp != nil,
		Owner:       types.UID(claim.Labels[appsv1.LabelUID]),
		CondemnedBy: types.UID(claim.Annotations[appsv1.AnnotationCondemnedBy]),
		Surge:       claim.Annotations[appsv1.AnnotationSurge] == "true",
		Found:       claim.Annotations[appsv1.AnnotationFound] != "",
	}
}
