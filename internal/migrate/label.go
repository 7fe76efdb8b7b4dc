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
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// label puts the labels of the PodManager on pods and claims. The workload that
// owns them goes on, because it selects by labels of its own.
func (r *run) label(ctx context.Context, pm *appsv1.PodManager) error {
	pods, err := r.listPods(ctx)
	if err != nil {
		return err
	}
	var objects []client.Object
	for i := range pods {
		if err := r.taken(&pods[i]); err != nil {
			return err
		}
		if r.Kind == BarePods || r.ours(&pods[i]) {
			objects = append(objects, &pods[i])
		}
	}
	if err := r.labelAll(ctx, pm, objects); err != nil {
		return err
	}
	return r.labelClaims(ctx, pm)
}

// taken fails where another has taken a pod without a controller since it was read: two may
// select it at the same moment.
func (r *run) taken(obj client.Object) error {
	if r.Kind != BarePods {
		return nil
	}
	if err := bare(obj, r.Name); err != nil {
		return fmt.Errorf("%w; --undo first", err)
	}
	return nil
}

// bare fails where a pod has a controller, or is another PodManager's. One of the name has it where
// a run was interrupted.
func bare(pod client.Object, name string) error {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref != nil && (ref.APIVersion != managerRef.APIVersion || ref.Kind != managerRef.Kind || ref.Name != name) {
		advice := "choose other labels"
		if migratable(ref) {
			advice = "migrate that instead, or " + advice
		}
		return fmt.Errorf("pod %s belongs to %s %s: %s", pod.GetName(), ref.Kind, ref.Name, advice)
	}
	if other, ok := pod.GetLabels()[appsv1.LabelName]; ok && other != name {
		return fmt.Errorf("pod %s has the label %s=%s, by which that PodManager finds it: take it off, or choose other labels", pod.GetName(), appsv1.LabelName, other)
	}
	return nil
}

// labelAll labels pods as those of the revision that was taken over, several at a time.
func (r *run) labelAll(ctx context.Context, pm *appsv1.PodManager, objects []client.Object) error {
	labels := podLabels(pm, cmp.Or(r.store.record.Revision, pm.Status.UpdateRevision))
	return inParallel(ctx, objects, func(ctx context.Context, obj client.Object) error {
		rest, marks := missing(labels, obj.GetLabels()), marksOf(obj)
		if len(rest) == 0 && len(marks) == 0 {
			return nil
		}
		return r.remark(ctx, obj, setting(rest), marks)
	})
}

// marksOf takes off what a PodManager noted on a pod for itself: by an old note that it stands in
// for others, a later owner would delete the pod.
func marksOf(pod client.Object) map[string]*string {
	marks := map[string]*string{}
	for _, key := range appsv1.PodAnnotations() {
		if _, ok := pod.GetAnnotations()[key]; ok {
			marks[key] = nil
		}
	}
	return marks
}

func (r *run) labelClaims(ctx context.Context, pm *appsv1.PodManager) error {
	claims, err := r.listClaims(ctx)
	if err != nil {
		return err
	}
	labels := podLabels(pm, "")
	delete(labels, appsv1.LabelRevision)
	labels[podrender.LabelManagedBy] = podrender.ManagedBy // the operator's cache has no other claims
	return inParallel(ctx, claims, func(ctx context.Context, obj client.Object) error {
		rest := missing(labels, obj.GetLabels())
		if len(rest) == 0 {
			return nil
		}
		annotations := map[string]*string{}
		if was := obj.GetLabels()[podrender.LabelManagedBy]; was != "" && was != podrender.ManagedBy {
			annotations[annotationManagedBy] = &was
		}
		return r.remark(ctx, obj, setting(rest), annotations)
	})
}

// annotationManagedBy on a claim is its label managed-by as it was before.
const annotationManagedBy = "apps.mycompany.com/managed-by-before"
