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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// confirmPods fails where the cache does not show the owner's pods as the API server has
// them. Each pod is written under its version, but what is done to it depends on the
// others, too. The ledger then waits for what was missing, as for a write of ours, and
// nothing is listed again: pods that change all the time must not keep a new process
// from its work.
func (r *run) confirmPods(ctx context.Context) error {
	if r.target.New {
		return nil
	}
	var pods corev1.PodList
	if err := r.listLive(ctx, &pods); err != nil {
		return err
	}
	live := make(map[string]*corev1.Pod, len(pods.Items))
	for i := range pods.Items {
		if pod := &pods.Items[i]; r.controls(pod) {
			live[pod.Name] = pod
		}
	}
	var behind []string
	for i := range r.target.Pods {
		known := &r.target.Pods[i]
		if known.Membership == plan.Orphan {
			continue // it is adopted under its version
		}
		pod, err := r.livePod(ctx, live, known)
		switch {
		case err != nil:
			return err
		case pod == nil:
			r.ledger.TookAway(r.target.Ref.UID, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.target.Ref.Namespace, Name: known.Name, UID: known.UID}})
			behind = append(behind, known.Name)
		case pod.ResourceVersion == known.ResourceVersion:
			delete(live, known.Name)
		default:
			live[known.Name] = pod
		}
	}
	for _, pod := range live {
		r.ledger.Wrote(r.target.Ref.UID, pod)
		behind = append(behind, pod.Name)
	}
	if len(behind) == 0 {
		return nil
	}
	r.ledger.Trust(r.target.Ref.UID)
	return &BehindError{fmt.Sprintf("the cache is behind: %d pods of %s/%s, %s among them, have another version",
		len(behind), r.target.Ref.Namespace, r.target.Ref.Name, slices.Min(behind))}
}

// livePod is a pod as the API server has it, or nil if it is gone. One that was not
// listed may have lost its labels.
func (r *run) livePod(ctx context.Context, listed map[string]*corev1.Pod, known *plan.Pod) (*corev1.Pod, error) {
	pod := listed[known.Name]
	if pod == nil {
		pod = &corev1.Pod{}
		err := r.live.Get(ctx, client.ObjectKey{Namespace: r.target.Ref.Namespace, Name: known.Name}, pod)
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // a pod that is gone is an answer
		}
		if err != nil {
			return nil, fmt.Errorf("look up pod %s/%s live: %w", r.target.Ref.Namespace, known.Name, err)
		}
	}
	if pod.UID != known.UID {
		return nil, nil //nolint:nilnil // another one has its name by now
	}
	return pod, nil
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
