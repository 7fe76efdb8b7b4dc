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
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldManager is who the API server notes as having set the fields of a workload that is made
// again. That ends with returnFields: otherwise kubectl apply --server-side and GitOps tools
// would find that their fields are another's, and stop at a conflict.
const fieldManager = client.FieldOwner("kubectl-podmanager")

// returnFields gives the fields of the workload back to those who had set them. The API server
// takes what a create says of that for new fields of its sender, so this is a request of its own.
func (r *run) returnFields(ctx context.Context) error {
	before := slices.DeleteFunc(r.Top().GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "" })
	if len(before) == 0 {
		return nil // it is new
	}
	err := retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error { // its controller writes to it, too
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(r.Top().GroupVersionKind())
		if err := r.Client.Get(ctx, r.key(), live); err != nil {
			return err
		}
		if !slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == string(fieldManager) }) {
			return nil // others made it, or this is done
		}
		raw, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "managedFields": fieldsBack(before, live.GetManagedFields()),
		}})
		if err != nil {
			return err
		}
		return r.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, raw), fieldManager)
	})
	if err != nil {
		return fmt.Errorf("give the fields of %s back to those who set them: %w", r.Workload, err)
	}
	return nil
}

// fieldsBack are those who had set fields, and those who did so since: but for the command.
func fieldsBack(before, now []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	back := slices.Clone(before)
	for _, entry := range now {
		again := func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == entry.Manager && e.Operation == entry.Operation && e.Subresource == entry.Subresource
		}
		if entry.Manager != string(fieldManager) && !slices.ContainsFunc(before, again) {
			back = append(back, entry)
		}
	}
	return back
}
