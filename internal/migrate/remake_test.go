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
	"fmt"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// replicaSetController adopts the active pods when a ReplicaSet is created, and no others.
type replicaSetController struct{ client.Client }

func (c *replicaSetController) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if obj.GetObjectKind().GroupVersionKind() != ReplicaSets.GroupVersionKind {
		return c.Client.Create(ctx, obj, options...)
	}
	obj.SetUID(types.UID(obj.GetName()))
	if err := c.Client.Create(ctx, obj, options...); err != nil {
		return err
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(obj, ReplicaSets.GroupVersionKind)}
		if err := c.Update(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// returning is an undo of a Deployment's migration, once the PodManager is gone.
func returning(t *testing.T, c client.Client) *run {
	t.Helper()
	own := map[string]string{"app": "web", "pod-template-hash": "h"}
	d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	d.Spec.Selector, d.Spec.Template = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, plainest()
	rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-h", Labels: own}}
	rs.Spec.Selector, rs.Spec.Template, rs.Spec.Replicas = &metav1.LabelSelector{MatchLabels: own}, plainest(), ptr.To[int32](1)
	record := &Record{Stage: Returning, Replicas: 1, Target: Target{
		Resource: Deployments.id(), Name: "web", Selector: "app=web", PodLabels: map[string]string{"pod-template-hash": "h"},
		Parts: []unstructured.Unstructured{*partOf(d, Deployments).Unstructured, *partOf(rs, ReplicaSets).Unstructured},
	}}
	w, err := record.workload("shop")
	if err != nil {
		t.Fatal(err)
	}
	return &run{Mover: &Mover{Client: c, Say: t.Logf, Patience: time.Second}, Workload: w, store: &store{record: record}}
}

func freePod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web", "pod-template-hash": "h"}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

// An evicted pod stays for inspection, and no ReplicaSet adopts it: the Deployment was
// never made again.
func TestAnUndoDoesNotWaitForAPodThatHasEnded(t *testing.T) {
	failed := freePod("web-evicted", corev1.PodFailed)
	c := &replicaSetController{fakeClient(t, freePod("web-a", corev1.PodRunning), failed)}
	r := returning(t, c)
	if err := r.createAll(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), r.key(), &kappsv1.Deployment{}); err != nil {
		t.Error("the Deployment:", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(failed), failed); err != nil || metav1.GetControllerOf(failed) == nil {
		t.Errorf("the evicted pod: %v, its owners are %v", err, failed.OwnerReferences)
	}
}

// One that selects by other labels never adopts the pods: every run waited for that to its end, and
// said to run it again.
func TestAnUndoDoesNotWaitForAWorkloadThatSelectsOthers(t *testing.T) {
	others := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "others"}}
	others.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	r := returning(t, fakeClient(t, others, freePod("web-a", corev1.PodRunning)))
	err := r.remake(t.Context())
	if err == nil || !strings.Contains(err.Error(), "others made deployment/web again, which selects by app=other, and the pods were selected by app=web: delete it first") {
		t.Errorf("got %v, want that it selects others", err)
	}
}

// An undo is killed once the PodManager is gone, and another person applies a newer manifest of the
// Deployment. The undo took it for its own, and left the pods without an owner.
func TestAnUndoGoesOnBesideADeploymentOfOthers(t *testing.T) {
	others := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "others"}}
	others.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	r := returning(t, fakeClient(t, others, freePod("web-a", corev1.PodRunning)))
	err := r.remake(t.Context())
	if err == nil || !strings.Contains(err.Error(), "others made deployment/web meanwhile, and it did not adopt web-a") {
		t.Errorf("got %v, want that others made it", err)
	}
}

// noRevisions is a client of a user who may not write revisions, as with the role edit.
type noRevisions struct{ client.Client }

func (c *noRevisions) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if obj.GetObjectKind().GroupVersionKind() == controllerRevision {
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, obj.GetName(), nil)
	}
	return c.Client.Create(ctx, obj, options...)
}

// One person migrates a StatefulSet, and another undoes that who may not write revisions. The
// earlier ones were lost in silence.
func TestRevisionsThatDoNotComeBackAreNamed(t *testing.T) {
	stays := &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}
	lost := &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-2"}}
	sts := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	var said []string
	r := &run{Workload: &Workload{Kind: StatefulSets, Namespace: "shop", Name: "web"}, store: &store{record: &Record{}}}
	r.Mover = &Mover{Client: &noRevisions{fakeClient(t, stays)}, Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	revision := &Kind{GroupVersionKind: controllerRevision}
	r.Parts = []Part{partOf(sts, StatefulSets), partOf(stays, revision), partOf(lost, revision)}
	if err := r.createAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(said, "; "); !strings.Contains(text, "controllerrevision/web-2 does not come back") || strings.Contains(text, "web-1") {
		t.Errorf("it said %q, want that web-2 does not come back", text)
	}
}
