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
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// createPod creates the pod of a slot. Its name follows from owner and slot,
// so AlreadyExists after a time-out means that the first try had worked.
func (r *run) createPod(ctx context.Context, action plan.Action) (types.UID, error) {
	template, err := r.target.Template(action.Revision)
	if err != nil {
		return "", err
	}
	pod := podrender.Pod(r.target.Ref, template, action.Pod, action.Revision, action.Slot)
	if r.target.Finish != nil {
		r.target.Finish(pod)
	}
	if action.Prefer != nil {
		podrender.WithPlace(pod, action.Prefer.Key, action.Prefer.Value)
	}
	if action.Surge {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, appsv1.AnnotationSurge, "true")
	}
	if action.Replaces {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, appsv1.AnnotationReplaces, action.Why.Reason)
	}
	err = r.writer.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		return r.claimExisting(ctx, pod, r.target.Memory.recall(&action) != nil)
	}
	if err != nil {
		return "", fmt.Errorf("create pod %s: %w", client.ObjectKeyFromObject(pod), err)
	}
	r.ledger.Wrote(r.target.Ref.UID, pod)
	return pod.UID, nil
}

// claimExisting finds out whose pod has the name. One of ours that this process has
// not asked for before was made by an operator that had seen more, which has also
// reported it: it is not made now.
func (r *run) claimExisting(ctx context.Context, pod *corev1.Pod, asked bool) (types.UID, error) {
	key := client.ObjectKeyFromObject(pod)
	existing := &corev1.Pod{}
	if err := r.live.Get(ctx, key, existing); err != nil {
		return "", fmt.Errorf("read pod %s, which exists already: %w", key, err)
	}
	controller := metav1.GetControllerOf(existing)
	switch {
	case controller == nil || controller.UID != r.target.Ref.UID:
		r.ledger.Taken(r.target.Ref.UID, existing.Name)
		return "", podNameTaken(existing.Name)
	case existing.DeletionTimestamp != nil:
		return "", &terminatesError{pod: existing.Name}
	}
	r.ledger.Wrote(r.target.Ref.UID, existing)
	if !asked {
		return "", &tooLateError{existing.Name}
	}
	return existing.UID, nil
}

// asRead is the precondition of what takes a pod away: that it is the very pod
// that was read. One that got a hold since, or that an operator with an old list
// does not know to be held, stays.
func (r *run) asRead(action plan.Action) metav1.Preconditions {
	p := metav1.Preconditions{UID: &action.UID}
	if version := r.version(action); version != "" {
		p.ResourceVersion = &version
	}
	return p
}

// deletePod deletes exactly the pod that was seen. A pod that is gone already,
// or whose name a successor has, needs no deleting.
func (r *run) deletePod(ctx context.Context, action plan.Action) error {
	pod := podOf(r, action)
	options := []client.DeleteOption{client.Preconditions(r.asRead(action))}
	if action.Force {
		options = append(options, client.GracePeriodSeconds(0))
	}
	err := r.writer.Delete(ctx, pod, options...)
	switch {
	case apierrors.IsNotFound(err):
		err = nil
	case err != nil:
		return fmt.Errorf("delete pod %s: %w", client.ObjectKeyFromObject(pod), r.explain(ctx, pod, r.version(action), err))
	}
	r.ledger.TookAway(r.target.Ref.UID, pod)
	return err
}

// metadataPatch is a merge patch of metadata. The UID makes it fail on a
// successor of the object that was meant, the resourceVersion on any change.
type metadataPatch struct {
	Metadata struct {
		UID             types.UID               `json:"uid"`
		ResourceVersion string                  `json:"resourceVersion,omitempty"`
		Labels          map[string]*string      `json:"labels,omitempty"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
}

func (r *run) patchPod(ctx context.Context, action plan.Action, owners []metav1.OwnerReference, labels map[string]*string) (*corev1.Pod, error) {
	var body metadataPatch
	body.Metadata.UID = action.UID
	body.Metadata.ResourceVersion = action.ResourceVersion
	body.Metadata.OwnerReferences = owners
	body.Metadata.Labels = labels
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of pod %s: %w", action.Pod, err)
	}
	pod := podOf(r, action)
	if err := r.writer.Patch(ctx, pod, client.RawPatch(types.MergePatchType, raw)); err != nil {
		err = r.explain(ctx, podOf(r, action), action.ResourceVersion, err)
		return nil, fmt.Errorf("patch pod %s: %w", client.ObjectKeyFromObject(pod), err)
	}
	return pod, nil
}

// owners reads a pod's owner references live: a merge patch replaces the whole
// list, and the pod may have owners besides its controller.
func (r *run) owners(ctx context.Context, action plan.Action) ([]metav1.OwnerReference, error) {
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: r.target.Ref.Namespace, Name: action.Pod}
	if err := r.live.Get(ctx, key, pod); err != nil {
		return nil, fmt.Errorf("read pod %s: %w", key, err)
	}
	return pod.OwnerReferences, nil
}

// adoptPod makes the owner the pod's controller and puts on the labels that a
// pod made here would have.
func (r *run) adoptPod(ctx context.Context, action plan.Action) error {
	owners, err := r.owners(ctx, action)
	if err != nil {
		return err
	}
	labels := map[string]*string{appsv1.LabelSlot: nil}
	for key, value := range r.target.Ref.Labels {
		labels[key] = &value
	}
	if action.Slot != plan.NoSlot {
		slot := strconv.Itoa(action.Slot)
		labels[appsv1.LabelSlot] = &slot
	}
	pod, err := r.patchPod(ctx, action, append(owners, r.target.Ref.Reference()), labels)
	if err != nil {
		return err
	}
	r.ledger.Wrote(r.target.Ref.UID, pod)
	return nil
}

// releasePod takes our owner reference off a pod, and the given labels. A pod
// that is gone needs no releasing, and was not released.
func (r *run) releasePod(ctx context.Context, action plan.Action, reserved []string) error {
	owners, err := r.owners(ctx, action)
	if apierrors.IsNotFound(err) {
		r.ledger.TookAway(r.target.Ref.UID, podOf(r, action))
		return &goneError{action.Pod}
	}
	if err != nil {
		return err
	}
	owners = slices.DeleteFunc(owners, func(ref metav1.OwnerReference) bool { return ref.UID == r.target.Ref.UID })
	labels := map[string]*string{}
	for _, key := range reserved {
		labels[key] = nil
	}
	pod, err := r.patchPod(ctx, action, owners, labels)
	if err != nil {
		return err
	}
	r.ledger.TookAway(r.target.Ref.UID, pod)
	return nil
}
