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

package plan

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/native"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/view"
)

// comparison is what the same change would do to the same pods as a PodManager's.
type comparison struct {
	Text string `json:"text"`
	// Counts are how many of the pods that exist each thing would happen to; none where
	// it cannot be computed, and Text says why.
	Counts map[string]int `json:"counts,omitempty"`
}

// manyPasses bounds the forecast: one that is longer is not compared.
const manyPasses = 300

// compare plays the change as one of a PodManager that migrate makes of the workload, with
// the planner of the operator. Nil: there is nothing to compare.
func (w *world) compare(ctx context.Context, live, changed *unstructured.Unstructured, p *native.Plan) (*comparison, error) {
	if live == nil || !p.Touches() || p.Unforeseen {
		return nil, nil //nolint:nilnil // no pod that exists is touched
	}
	before, err := migrate.Convert(live)
	if before == nil || err != nil {
		return nil, err
	}
	after, err := migrate.Convert(changed)
	if err != nil {
		return nil, err
	}
	why := after.Obstacle()
	if why == "" && !settled(live) {
		why = "its pods are not all of one template"
	}
	if why != "" {
		return &comparison{Text: "Not compared with a PodManager: " + why + "."}, nil
	}
	was, is := before.Manager(), after.Manager()
	was.UID, is.UID = live.GetUID(), live.GetUID()
	was.Generation, is.Generation = 1, 2
	preview, err := w.asManager(ctx, was, is)
	if err != nil || !preview.Complete {
		return nil, err
	}
	counts := map[string]int{}
	for _, step := range preview.Steps {
		if step.What == view.Held || slices.ContainsFunc(w.Pods, func(pod corev1.Pod) bool { return pod.Name == step.Pod }) {
			counts[step.What] += max(1, step.Count)
		}
	}
	return &comparison{Text: fmt.Sprintf("%s; as a PodManager %s.", touched(p), happens(counts)), Counts: counts}, nil
}

// settled: all pods are of the template, as the controller reports.
func settled(live *unstructured.Unstructured) bool {
	reported := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(live.Object, path...)
		return n
	}
	return reported("status", "observedGeneration") == live.GetGeneration() && reported("status", "updatedReplicas") == reported("status", "replicas")
}

// asManager is what becomes of the pods where a PodManager kept them before.
func (w *world) asManager(ctx context.Context, was, is *appsv1.PodManager) (view.Preview, error) {
	fleet := desired.PodManager(was)
	encoded, err := podrender.Encode(fleet.Template)
	if err != nil {
		return view.Preview{}, err
	}
	revision := podrender.Revision(fleet.Ref, encoded, podrender.RevisionName(was.Name, encoded, 0), 1)
	was.Status.CurrentRevision, was.Status.UpdateRevision = revision.Name, revision.Name
	kept := still{revisions: []kappsv1.ControllerRevision{*revision}, pods: w.kept(was, fleet.Ref, revision.Name)}
	content := func(pm *appsv1.PodManager) (*unstructured.Unstructured, error) {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pm)
		return &unstructured.Unstructured{Object: raw}, err
	}
	from, err := content(was)
	if err != nil {
		return view.Preview{}, err
	}
	to, err := content(is)
	if err != nil {
		return view.Preview{}, err
	}
	kind, _ := change.KindOf(desired.PodManagerGVK)
	look := change.Look{Reader: kept, Observer: change.Live{Reader: kept}, Now: time.Now(), Passes: func(int) int { return manyPasses }}
	return kind.Foresee(ctx, look, from, to)
}

// kept are the workload's pods as a PodManager's of this revision.
func (w *world) kept(pm *appsv1.PodManager, owner podrender.Owner, revision string) []corev1.Pod {
	owners := map[string]bool{string(pm.UID): true}
	for i := range w.ReplicaSets {
		if ref := metav1.GetControllerOf(&w.ReplicaSets[i]); ref != nil && ref.UID == pm.UID {
			owners[string(w.ReplicaSets[i].UID)] = true
		}
	}
	var pods []corev1.Pod
	for i := range w.Pods {
		pod := &w.Pods[i]
		if ref := metav1.GetControllerOf(pod); ref == nil || !owners[string(ref.UID)] || pod.DeletionTimestamp != nil {
			continue
		}
		as := podrender.Pod(owner, &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}, pod.Name, revision, len(pods))
		as.UID, as.CreationTimestamp, as.Status = pod.UID, pod.CreationTimestamp, pod.Status
		pods = append(pods, *as)
	}
	return pods
}

// touched says how many pods of the workload go, and how many of them others replace.
func touched(p *native.Plan) string {
	went, came := 0, p.Count(native.Created)
	for i := range p.Steps {
		if s := &p.Steps[i]; s.What == native.Deleted && s.Reason == native.NewTemplate {
			went += s.Pods()
		}
	}
	with := func(n int) string { return view.Count(n, "pod") }
	return joined(with, number{p.Count(native.Replaced) + min(went, came), "replaced"}, number{p.Count(native.Deleted) - min(went, came), "deleted"})
}

// happens says the same of a PodManager's.
func happens(counts map[string]int) string {
	return joined(strconv.Itoa, number{counts[view.InPlace], "changed in place"}, number{counts[view.Recreate] + counts[view.Move], "replaced"},
		number{counts[view.Delete], "deleted"}, number{counts[view.Held], "held back"})
}

// number is how many pods something happens to.
type number struct {
	pods int
	what string
}

func joined(count func(int) string, numbers ...number) string {
	var parts []string
	for _, n := range numbers {
		if n.pods > 0 {
			parts = append(parts, count(n.pods)+" "+n.what)
		}
	}
	if len(parts) == 0 {
		return "none touched"
	}
	return strings.Join(parts, ", ")
}

// still is a cluster with the pods of one PodManager, whose nodes are all there. It answers
// without a request.
type still struct {
	pods      []corev1.Pod
	revisions []kappsv1.ControllerRevision
}

// Get implements client.Reader.
func (s still) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if _, node := object.(*corev1.Node); !node {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", object)}, key.Name)
	}
	object.SetName(key.Name)
	return nil
}

// List implements client.Reader.
func (s still) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *corev1.PodList:
		l.Items = slices.Clone(s.pods)
	case *kappsv1.ControllerRevisionList:
		l.Items = slices.Clone(s.revisions)
	}
	return nil
}
