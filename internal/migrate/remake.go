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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/view"
)

// unlabel takes the PodManager's labels off what still has them.
func (r *run) unlabel(ctx context.Context) error {
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	var objects []client.Object
	of := client.MatchingLabels{appsv1.LabelName: r.Name}
	if err := r.Client.List(ctx, &pods, client.InNamespace(r.Namespace), of); err != nil {
		return fmt.Errorf("list the pods of PodManager %s: %w", r.Name, err)
	}
	if r.Kind.Ordinal {
		if err := r.Client.List(ctx, &claims, client.InNamespace(r.Namespace), of); err != nil {
			return fmt.Errorf("list the volume claims of PodManager %s: %w", r.Name, err)
		}
	}
	objects = append(objects, pointers(pods.Items)...)
	released, err := r.listPods(ctx) // the operator took the labels off
	if err != nil {
		return err
	}
	for i := range released {
		pod := &released[i]
		if _, listed := pod.Labels[appsv1.LabelName]; !listed && metav1.GetControllerOfNoCopy(pod) == nil && r.recognises(pod) && len(marksOf(pod)) > 0 {
			objects = append(objects, pod)
		}
	}
	for i := range claims.Items {
		objects = append(objects, &claims.Items[i])
	}
	selected, err := r.selectorLabels()
	if err != nil {
		return err
	}
	off := map[string]*string{}
	for _, key := range appsv1.ReservedLabels() {
		off[key] = nil
	}
	return inParallel(ctx, objects, func(ctx context.Context, obj client.Object) error {
		if _, claim := obj.(*corev1.PersistentVolumeClaim); !claim {
			return r.remark(ctx, obj, off, marksOf(obj))
		}
		// A StatefulSet puts the labels of its selector on its claims.
		labels := setting(selected)
		maps.Copy(labels, off)
		if obj.GetLabels()[podrender.LabelManagedBy] == podrender.ManagedBy {
			labels[podrender.LabelManagedBy] = nil
		}
		if was, ok := obj.GetAnnotations()[annotationManagedBy]; ok {
			labels[podrender.LabelManagedBy] = &was
		}
		return r.remark(ctx, obj, labels, map[string]*string{annotationManagedBy: nil})
	})
}

// selectorLabels are the labels by which a StatefulSet selects.
func (r *run) selectorLabels() (map[string]string, error) {
	var object struct {
		Spec struct {
			Selector metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	if !r.Kind.Ordinal {
		return nil, nil
	}
	err := decode(r.Top(), &object)
	return object.Spec.Selector.MatchLabels, err
}

// remake creates the parts again: what keeps the pods first, and what keeps that
// only when it has them, so that nothing is made anew.
func (r *run) remake(ctx context.Context) error {
	top := &unstructured.Unstructured{}
	top.SetGroupVersionKind(r.Top().GroupVersionKind())
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(r.Top()), top)
	switch {
	case gone(err):
		err = r.createAll(ctx)
	case err == nil:
		err = r.sameSelector(top)
		if err != nil && r.store.record.Stage == Taken && r.noneFree(ctx) == nil {
			r.Say("podmanager/%s was deleted before, and others made %s again: there is nothing to give back", r.Name, r.Workload)
			return nil
		}
	}
	if err != nil {
		return err
	}
	after := map[*Kind][]func(context.Context) error{
		Deployments:          {r.awaitDeployment, r.noneFree},
		ReplicaSets:          {r.awaitTop},
		StatefulSets:         {r.awaitTop, r.settle},
		AdvancedStatefulSets: {r.awaitTop, r.settle},
		CloneSets:            {r.settle, r.ownRevisions},
	}
	for _, step := range after[r.Kind] {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.Say("%s manages its pods again", r.Workload)
	return nil
}

// createAll creates the parts. Once the first is there, which comes last, the others
// are its own: it may have removed some since.
func (r *run) createAll(ctx context.Context) error {
	for i := len(r.Parts) - 1; i >= 1; i-- {
		if err := r.create(ctx, i); err != nil {
			return err
		}
	}
	if r.Kind == Deployments {
		if err := r.awaitOwner(ctx, r.Parts[1]); err != nil {
			return err
		}
	}
	for _, ref := range r.Top().GetOwnerReferences() { // it may be gone: the garbage collector would take the workload
		r.Say("%s comes back without its owner reference to %s %s", r.Workload, ref.Kind, ref.Name)
	}
	return r.create(ctx, 0)
}

// create makes a part as it was.
func (r *run) create(ctx context.Context, i int) error {
	fresh, err := r.fresh(i)
	if err != nil {
		return err
	}
	err = r.Client.Create(ctx, fresh, fieldManager)
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return nil
	case r.spare(i, err):
		if gone(r.Client.Get(ctx, client.ObjectKeyFromObject(fresh), fresh)) {
			r.Say("controllerrevision/%s does not come back: %v", r.Parts[i].GetName(), err)
		}
		return nil
	}
	return fmt.Errorf("create %s %s: %w", fresh.GetKind(), fresh.GetName(), err)
}

// fresh is a part as it is created again. What keeps the pods asks for as many as
// the PodManager did.
func (r *run) fresh(i int) (*unstructured.Unstructured, error) {
	fresh := &unstructured.Unstructured{Object: without(r.Parts[i].DeepCopy().Object, "status")}
	fresh.SetUID("")
	fresh.SetResourceVersion("")
	fresh.SetManagedFields(nil)
	fresh.SetOwnerReferences(nil)
	unstructured.RemoveNestedField(fresh.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fresh.Object, "metadata", "generation")
	if i > 0 && (i > 1 || r.Kind != Deployments) {
		return fresh, nil
	}
	replicas := int64(r.store.record.Replicas)
	if err := unstructured.SetNestedField(fresh.Object, replicas, "spec", "replicas"); err != nil {
		return nil, fmt.Errorf("set the replicas of %s: %w", fresh.GetName(), err)
	}
	if i == 1 {
		// By these the Deployment controller tells a scaling from a rollout. It
		// writes them again.
		annotations := fresh.GetAnnotations()
		delete(annotations, "deployment.kubernetes.io/desired-replicas")
		delete(annotations, "deployment.kubernetes.io/max-replicas")
		fresh.SetAnnotations(annotations)
	}
	if i == 0 {
		return fresh, r.still(fresh)
	}
	return fresh, nil
}

func (r *run) awaitTop(ctx context.Context) error { return r.awaitOwner(ctx, r.Top()) }

// counts: the workload's controller counts the pod, and adopts it. Only that of a
// StatefulSet does so with a pod that has ended, such as an evicted one.
func (r *run) counts(pod *corev1.Pod) bool {
	return r.Kind.Ordinal || pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// awaitOwner waits until a part that was made again has adopted the pods, and gives it
// those that its controller adopts never.
func (r *run) awaitOwner(ctx context.Context, part Part) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(part.GroupVersionKind())
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(part), live); err != nil {
		return fmt.Errorf("read %s %s: %w", part.GetKind(), part.GetName(), err)
	}
	return r.await(ctx, func(ctx context.Context) (string, error) {
		pods, err := r.listPods(ctx)
		if err != nil {
			return "", err
		}
		free := 0
		for i := range pods {
			if metav1.GetControllerOfNoCopy(&pods[i]) != nil || !r.recognises(&pods[i]) {
				continue
			}
			if !r.counts(&pods[i]) {
				err = errors.Join(err, r.own(ctx, live, &pods[i]))
				continue
			}
			free++
		}
		if free > 0 {
			return fmt.Sprintf("waiting for %s %s to adopt %s", part.GetKind(), part.GetName(), view.Count(free, "pod")), err
		}
		return "", err
	})
}

// awaitDeployment waits until the Deployment has its ReplicaSet.
func (r *run) awaitDeployment(ctx context.Context) error {
	return r.await(ctx, func(ctx context.Context) (string, error) {
		top, set := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		top.SetGroupVersionKind(r.Top().GroupVersionKind())
		set.SetGroupVersionKind(r.Parts[1].GroupVersionKind())
		if err := errors.Join(r.Client.Get(ctx, client.ObjectKeyFromObject(r.Top()), top),
			client.IgnoreNotFound(r.Client.Get(ctx, client.ObjectKeyFromObject(r.Parts[1]), set))); err != nil {
			return "", fmt.Errorf("read %s: %w", r.Workload, err)
		}
		if set.GetUID() != "" && !metav1.IsControlledBy(set, top) { // one that is gone was a revision too many
			return "waiting for " + r.String() + " to adopt its ReplicaSet", nil
		}
		return "", nil
	})
}

// noneFree fails where a Deployment does not adopt the pods: others made it meanwhile.
func (r *run) noneFree(ctx context.Context) error {
	pods, err := r.listPods(ctx)
	if err != nil {
		return err
	}
	for i := range pods {
		if metav1.GetControllerOfNoCopy(&pods[i]) == nil && r.recognises(&pods[i]) && r.counts(&pods[i]) {
			return fmt.Errorf("others made %s meanwhile, and it did not adopt %s: delete it with --cascade=orphan", r.Workload, pods[i].Name)
		}
	}
	return nil
}

// followBack has the autoscalers scale the workload again.
func (r *run) followBack(ctx context.Context) error {
	from := managerRef
	from.Name = r.Name
	for _, note := range naming(ctx, r.Client, r.Namespace, from, r.ref()) {
		r.Say("podmanager/%s: %s", r.Name, note)
	}
	return r.redirect(ctx, from, r.ref())
}
