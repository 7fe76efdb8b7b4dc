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

package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	kappsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// createRevision stores the template. A revision of the same name and content
// is what a first try with a lost answer left, or a predecessor of this owner.
func (r *run) createRevision(ctx context.Context, action plan.Action) error {
	revision := podrender.Revision(r.target.Ref, r.target.Encoded, action.Revision, action.Number)
	err := r.writer.Create(ctx, revision)
	if apierrors.IsAlreadyExists(err) {
		return r.claimRevision(ctx, revision)
	}
	if err != nil {
		return fmt.Errorf("create revision %s: %w", client.ObjectKeyFromObject(revision), err)
	}
	r.ledger.Wrote(r.target.Ref.UID, revision)
	return nil
}

func (r *run) claimRevision(ctx context.Context, wanted *kappsv1.ControllerRevision) error {
	key := client.ObjectKeyFromObject(wanted)
	existing := &kappsv1.ControllerRevision{}
	if err := r.live.Get(ctx, key, existing); err != nil {
		return fmt.Errorf("read revision %s, which exists already: %w", key, err)
	}
	controller := metav1.GetControllerOf(existing)
	if controller != nil && controller.UID == r.target.Ref.UID {
		r.ledger.Wrote(r.target.Ref.UID, existing)
		return nil
	}
	if controller != nil || !bytes.Equal(existing.Data.Raw, wanted.Data.Raw) {
		return &nameTakenError{"ControllerRevision", wanted.Name, "delete it"}
	}
	patch := client.MergeFromWithOptions(existing.DeepCopy(), client.MergeFromWithOptimisticLock{})
	existing.OwnerReferences = append(existing.OwnerReferences, r.target.Ref.Reference())
	existing.Labels = wanted.Labels
	existing.Revision = wanted.Revision
	if err := r.writer.Patch(ctx, existing, patch); err != nil {
		return fmt.Errorf("take over revision %s: %w", key, err)
	}
	r.ledger.Wrote(r.target.Ref.UID, existing)
	return nil
}

func (r *run) renumberRevision(ctx context.Context, action plan.Action) error {
	revision := r.revision(action)
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": action.UID}, "revision": action.Number})
	if err != nil {
		return fmt.Errorf("encode the number of revision %s: %w", action.Revision, err)
	}
	if err := r.writer.Patch(ctx, revision, client.RawPatch(types.MergePatchType, raw)); err != nil {
		return fmt.Errorf("renumber revision %s: %w", client.ObjectKeyFromObject(revision), err)
	}
	r.ledger.Wrote(r.target.Ref.UID, revision)
	return nil
}

// deleteRevision deletes exactly the revision that was seen: one of the same name
// that was made since is in use.
func (r *run) deleteRevision(ctx context.Context, action plan.Action) error {
	revision := r.revision(action)
	if err := r.writer.Delete(ctx, revision, client.Preconditions{UID: &action.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete revision %s: %w", client.ObjectKeyFromObject(revision), err)
	}
	return nil
}

func (r *run) revision(action plan.Action) *kappsv1.ControllerRevision {
	return &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.target.Ref.Namespace, Name: action.Revision, UID: action.UID,
	}}
}
