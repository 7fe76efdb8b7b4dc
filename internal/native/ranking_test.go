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

package native

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Each rule of the scale-down decides where those before it do not.
func TestRankOfAScaleDown(t *testing.T) {
	for name, change := range map[string]func(first, second *corev1.Pod){
		"not assigned":   func(first, _ *corev1.Pod) { first.Spec.NodeName = "" },
		"pending":        func(first, _ *corev1.Pod) { first.Status.Phase = corev1.PodPending },
		"unknown phase":  func(first, _ *corev1.Pod) { first.Status.Phase = corev1.PodUnknown },
		"not ready":      func(first, _ *corev1.Pod) { first.Status.Conditions[0].Status = corev1.ConditionFalse },
		"a lower cost":   func(first, _ *corev1.Pod) { first.Annotations = map[string]string{corev1.PodDeletionCost: "-1"} },
		"a crowded node": func(first, _ *corev1.Pod) { first.Spec.NodeName = "crowded" },
		"ready later":    func(first, _ *corev1.Pod) { first.Status.Conditions[0].LastTransitionTime = ago(10) },
		"more restarts": func(first, _ *corev1.Pod) {
			first.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}}
		},
		"created later":     func(first, _ *corev1.Pod) { first.CreationTimestamp = ago(10) },
		"UID in one bucket": func(first, _ *corev1.Pod) { first.UID, first.CreationTimestamp = "0", ago(100001) },
	} {
		t.Run(name, func(t *testing.T) {
			list := append(pods("rs", "z"), pods("rs", "y")...)
			first, second := &list[0], &list[1]
			first.Spec.NodeName, second.Spec.NodeName = "one", "two"
			change(first, second)
			certain, doubtful := victims([]*corev1.Pod{second, first}, 1, map[string]int{"crowded": 2, "one": 1, "two": 1}, now)
			if len(doubtful) > 0 || len(certain) != 1 || certain[0] != first {
				t.Errorf("certain %v, doubtful %v", len(certain), len(doubtful))
			}
		})
	}
}

func TestEqualPodsAreInDoubt(t *testing.T) {
	list := append(pods("rs", "a"), pods("rs", "b")...)
	certain, doubtful := victims([]*corev1.Pod{&list[0], &list[1]}, 1, nil, now)
	if len(certain) != 0 || len(doubtful) != 2 {
		t.Errorf("certain %d, doubtful %d", len(certain), len(doubtful))
	}
}

// Pods that became ready at the same time compare by their creation, others by their
// UID: the order may go round in a circle.
func TestOrderThatGoesRoundIsInDoubt(t *testing.T) {
	list := append(append(pods("rs", "b"), pods("rs", "c")...), pods("rs", "a")...)
	list[0].CreationTimestamp = ago(200000)                       // b goes after a by its creation,
	list[1].Status.Conditions[0].LastTransitionTime = ago(100001) // b before c by its UID,
	list[2].UID, list[2].Name = "d", "a"                          // and c before a by its UID
	certain, doubtful := victims([]*corev1.Pod{&list[0], &list[1], &list[2]}, 2, nil, now)
	if len(certain) != 0 || len(doubtful) != 3 {
		t.Errorf("certain %d, doubtful %d", len(certain), len(doubtful))
	}
}

// An age that reaches the next power of two in a moment puts the order in doubt.
func TestOrderThatChangesSoonIsInDoubt(t *testing.T) {
	list := append(pods("rs", "a"), pods("rs", "b")...)
	list[0].Status.Conditions[0].LastTransitionTime.Time = now.Add(-time.Duration(1<<40) + 20*time.Second)
	list[1].Status.Conditions[0].LastTransitionTime.Time = now.Add(-time.Duration(1<<40) - time.Second)
	if _, doubtful := victims([]*corev1.Pod{&list[0], &list[1]}, 1, nil, now); len(doubtful) != 0 {
		t.Error("b has the lower UID only later, and yet a goes in both cases: a is younger, and its UID is lower")
	}
	list[0].UID = "z"
	if _, doubtful := victims([]*corev1.Pod{&list[0], &list[1]}, 1, nil, now); len(doubtful) != 2 {
		t.Error("the order changes within the minute")
	}
}

// patience is for a busy machine: on an idle one it takes a fraction of a second.
const patience = 5 * time.Second

func TestThousandPodsAreRankedFast(t *testing.T) {
	var list []*corev1.Pod
	for i := range 1000 {
		p := pods("rs", fmt.Sprintf("pod-%03d", i))[0]
		p.Status.Conditions[0].LastTransitionTime = ago(i % 97)
		p.CreationTimestamp = ago(i % 101)
		list = append(list, &p)
	}
	began := time.Now()
	certain, doubtful := victims(list, 500, nil, now)
	if took := time.Since(began); took > patience {
		t.Errorf("it took %s", took)
	}
	t.Logf("%s", time.Since(began))
	if len(certain)+len(doubtful) < 500 {
		t.Errorf("%d certain, %d doubtful", len(certain), len(doubtful))
	}
}

func TestStartTimeIsThatOfPodsThatDidNotRestart(t *testing.T) {
	list := pods("rs", "a", "b", "c")
	for i, took := range []time.Duration{3 * time.Second, 5 * time.Second, time.Hour} {
		list[i].Status.Conditions[0].LastTransitionTime.Time = list[i].CreationTimestamp.Add(took)
	}
	list[2].Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}}
	if got, n := StartTime(list); got != 5*time.Second || n != 2 {
		t.Error(got, n)
	}
}

func TestReadersOfAConfigMap(t *testing.T) {
	spec := corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "all", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "conf"}}}},
			{Name: "other", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "conf"}, Items: []corev1.KeyToPath{{Key: "unchanged"}},
			}}},
		},
		Containers: []corev1.Container{
			{Name: "env", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "conf"}}}}},
			{Name: "files", VolumeMounts: []corev1.VolumeMount{{Name: "all"}, {Name: "other"}}},
			{Name: "sub", VolumeMounts: []corev1.VolumeMount{{Name: "all", SubPath: "key"}}},
			{Name: "none", VolumeMounts: []corev1.VolumeMount{{Name: "other"}}},
		},
	}
	list := pods("rs", "a", "b")
	for i := range list {
		list[i].Spec = spec
	}
	keys := ChangedKeys(map[string][]byte{"key": []byte("1"), "unchanged": nil, "gone": nil}, map[string][]byte{"key": []byte("2"), "unchanged": nil, "new": nil})
	if want := []string{"gone", "key", "new"}; !slices.Equal(keys, want) {
		t.Fatal(keys)
	}
	var got []string
	for _, r := range (Config{Kind: "ConfigMap", Name: "conf", Changed: keys}).Readers(list) {
		got = append(got, fmt.Sprint(r.How, " ", r.Containers, " ", r.Pods))
	}
	if want := "environment [env] [a b]; subPath [sub] [a b]; volume [files] [a b]"; strings.Join(got, "; ") != want {
		t.Error(got)
	}
	if readers := (Config{Kind: "Secret", Name: "conf", Changed: keys}).Readers(list); len(readers) != 0 {
		t.Error(readers)
	}
}
