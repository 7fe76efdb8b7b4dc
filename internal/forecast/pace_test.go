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

package forecast

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

var created = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(created.Add(time.Duration(seconds) * time.Second))
}

// startedPod became ready some seconds after its creation.
func startedPod(ready int) corev1.Pod {
	pod := corev1.Pod{}
	pod.CreationTimestamp = at(0)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(ready)}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}}}}
	return pod
}

// changedPod was changed in place after 100 seconds.
func changedPod(ready int) corev1.Pod {
	pod, written, status := startedPod(ready), at(100), at(500)
	pod.Annotations = map[string]string{appsv1.AnnotationInPlace: "[]"}
	pod.Status.ContainerStatuses[0].RestartCount = 1
	pod.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "pod-operator", Operation: metav1.ManagedFieldsOperationUpdate, Time: &written},
		{Manager: "pod-operator", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &status},
		{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, Time: &status},
	}
	return pod
}

func TestThePaceIsThatOfTheLastTime(t *testing.T) {
	waiting, failed, late, deleted := startedPod(4), startedPod(300), startedPod(4), startedPod(60)
	waiting.Status.Conditions[0].Status = corev1.ConditionFalse
	failed.Status.ContainerStatuses[0].RestartCount = 3
	late.Status.ContainerStatuses[0].State.Running.StartedAt = at(9)
	now := at(70)
	deleted.DeletionTimestamp = &now
	for name, c := range map[string]struct {
		pods []corev1.Pod
		want Pace
	}{
		"no pods":                                    {nil, Pace{}},
		"the median of three":                        {[]corev1.Pod{startedPod(4), startedPod(90), startedPod(5)}, Pace{Start: 5 * time.Second, Started: 3}},
		"less than a second counts as one":           {[]corev1.Pod{startedPod(0)}, Pace{Start: time.Second, Started: 1}},
		"a pod that is not ready shows nothing":      {[]corev1.Pod{waiting}, Pace{}},
		"nor one that failed in between":             {[]corev1.Pod{failed}, Pace{}},
		"nor one that goes":                          {[]corev1.Pod{deleted}, Pace{}},
		"a container that started later":             {[]corev1.Pod{late}, Pace{Start: 9 * time.Second, Started: 1}},
		"a change in place and a start":              {[]corev1.Pod{changedPod(107), startedPod(20)}, Pace{Start: 20 * time.Second, Started: 1, InPlace: 7 * time.Second, Changed: 1}},
		"a change in place that is not followed yet": {[]corev1.Pod{changedPod(50)}, Pace{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, PaceOf(c.pods, "pod-operator")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
