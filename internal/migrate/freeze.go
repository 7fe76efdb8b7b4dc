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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// freeze stops the PodManager, and waits until the operator has seen that.
func (r *run) freeze(ctx context.Context, pm *appsv1.PodManager) (waitsFor string, err error) {
	waitsFor = "waiting for the operator to look at PodManager " + pm.Name + " (does it run? kubectl podmanager doctor)"
	seen := func(c metav1.Condition) bool {
		return c.Reason == appsv1.ReasonTakingOver && c.ObservedGeneration == pm.Generation
	}
	if _, frozen := pm.Annotations[appsv1.AnnotationTakeOver]; !frozen {
		if slices.ContainsFunc(pm.Status.Conditions, seen) {
			return waitsFor, nil // that is of the last time, and it may be making pods by now
		}
		before := client.MergeFrom(pm.DeepCopy())
		metav1.SetMetaDataAnnotation(&pm.ObjectMeta, appsv1.AnnotationTakeOver, r.frozenFor())
		if err := r.Client.Patch(ctx, pm, before); err != nil {
			return "", fmt.Errorf("freeze PodManager %s: %w", pm.Name, err)
		}
	}
	if slices.ContainsFunc(pm.Status.Conditions, seen) {
		return "", nil
	}
	return waitsFor, nil
}

// frozenFor is the value of the take-over annotation.
func (r *run) frozenFor() string {
	if r.Kind == nil {
		return Deployments.id() + "/" + r.Name
	}
	return r.Kind.id() + "/" + r.Name
}

// promise checks that the workload can have the pods as they are, writes down what
// is made, and labels the pods for it.
func (r *run) promise(ctx context.Context, pm *appsv1.PodManager) error {
	pods, err := r.podsOf(ctx, pm)
	if err != nil {
		return err
	}
	if err := r.returnable(ctx, pm, pods); err != nil {
		return err
	}
	record := r.store.record
	record.Replicas = ptr.Deref(pm.Spec.Replicas, r.Replicas())
	if pm.Spec.Deletion.Policy != appsv1.DeletionOrphan {
		record.Deletion = pm.Spec.Deletion.Policy
	}
	if err := r.store.setStage(ctx, Returning); err != nil {
		return err
	}
	// Two that return at once have not seen each other's workloads. Now both records say what
	// is made, so at least one of the two sees the other.
	if err := r.alone(ctx); err != nil {
		return err
	}
	// Pods that the PodManager made have no label by which the workload's
	// controller tells its revisions apart.
	return r.putAll(ctx, pods, r.PodLabels)
}

// podsOf lists the pods of the PodManager. It fails where the workload's selector would
// not find one, which would be left without an owner.
func (r *run) podsOf(ctx context.Context, pm *appsv1.PodManager) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace), client.MatchingLabels{appsv1.LabelName: pm.Name}); err != nil {
		return nil, fmt.Errorf("list the pods of PodManager %s: %w", pm.Name, err)
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil || !metav1.IsControlledBy(&pod, pm) })
	for i := range pods {
		if r.Kind != BarePods && !r.Selector.Matches(labels.Set(merged(pods[i].Labels, r.PodLabels))) {
			return nil, fmt.Errorf("%s selects by %s and would not find pod %s: put the labels on it, or delete it", r.Workload, r.Selector, pods[i].Name)
		}
	}
	return pods, nil
}

// putAll puts labels on pods.
func (r *run) putAll(ctx context.Context, pods []corev1.Pod, labels map[string]string) error {
	return inParallel(ctx, pointers(pods), func(ctx context.Context, obj client.Object) error {
		if rest := missing(labels, obj.GetLabels()); len(rest) > 0 {
			return r.relabel(ctx, obj, setting(rest))
		}
		return nil
	})
}

func pointers(pods []corev1.Pod) []client.Object {
	list := make([]client.Object, len(pods))
	for i := range pods {
		list[i] = &pods[i]
	}
	return list
}

// dismiss deletes the PodManager and leaves its pods running. It is deleted as it

// rescale follows a PodManager that is scaled while it goes.
func (r *run) rescale(ctx context.Context, pm *appsv1.PodManager) error {
	replicas := ptr.Deref(pm.Spec.Replicas, r.store.record.Replicas)
	if replicas == r.store.record.Replicas {
		return nil
	}
	r.store.record.Replicas = replicas
	return r.store.save(ctx)
}

// thaw lets a PodManager go on that keeps its pods after all, and forgets what was
// to be made in place of the original. It works after an interruption, too.
func (r *run) thaw(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errLost) {
		return nil // it is another's now
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	pm, err := r.manager(ctx)
	if apierrors.IsNotFound(errors.Unwrap(err)) || err == nil && pm.DeletionTimestamp != nil {
		return nil // it goes: what was promised is made
	}
	stage := r.store.record.Stage
	if err != nil || stage == Prepared || stage == Releasing {
		return err // a take-over that did not end stays frozen
	}
	if err := r.unfreeze(ctx, pm); err != nil {
		return err
	}
	r.store.record.Export, r.store.record.Deletion = nil, ""
	if r.store.record.Resource == "" {
		return r.store.remove(ctx)
	}
	return r.store.setStage(ctx, Taken)
}
