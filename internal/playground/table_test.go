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

package playground

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func sampleView(ready int32, pods ...corev1.Pod) view {
	replicas := int32(2)
	v := view{pods: pods}
	v.manager.Name = "sample"
	v.manager.Spec = appsv1.PodManagerSpec{Replicas: &replicas}
	v.manager.Status = appsv1.PodManagerStatus{CurrentReplicas: int32(len(pods)), ReadyReplicas: ready}
	return v
}

func podOf(name, node string, phase corev1.PodPhase, ready corev1.ConditionStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func TestBoardWithoutATerminalSaysEachChangeOnce(t *testing.T) {
	var out bytes.Buffer
	b := newBoard(&out)
	b.show(sampleView(0))
	b.show(sampleView(0))
	b.show(sampleView(0, podOf("sample-0", "", corev1.PodPending, corev1.ConditionFalse)))
	b.show(sampleView(1, podOf("sample-0", "node-1", corev1.PodRunning, corev1.ConditionTrue)))
	want := `sample: 2 pods wanted, 0 there, 0 ready
sample: 2 pods wanted, 1 there, 0 ready
sample: 2 pods wanted, 1 there, 1 ready
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestBoardOnATerminalDrawsOverTheOldTable(t *testing.T) {
	broken := podOf("sample-1", "node-2", corev1.PodPending, corev1.ConditionFalse)
	broken.Status.ContainerStatuses = []corev1.ContainerStatus{
		{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}},
	}
	var out bytes.Buffer
	b := &board{out: &out, terminal: true}
	b.show(sampleView(0))
	b.show(sampleView(1, podOf("sample-0", "node-1", corev1.PodRunning, corev1.ConditionTrue), broken))
	want := `
PODMANAGER   DESIRED   CURRENT   READY
sample       2         0         0

POD   STATUS   READY   NODE
` + "\x1b[5A\x1b[J" + `
PODMANAGER   DESIRED   CURRENT   READY
sample       2         2         1

POD        STATUS             READY   NODE
sample-0   Running            yes     node-1
sample-1   ImagePullBackOff   no      node-2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
}
