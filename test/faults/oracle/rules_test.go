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
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

func TestHowManyPods(t *testing.T) {
	judge(t, "S1", map[string]verdict{
		"replicas and one more": {story: tell(3), do: func(s *story) { s.creates("web-3", 3, "web-1", image1) }},
		"replicas and two more": {want: 1, story: tell(3), do: func(s *story) {
			s.creates("web-3", 3, "web-1", image1)
			s.creates("web-4", 4, "web-1", image1)
		}},
		"no surge, no pod more": {want: 1, story: tell(3, budget(1, 0)), do: func(s *story) { s.creates("web-3", 3, "web-1", image1) }},
		"the surge of a drain":  {story: tell(3, budget(1, 0), surgeFirst), do: func(s *story) { s.creates("web-3", 3, "web-1", image1) }},
		"terminating pods do not count": {story: tell(3, budget(1, 0)), do: func(s *story) {
			s.deletes("web-2")
			s.creates("web-3", 3, "web-1", image1)
		}},
		"a pod whose node is gone before it ran": {story: tell(3), do: func(s *story) { s.bindsTo("web-3", "node-9", true); s.creates("web-4", 4, "web-1", image1) }},
		"a pod that has not run, and whose node is there": {want: 1, story: tell(3), do: func(s *story) {
			s.bindsTo("web-3", "node-9", false)
			s.creates("web-4", 4, "web-1", image1)
		}},
		"a scale-down that the writer has not seen": {story: tell(3, budget(1, 0)), do: func(s *story) {
			s.deletesAs("user", "web-2")
			s.gone("web-2")
			s.look()
			s.scale(2)
			s.creates("web-2", 2, "web-1", image1)
		}},
		"a scale-down that it has": {want: 1, story: tell(3, budget(1, 0)), do: func(s *story) {
			s.deletesAs("user", "web-2")
			s.gone("web-2")
			s.scale(2)
			s.look()
			s.creates("web-2", 2, "web-1", image1)
		}},
		"in order, a pod that waits to go keeps none from coming": {story: tell(3, ordered, budget(1, 0)), do: func(s *story) {
			s.scale(1)
			s.deletesAs("user", "web-0")
			s.gone("web-0")
			s.look()
			s.creates("web-0", 0, "web-1", image1)
		}},
		"a pod that its holder keeps beyond the fleet takes no place": {story: tell(3, budget(1, 0)), do: func(s *story) {
			s.label("web-2", appsv1.LabelHoldDelete, "backup")
			s.scale(2)
			s.deletesAs("user", "web-0")
			s.gone("web-0")
			s.look()
			s.creates("web-0", 0, "web-1", image1)
		}},
		"and no more than its own": {want: 1, story: tell(3, budget(1, 0)), do: func(s *story) {
			s.label("web-2", appsv1.LabelHoldDelete, "backup")
			s.scale(2)
			s.look()
			s.creates("web-3", 3, "web-1", image1)
		}},
		"one of the fleet that is held counts": {want: 1, story: tell(3, budget(1, 0)), do: func(s *story) {
			s.label("web-2", appsv1.LabelHoldDelete, "backup")
			s.look()
			s.creates("web-3", 3, "web-1", image1)
		}},
		"so does every held pod with a random name": {want: 1, story: tell(3, random, budget(1, 0)), do: func(s *story) {
			s.label("web-c", appsv1.LabelHoldDelete, "backup")
			s.scale(2)
			s.deletesAs("user", "web-a")
			s.gone("web-a")
			s.look()
			s.creates("web-x", 0, "web-1", image1)
		}},
	})
	judge(t, "S2", map[string]verdict{
		"one slot, two pods": {want: 1, story: tell(2, random), do: func(s *story) { s.creates("web-x", 1, "web-1", image1) }},
		"a successor":        {story: tell(2, random), do: func(s *story) { s.deletes("web-b"); s.creates("web-x", 1, "web-1", image1) }},
	})
}

// bindsTo: the operator makes a pod one more, which is bound to a node that goes or stays.
func (s *story) bindsTo(name, node string, goes bool) {
	there := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	s.write("user", there, false)
	s.creates(name, 3, "web-1", image1)
	s.change("kubelet", name, func(pod *corev1.Pod) { pod.Spec.NodeName = node })
	if goes {
		s.write("user", there, true)
	}
	s.look()
}

// stray is a pod without an owner.
func (s *story) stray(name string, labels map[string]string) {
	s.born++
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(fmt.Sprintf("uid-%d", s.born)), Labels: labels}}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: image1}}
	s.pods[name] = pod
	s.write("user", pod, false)
	s.look()
}

func (s *story) adopts(name string) {
	s.change(oracle.Operator, name, func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "PodManager", Name: "web", UID: s.owner.UID, Controller: ptr.To(true)}}
	})
}

func TestWhosePods(t *testing.T) {
	other := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "default", UID: "uid-other"}}
	twin := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "elsewhere", UID: "uid-twin"}}
	judge(t, "S3", map[string]verdict{
		"an orphan that matches": {story: tell(1), do: func(s *story) {
			s.stray("web-1", map[string]string{appsv1.LabelName: "web"})
			s.adopts("web-1")
		}},
		"an orphan that matches nothing": {want: 1, story: tell(1), do: func(s *story) {
			s.stray("web-1", map[string]string{})
			s.adopts("web-1")
		}},
		"an orphan with the UID of a PodManager of another name": {want: 1, story: tell(1), do: func(s *story) {
			s.write("user", other, false)
			s.stray("web-1", map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: "uid-other"})
			s.adopts("web-1")
		}},
		"an orphan with the UID of another PodManager that is there": {want: 1, story: tell(1), do: func(s *story) {
			s.write("user", twin, false)
			s.stray("web-1", map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: "uid-twin"})
			s.adopts("web-1")
		}},
		"an orphan of a PodManager of this name that is gone": {story: tell(1), do: func(s *story) {
			s.write("user", twin, false)
			s.write("user", twin, true)
			s.stray("web-1", map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: "uid-twin"})
			s.adopts("web-1")
		}},
		"another's pod": {want: 1, story: tell(1), do: func(s *story) {
			s.stray("web-1", map[string]string{appsv1.LabelName: "web"})
			s.change("user", "web-1", func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "uid-rs", Controller: ptr.To(true)}}
			})
			s.deletes("web-1")
		}},
	})
}

func TestOneAfterTheOther(t *testing.T) {
	judge(t, "Q", map[string]verdict{
		"the next when the last is ready": {story: tell(1, ordered), do: func(s *story) {
			s.scale(2)
			s.look()
			s.creates("web-1", 1, "web-1", image1)
		}},
		"the next before the last is ready": {want: 1, story: tell(1, ordered), do: func(s *story) {
			s.scale(3)
			s.look()
			s.creates("web-1", 1, "web-1", image1)
			s.creates("web-2", 2, "web-1", image1)
		}},
		"the next before the last is available": {
			want: 1, story: tell(1, ordered, func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 30 }),
			do: func(s *story) {
				s.wait(time.Hour)
				s.scale(3)
				s.look()
				s.starts("web-1", 1)
				s.wait(10 * time.Second)
				s.creates("web-2", 2, "web-1", image1)
			},
		},
		"a successor before the pods of lower ordinals are ready": {want: 1, story: tell(3, ordered), do: func(s *story) {
			s.deletes("web-2")
			s.ends("web-2")
			s.unready("web-0")
			s.look()
			s.creates("web-2", 2, "web-1", image1)
		}},
		"the highest goes": {story: tell(3, ordered), do: func(s *story) {
			s.scale(1)
			s.look()
			s.deletes("web-2")
		}},
		"two go at once": {want: 1, story: tell(3, ordered), do: func(s *story) {
			s.scale(1)
			s.look()
			s.deletes("web-2")
			s.deletes("web-1")
		}},
		"one goes while a pod that stays is not available": {want: 1, story: tell(3, ordered), do: func(s *story) {
			s.unready("web-0")
			s.scale(2)
			s.look()
			s.deletes("web-2")
		}},
		"the extra pod of a rollout goes by itself": {story: tell(2, ordered, budget(0, 1)), do: func(s *story) {
			s.image(image2, "web-2")
			s.starts("web-2", 2)
			s.unready("web-0")
			s.look()
			s.deletes("web-2")
		}},
		"an extra pod that joined the fleet waits for its turn": {want: 1, story: tell(2, ordered, budget(0, 2)), do: func(s *story) {
			s.image(image2, "web-2")
			s.starts("web-2", 2)
			s.change("user", "web-2", func(pod *corev1.Pod) { pod.Annotations = map[string]string{appsv1.AnnotationSurge: "true"} })
			s.scale(4)
			s.look()
			s.starts("web-3", 3)
			s.scale(2)
			s.look()
			s.deletes("web-3")
			s.deletes("web-2")
		}},
	})
}

func TestHolds(t *testing.T) {
	held := func(label string) func(*story) {
		return func(s *story) { s.label("web-0", label, "backup"); s.look() }
	}
	cases := map[string]verdict{}
	for name, c := range map[string]struct {
		first, then func(*story)
		want        int
	}{
		"deleted":                       {held(appsv1.LabelHoldDelete), func(s *story) { s.deletes("web-0") }, 1},
		"deleted, and it failed":        {held(appsv1.LabelHoldDelete), func(s *story) { s.fails("web-0"); s.look(); s.deletes("web-0") }, 1},
		"deleted by a user":             {held(appsv1.LabelHoldDelete), func(s *story) { s.deletesAs("user", "web-0") }, 0},
		"changed, and held from delete": {held(appsv1.LabelHoldDelete), func(s *story) { restart(s, "web-0") }, 0},
		"changed":                       {held(appsv1.LabelHoldUpdate), func(s *story) { restart(s, "web-0") }, 1},
		"resized":                       {held(appsv1.LabelHoldUpdate), func(s *story) { resize(s, "web-0") }, 1},
		"notified": {held(appsv1.LabelHoldUpdate), func(s *story) {
			s.change(oracle.Operator, "web-0", func(pod *corev1.Pod) { pod.Labels[appsv1.LabelWanted] = "update" })
		}, 0},
		"deleted, and the hold came after the operator looked": {func(s *story) { s.look() }, func(s *story) {
			s.label("web-0", appsv1.LabelHoldDelete, "")
			s.deletes("web-0")
		}, 1},
		"deleted, and a finalizer holds it": {func(s *story) {
			s.change("user", "web-0", func(pod *corev1.Pod) { pod.Finalizers = []string{appsv1.LabelHoldDelete} })
		}, func(s *story) { s.deletes("web-0") }, 1},
		"released before": {held(appsv1.LabelHoldDelete), func(s *story) {
			s.change("user", "web-0", func(pod *corev1.Pod) { delete(pod.Labels, appsv1.LabelHoldDelete) })
			s.look()
			s.deletes("web-0")
		}, 0},
	} {
		cases[name] = verdict{story: tell(2), want: c.want, do: func(s *story) { c.first(s); c.then(s) }}
	}
	judge(t, "G", cases)
}

func claims(whenScaled appsv1.ClaimPolicy) func(*appsv1.PodManager) {
	return func(pm *appsv1.PodManager) {
		pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = whenScaled
	}
}

func TestClaims(t *testing.T) {
	judge(t, "D", map[string]verdict{
		"of a pod that was scaled away": {story: tell(2, claims(appsv1.ClaimDelete)), do: func(s *story) {
			s.claim("data-web-1", false)
			s.scale(1)
			s.look()
			s.deletes("web-1")
			s.gone("web-1")
			s.claim("data-web-1", true)
		}},
		"which has to be retained": {want: 1, story: tell(2, claims(appsv1.ClaimRetain)), do: func(s *story) {
			s.claim("data-web-1", false)
			s.scale(1)
			s.look()
			s.deletes("web-1")
			s.gone("web-1")
			s.claim("data-web-1", true)
		}},
		"of a pod that stays": {want: 1, story: tell(2, claims(appsv1.ClaimDelete)), do: func(s *story) {
			s.claim("data-web-1", false)
			s.claim("data-web-1", true)
		}},
		"while the pod still terminates": {want: 1, story: tell(2, claims(appsv1.ClaimDelete)), do: func(s *story) {
			s.claim("data-web-1", false)
			s.change("user", "web-1", func(pod *corev1.Pod) {
				pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-1"},
				}}}
			})
			s.scale(1)
			s.look()
			s.deletes("web-1")
			s.claim("data-web-1", true)
		}},
		"of an extra pod": {story: tell(2, claims(appsv1.ClaimRetain), budget(0, 1)), do: func(s *story) {
			s.claim("data-web-2", false)
			s.starts("web-2", 2)
			s.deletes("web-2")
			s.gone("web-2")
			s.claim("data-web-2", true)
		}},
		"of an extra pod that joined the fleet": {want: 1, story: tell(2, claims(appsv1.ClaimRetain), budget(0, 1)), do: func(s *story) {
			s.claim("data-web-2", false)
			s.starts("web-2", 2)
			s.scale(3)
			s.scale(2)
			s.look()
			s.deletes("web-2")
			s.gone("web-2")
			s.claim("data-web-2", true)
		}},
	})
}

func TestBackoffOfSuccessors(t *testing.T) {
	again := func(s *story, wait time.Duration) {
		s.fails("web-0")
		s.look()
		s.deletes("web-0")
		s.gone("web-0")
		s.wait(wait)
		s.look()
		s.starts("web-0", 0)
		s.wait(5 * time.Second)
	}
	judge(t, "B", map[string]verdict{
		"none for the first, 10 s for the second, 20 s for the third": {story: tell(1), do: func(s *story) {
			s.wait(time.Minute)
			again(s, 0)
			again(s, 10*time.Second)
			again(s, 20*time.Second)
		}},
		"a pod that was not ready for long fails when its container ends": {story: tell(1), do: func(s *story) {
			s.wait(time.Minute)
			s.unready("web-0")
			s.wait(10 * time.Second)
			s.ends("web-0")
			s.look()
			s.deletes("web-0")
			s.gone("web-0")
			s.creates("web-0", 0, "web-1", image1)
			s.ends("web-0") // in the same second, which counts as the same failure
			s.look()
			s.deletes("web-0")
			s.gone("web-0")
			s.wait(time.Second)
			s.starts("web-0", 0)
		}},
		"too early for the third": {want: 1, story: tell(1), do: func(s *story) {
			s.wait(time.Minute)
			again(s, 0)
			again(s, 10*time.Second)
			again(s, 12*time.Second)
		}},
	})
}

func TestBlame(t *testing.T) {
	deadline := func(pm *appsv1.PodManager) { pm.Spec.Update.ProgressDeadlineSeconds = ptr.To[int32](600) }
	rollOut := func(s *story) {
		s.image(image2, "web-2")
		s.deletes("web-1")
		s.gone("web-1")
		s.creates("web-1", 1, "web-2", image2)
		s.binds("web-1")
	}
	halt := func(s *story) {
		s.look()
		s.status(func(status *appsv1.PodManagerStatus) {
			status.UpdateRevision = "web-2"
			status.Conditions = []metav1.Condition{{Type: appsv1.ConditionStalled, Status: metav1.ConditionTrue, Reason: appsv1.ReasonProgressDeadlineExceeded}}
		})
	}
	tick := func(s *story) { s.write("user", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}, false) }
	judge(t, "F", map[string]verdict{
		"halted at the deadline": {story: tell(2, deadline, budget(1, 0)), do: func(s *story) {
			rollOut(s)
			s.wait(10 * time.Minute)
			tick(s)
			halt(s)
		}},
		"halted at the deadline, and said again when a pod is ready": {story: tell(2, deadline, budget(1, 0)), do: func(s *story) {
			rollOut(s)
			s.wait(10 * time.Minute)
			tick(s)
			halt(s)
			s.runs("web-1")
			halt(s)
		}},
		"a pod that is ready and not available does not begin it anew": {
			story: tell(2, deadline, budget(1, 0), func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 120 }),
			do: func(s *story) {
				s.wait(time.Hour)
				rollOut(s)
				s.creates("web-2", 2, "web-2", image2)
				s.binds("web-2")
				s.wait(9 * time.Minute)
				s.runs("web-2")
				s.wait(time.Minute)
				tick(s)
				halt(s)
			},
		},
		"halted too early": {want: 1, story: tell(2, deadline, budget(1, 0)), do: func(s *story) {
			rollOut(s)
			s.wait(5 * time.Minute)
			tick(s)
			halt(s)
		}},
		"never halted, while an autoscaler changes replicas": {want: 1, story: tell(2, deadline, budget(1, 0)), do: func(s *story) {
			rollOut(s)
			for i := range 24 {
				s.wait(9 * time.Minute)
				s.scale(int32(2 + i%2))
			}
		}},
		"the deadline does not run while the rollout is paused": {story: tell(2, deadline, budget(1, 0)), do: func(s *story) {
			rollOut(s)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
			for range 24 {
				s.wait(9 * time.Minute)
				tick(s)
			}
		}},
		"each pod that gets ready begins it anew": {story: tell(2, deadline, budget(1, 0)), do: func(s *story) {
			rollOut(s)
			for range 24 {
				s.wait(9 * time.Minute)
				s.runs("web-1")
				s.unready("web-1")
			}
		}},
		"another template begins it anew": {story: tell(2, deadline, budget(1, 0)), do: func(s *story) {
			rollOut(s)
			for range 10 {
				s.wait(time.Minute * 2)
				tick(s)
			}
			s.image("nginx:1.29", "web-3")
			for range 10 {
				s.wait(time.Minute * 2)
				tick(s)
			}
		}},
	})
}

func TestRefusalsPerMinute(t *testing.T) {
	refused := func(n int, every time.Duration, verb string) []oracle.Request {
		var list []oracle.Request
		for i := range n {
			list = append(list, oracle.Request{Time: time.Unix(0, 0).Add(time.Duration(i) * every), Verb: verb, Kind: "Pod", Name: fmt.Sprint(i), Refused: true})
		}
		return list
	}
	for _, verb := range []string{"create", "delete", "patch", "evict"} {
		if found := oracle.Rate(refused(600, time.Second, verb)); len(found) != 0 {
			t.Errorf("60 a minute of %s are too many: %v", verb, found)
		}
		if found := oracle.Rate(refused(61, 100*time.Millisecond, verb)); len(found) != 1 {
			t.Errorf("61 in 6 s of %s are not too many", verb)
		}
	}
}
