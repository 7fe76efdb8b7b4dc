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

// Package judge says whether a migration kept its promises, from the history of the
// objects alone. It is written from docs/migrate.md, and shares no code with what
// migrates:
//
//   - at every moment one workload at most wants the pods, and a pod has one
//     controller, which exists; one without a controller is in the middle of a
//     migration, of which there is a record;
//   - no pod comes or goes but for a scaling, a change of the template or an eviction;
//   - at the end object, pods, history and autoscalers say the same.
package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Version is one version of an object.
type Version struct {
	*unstructured.Unstructured
	// Gone: the object was removed, and this was its last state.
	Gone bool
}

func (v Version) revision() int64 {
	n, _ := strconv.ParseInt(v.GetResourceVersion(), 10, 64)
	return n
}

// object is what the judge reads of any object.
type object struct {
	Kind     string            `json:"kind"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Replicas    *int32 `json:"replicas"`
		ScaleTarget struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		Image      string      `json:"image"`
		Containers []container `json:"containers"`
		Template   struct {
			Spec struct {
				Containers []container `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration"`
		Replicas           int32              `json:"replicas"`
		UpdatedReplicas    int32              `json:"updatedReplicas"`
		Conditions         []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

type container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// images are the images of a workload's template. A PodManager's spec.image is that of
// its container app.
func (o *object) images() string {
	var images []string
	for _, c := range o.Spec.Template.Spec.Containers {
		if o.Spec.Image != "" && c.Name == "app" {
			c.Image = o.Spec.Image
		}
		images = append(images, c.Image)
	}
	return strings.Join(images, " ")
}

func (o *object) podImages() string {
	var images []string
	for _, c := range o.Spec.Containers {
		images = append(images, c.Image)
	}
	return strings.Join(images, " ")
}

// evicted: a request for an eviction was granted.
func (o *object) evicted() bool {
	return o != nil && slices.ContainsFunc(o.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == "DisruptionTarget" && c.Reason == "EvictionByEvictionAPI" && c.Status == metav1.ConditionTrue
	})
}

// wants: the object would replace a pod that is missing.
func (o *object) wants() bool {
	switch o.Kind {
	case "Deployment", "StatefulSet":
		return o.Metadata.DeletionTimestamp == nil
	case "PodManager":
		_, frozen := o.Metadata.Annotations["apps.mycompany.com/take-over"]
		return !frozen && o.Metadata.DeletionTimestamp == nil
	}
	return o.alone()
}

// alone: it is the ReplicaSet of a Deployment that is not there yet, or any more, and
// stands for it.
func (o *object) alone() bool {
	return o.Kind == "ReplicaSet" && metav1.GetControllerOf(&o.Metadata) == nil && o.Metadata.DeletionTimestamp == nil &&
		o.Spec.Replicas != nil && *o.Spec.Replicas > 0
}

// trial is a history as far as it was read.
type trial struct {
	now      map[types.UID]*object
	recorded bool
	// up and down are how many pods may come and go; came and went did.
	up, down, came, went int32
	// asked and images are what was last wanted.
	asked   int32
	images  string
	started bool
	broken  []string
}

// Judge lists what a history breaks. Its versions may be in any order; the first
// begun are what there was before.
func Judge(before, history []Version) []string {
	t := &trial{now: map[types.UID]*object{}}
	for _, v := range before {
		t.now[v.GetUID()] = read(v)
		t.recorded = t.recorded || isRecord(v)
	}
	t.ask()
	t.started = true
	history = slices.Clone(history)
	slices.SortStableFunc(history, func(a, b Version) int { return cmp.Compare(a.revision(), b.revision()) })
	for _, v := range history {
		t.step(v)
	}
	t.end()
	return t.broken
}

func read(v Version) *object {
	o := &object{}
	raw, err := v.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, o)
	}
	if err != nil {
		panic(err) // it came from an API server
	}
	return o
}

func isRecord(v Version) bool {
	return v.GetKind() == "ConfigMap" && strings.HasSuffix(v.GetName(), "-migration")
}

func (t *trial) breaks(v Version, format string, args ...any) {
	t.broken = append(t.broken, fmt.Sprintf("at %s: ", v.GetResourceVersion())+fmt.Sprintf(format, args...))
}

func (t *trial) step(v Version) {
	was, is := t.now[v.GetUID()], read(v)
	if isRecord(v) {
		t.recorded = !v.Gone
	}
	if is.Kind == "Pod" {
		t.count(was, is, v.Gone)
	}
	if v.Gone {
		delete(t.now, v.GetUID())
	} else {
		t.now[v.GetUID()] = is
	}
	t.ask()
	t.moment(v)
}

// count counts the pods that come and go.
func (t *trial) count(was, is *object, gone bool) {
	live := func(o *object) bool { return o != nil && o.Metadata.DeletionTimestamp == nil }
	if is.evicted() && !was.evicted() && live(is) {
		t.up++
		t.down++
	}
	if was == nil && live(is) && !gone {
		t.came++
	}
	if live(was) && (gone || !live(is)) {
		t.went++
	}
}

// ask reads what is wanted now: every scaling and every change of the template
// allows so many pods to come and go.
func (t *trial) ask() {
	complete := slices.ContainsFunc(slices.Collect(maps.Values(t.now)), func(o *object) bool { return o.wants() && !o.alone() })
	for _, o := range t.now {
		if !o.wants() || complete && o.alone() {
			continue
		}
		asked, images := int32(1), o.images()
		if o.Spec.Replicas != nil {
			asked = *o.Spec.Replicas
		}
		if t.started {
			if o.Kind == "Deployment" && images == t.images && t.rolling(images) {
				// "Proportional scaling" in the documentation of Deployments: some of the new
				// pods get the old template, and are replaced.
				t.up += max(0, asked-t.asked)
				t.down += max(0, asked-t.asked)
			}
			t.up += max(0, asked-t.asked)
			t.down += max(0, t.asked-asked)
			if images != t.images {
				t.up += max(asked, t.asked)
				t.down += max(asked, t.asked)
			}
		}
		t.asked, t.images = asked, images
	}
}

// rolling: a pod is not on the template yet.
func (t *trial) rolling(images string) bool {
	for _, o := range t.now {
		if o.Kind == "Pod" && o.Metadata.DeletionTimestamp == nil && o.podImages() != images {
			return true
		}
	}
	return false
}

// moment checks what holds at every moment.
func (t *trial) moment(v Version) {
	var wanting []string
	for _, o := range t.now {
		switch {
		case o.alone():
			if !slices.Contains(wanting, "Deployment") {
				wanting = append(wanting, "Deployment")
			}
		case o.wants() && (o.Kind != "Deployment" || !slices.Contains(wanting, o.Kind)):
			wanting = append(wanting, o.Kind)
		}
		if o.Kind == "Pod" && o.Metadata.DeletionTimestamp == nil {
			t.owner(v, o)
		}
	}
	if len(wanting) > 1 {
		slices.Sort(wanting)
		t.breaks(v, "the pods are wanted by %s", strings.Join(wanting, " and "))
	}
	if t.came > t.up || t.went > t.down {
		t.breaks(v, "%d pods came and %d went, and %d and %d were asked to", t.came, t.went, t.up, t.down)
		t.came, t.went = t.up, t.down // said once
	}
}

func (t *trial) owner(v Version, pod *object) {
	ref := metav1.GetControllerOf(&pod.Metadata)
	switch {
	case ref == nil && !t.recorded:
		t.breaks(v, "pod %s has no controller, and no migration is under way", pod.Metadata.Name)
	case ref != nil && t.now[ref.UID] == nil:
		t.breaks(v, "the controller of pod %s, %s %s, does not exist", pod.Metadata.Name, ref.Kind, ref.Name)
	}
}

// end checks that object, pods and history say the same.
func (t *trial) end() {
	v := Version{Unstructured: &unstructured.Unstructured{}}
	v.SetResourceVersion("the end")
	var tops, pods []*object
	for _, uid := range slices.Sorted(maps.Keys(t.now)) {
		switch o := t.now[uid]; {
		case o.wants():
			tops = append(tops, o)
		case o.Kind == "Pod" && o.Metadata.DeletionTimestamp == nil:
			pods = append(pods, o)
		}
	}
	if len(tops) != 1 {
		t.breaks(v, "%d workloads want the pods", len(tops))
		return
	}
	top := tops[0]
	if s := &top.Status; s.ObservedGeneration != top.Metadata.Generation || s.Replicas != t.asked || s.UpdatedReplicas != t.asked || len(pods) != int(t.asked) {
		t.breaks(v, "%s asks for %d pods and says %d, %d updated; there are %d", top.Kind, t.asked, s.Replicas, s.UpdatedReplicas, len(pods))
	}
	for _, pod := range pods {
		t.endOf(v, pod, top)
	}
	for _, o := range t.now {
		t.historyOf(v, o, top)
	}
	if t.recorded != (top.Kind == "PodManager") {
		t.breaks(v, "%s has the pods, and a record of a migration is there: %v", top.Kind, t.recorded)
	}
}

func (t *trial) endOf(v Version, pod, top *object) {
	if got := pod.podImages(); got != top.images() {
		t.breaks(v, "pod %s runs %s, and %s says %s", pod.Metadata.Name, got, top.Kind, top.images())
	}
	owner := &pod.Metadata
	if ref := metav1.GetControllerOf(owner); ref != nil && ref.Kind == "ReplicaSet" && t.now[ref.UID] != nil {
		owner = &t.now[ref.UID].Metadata
	}
	if ref := metav1.GetControllerOf(owner); ref == nil || ref.UID != top.Metadata.UID {
		t.breaks(v, "pod %s is not one of %s", pod.Metadata.Name, top.Kind)
	}
	for key := range pod.Metadata.Labels {
		if top.Kind != "PodManager" && (key == "podmanager" || key == "podmanager-uid" || strings.HasPrefix(key, "apps.mycompany.com/")) {
			t.breaks(v, "pod %s has the label %s of a PodManager", pod.Metadata.Name, key)
		}
	}
}

// historyOf: the revisions and autoscalers belong to the workload, and one ReplicaSet has
// the pods.
func (t *trial) historyOf(v Version, o, top *object) {
	if target := &o.Spec.ScaleTarget; o.Kind == "HorizontalPodAutoscaler" && (target.Kind != top.Kind || target.Name != top.Metadata.Name) {
		t.breaks(v, "the autoscaler scales %s %s, and %s has the pods", target.Kind, target.Name, top.Kind)
	}
	if o.Kind != "ControllerRevision" && o.Kind != "ReplicaSet" {
		return
	}
	if ref := metav1.GetControllerOf(&o.Metadata); ref == nil || ref.UID != top.Metadata.UID {
		t.breaks(v, "%s %s is not one of %s", o.Kind, o.Metadata.Name, top.Kind)
	}
	if o.Kind == "ReplicaSet" && o.Spec.Replicas != nil && *o.Spec.Replicas > 0 && o.images() != top.images() {
		t.breaks(v, "ReplicaSet %s keeps pods of %s, and Deployment says %s", o.Metadata.Name, o.images(), top.images())
	}
}
