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
	"errors"
	"fmt"
	"maps"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// letGo deletes the parts, each with orphans: the garbage collector takes their
// owner references off. While a part waits for that it makes no replacements.
func (r *run) letGo(ctx context.Context) error {
	deleted := false
	for i, part := range r.Parts {
		err := r.await(ctx, func(ctx context.Context) (string, error) {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(part.GroupVersionKind())
			err := r.Client.Get(ctx, client.ObjectKeyFromObject(part), live)
			switch {
			case gone(err):
				return "", nil
			case err != nil:
				return "", fmt.Errorf("read %s %s: %w", part.GetKind(), part.GetName(), err)
			case live.GetUID() != part.GetUID():
				return "", fmt.Errorf("%s %s was deleted and made again by others: delete it first", part.GetKind(), part.GetName())
			case live.GetDeletionTimestamp() != nil:
				if err := r.scaled(ctx, i, live); err != nil {
					return "", err
				}
				return "waiting for the garbage collector to take the owner references of " + part.GetKind() + " " + part.GetName() + " off",
					r.freeLatecomers(ctx, live)
			}
			deleted = true
			return "deleting " + part.GetKind() + " " + part.GetName(), r.deletePart(ctx, i, live)
		})
		if err != nil && r.spare(i, errors.Unwrap(err)) {
			r.Say("controllerrevision/%s stays: you may not delete it", part.GetName())
			continue
		}
		if err != nil {
			return errors.Join(err, r.endKeeping(ctx))
		}
	}
	if deleted {
		r.Say("%s is deleted; its pods keep running", r.Workload)
	}
	return nil
}

// deletePart deletes a part, or has it stay as it was.
func (r *run) deletePart(ctx context.Context, i int, live *unstructured.Unstructured) error {
	err := r.tryDelete(ctx, i, live)
	if err != nil && i == r.Kind.keeper() {
		return errors.Join(err, ignoreConflict(r.release(ctx, live))) // others may delete it then
	}
	return err
}

// tryDelete deletes a part, if it is still as it was read. A change of its
// replicas alone is taken over.
func (r *run) tryDelete(ctx context.Context, i int, live *unstructured.Unstructured) error {
	if i == 0 {
		if err := r.unchanged(ctx, live); err != nil {
			return err
		}
	}
	if i == r.Kind.keeper() {
		if err := r.keep(ctx, live); err != nil {
			return ignoreConflict(err)
		}
	}
	err := r.Client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationOrphan),
		client.Preconditions{UID: ptr.To(live.GetUID()), ResourceVersion: ptr.To(live.GetResourceVersion())})
	if gone(err) || apierrors.IsConflict(err) {
		return nil // it is looked at again
	}
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", live.GetKind(), live.GetName(), err)
	}
	return nil
}

// unchanged fails where the workload was edited since it was read.
func (r *run) unchanged(ctx context.Context, live *unstructured.Unstructured) error {
	was, _ := r.Parts[0].Object["spec"].(map[string]any)
	is, _ := live.Object["spec"].(map[string]any)
	if !reflect.DeepEqual(without(was, "replicas"), without(is, "replicas")) {
		return fmt.Errorf("%s was edited in the meantime: wait until its rollout has ended", r.Workload)
	}
	if err := r.scaled(ctx, 0, live); err != nil {
		return err
	}
	return r.noteMetadata(ctx, live)
}

// noteMetadata stores labels and annotations of the workload that others set since it was recorded.
func (r *run) noteMetadata(ctx context.Context, live *unstructured.Unstructured) error {
	was := &r.store.record.Parts[0]
	if maps.Equal(was.GetLabels(), live.GetLabels()) && maps.Equal(was.GetAnnotations(), live.GetAnnotations()) {
		return nil
	}
	was.SetLabels(live.GetLabels())
	was.SetAnnotations(live.GetAnnotations())
	was.SetManagedFields(live.GetManagedFields())
	return r.store.save(ctx)
}

// scaled follows a change of the workload's replicas since they were last read. It may be scaled
// until it is gone.
func (r *run) scaled(ctx context.Context, i int, live *unstructured.Unstructured) error {
	replicas, asked, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	if i > 0 || !asked || replicas == int64(r.store.record.Replicas) {
		return nil
	}
	r.Say("%s was scaled to %d in the meantime", r.Workload, replicas)
	return r.scale(ctx, int32(replicas)) // #nosec G115 -- it is an int32 in the API
}

// scale follows a change of replicas.
func (r *run) scale(ctx context.Context, replicas int32) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the operator writes to it, too
		pm, err := r.manager(ctx)
		if err != nil {
			return err
		}
		pm.Spec.Replicas = &replicas
		return r.Client.Update(ctx, pm)
	})
	if err != nil {
		return fmt.Errorf("change the replicas of PodManager %s: %w", r.Name, err)
	}
	r.store.record.Replicas = replicas
	r.Spec.Replicas = &replicas
	return r.store.save(ctx)
}

// adopt waits until the PodManager owns all pods. Pods that came after the
// labelling get their labels now.
