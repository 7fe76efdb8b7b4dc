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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// roomFor fails where a quota leaves no room for so many ReplicaSets together: a dry run
// tries each by itself. A user who may not read quotas finds out later.
func (r *run) roomFor(ctx context.Context, sets int64) error {
	resource := corev1.ResourceName("count/" + ReplicaSets.id())
	var quotas corev1.ResourceQuotaList
	if err := r.Client.List(ctx, &quotas, client.InNamespace(r.Namespace)); err != nil {
		if apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("list the quotas: %w", err)
	}
	for i := range quotas.Items {
		quota := &quotas.Items[i]
		hard, limited := quota.Status.Hard[resource]
		used := quota.Status.Used[resource]
		if left := max(hard.Value()-used.Value(), 0); limited && left < sets {
			return fmt.Errorf("ResourceQuota %s leaves room for %d %s, and %s needs %d: raise it first", quota.Name, left, resource, r.Workload, sets)
		}
	}
	return nil
}
