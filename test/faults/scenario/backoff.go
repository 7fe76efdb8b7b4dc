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

package scenario

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// FailingImage is one whose pods fail as soon as they run.
const FailingImage = "failing/app:1"

// Backoffs are the scenarios in which pods fail where it is not the plain case:
// behind a partition, while paused, beyond replicas, and on no node. They take
// hours: too long for a real API server. Beside them are moves within the budget.
func Backoffs() []Scenario {
	failures := []Step{failPod(Name + "-0"), failPod(Name + "-0"), failPod(Name + "-0")}
	partition := func(pm *appsv1.PodManager) { pm.Spec.Update.Partition = ptr.To(intstr.FromInt32(1)) }
	return []Scenario{
		{Name: "failed pods behind a partition", Steps: append([]Step{create(fleet(1, partition)), image(New)}, failures...)},
		{Name: "failed pods while paused", Steps: append([]Step{
			create(fleet(1, surge(0))), edit("pause and change the image", func(pm *appsv1.PodManager) {
				pm.Spec.Paused, pm.Spec.Image = true, New
			}),
		}, failures...)},
		{Name: "failed surge pods", Uncounted: true, Steps: []Step{
			create(fleet(1, recreate, surge(1), unavailable(0), slowly)), unready(image(FailingImage)), image(New),
		}},
		{Name: "failed for want of a node", Uncounted: true, Steps: []Step{
			unready(create(fleet(1, slowly, nowhere))), edit("name no node", func(pm *appsv1.PodManager) { pm.Spec.Template = nil }),
		}},
		{Name: "in place with nothing unavailable", Steps: []Step{create(fleet(2, surge(1), unavailable(0))), image(New)}},
		{Name: "all ordinals are reserved", Steps: []Step{
			create(fleet(2, surge(1), unavailable(0))),
			edit("reserve 0 and 1", func(pm *appsv1.PodManager) { pm.Spec.ReserveOrdinals = []int32{0, 1} }),
		}},
	}
}

// RestartsInPlace is a rollout in place whose pods have to be ready for so many
// seconds, two at a time.
func RestartsInPlace(replicas, seconds int32) Scenario {
	return Scenario{Name: "minReadySeconds", Steps: []Step{
		create(fleet(replicas, surge(0), unavailable(2), func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = seconds })), image(New),
	}}
}

// slowly has a backoff that soon counts as rest.
func slowly(pm *appsv1.PodManager) {
	pm.Spec.FailedPods.Backoff = appsv1.Backoff{
		Initial: &metav1.Duration{Duration: 10 * time.Minute}, Max: &metav1.Duration{Duration: 2 * time.Hour},
	}
}

// nowhere names a node that does not exist.
func nowhere(pm *appsv1.PodManager) {
	pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: "nowhere", Containers: []corev1.Container{{Name: "app"}}}}
}
