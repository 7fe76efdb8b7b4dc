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

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Some controllers tell their pods' revision by a label, and only they know the
// revision's name: they would replace pods that do not have it. And a CloneSet finds
// its pods by owner references alone: it adopts none, and would make new ones. So such
// a workload is made still, in which state it makes and changes nothing, until its
// controller says that it has all pods and sees the label on them.

// still has a workload make and change no pods.
func (r *run) still(fresh *unstructured.Unstructured) error {
	spec, ok := fresh.Object["spec"].(map[string]any)
	if !ok {
		return fmt.Errorf("%s has no spec", r.Workload)
	}
	switch r.Kind {
	case StatefulSets, AdvancedStatefulSets:
		spec["updateStrategy"] = map[string]any{"type": string(kappsv1.OnDeleteStatefulSetStrategyType)}
	case CloneSets:
		if err := unstructured.SetNestedField(spec, true, "updateStrategy", "paused"); err != nil {
			return err
		}
		return unstructured.SetNestedField(spec, int64(0), "scaleStrategy", "maxUnavailable")
	}
	return nil
}

// isStill: the API server keeps what makes the workload still.
func (r *run) isStill(stored *unstructured.Unstructured) bool {
	_, ok, _ := unstructured.NestedFieldNoCopy(stored.Object, "spec", "scaleStrategy", "maxUnavailable")
	return ok || r.Kind != CloneSets
}

// strategy is what still took away, as a patch.
func (r *run) strategy() map[string]any {
	field := func(names ...string) any {
		value, _, _ := unstructured.NestedFieldCopy(r.Top().Object, append([]string{"spec"}, names...)...)
		return value
	}
	if r.Kind == CloneSets {
		return map[string]any{
			"updateStrategy": map[string]any{"paused": field("updateStrategy", "paused")},
			"scaleStrategy":  map[string]any{"maxUnavailable": field("scaleStrategy", "maxUnavailable")},
		}
	}
	return map[string]any{"updateStrategy": field("updateStrategy")}
}

// settled is what settle reads of a workload.
type settled struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
	Status kruiseStatus `json:"status"`
}

// settle waits until the controller has all pods, and lets it work. Where the
// template was edited meanwhile it will replace them, rightly.
func (r *run) settle(ctx context.Context) error {
	made, err := r.defaulted(ctx)
	if err != nil {
		return err
	}
	top := &unstructured.Unstructured{}
	top.SetGroupVersionKind(r.Top().GroupVersionKind())
	err = r.await(ctx, func(ctx context.Context) (string, error) {
		var now settled
		if err := r.Client.Get(ctx, r.key(), top); err != nil {
			return "", fmt.Errorf("read %s: %w", r.Workload, err)
		}
		if err := decode(Part{top}, &now); err != nil {
			return "", err
		}
		s, edited := &now.Status, !sameTemplate(&made.Spec.Template, &now.Spec.Template)
		if s.ObservedGeneration < now.Metadata.Generation || s.UpdateRevision == "" {
			return "waiting for the controller of " + r.String(), nil
		}
		own, free, err := r.gather(ctx, top)
		if err != nil {
			return "", err
		}
		if n := int32(len(own)); free == 0 && s.Replicas == n && (edited || s.UpdatedReplicas == n) { // #nosec G115 -- a namespace has fewer pods
			return "", nil
		}
		label := map[string]string{kappsv1.ControllerRevisionHashLabelKey: s.UpdateRevision}
		if edited {
			label = nil
		}
		return "waiting for " + r.String() + " to see its pods", r.putAll(ctx, own, label)
	})
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"spec": r.strategy()})
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, top, client.RawPatch(types.MergePatchType, raw), fieldManager); err != nil {
		return fmt.Errorf("set the strategy of %s: %w", r.Workload, err)
	}
	return nil
}

// gather lists the pods of a workload, after those that a CloneSet would not adopt
// were made its own, and counts those that it still lacks. One that has ended counts
// only where the controller counts it.
func (r *run) gather(ctx context.Context, top *unstructured.Unstructured) (own []corev1.Pod, free int, err error) {
	pods, err := r.listPods(ctx)
	if err != nil {
		return nil, 0, err
	}
	lacks := func(pod *corev1.Pod) bool { return metav1.GetControllerOfNoCopy(pod) == nil && r.recognises(pod) }
	if r.Kind == CloneSets {
		err = inParallel(ctx, pointers(pods), func(ctx context.Context, obj client.Object) error {
			if pod, ok := obj.(*corev1.Pod); !ok || !lacks(pod) {
				return nil
			}
			return r.own(ctx, top, obj)
		})
	}
	for i := range pods {
		switch {
		case metav1.IsControlledBy(&pods[i], top) && !r.counts(&pods[i]):
		case metav1.IsControlledBy(&pods[i], top):
			own = append(own, pods[i])
		case lacks(&pods[i]):
			free++
		}
	}
	return own, free, err
}

// ownRevisions makes the stored revisions a CloneSet's own, which adopts none.
func (r *run) ownRevisions(ctx context.Context) error {
	top := &unstructured.Unstructured{}
	top.SetGroupVersionKind(r.Top().GroupVersionKind())
	if err := r.Client.Get(ctx, r.key(), top); err != nil {
		return fmt.Errorf("read %s: %w", r.Workload, err)
	}
	for i := 1; i < len(r.Parts); i++ {
		revision := &kappsv1.ControllerRevision{}
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(r.Parts[i]), revision)
		if err == nil {
			err = r.own(ctx, top, revision)
		}
		if err != nil && !gone(err) && !r.spare(i, err) {
			return fmt.Errorf("give revision %s back: %w", r.Parts[i].GetName(), err)
		}
	}
	return nil
}

// own makes a workload the controller of an object that has none, exactly as it was
// read; one that changed meanwhile is looked at again. Only those who may change the
// workload's finalizers could have the object block its deletion, too.
func (r *run) own(ctx context.Context, top *unstructured.Unstructured, obj client.Object) error {
	if metav1.GetControllerOfNoCopy(obj) != nil {
		return nil
	}
	before, _ := obj.DeepCopyObject().(client.Object)
	obj.SetOwnerReferences(append(obj.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: top.GetAPIVersion(), Kind: top.GetKind(), Name: top.GetName(), UID: top.GetUID(), Controller: ptr.To(true),
	}))
	err := r.Client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		obj.SetOwnerReferences(before.GetOwnerReferences())
	}
	if gone(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// defaulted is the workload as the API server stores it. It is asked with a dry run of a
// change: for a second workload a quota may have no room.
func (r *run) defaulted(ctx context.Context) (*settled, error) {
	fresh, err := r.fresh(0)
	if err != nil {
		return nil, err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(fresh.GroupVersionKind())
	if err := r.Client.Get(ctx, r.key(), live); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Workload, err)
	}
	before := client.MergeFrom(live.DeepCopy())
	live.Object["spec"] = fresh.Object["spec"]
	if err := r.Client.Patch(ctx, live, before, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("ask for the defaults of %s: %w", r.Workload, err)
	}
	made := &settled{}
	return made, decode(Part{live}, made)
}
