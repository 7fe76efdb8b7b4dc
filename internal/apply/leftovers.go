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
	"fmt"
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/plan"
)

// listLive lists what carries the owner's labels, past the cache.
func (r *run) listLive(ctx context.Context, list client.ObjectList) error {
	err := r.live.List(ctx, list, client.InNamespace(r.target.Ref.Namespace), client.MatchingLabels(r.target.Ref.Labels))
	if err != nil {
		return fmt.Errorf("list the %T of %s/%s live: %w", list, r.target.Ref.Namespace, r.target.Ref.Name, err)
	}
	return nil
}

func (r *run) controls(obj client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	return ref != nil && ref.UID == r.target.Ref.UID
}

// missPods fails where the API server has a pod of the owner that the cache has
// not shown. It is asked once in the life of a process; see trustOwner.
func (r *run) missPods(ctx context.Context) error {
	if r.target.Known == nil {
		return nil
	}
	var pods corev1.PodList
	if err := r.listLive(ctx, &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; r.controls(pod) && !r.target.Known[pod.UID] {
			return fmt.Errorf("the cache is behind: it does not show pod %s", client.ObjectKeyFromObject(pod))
		}
	}
	return nil
}

// clear makes sure, before the owner goes, that it leaves nothing behind. The
// cache's word is not enough: the garbage collector would delete a pod that was
// to be released, and with --cascade=orphan it may have released a revision
// that would stay for ever.
func (r *run) clear(ctx context.Context) error {
	orphaning := slices.Contains(r.target.Owner.GetFinalizers(), metav1.FinalizerOrphanDependents)
	var pods corev1.PodList
	if !orphaning {
		if err := r.listLive(ctx, &pods); err != nil {
			return err
		}
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil && r.target.Deletion == plan.DeletionOrphan {
			continue // nothing is left to save, and it may take for ever
		}
		if r.controls(pod) {
			return fmt.Errorf("pod %s is still there, and the cache does not show it", client.ObjectKeyFromObject(pod))
		}
	}
	var revisions kappsv1.ControllerRevisionList
	if err := r.listLive(ctx, &revisions); err != nil {
		return err
	}
	for i := range revisions.Items {
		revision := &revisions.Items[i]
		if !orphaning && r.controls(revision) {
			continue // the garbage collector's
		}
		err := r.writer.Delete(ctx, revision, client.Preconditions{UID: &revision.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete revision %s: %w", client.ObjectKeyFromObject(revision), err)
		}
	}
	return nil
}
