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

package observe

import (
	"fmt"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// TestSlimKeepsWhatThePlannerReads, and little else.
func TestSlimKeepsWhatThePlannerReads(t *testing.T) {
	whole := describePod(ordinals(), richPod(), plan.Member)
	slimmed, err := Slim(richPod())
	if err != nil {
		t.Fatal(err)
	}
	slim := slimmed.(*corev1.Pod)
	if diff := cmp.Diff(whole, describePod(ordinals(), slim, plan.Member)); diff != "" {
		t.Errorf("the planner sees another pod (-whole +slim):\n%s", diff)
	}
	if len(slim.ManagedFields) > 0 || len(slim.Spec.Volumes) > 0 || len(slim.Spec.Containers[0].Env) > 0 ||
		slim.Annotations["example.com/blob"] != "" || slim.Status.Message != "" || slim.Status.Conditions[0].Message != "" {
		t.Errorf("the cache keeps what the planner does not read: %+v", slim)
	}
	if len(slim.OwnerReferences) != 1 || slim.Labels[appsv1.LabelName] != "web" {
		t.Errorf("the cache lost whose pod it is: %+v", slim.ObjectMeta)
	}
}

// TestAPodTakesOnlySoMuchMemory: a tenant decides how large a pod is, and no node has to run it.
// A few dozen pods of 1.5 MB, with thousands of containers each, fill the operator's memory.
func TestAPodTakesOnlySoMuchMemory(t *testing.T) {
	const much = 5000
	for name, grow := range map[string]func(*corev1.Pod, string){
		"containers": func(p *corev1.Pod, n string) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: n, Image: "a"})
		},
		"init containers": func(p *corev1.Pod, n string) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: n, Image: "a"})
		},
		"the name of an image": func(p *corev1.Pod, n string) { p.Spec.Containers[0].Image += n },
		"labels":               func(p *corev1.Pod, n string) { p.Labels[n] = "" },
		"an annotation of ours": func(p *corev1.Pod, n string) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, appsv1.AnnotationRebalancedTo, p.Annotations[appsv1.AnnotationRebalancedTo]+n)
		},
		"readiness gates": func(p *corev1.Pod, n string) {
			p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: corev1.PodConditionType(n)})
		},
		"finalizers": func(p *corev1.Pod, n string) { p.Finalizers = append(p.Finalizers, n) },
		"the name of an owner": func(p *corev1.Pod, n string) {
			metav1.GetControllerOfNoCopy(p).Name += n
		},
		"owners": func(p *corev1.Pod, n string) {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Name: n})
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := richPod()
			pod.Finalizers = []string{"example.com/first"}
			for i := range much {
				grow(pod, fmt.Sprintf("%d.example.com", i))
			}
			pod.Finalizers = append(pod.Finalizers, appsv1.LabelHoldUpdate)
			slim := cachedAs(t, NewSlim(), pod)
			if n := slim.Size() + int(unsafe.Sizeof(corev1.Container{}))*(len(slim.Spec.Containers)+len(slim.Spec.InitContainers)); n > 3*Large {
				t.Errorf("%d bytes are kept", n)
			}
			if slim.Labels[appsv1.LabelName] != "web" || len(slim.OwnerReferences) != 1 || slim.Finalizers[0] != "example.com/first" ||
				holder(slim, appsv1.LabelHoldUpdate) == nil {
				t.Errorf("what the planner reads is gone: %d labels, %d owners, %d finalizers", len(slim.Labels), len(slim.OwnerReferences), len(slim.Finalizers))
			}
		})
	}
}

func TestSlimLeavesOtherObjectsAlone(t *testing.T) {
	config := &corev1.ConfigMap{Data: map[string]string{"a": "b"}}
	for name, slim := range map[string]func(any) (any, error){"Slim": Slim, "SlimNode": SlimNode} {
		if got, err := slim(config); err != nil || got.(*corev1.ConfigMap).Data["a"] != "b" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestAnEndedPodKeepsEveryCondition: one that was evicted or rejected has no
// container that says when. Of the others the cache keeps what the planner reads.
func TestAnEndedPodKeepsEveryCondition(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all := []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.DisruptionTarget}
	for phase, want := range map[corev1.PodPhase][]corev1.PodConditionType{
		corev1.PodPending: {corev1.PodReady}, corev1.PodRunning: {corev1.PodReady}, corev1.PodFailed: all, corev1.PodSucceeded: all,
	} {
		t.Run(string(phase), func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
			for i, kind := range all {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
					Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at.Add(time.Duration(i) * time.Minute)),
				})
			}
			slimmed, err := Slim(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			slim := slimmed.(*corev1.Pod)
			var got []corev1.PodConditionType
			for _, c := range slim.Status.Conditions {
				got = append(got, c.Type)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			var end time.Time // of a pod that runs there is none
			if len(want) == len(all) {
				end = at.Add(2 * time.Minute)
			}
			for from, pod := range map[string]*corev1.Pod{"the API": pod, "the cache": slim} {
				if got := describePod(ordinals(), pod, plan.Member).FailedAt; !got.Equal(end) {
					t.Errorf("from %s it ended at %v, want %v", from, got, end)
				}
			}
		})
	}
}

// TestPodsShareWhatRecurs: two pods, each decoded for itself.
func TestPodsShareWhatRecurs(t *testing.T) {
	var node, owner, label [2]*byte
	for i := range node {
		pod := richPod()
		pod.Spec.NodeName = string([]byte("node-1"))
		pod.OwnerReferences[0].Name = string([]byte("web"))
		pod.Labels[appsv1.LabelName] = string([]byte("web"))
		slimmed, err := Slim(pod)
		if err != nil {
			t.Fatal(err)
		}
		slim := slimmed.(*corev1.Pod)
		node[i] = unsafe.StringData(slim.Spec.NodeName)
		owner[i] = unsafe.StringData(slim.OwnerReferences[0].Name)
		label[i] = unsafe.StringData(slim.Labels[appsv1.LabelName])
	}
	slim := NewSlim()
	var requests [2]uintptr
	for i := range requests {
		pod, err := slim(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Resources: sized("1", "1Gi")}}}})
		if err != nil {
			t.Fatal(err)
		}
		requests[i] = reflect.ValueOf(pod.(*corev1.Pod).Spec.Containers[0].Resources.Requests).Pointer()
	}
	if requests[0] != requests[1] {
		t.Error("each pod has its own copy of its size")
	}
	if node[0] != node[1] || owner[0] != owner[1] || label[0] != label[1] {
		t.Errorf("each pod has its own copy: node %v, owner %v, label %v", node, owner, label)
	}
}

func BenchmarkDescribePod(b *testing.B) {
	desired := ordinals()
	var pods []*corev1.Pod
	for range 1000 {
		pod := richPod()
		pod.Annotations = nil // as most are
		slim, err := Slim(pod)
		if err != nil {
			b.Fatal(err)
		}
		pods = append(pods, slim.(*corev1.Pod))
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		_ = describePod(desired, pods[n%len(pods)], plan.Member)
	}
}
