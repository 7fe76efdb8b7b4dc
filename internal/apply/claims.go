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
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// createClaim makes a slot's claim. One that exists already is the slot's from
// before, with its data.
func (r *run) createClaim(ctx context.Context, action plan.Action) error {
	claim, err := r.target.Claim(action.Template, action.Claim)
	if err != nil {
		return err
	}
	if action.Surge {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, appsv1.AnnotationSurge, "true")
	}
	err = r.writer.Create(ctx, claim)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.adoptFound(ctx, claim)
	case err != nil:
		return fmt.Errorf("create volume claim %s: %w", client.ObjectKeyFromObject(claim), err)
	}
	return nil
}

// adoptFound puts our labels on a claim that a StatefulSet or a user made: without
// them the cache does not have it, and its creation would be tried for ever. The mark
// that comes with them, in one write, keeps it from ever being deleted. A claim that
// the cache has is planned for.
func (r *run) adoptFound(ctx context.Context, wanted *corev1.PersistentVolumeClaim) error {
	key := client.ObjectKeyFromObject(wanted)
	found := &corev1.PersistentVolumeClaim{}
	if err := r.live.Get(ctx, key, found); err != nil {
		return fmt.Errorf("read volume claim %s, which exists already: %w", key, err)
	}
	if found.Labels[appsv1.LabelName] != "" && found.Labels[podrender.LabelManagedBy] == podrender.ManagedBy || found.DeletionTimestamp != nil {
		return nil
	}
	labels := map[string]*string{podrender.LabelManagedBy: ptr.To(podrender.ManagedBy)}
	for name, value := range r.target.Ref.Labels {
		labels[name] = &value
	}
	action := plan.Action{Claim: found.Name, UID: found.UID, ResourceVersion: found.ResourceVersion}
	return r.patchClaim(ctx, action, labels, map[string]*string{appsv1.AnnotationFound: ptr.To("true")})
}

// condemnClaim marks a claim to go once its pod is gone. A pod that is gone already
// was not scaled away under the policy of now: the cache is late, and the claim
// stays. One without a UID was not in the cache: it may be there all the same.
func (r *run) condemnClaim(ctx context.Context, action plan.Action) error {
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: r.target.Ref.Namespace, Name: action.UsedBy}
	switch err := r.live.Get(ctx, key, pod); {
	case apierrors.IsNotFound(err) || err == nil && !r.controls(pod):
		claims := corev1.Resource("persistentvolumeclaims")
		return apierrors.NewConflict(claims, action.Claim, fmt.Errorf("its pod %s is gone already", action.UsedBy))
	case err != nil:
		return fmt.Errorf("read pod %s: %w", key, err)
	}
	by := string(r.target.Ref.UID)
	if action.UID == "" {
		claim := r.claimOf(action)
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return client.IgnoreNotFound(err)
		}
		if claim.Labels[appsv1.LabelUID] != by || claim.Annotations[appsv1.AnnotationCondemnedBy] == by ||
			claim.Annotations[appsv1.AnnotationFound] != "" || claim.DeletionTimestamp != nil {
			return nil
		}
		action.UID, action.ResourceVersion = claim.UID, claim.ResourceVersion
	}
	return r.patchClaim(ctx, action, nil, map[string]*string{appsv1.AnnotationCondemnedBy: &by})
}

// adoptClaim makes a claim this owner's, to stay.
func (r *run) adoptClaim(ctx context.Context, action plan.Action) error {
	labels := map[string]*string{}
	for key, value := range r.target.Ref.Labels {
		labels[key] = &value
	}
	return r.patchClaim(ctx, action, labels, map[string]*string{appsv1.AnnotationCondemnedBy: nil, appsv1.AnnotationSurge: nil})
}

// patchClaim changes the metadata of the very claim that was read. One that is
// gone needs no change.
func (r *run) patchClaim(ctx context.Context, action plan.Action, labels, annotations map[string]*string) error {
	metadata := map[string]any{"uid": action.UID, "resourceVersion": action.ResourceVersion, "annotations": annotations}
	if labels != nil { // null would take off all of them
		metadata["labels"] = labels
	}
	raw, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode the patch of volume claim %s: %w", action.Claim, err)
	}
	claim := r.claimOf(action)
	err = r.writer.Patch(ctx, claim, client.RawPatch(types.MergePatchType, raw))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		err = r.explain(ctx, r.claimOf(action), action.ResourceVersion, err)
		return fmt.Errorf("patch volume claim %s: %w", client.ObjectKeyFromObject(claim), err)
	}
	r.ledger.Wrote(r.target.Ref.UID, claim)
	return nil
}

// deleteClaim deletes the very claim that was read: its mark may have been taken
// off since. The claim of a pod that exists, whatever the cache shows, stays. A pod of
// others that only has the name does not keep it.
func (r *run) deleteClaim(ctx context.Context, action plan.Action) error {
	if action.UsedBy != "" {
		key := client.ObjectKey{Namespace: r.target.Ref.Namespace, Name: action.UsedBy}
		pod := &corev1.Pod{}
		switch err := r.live.Get(ctx, key, pod); {
		case err == nil && (r.controls(pod) || uses(pod, action.Claim)):
			return nil
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("read pod %s: %w", key, err)
		}
	}
	claim := r.claimOf(action)
	preconditions := client.Preconditions{UID: &action.UID}
	if action.ResourceVersion != "" {
		preconditions.ResourceVersion = &action.ResourceVersion
	}
	err := r.writer.Delete(ctx, claim, preconditions)
	if client.IgnoreNotFound(err) != nil {
		err = r.explain(ctx, claim, action.ResourceVersion, err)
		return fmt.Errorf("delete volume claim %s: %w", client.ObjectKeyFromObject(claim), err)
	}
	r.ledger.TookAway(r.target.Ref.UID, claim)
	return nil
}

// uses: a volume of the pod is the claim.
func uses(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}

func (r *run) claimOf(action plan.Action) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.target.Ref.Namespace, Name: action.Claim, UID: action.UID,
	}}
}
