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
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Mover carries migrations out.
type Mover struct {
	Client client.Client
	// Holder names this run to others.
	Holder string
	// Say tells the user what is done.
	Say func(format string, args ...any)
	// Patience is how long one step may wait for the cluster.
	Patience time.Duration
	// Suspended: the GitOps tool that keeps a PodManager was suspended, so that it may go.
	Suspended bool
}

// poll is how often a waiting step looks in the end. Most waits are short, so it looks
// sooner at first: a namespace of 50 workloads waits several hundred times.
const (
	poll      = 200 * time.Millisecond
	firstPoll = poll / 8
)

// run is one migration.
type run struct {
	*Mover
	*Workload
	store *store
	// warned: what is lost was listed.
	warned bool
}

func (r *run) key() client.ObjectKey { return client.ObjectKey{Namespace: r.Namespace, Name: r.Name} }

// await looks again and again until done says so. What it returns meanwhile says
// what is waited for.
func (r *run) await(ctx context.Context, look func(ctx context.Context) (waitsFor string, err error)) error {
	end := time.Now().Add(r.Patience)
	for pause := firstPoll; ; pause = min(2*pause, poll) {
		waitsFor, err := look(ctx)
		if err != nil || waitsFor == "" {
			return err
		}
		if time.Now().After(end) {
			return &toResumeError{fmt.Errorf("after %s still %s", r.Patience, waitsFor)}
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errLost) {
				return errLost
			}
			return &toResumeError{fmt.Errorf("interrupted while %s", waitsFor)}
		case <-time.After(pause):
		}
	}
}

// toResumeError is an error after which a run is gone on with.
type toResumeError struct{ error }

func (e *toResumeError) Error() string {
	return e.error.Error() + "; nothing is lost: run it again, or with --undo"
}

// Unwrap is what went wrong.
func (e *toResumeError) Unwrap() error { return e.error }

// halfway says how to go on after a step that failed once pods were let go.
func halfway(err error) error {
	var said *toResumeError
	if err == nil || errors.Is(err, errLost) || errors.As(err, &said) {
		return err
	}
	return &toResumeError{err}
}

// manager reads the PodManager.
func (r *run) manager(ctx context.Context) (*appsv1.PodManager, error) {
	pm := &appsv1.PodManager{}
	if err := r.Client.Get(ctx, r.key(), pm); err != nil {
		return nil, fmt.Errorf("read PodManager %s: %w", r.Name, err)
	}
	return pm, nil
}

// listPods lists the live pods that the workload's selector finds.
func (r *run) listPods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace), client.MatchingLabelsSelector{Selector: r.Selector})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", r.Workload, err)
	}
	live := list.Items[:0]
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			live = append(live, list.Items[i])
		}
	}
	return live, nil
}

// ours: one of the workload's parts controls the object.
func (r *run) ours(obj client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return false
	}
	for _, p := range r.Parts {
		if p.GetUID() == ref.UID {
			return true
		}
	}
	return false
}

// markPatch sets labels and annotations, and takes those off whose value is nil, on
// exactly the object that was read.
func markPatch(obj client.Object, labels, annotations map[string]*string) (client.Patch, error) {
	var body struct {
		Metadata struct {
			UID             types.UID          `json:"uid"`
			ResourceVersion string             `json:"resourceVersion"`
			Labels          map[string]*string `json:"labels,omitempty"`
			Annotations     map[string]*string `json:"annotations,omitempty"`
		} `json:"metadata"`
	}
	m := &body.Metadata
	m.UID, m.ResourceVersion, m.Labels, m.Annotations = obj.GetUID(), obj.GetResourceVersion(), labels, annotations
	if _, claim := obj.(*corev1.PersistentVolumeClaim); claim {
		// What is handed over is not found, and what an owner noted for itself ends with it:
		// by an old note that it stands in for others, a later owner would delete a claim.
		m.Annotations = map[string]*string{appsv1.AnnotationFound: nil, appsv1.AnnotationSurge: nil, appsv1.AnnotationCondemnedBy: nil}
		maps.Copy(m.Annotations, annotations)
	}
	raw, err := json.Marshal(body)
	return client.RawPatch(types.MergePatchType, raw), err
}

func (r *run) relabel(ctx context.Context, obj client.Object, labels map[string]*string) error {
	return r.remark(ctx, obj, labels, nil)
}

// remark changes the labels and annotations of an object. One that is gone, or
// another object of its name, is left alone.
func (r *run) remark(ctx context.Context, obj client.Object, labels, annotations map[string]*string) error {
	uid := obj.GetUID()
	err := retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
		patch, err := markPatch(obj, labels, annotations)
		if err != nil {
			return err
		}
		if err = r.Client.Patch(ctx, obj, patch); apierrors.IsConflict(err) {
			if err := r.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			if obj.GetUID() != uid {
				return nil
			}
			if err := r.taken(obj); err != nil {
				return err
			}
		}
		return err
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("label %s: %w", obj.GetName(), err)
	}
	return nil
}

func setting(labels map[string]string) map[string]*string {
	values := make(map[string]*string, len(labels))
	for key, value := range labels {
		values[key] = &value
	}
	return values
}
