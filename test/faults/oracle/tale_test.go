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

package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

const (
	user    = "user"
	kubelet = "kubelet"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// tale writes a history by hand. Every write is one second after the one before, and
// the operator has seen everything that was before its write, unless blind says up to
// which version only.
type tale struct {
	history []Revision
	objects map[string]client.Object
	uids    int
	blind   int64
}

func newTale() *tale { return &tale{objects: map[string]client.Object{}} }

func (s *tale) version() int64 { return int64(len(s.history)) + 1 }

// write stores an object, or notes that it is gone.
func (s *tale) write(actor string, obj client.Object, gone bool) {
	obj = obj.DeepCopyObject().(client.Object)
	v := s.version() + 1
	obj.SetResourceVersion(fmt.Sprint(v))
	r := Revision{Version: v, Object: obj, Gone: gone, Actor: actor, Time: noon.Add(time.Duration(v) * time.Second)}
	if actor == Operator {
		r.Floor, r.Seen = v-1, v-1
		if s.blind > 0 {
			r.Seen = s.blind
		}
	}
	s.history = append(s.history, r)
	key := fmt.Sprintf("%T/%s", obj, obj.GetName())
	if s.objects[key] = obj; gone {
		delete(s.objects, key)
	}
}

func (s *tale) uid() types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("uid-%d", s.uids))
}

// owner makes the PodManager web.
func (s *tale) owner(replicas int32, edits ...func(*appsv1.PodManager)) {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web", UID: s.uid(), Generation: 1, Finalizers: []string{appsv1.Finalizer},
	}}
	pm.Spec.Replicas, pm.Spec.Image = &replicas, "app:1"
	pm.Status.ObservedGeneration = -1
	for _, edit := range edits {
		edit(pm)
	}
	s.write(user, pm, false)
}

func (s *tale) web() *appsv1.PodManager {
	return s.objects[fmt.Sprintf("%T/web", &appsv1.PodManager{})].DeepCopyObject().(*appsv1.PodManager)
}

// edit is a user's edit of the spec.
func (s *tale) edit(change func(*appsv1.PodManager)) {
	pm := s.web()
	pm.Generation++
	change(pm)
	s.write(user, pm, false)
}

// annotate is a user's edit that leaves the generation.
func (s *tale) annotate(key, value string) {
	pm := s.web()
	metav1.SetMetaDataAnnotation(&pm.ObjectMeta, key, value)
	s.write(user, pm, false)
}

// revision stores the revision of the template.
func (s *tale) revision(name string, number int64) {
	pm := s.web()
	data := map[string]any{"spec": map[string]any{"template": WantedTemplate(pm)}}
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	s.write(Operator, &kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: s.uid(), OwnerReferences: []metav1.OwnerReference{refTo(pm)}},
		Data:       runtime.RawExtension{Raw: raw}, Revision: number,
	}, false)
}

func refTo(pm *appsv1.PodManager) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: appsv1.GroupVersion.String(), Kind: Kind, Name: pm.Name, UID: pm.UID, Controller: ptr.To(true)}
}

// create makes the pod of an ordinal on a revision, from the template that the
// PodManager has now.
func (s *tale) create(ordinal int, revision string, edits ...func(*corev1.Pod)) {
	pm := s.web()
	template := WantedTemplate(pm)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: fmt.Sprintf("web-%d", ordinal), UID: s.uid(), Labels: template.Labels, Annotations: template.Annotations,
		CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(s.version()+1) * time.Second)), OwnerReferences: []metav1.OwnerReference{refTo(pm)},
	}, Spec: template.Spec}
	for label, value := range map[string]string{
		appsv1.LabelName: pm.Name, appsv1.LabelUID: string(pm.UID), appsv1.LabelRevision: revision, appsv1.LabelSlot: fmt.Sprint(ordinal),
	} {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, label, value)
	}
	for _, template := range pm.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ClaimName(template.Name, pod.Name)},
		}})
	}
	for _, edit := range edits {
		edit(pod)
	}
	pod.Status.Phase = corev1.PodPending
	s.write(Operator, pod, false)
}

func (s *tale) pod(name string) *corev1.Pod {
	return s.objects[fmt.Sprintf("%T/%s", &corev1.Pod{}, name)].DeepCopyObject().(*corev1.Pod)
}

// change is a write to a pod.
func (s *tale) change(actor, name string, change func(*corev1.Pod)) {
	pod := s.pod(name)
	change(pod)
	s.write(actor, pod, false)
}

// runs: the kubelet runs a pod, and it is ready.
func (s *tale) runs(names ...string) {
	for _, name := range names {
		s.change(kubelet, name, run)
	}
}

func run(pod *corev1.Pod) {
	pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ContainerID: c.Image})
	}
}

func fails(pod *corev1.Pod) {
	pod.Status.Phase, pod.Status.Conditions = corev1.PodFailed, nil
}

// delete begins a pod's end, and ends is the kubelet's part of it.
func (s *tale) delete(actor, name string) {
	s.change(actor, name, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: noon} })
}

func (s *tale) ends(name string) { s.write(kubelet, s.pod(name), true) }

// status is the operator's write of a status that is right, with changes.
func (s *tale) status(revision string, available int32, changes ...func(*appsv1.PodManagerStatus)) {
	pm := s.web()
	st := &pm.Status
	st.ObservedGeneration, st.Selector = pm.Generation, "podmanager=web"
	st.Replicas, st.Nodes = 0, nil
	for _, obj := range s.objects {
		if pod, ok := obj.(*corev1.Pod); ok && Live(pod) && controllerOf(pod) == pm.UID {
			st.Replicas++
			st.Nodes = append(st.Nodes, pod.Name)
		}
	}
	slices.Sort(st.Nodes)
	st.CurrentReplicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas = st.Replicas, available, available, st.Replicas
	st.UpdateRevision, st.CurrentRevision = revision, ""
	spec, ready := SpecOf(pm), available >= *pm.Spec.Replicas
	if ready {
		st.CurrentRevision = revision
	}
	put := func(kind string, is bool, yes, no string) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: no, ObservedGeneration: pm.Generation}
		if is {
			c.Status, c.Reason = metav1.ConditionTrue, yes
		}
		meta.SetStatusCondition(&st.Conditions, c)
	}
	put(appsv1.ConditionReady, ready, appsv1.ReasonAvailable, appsv1.ReasonScalingUp)
	put(appsv1.ConditionAvailable, int(available) >= spec.Replicas-spec.MaxUnavailable, appsv1.ReasonMinimumAvailable, appsv1.ReasonMinimumUnavailable)
	if meta.RemoveStatusCondition(&st.Conditions, appsv1.ConditionReconciling); !ready {
		put(appsv1.ConditionReconciling, true, appsv1.ReasonScalingUp, "")
	}
	for _, change := range changes {
		change(st)
	}
	s.write(Operator, pm, false)
}

// claim makes a claim.
func (s *tale) claim(actor, name string) {
	s.write(actor, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: s.uid(), Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: string(s.web().UID)},
	}}, false)
}

// goneClaim is the end of a claim.
func (s *tale) goneClaim(actor, name string) {
	s.write(actor, s.objects[fmt.Sprintf("%T/%s", &corev1.PersistentVolumeClaim{}, name)], true)
}

// volumes gives the fleet a claim for each pod.
func volumes(policy appsv1.ClaimPolicy) func(*appsv1.PodManager) {
	return func(pm *appsv1.PodManager) {
		pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		pm.Spec.PersistentVolumeClaimRetentionPolicy = appsv1.ClaimRetention{WhenScaled: policy, WhenDeleted: policy}
	}
}

// cpu is the size of the container app.
func cpu(pod *corev1.Pod, size string) {
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(size)}
}

// two is a fleet of two pods at rest.
func two(edits ...func(*appsv1.PodManager)) *tale {
	s := newTale()
	s.owner(2, edits...)
	s.revision("web-a", 1)
	s.create(0, "web-a")
	s.create(1, "web-a")
	s.runs("web-0", "web-1")
	s.status("web-a", 2)
	return s
}

// broken is what a rule has to say of a history: a part of the violation, or nothing.
type broken struct {
	tell func() *tale
	says string
}

// judged holds histories against a rule.
func judged(t *testing.T, rule string, cases map[string]broken, judge func([]Revision) []Violation) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := judge(c.tell().history)
			switch {
			case c.says == "" && len(found) > 0:
				t.Errorf("nothing is broken, and the judge says: %v", found)
			case c.says != "" && !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == rule && strings.Contains(v.Message, c.says) }):
				t.Errorf("the judge has to say %q, and says: %v", c.says, found)
			}
		})
	}
}
