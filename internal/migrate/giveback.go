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
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// GiveBack undoes a migration, however far it is: the workload keeps its pods
// again, and the PodManager is gone.
func (m *Mover) GiveBack(ctx context.Context, key client.ObjectKey) error {
	s, err := loadStore(ctx, m.Client, key)
	if errors.Is(err, ErrNoRecord) {
		return fmt.Errorf("there is nothing to undo: ConfigMap %s, the record of a migration, is not there. "+
			"kubectl podmanager export deployment %s makes a Deployment of a PodManager", RecordName(key.Name), key.Name)
	}
	if err != nil {
		return err
	}
	if err := s.take(ctx, m.Holder); err != nil {
		return err
	}
	w, err := s.record.workload(key.Namespace)
	if err != nil {
		return err
	}
	r := &run{Mover: m, Workload: w, store: s}
	untouched, err := r.untouched(ctx)
	if err != nil {
		return err
	}
	if untouched {
		return r.cancel(ctx)
	}
	return r.giveBack(ctx)
}

// untouched: the workload still keeps its pods.
func (r *run) untouched(ctx context.Context) (bool, error) {
	if r.store.record.Stage == Taken || r.store.record.Stage == Returning || r.Kind == BarePods {
		return false, nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(r.Top().GroupVersionKind())
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(r.Top()), live)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", r.Workload, err)
	}
	return live.GetUID() == r.Top().GetUID() && live.GetDeletionTimestamp() == nil, nil
}

// cancel ends a migration that has not taken anything over.
func (r *run) cancel(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.deleteManager, r.unlabel, r.store.remove} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.Say("%s keeps its pods, as before", r.Workload)
	return nil
}

// giveBack makes the workload again. Its controller finds the pods by their
// labels, and adopts them.
func (r *run) giveBack(ctx context.Context) error {
	if r.store.record.Stage != Returning {
		if err := r.letGo(ctx); err != nil {
			return err
		}
		if err := r.prepareReturn(ctx); err != nil {
			return err
		}
	}
	steps := []func(context.Context) error{r.deleteManager, r.unlabel}
	if r.Kind != BarePods {
		steps = append(steps, r.awaitControllers, r.remake, r.followBack, r.removeBarrier)
	}
	for _, step := range append(steps, r.store.remove) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepareReturn checks that no pod has to be restarted, writes down how many pods
// there are to be, and labels pods that the PodManager made.
func (r *run) prepareReturn(ctx context.Context) error {
	pm, err := r.manager(ctx)
	if apierrors.IsNotFound(errors.Unwrap(err)) {
		return r.store.setStage(ctx, Returning)
	}
	if err != nil {
		return err
	}
	if r.Kind != BarePods {
		if err := r.returnable(pm); err != nil {
			return err
		}
		r.store.record.Replicas = ptr.Deref(pm.Spec.Replicas, r.Replicas())
		if err := r.labelForReturn(ctx, pm); err != nil {
			return err
		}
	}
	return r.store.setStage(ctx, Returning)
}

// returnable fails where the pods are no longer what the workload asks for.
func (r *run) returnable(pm *appsv1.PodManager) error {
	if _, waits := pm.Annotations[appsv1.AnnotationTakeOver]; waits {
		return nil // nothing was changed yet
	}
	template, err := r.podTemplate()
	if err != nil {
		return err
	}
	asked := podrender.Template(pm.Name, "", plainTemplate(template))
	if !sameTemplate(asked, podrender.Template(pm.Name, pm.Spec.Image, pm.Spec.Template)) {
		return fmt.Errorf("the template of PodManager %s was changed since the migration, so %s would restart its pods: "+
			"change it back first, or make a new workload with kubectl podmanager export", pm.Name, r.Workload)
	}
	s := &pm.Status
	if s.ObservedGeneration < pm.Generation || s.UpdatedReplicas != s.Replicas || s.Replicas != ptr.Deref(pm.Spec.Replicas, s.Replicas) {
		return fmt.Errorf("PodManager %s is changing its pods: %d of %d are there and %d are updated; wait until that has ended",
			pm.Name, s.Replicas, ptr.Deref(pm.Spec.Replicas, 0), s.UpdatedReplicas)
	}
	return nil
}

// podTemplate is the template of the workload that is made again.
func (r *run) podTemplate() (*corev1.PodTemplateSpec, error) {
	var object struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	err := decode(r.Top(), &object)
	return &object.Spec.Template, err
}

// labelForReturn puts the labels on pods by which the workload's controller tells
// its revisions apart: pods that the PodManager made have none.
func (r *run) labelForReturn(ctx context.Context, pm *appsv1.PodManager) error {
	pods, err := r.listPods(ctx)
	if err != nil {
		return err
	}
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, pm) })
	return inParallel(ctx, pointers(pods), func(ctx context.Context, obj client.Object) error {
		if rest := missing(r.PodLabels, obj.GetLabels()); len(rest) > 0 {
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

// deleteManager deletes the PodManager and leaves its pods running.
func (r *run) deleteManager(ctx context.Context) error {
	err := r.await(ctx, func(ctx context.Context) (string, error) {
		pm, err := r.manager(ctx)
		if apierrors.IsNotFound(errors.Unwrap(err)) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if pm.Spec.Deletion.Policy != appsv1.DeletionOrphan {
			before := client.MergeFrom(pm.DeepCopy())
			pm.Spec.Deletion.Policy = appsv1.DeletionOrphan
			if err := r.Client.Patch(ctx, pm, before); err != nil {
				return "", fmt.Errorf("have PodManager %s leave its pods running: %w", pm.Name, err)
			}
		}
		if pm.DeletionTimestamp == nil {
			err := r.Client.Delete(ctx, pm, client.Preconditions{UID: &pm.UID, ResourceVersion: &pm.ResourceVersion})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return "", fmt.Errorf("delete PodManager %s: %w", pm.Name, err)
			}
		}
		return "waiting for the operator to let the pods of PodManager " + r.Name + " go", nil
	})
	if err != nil {
		return err
	}
	r.Say("podmanager/%s is deleted; its pods run on", r.Name)
	return nil
}

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
	for i := range claims.Items {
		objects = append(objects, &claims.Items[i])
	}
	off := map[string]*string{}
	for _, key := range []string{appsv1.LabelName, appsv1.LabelUID, appsv1.LabelRevision, appsv1.LabelSlot, appsv1.LabelShard} {
		off[key] = nil
	}
	return inParallel(ctx, objects, func(ctx context.Context, obj client.Object) error {
		off := maps.Clone(off)
		if _, claim := obj.(*corev1.PersistentVolumeClaim); claim && obj.GetLabels()[podrender.LabelManagedBy] == podrender.ManagedBy {
			off[podrender.LabelManagedBy] = nil
		}
		return r.relabel(ctx, obj, off)
	})
}

// kruiseWait is how long OpenKruise's manager gets to see that the pods have no
// owner: there is no way to ask it.
const kruiseWait = 10 * time.Second

// asked: kube-controller-manager is asked what it sees.
func (k *Kind) asked() bool { return k == Deployments || k == ReplicaSets }

// awaitControllers waits until the controllers know that the pods have no owner
// any more: one that still believed the contrary would make new ones.
//
// kube-controller-manager is asked with a PodDisruptionBudget, whose status counts
// pods in the same cache from which ReplicaSets find theirs. A StatefulSet cannot
// make a pod whose name is taken, and needs no such care.
func (r *run) awaitControllers(ctx context.Context) error {
	if r.Kind.Ordinal {
		return nil
	}
	if !r.Kind.asked() {
		end := time.Now().Add(kruiseWait)
		return r.await(ctx, func(context.Context) (string, error) {
			if time.Now().Before(end) {
				return "giving OpenKruise's manager time to see that the pods are free", nil
			}
			return "", nil
		})
	}
	return r.await(ctx, func(ctx context.Context) (string, error) {
		budget, err := r.barrier(ctx)
		if err != nil {
			return "", err
		}
		free, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			return "", err
		}
		var pods corev1.PodList
		if err := r.Client.List(ctx, &pods, client.InNamespace(r.Namespace), client.MatchingLabelsSelector{Selector: free}); err != nil {
			return "", fmt.Errorf("list the pods that are free: %w", err)
		}
		if budget.Status.ObservedGeneration == 0 || int(budget.Status.ExpectedPods) != len(pods.Items) {
			return "waiting for kube-controller-manager to see that the pods are free", nil
		}
		return "", nil
	})
}

// barrier is the PodDisruptionBudget that counts the pods without a PodManager.
// It forbids nothing.
func (r *run) barrier(ctx context.Context) (*policyv1.PodDisruptionBudget, error) {
	budget := &policyv1.PodDisruptionBudget{}
	key := client.ObjectKey{Namespace: r.Namespace, Name: r.barrierName()}
	err := r.Client.Get(ctx, key, budget)
	if !apierrors.IsNotFound(err) {
		return budget, err
	}
	selector, err := freeSelector(r.Selector)
	if err != nil {
		return nil, err
	}
	budget.Namespace, budget.Name = key.Namespace, key.Name
	budget.Spec = policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(0)), Selector: selector}
	if err := r.Client.Create(ctx, budget); err != nil {
		return nil, fmt.Errorf("create a PodDisruptionBudget, by which kube-controller-manager tells which pods it sees: %w", err)
	}
	return budget, nil
}

func (r *run) barrierName() string { return r.Name + recordSuffix }

// freeSelector finds what a selector finds and no PodManager has labelled.
func freeSelector(selector labels.Selector) (*metav1.LabelSelector, error) {
	free, err := labels.NewRequirement(appsv1.LabelName, selection.DoesNotExist, nil)
	if err != nil {
		return nil, err
	}
	return metav1.ParseToLabelSelector(selector.Add(*free).String())
}

func (r *run) removeBarrier(ctx context.Context) error {
	if !r.Kind.asked() {
		return nil
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.barrierName()}}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, budget)); err != nil {
		return fmt.Errorf("delete PodDisruptionBudget %s: %w", budget.Name, err)
	}
	return nil
}

// remake creates the parts again: what keeps the pods first, and what keeps that
// only when it has them, so that nothing is made anew.
func (r *run) remake(ctx context.Context) error {
	if r.Kind == Deployments {
		for i := len(r.Parts) - 1; i >= 1; i-- {
			if err := r.create(ctx, r.Parts[i], i == 1); err != nil {
				return err
			}
		}
		if err := r.awaitOwner(ctx, r.Parts[1]); err != nil {
			return err
		}
	}
	if err := r.create(ctx, r.Top(), true); err != nil {
		return err
	}
	if r.Kind != Deployments {
		if err := r.awaitOwner(ctx, r.Top()); err != nil {
			return err
		}
	} else if err := r.awaitDeployment(ctx); err != nil {
		return err
	}
	r.Say("%s keeps its pods again", r.Workload)
	return nil
}

// create makes a part as it was. sized has it ask for as many pods as the
// PodManager did.
func (r *run) create(ctx context.Context, part Part, sized bool) error {
	fresh := &unstructured.Unstructured{Object: without(part.DeepCopy().Object, "status")}
	fresh.SetUID("")
	fresh.SetResourceVersion("")
	fresh.SetGeneration(0)
	fresh.SetCreationTimestamp(metav1.Time{})
	fresh.SetManagedFields(nil)
	fresh.SetOwnerReferences(nil)
	unstructured.RemoveNestedField(fresh.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fresh.Object, "metadata", "generation")
	if sized {
		if err := unstructured.SetNestedField(fresh.Object, int64(r.store.record.Replicas), "spec", "replicas"); err != nil {
			return fmt.Errorf("set the replicas of %s: %w", part.GetName(), err)
		}
	}
	err := r.Client.Create(ctx, fresh)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", part.GetKind(), part.GetName(), err)
	}
	return nil
}

// awaitOwner waits until a part that was made again has adopted the pods.
func (r *run) awaitOwner(ctx context.Context, part Part) error {
	return r.await(ctx, func(ctx context.Context) (string, error) {
		pods, err := r.listPods(ctx)
		if err != nil {
			return "", err
		}
		free := 0
		for i := range pods {
			if metav1.GetControllerOfNoCopy(&pods[i]) == nil && r.recognises(&pods[i]) {
				free++
			}
		}
		if free > 0 {
			return fmt.Sprintf("waiting for %s %s to adopt %d pods", part.GetKind(), part.GetName(), free), nil
		}
		return "", nil
	})
}

// awaitDeployment waits until the Deployment has its ReplicaSet.
func (r *run) awaitDeployment(ctx context.Context) error {
	return r.await(ctx, func(ctx context.Context) (string, error) {
		top, set := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		top.SetGroupVersionKind(r.Top().GroupVersionKind())
		set.SetGroupVersionKind(r.Parts[1].GroupVersionKind())
		if err := errors.Join(r.Client.Get(ctx, client.ObjectKeyFromObject(r.Top()), top),
			r.Client.Get(ctx, client.ObjectKeyFromObject(r.Parts[1]), set)); err != nil {
			return "", fmt.Errorf("read %s: %w", r.Workload, err)
		}
		if !metav1.IsControlledBy(set, top) {
			return "waiting for " + r.String() + " to adopt its ReplicaSet", nil
		}
		return "", nil
	})
}

// followBack has the autoscalers scale the workload again.
func (r *run) followBack(ctx context.Context) error {
	from := managerRef
	from.Name = r.Name
	return r.redirect(ctx, from, r.ref())
}
