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
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// restart is what the operator does to a pod in place.
func restart(s *story, name string) {
	s.change(oracle.Operator, name, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Image = image2
		pod.Labels[appsv1.LabelRevision] = "web-2"
	})
}

func resize(s *story, name string) {
	s.change(oracle.Operator, name, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	})
}

func TestTheBudget(t *testing.T) {
	judge(t, "U", map[string]verdict{
		"a scale-down takes what is beyond": {story: tell(3), do: func(s *story) {
			s.scale(2)
			s.look()
			s.deletes("web-2")
		}},
		"a scale-down takes a serving pod while the base is short": {want: 1, story: tell(3), do: func(s *story) {
			s.unready("web-0")
			s.scale(2)
			s.look()
			s.deletes("web-2")
		}},
		"the pod of the base failed after the operator looked": {story: tell(3), do: func(s *story) {
			s.scale(2)
			s.look()
			s.unready("web-0")
			s.deletes("web-2")
		}},
		"an edit that the operator has not seen does not bind it": {story: tell(3), do: func(s *story) {
			s.scale(2)
			s.look()
			s.scale(3)
			s.deletes("web-2")
		}},
		"reserved ordinals are freed, and all pods go at once": {want: 3, story: tell(3, reserve(0, 1, 2)), do: func(s *story) {
			s.edit(reserve())
			s.look()
			s.deletes("web-5")
			s.deletes("web-4")
			s.deletes("web-3")
		}},
		"reserved ordinals are freed, one after the other": {story: tell(2, reserve(0), budget(1, 1)), do: func(s *story) {
			s.edit(reserve())
			s.look()
			s.starts("web-0", 0)
			s.deletes("web-2")
		}},
		"a rollout within maxUnavailable": {story: tell(4, budget(1, 0)), do: func(s *story) {
			s.image(image2, "web-2")
			s.deletes("web-3")
		}},
		"a rollout beyond maxUnavailable": {want: 1, story: tell(4, budget(1, 0)), do: func(s *story) {
			s.image(image2, "web-2")
			s.deletes("web-3")
			s.deletes("web-2")
		}},
		"25% of 7 are 1, rounded down": {want: 1, story: tell(7), do: func(s *story) {
			s.image(image2, "web-2")
			s.deletes("web-6")
			s.deletes("web-5")
		}},
		"both 0 mean one": {story: tell(2, budget(0, 0)), do: func(s *story) {
			s.image(image2, "web-2")
			s.deletes("web-1")
		}},
		"both 0 mean one, and not two": {want: 1, story: tell(2, budget(0, 0)), do: func(s *story) {
			s.image(image2, "web-2")
			s.deletes("web-1")
			s.deletes("web-0")
		}},
		"none may be unavailable, and none stands in": {want: 1, story: tell(2, budget(0, 1)), do: func(s *story) {
			s.image(image2, "web-2")
			restart(s, "web-1")
		}},
		"none may be unavailable, and one stands in": {story: tell(2, budget(0, 1)), do: func(s *story) {
			s.image(image2, "web-2")
			s.creates("web-2", 2, "web-2", image2)
			s.runs("web-2")
			s.look()
			restart(s, "web-1")
		}},
		"a percentage that rounds to 0 lets one pod restart at a time": {story: tell(3), do: func(s *story) {
			s.image(image2, "web-2")
			restart(s, "web-2")
			s.runs("web-2")
			s.look()
			restart(s, "web-1")
		}},
		"and not two": {want: 1, story: tell(3), do: func(s *story) {
			s.image(image2, "web-2")
			restart(s, "web-2")
			restart(s, "web-1")
		}},
		"and no pod may be deleted": {want: 1, story: tell(3), do: func(s *story) {
			s.image(image2, "web-2")
			s.deletes("web-2")
		}},
		"a pod that does not serve may always go": {story: tell(3), do: func(s *story) {
			s.unready("web-0")
			s.unready("web-1")
			s.look()
			s.deletes("web-0")
			s.deletes("web-1")
		}},
		"a user asks for a pod to go": {story: tell(1), do: func(s *story) {
			s.label("web-0", appsv1.LabelDelete, "true")
			s.look()
			s.deletes("web-0")
		}},
		"a user deletes pods": {story: tell(2), do: func(s *story) {
			s.deletesAs("user", "web-0")
			s.deletesAs("user", "web-1")
		}},
		"the owner is being deleted": {story: tell(2), do: func(s *story) {
			s.edit(func(pm *appsv1.PodManager) { pm.DeletionTimestamp = ptr.To(metav1.NewTime(s.now)) })
			s.look()
			s.deletes("web-0")
			s.deletes("web-1")
		}},
		"the node of a pod is gone": {story: tell(1), do: func(s *story) {
			s.write("user", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node1}}, true)
			s.look()
			s.deletes("web-0")
		}},
		"a resize that restarts is a restart": {want: 1, story: tell(2, budget(0, 1)), do: func(s *story) {
			s.change("user", "web-0", func(pod *corev1.Pod) {
				pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
			})
			s.look()
			resize(s, "web-0")
		}},
		"another resize is none": {story: tell(2, budget(0, 1)), do: func(s *story) { resize(s, "web-0") }},
		"a gate that is shut takes the pod out of service": {want: 1, story: tell(1, budget(0, 1)), do: func(s *story) {
			s.change(oracle.Operator, "web-0", func(pod *corev1.Pod) {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: appsv1.GateInService, Status: corev1.ConditionFalse})
			})
		}},
		"a pod that is ready but not available carries nothing": {
			want:  1,
			story: tell(2, budget(0, 1), func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 30 }),
			do: func(s *story) {
				s.wait(time.Minute)
				s.image(image2, "web-2")
				s.creates("web-2", 2, "web-2", image2)
				s.runs("web-2")
				s.look()
				s.wait(10 * time.Second)
				s.deletes("web-1")
			},
		},
		"a scale-down in mid-drain, though one may be missing": {want: 1, story: tell(3, surgeFirst, budget(1, 1)), do: func(s *story) {
			s.drains("web-0")
			s.unready("web-1")
			s.scale(2)
			s.look()
			s.deletes("web-2")
		}},
		"SurgeFirst is switched off in mid-drain": {want: 1, story: tell(1, surgeFirst), do: func(s *story) {
			s.drains("web-0")
			s.creates("web-1", 1, "web-1", image1)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Disruption.Policy = appsv1.DisruptionAllow })
			s.look()
			s.deletes("web-0")
		}},
	})
}

func TestDrains(t *testing.T) {
	judge(t, "V", map[string]verdict{
		"a pod leaves when its replacement serves": {story: tell(1, surgeFirst), do: func(s *story) {
			s.drains("web-0")
			s.starts("web-1", 1)
			s.deletes("web-0")
		}},
		"a pod leaves while its replacement starts": {want: 1, story: tell(1, surgeFirst), do: func(s *story) {
			s.drains("web-0")
			s.creates("web-1", 1, "web-1", image1)
			s.wait(time.Minute)
			s.look()
			s.deletes("web-0")
		}},
		"with random names, too": {want: 1, story: tell(2, random, surgeFirst), do: func(s *story) {
			s.drains("web-a")
			s.creates("web-c", 2, "web-1", image1)
			s.look()
			s.deletes("web-a")
		}},
		"a pod that was broken before is not waited for": {story: tell(3, surgeFirst), do: func(s *story) {
			s.unready("web-2")
			s.drains("web-0")
			s.starts("web-3", 3)
			s.deletes("web-0")
		}},
		"one that broke afterwards is": {want: 1, story: tell(3, surgeFirst), do: func(s *story) {
			s.drains("web-0")
			s.unready("web-2")
			s.look()
			s.starts("web-3", 3)
			s.deletes("web-0")
		}},
		"the successor of a pod that left is waited for": {want: 1, story: tell(2, surgeFirst), do: func(s *story) {
			s.drains("web-0")
			s.starts("web-2", 2)
			s.deletes("web-0")
			s.gone("web-0")
			s.creates("web-0", 0, "web-1", image1)
			s.look()
			s.drains("web-1")
			s.deletes("web-1")
		}},
		"minReadySeconds are waited for": {
			want:  1,
			story: tell(1, surgeFirst, func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 30 }),
			do: func(s *story) {
				s.wait(time.Hour)
				s.drains("web-0")
				s.starts("web-1", 1)
				s.wait(10 * time.Second)
				s.deletes("web-0")
			},
		},
		"a stand-in that serves is thrown away": {want: 1, story: tell(1, surgeFirst), do: func(s *story) {
			s.drains("web-0")
			s.starts("web-1", 1)
			s.wait(11 * time.Minute)
			s.look()
			s.deletes("web-1")
		}},
		"a stand-in goes when the pod is back": {story: tell(1, surgeFirst), do: func(s *story) {
			s.drains("web-0")
			s.starts("web-1", 1)
			s.deletes("web-0")
			s.gone("web-0")
			s.starts("web-0", 0)
			s.deletes("web-1")
		}},
		"a pod that a rollout replaces goes within its budget": {story: tell(2, surgeFirst, budget(1, 1)), do: func(s *story) {
			s.drains("web-0")
			s.image(image2, "web-2")
			s.deletes("web-0")
		}},
	})
}

func sizedContainer(image, cpu string) corev1.Container {
	return corev1.Container{Name: "app", Image: image, Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}
}
