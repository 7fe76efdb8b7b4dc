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
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// A controller that has not seen yet that its workload is deleted may still make or
// adopt a pod, such as one in place of another that is evicted at that moment. The garbage
// collector lets go the pods that it knows: it does not know this latecomer, and would
// delete it after its owner. So what keeps the pods is deleted with a finalizer of ours. It is
// taken off when the controller has seen the deletion and no pod has the owner any more.
const finalizerMigrating = "apps.mycompany.com/migrating"

// keeper is which part keeps the pods, or -1 where others than kube-controller-manager
// would have to say that they have seen its deletion.
func (k *Kind) keeper() int {
	switch k {
	case Deployments:
		return 1
	case ReplicaSets, StatefulSets:
		return 0
	}
	return -1
}

// keep has a part stay until latecomers let it go.
func (r *run) keep(ctx context.Context, live *unstructured.Unstructured) error {
	return r.finalize(ctx, live, func() bool { return controllerutil.AddFinalizer(live, finalizerMigrating) })
}

// release keeps a part no more.
func (r *run) release(ctx context.Context, live *unstructured.Unstructured) error {
	return r.finalize(ctx, live, func() bool { return controllerutil.RemoveFinalizer(live, finalizerMigrating) })
}

// finalize changes the finalizers of exactly the object that was read.
func (r *run) finalize(ctx context.Context, live *unstructured.Unstructured, change func() bool) error {
	before := client.MergeFromWithOptions(live.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if !change() {
		return nil
	}
	if err := r.Client.Patch(ctx, live, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change the finalizers of %s %s: %w", live.GetKind(), live.GetName(), err)
	}
	return nil
}

// freeLatecomers takes the pods that are left off a part that is being deleted, and has it
// go once there can be no more of them.
func (r *run) freeLatecomers(ctx context.Context, live *unstructured.Unstructured) error {
	finalizers := live.GetFinalizers()
	if !slices.Contains(finalizers, finalizerMigrating) || slices.Contains(finalizers, metav1.FinalizerOrphanDependents) {
		return nil
	}
	if seen, err := r.deletionSeen(ctx, live); !seen || err != nil {
		return err
	}
	late, err := r.ownedBy(ctx, live)
	if err != nil {
		return err
	}
	err = inParallel(ctx, late, func(ctx context.Context, obj client.Object) error { return r.disown(ctx, live, obj) })
	if err != nil || len(late) > 0 {
		return err // they are looked at again
	}
	return ignoreConflict(r.release(ctx, live))
}

// ownedBy lists the pods of a part, and the volume claims that would go with it.
func (r *run) ownedBy(ctx context.Context, part *unstructured.Unstructured) ([]client.Object, error) {
	pods, err := r.listPods(ctx)
	if err != nil {
		return nil, err
	}
	owned := pointers(pods)
	if r.Kind.Ordinal {
		var list corev1.PersistentVolumeClaimList
		if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace)); err != nil {
			return nil, fmt.Errorf("list the volume claims: %w", err)
		}
		for i := range list.Items {
			owned = append(owned, &list.Items[i])
		}
	}
	return slices.DeleteFunc(owned, func(obj client.Object) bool { return !slices.ContainsFunc(obj.GetOwnerReferences(), is(part)) }), nil
}

// is: an owner reference names the object.
func is(owner *unstructured.Unstructured) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() }
}

// deletionSeen: the controller of a part makes and adopts no more pods. That of a
// StatefulSet ends each pass at once, and says nothing, while a revision has no owner.
func (r *run) deletionSeen(ctx context.Context, live *unstructured.Unstructured) (bool, error) {
	observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	if observed >= live.GetGeneration() {
		return true, nil
	}
	for _, part := range r.Parts[1:] {
		if part.GroupVersionKind() != controllerRevision {
			continue
		}
		revision := &unstructured.Unstructured{}
		revision.SetGroupVersionKind(controllerRevision)
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(part), revision)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("read revision %s: %w", part.GetName(), err)
		}
		if err == nil && metav1.GetControllerOfNoCopy(revision) == nil {
			return true, nil
		}
	}
	return r.namespaceGoes(ctx), nil
}

// namespaceGoes: the API server takes no new pods there. A user who may not read
// namespaces waits for the controller.
func (r *run) namespaceGoes(ctx context.Context) bool {
	namespace := &corev1.Namespace{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: r.Namespace}, namespace)
	return err == nil && namespace.Status.Phase == corev1.NamespaceTerminating
}

// disown takes an owner off an object, exactly as it was read.
func (r *run) disown(ctx context.Context, owner *unstructured.Unstructured, obj client.Object) error {
	before, _ := obj.DeepCopyObject().(client.Object)
	obj.SetOwnerReferences(slices.DeleteFunc(obj.GetOwnerReferences(), is(owner)))
	err := r.Client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err = client.IgnoreNotFound(ignoreConflict(err)); err != nil {
		return fmt.Errorf("take the owner off %s: %w", obj.GetName(), err)
	}
	return nil
}

// spareKeeper takes our finalizer off what keeps the pods after all.
func (r *run) spareKeeper(ctx context.Context) error {
	i := r.Kind.keeper()
	if i < 0 || i >= len(r.Parts) {
		return nil
	}
	return r.await(ctx, func(ctx context.Context) (string, error) {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(r.Parts[i].GroupVersionKind())
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(r.Parts[i]), live)
		if gone(err) || err == nil && !slices.Contains(live.GetFinalizers(), finalizerMigrating) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("read %s %s: %w", live.GetKind(), r.Parts[i].GetName(), err)
		}
		waitsFor := "waiting for " + live.GetKind() + " " + live.GetName() + " to let its pods go"
		if live.GetDeletionTimestamp() != nil {
			return waitsFor, r.freeLatecomers(ctx, live)
		}
		return waitsFor, ignoreConflict(r.release(ctx, live))
	})
}

// endKeeping has a run that is interrupted hold nothing when it ends, as it lets go the
// record. Only one that is killed leaves the finalizer: see abandoned.go.
func (r *run) endKeeping(ctx context.Context) error {
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), errLost) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return r.spareKeeper(ctx)
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil // it is looked at again
	}
	return err
}
