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

// Package workload reads what nativewhy judges: a built-in workload with all
// that the cluster records about it, with the rights of the person and without
// anything of ours on the cluster. What may not be read is noted and left out.
// Lists are read in pages, and one request serves all pods.
package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/nativewhy"
)

// reader collects the facts about one workload or pod.
type reader struct {
	client    client.Client
	namespace string
	facts     *nativewhy.Facts
	// uid is the workload's, selector finds its pods, and set is the ReplicaSet of a
	// Deployment to which the question is narrowed.
	uid      client.Object
	selector *metav1.LabelSelector
	set      client.Object
}

// Read reads all about a workload, or about a pod. The error is one where the
// object does not exist and left no trace.
func Read(ctx context.Context, c client.Client, kind schema.GroupKind, key client.ObjectKey, now time.Time) (*nativewhy.Facts, error) {
	r := &reader{client: c, namespace: key.Namespace, facts: &nativewhy.Facts{Now: now}}
	var err error
	if kind == kube.Pods.Kind {
		err = r.pod(ctx, key)
	} else {
		err = r.workload(ctx, kind.Kind, key.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := r.around(ctx); err != nil {
		return nil, err
	}
	if kind != kube.Pods.Kind && r.facts.Gone && !mentioned(r.facts) {
		return nil, r.unknown(kind.Kind, key.Name)
	}
	if r.facts.Pod != "" && len(r.facts.Pods) == 0 && !mentionedPod(r.facts) {
		return nil, r.unknown("pod", key.Name)
	}
	return r.facts, nil
}

// unknown is the answer about what does not exist and left no trace.
func (r *reader) unknown(kind, name string) error {
	what := "no event names it"
	if !r.facts.Could(nativewhy.Events) {
		what = "the events could not be read"
	}
	return fmt.Errorf("%s %s/%s does not exist, and %s", kind, r.namespace, name, what)
}

func mentioned(f *nativewhy.Facts) bool {
	for i := range f.Events {
		if f.Events[i].Kind == f.Kind && f.Events[i].Name == f.Name {
			return true
		}
	}
	return false
}

func mentionedPod(f *nativewhy.Facts) bool {
	for i := range f.Events {
		if e := &f.Events[i]; e.Kind == "Pod" && e.Name == f.Pod || names(e.Message, f.Pod) {
			return true
		}
	}
	return false
}

// pod reads a pod and finds the workload that it is of; also where the pod is gone,
// by the events.
func (r *reader) pod(ctx context.Context, key client.ObjectKey) error {
	r.facts.Pod = key.Name
	pod := &corev1.Pod{}
	err := r.client.Get(ctx, key, pod)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read pod %s: %w", key, err)
	}
	if err == nil {
		r.facts.Pods = []corev1.Pod{*pod}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			return r.owner(ctx, owner)
		}
		return nil
	}
	if err := r.events(ctx); err != nil {
		return err
	}
	kind, name := ownerByEvents(r.facts.Events, key.Name)
	if kind == "" {
		return nil
	}
	return r.owner(ctx, &metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name})
}

// owner reads what owns a pod. A UID that differs means that the owner was deleted
// and made again.
func (r *reader) owner(ctx context.Context, owner *metav1.OwnerReference) error {
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil || !kube.IsBuiltIn(group.WithKind(owner.Kind).GroupKind()) {
		return nil //nolint:nilerr // the pod is another controller's: what is known of it is in the pod
	}
	err = r.workload(ctx, owner.Kind, owner.Name)
	switch {
	case apierrors.IsForbidden(err):
		r.unread(nativewhy.Owner, err)
		return nil
	case err != nil:
		return err
	}
	there := r.set
	if there == nil {
		there = r.uid
	}
	if r.facts.Gone || owner.UID != "" && there != nil && there.GetUID() != owner.UID {
		r.facts.LostOwner, r.facts.Gone = owner.Kind+" "+owner.Name, false
	}
	return nil
}

// workload reads a workload. A ReplicaSet of a Deployment is read as that.
func (r *reader) workload(ctx context.Context, kind, name string) error {
	object, from := empty(kind)
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		r.facts.Kind, r.facts.Name, r.facts.Gone = kind, name, true
		return nil
	case err != nil:
		return fmt.Errorf("read %s %s/%s: %w", kind, r.namespace, name, err)
	}
	if owner := metav1.GetControllerOf(object); kind == "ReplicaSet" && owner != nil && owner.Kind == "Deployment" {
		r.set = object
		return r.workload(ctx, owner.Kind, owner.Name)
	}
	r.facts.Kind, r.facts.Name, r.uid = kind, name, object
	r.facts.Workload, r.selector = from()
	return nil
}

// empty is an object to read a kind into, and how it is read then.
func empty(kind string) (client.Object, func() (*nativewhy.Workload, *metav1.LabelSelector)) {
	switch kind {
	case "Deployment":
		d := &kappsv1.Deployment{}
		return d, func() (*nativewhy.Workload, *metav1.LabelSelector) {
			return nativewhy.FromDeployment(d), d.Spec.Selector
		}
	case "StatefulSet":
		s := &kappsv1.StatefulSet{}
		return s, func() (*nativewhy.Workload, *metav1.LabelSelector) {
			return nativewhy.FromStatefulSet(s), s.Spec.Selector
		}
	case "DaemonSet":
		d := &kappsv1.DaemonSet{}
		return d, func() (*nativewhy.Workload, *metav1.LabelSelector) {
			return nativewhy.FromDaemonSet(d), d.Spec.Selector
		}
	default:
		s := &kappsv1.ReplicaSet{}
		return s, func() (*nativewhy.Workload, *metav1.LabelSelector) {
			return nativewhy.FromReplicaSet(s), s.Spec.Selector
		}
	}
}

// unread notes a source that could not be read. A kind that the cluster does not
// have is no loss.
func (r *reader) unread(source nativewhy.Source, err error) {
	if err == nil || meta.IsNoMatchError(err) {
		return
	}
	r.facts.Unread = append(r.facts.Unread, nativewhy.Unread{Source: source, Why: reasonOf(err)})
}

// reasonOf is the part of an error that a person needs: which right is missing.
func reasonOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Reason == metav1.StatusReasonForbidden {
		return "forbidden"
	}
	return err.Error()
}
