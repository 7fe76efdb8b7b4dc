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

package oracle_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// story is a history of a cluster, written by hand. Every step is one version, and
// the operator has always seen everything that was there before its pass began.
type story struct {
	history []oracle.Revision
	version int64
	now     time.Time
	// seen is what the operator had read when its pass began.
	seen    int64
	owner   *appsv1.PodManager
	pods    map[string]*corev1.Pod
	born    int
	rules   oracle.Rules
	objects map[string]client.Object
}

const (
	image1 = "nginx:1.27"
	image2 = "nginx:1.28"
	node1  = "node-1"
)

// tell begins a story with a node and a fleet of so many pods that serve.
func tell(replicas int32, options ...func(*appsv1.PodManager)) *story {
	s := &story{
		now:  time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		pods: map[string]*corev1.Pod{}, objects: map[string]client.Object{},
	}
	s.write("user", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node1}}, false)
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "uid-web", Generation: 1}}
	pm.Spec.Replicas, pm.Spec.Image = &replicas, image1
	for _, o := range options {
		o(pm)
	}
	s.owner = pm
	s.write("user", pm, false)
	s.revision("web-1", image1)
	s.look()
	if pm.Spec.Identity == appsv1.IdentityRandom {
		for i := range replicas {
			s.starts("web-"+string('a'+i), int(i))
		}
		return s
	}
	for _, ordinal := range oracle.SpecOf(pm).Base() {
		s.starts(fmt.Sprintf("web-%d", ordinal), ordinal)
	}
	return s
}

func (s *story) write(actor string, obj client.Object, gone bool) {
	s.version++
	obj = obj.DeepCopyObject().(client.Object)
	obj.SetResourceVersion(strconv.FormatInt(s.version, 10))
	r := oracle.Revision{Version: s.version, Object: obj, Gone: gone, Actor: actor, Time: s.now}
	if actor == oracle.Operator {
		r.Floor, r.Seen = s.seen, s.seen
	}
	s.history = append(s.history, r)
}

// look begins a pass of the operator: it has seen everything.
func (s *story) look() { s.seen = s.version }

// wait lets time pass.
func (s *story) wait(d time.Duration) { s.now = s.now.Add(d) }

func (s *story) revision(name, image string) {
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"labels": map[string]string{"app": "web"}},
		"spec":     map[string]any{"containers": []map[string]string{{"name": "app", "image": image}}},
	}}})
	if err != nil {
		panic(err)
	}
	s.write(oracle.Operator, &kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: runtime.RawExtension{Raw: raw},
	}, false)
}

// edit is a user's edit of the owner.
func (s *story) edit(change func(*appsv1.PodManager)) {
	s.owner = s.owner.DeepCopy()
	s.owner.Generation++
	change(s.owner)
	s.write("user", s.owner, false)
}

func (s *story) scale(replicas int32) {
	s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = &replicas })
}

// image is a user's edit of the template, whose revision the operator stores.
func (s *story) image(image, revision string) {
	s.edit(func(pm *appsv1.PodManager) { pm.Spec.Image = image })
	s.look()
	s.revision(revision, image)
}

// creates is the operator's create of a pod.
func (s *story) creates(name string, slot int, revision, image string) {
	s.born++
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "default", UID: types.UID(fmt.Sprintf("uid-%d", s.born)), CreationTimestamp: metav1.NewTime(s.now),
		Labels: map[string]string{
			appsv1.LabelName: "web", appsv1.LabelUID: string(s.owner.UID), appsv1.LabelRevision: revision, appsv1.LabelSlot: strconv.Itoa(slot), "app": "web",
		},
		OwnerReferences: []metav1.OwnerReference{{Kind: "PodManager", Name: "web", UID: s.owner.UID, Controller: ptr.To(true)}},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	pod.Status.Phase = corev1.PodPending
	s.pods[name] = pod
	s.write(oracle.Operator, pod, false)
}

// change is a write to a pod.
func (s *story) change(actor, name string, do func(*corev1.Pod)) {
	pod := s.pods[name].DeepCopy()
	do(pod)
	s.pods[name] = pod
	s.write(actor, pod, false)
}

func (s *story) runs(name string) {
	s.change("kubelet", name, func(pod *corev1.Pod) {
		pod.Spec.NodeName = node1
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Image: pod.Spec.Containers[0].Image}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now)}}
	})
}

// binds: the pod is on its node and does not get ready.
func (s *story) binds(name string) {
	s.change("kubelet", name, func(pod *corev1.Pod) { pod.Spec.NodeName = node1 })
}

func (s *story) unready(name string) {
	s.change("kubelet", name, func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(s.now)}}
	})
}

func (s *story) fails(name string) {
	s.change("kubelet", name, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(s.now)}}
	})
}

// ends: the pod fails as its container ends, and its conditions stay.
func (s *story) ends(name string) {
	s.change("kubelet", name, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(s.now)},
		}}}
	})
}

// starts: the operator makes a pod of the first revision, and it serves.
func (s *story) starts(name string, slot int) {
	s.creates(name, slot, "web-1", image1)
	s.runs(name)
	s.look()
}

// deletes: the operator deletes a pod, which terminates.
func (s *story) deletes(name string) { s.deletesAs(oracle.Operator, name) }

func (s *story) deletesAs(actor, name string) {
	s.change(actor, name, func(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.NewTime(s.now.Add(30 * time.Second))) })
}

func (s *story) gone(name string) {
	s.write("kubelet", s.pods[name], true)
	delete(s.pods, name)
}

// drains asks for a pod's eviction, as the webhook does.
func (s *story) drains(name string) {
	s.change("user", name, func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{appsv1.AnnotationEvictionRequested: s.now.Format(time.RFC3339)}
	})
	s.look()
}

func (s *story) label(name, key, value string) {
	s.change("user", name, func(pod *corev1.Pod) { pod.Labels[key] = value })
}

// status is the operator's.
func (s *story) status(change func(*appsv1.PodManagerStatus)) {
	s.owner = s.owner.DeepCopy()
	s.owner.Status.ObservedGeneration = s.owner.Generation
	change(&s.owner.Status)
	s.write(oracle.Operator, s.owner, false)
}

// claim is the operator's write of a claim.
func (s *story) claim(name string, gone bool) {
	obj := s.objects[name]
	if obj == nil {
		s.born++
		obj = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(fmt.Sprintf("uid-%d", s.born)),
			Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: string(s.owner.UID)},
		}}
		s.objects[name] = obj
	}
	s.write(oracle.Operator, obj, gone)
}

// judged are the rules that the judge finds broken, of those that these tests are
// about.
func (s *story) judged(about ...string) []string {
	var broken []string
	for _, v := range oracle.Check(s.history, s.rules) {
		if slices.Contains(about, v.Rule) {
			broken = append(broken, v.String())
		}
	}
	return broken
}

// verdict is a story and how often a rule is broken in it.
type verdict struct {
	story *story
	do    func(*story)
	want  int
}

func judge(t *testing.T, rule string, cases map[string]verdict) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.do != nil {
				c.do(c.story)
			}
			if broken := c.story.judged(rule); len(broken) != c.want {
				t.Errorf("%s is broken %d times, want %d: %v", rule, len(broken), c.want, broken)
			}
		})
	}
}

func budget(unavailable, surge any) func(*appsv1.PodManager) {
	return func(pm *appsv1.PodManager) {
		pm.Spec.Update.MaxUnavailable, pm.Spec.Update.MaxSurge = share(unavailable), share(surge)
	}
}

func share(value any) *intstr.IntOrString {
	switch value := value.(type) {
	case int:
		return ptr.To(intstr.FromInt32(int32(value)))
	case string:
		return ptr.To(intstr.FromString(value))
	}
	return nil
}

func surgeFirst(pm *appsv1.PodManager) { pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst }

func random(pm *appsv1.PodManager) { pm.Spec.Identity = appsv1.IdentityRandom }

func ordered(pm *appsv1.PodManager) { pm.Spec.PodManagementPolicy = appsv1.OrderedReadyPods }

func reserve(ordinals ...int32) func(*appsv1.PodManager) {
	return func(pm *appsv1.PodManager) { pm.Spec.ReserveOrdinals = ordinals }
}
