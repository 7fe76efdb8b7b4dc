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

package plan

import (
	"fmt"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/mycompany/pod-operator/internal/native"
)

// asIs is an object as the API server answers it.
func asIs(t *testing.T, kind string, object any) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kappsv1.SchemeGroupVersion.WithKind(kind))
	return u
}

func templateOfWeb() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"case": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.28"}}},
	}
}

var (
	webMeta     = metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", Generation: 1}
	webSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"case": "web"}}
)

// runningPods are n ready pods of an owner.
func runningPods(kind, owner string, n int) []corev1.Pod {
	var pods []corev1.Pod
	for i := range n {
		pod := corev1.Pod{ObjectMeta: templateOfWeb().ObjectMeta, Spec: templateOfWeb().Spec}
		pod.Namespace, pod.Name, pod.UID = "shop", fmt.Sprintf("%s-%d", owner, i), types.UID(fmt.Sprint("pod", i))
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}
		pod.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp}}
		pods = append(pods, pod)
	}
	return pods
}

func webDeployment() (*kappsv1.Deployment, native.World) {
	d := &kappsv1.Deployment{ObjectMeta: webMeta, Spec: kappsv1.DeploymentSpec{Replicas: ptr.To[int32](4), Selector: webSelector, Template: templateOfWeb()}}
	d.Spec.Strategy.RollingUpdate = &kappsv1.RollingUpdateDeployment{}
	d.Status = kappsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 4, UpdatedReplicas: 4}
	set := kappsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", UID: "web-1", Labels: webSelector.MatchLabels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web", Controller: ptr.To(true)}},
		},
		Spec: kappsv1.ReplicaSetSpec{Replicas: ptr.To[int32](4), Template: templateOfWeb()},
	}
	return d, native.World{Now: time.Now(), ReplicaSets: []kappsv1.ReplicaSet{set}, Pods: runningPods("ReplicaSet", "web-1", 4)}
}

func TestAChangeIsComparedWithAPodManagers(t *testing.T) {
	for name, c := range map[string]struct {
		live, edit func(*kappsv1.Deployment)
		want       string
	}{
		"an image":                {edit: func(d *kappsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "nginx:1.29" }, want: "4 pods replaced; as a PodManager 4 changed in place."},
		"a label of the template": {edit: func(d *kappsv1.Deployment) { d.Spec.Template.Labels["team"] = "shop" }, want: "4 pods replaced; as a PodManager 4 changed in place."},
		"an environment":          {edit: func(d *kappsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}} }, want: "4 pods replaced; as a PodManager 4 replaced."},
		"a restart": {edit: func(d *kappsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": time.Now().Format(time.RFC3339)}
		}, want: "4 pods replaced; as a PodManager 4 replaced."},
		"fewer pods": {edit: func(d *kappsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](1) }, want: "3 pods deleted; as a PodManager 3 deleted."},
		"fewer pods of a new image": {edit: func(d *kappsv1.Deployment) {
			d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image = ptr.To[int32](1), "nginx:1.29"
		}, want: "1 pod replaced, 3 pods deleted; as a PodManager 1 changed in place, 3 deleted."},
		"more pods": {edit: func(d *kappsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](6) }},
		"nothing":   {edit: func(*kappsv1.Deployment) {}},
		"a rollout is under way": {
			live: func(d *kappsv1.Deployment) { d.Status.UpdatedReplicas = 2 },
			edit: func(d *kappsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](1) }, want: "Not compared with a PodManager: its pods are not all of one template.",
		},
		"pods that end by themselves": {
			edit: func(d *kappsv1.Deployment) { d.Spec.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](9) },
			want: "Not compared with a PodManager: activeDeadlineSeconds ends its pods, and a PodManager keeps its pods running.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, around := webDeployment()
			if c.live != nil {
				c.live(live)
			}
			changed := live.DeepCopy()
			c.edit(changed)
			expectCompared(t, asIs(t, "Deployment", live), asIs(t, "Deployment", changed), around, c.want)
		})
	}
}

func TestAStatefulSetIsComparedAndADaemonSetIsNot(t *testing.T) {
	s := &kappsv1.StatefulSet{ObjectMeta: webMeta, Spec: kappsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), Selector: webSelector, Template: templateOfWeb()}}
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	s.Status = kappsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3}
	changed := s.DeepCopy()
	changed.Spec.Template.Spec.Containers[0].Image = "nginx:1.29"
	expectCompared(t, asIs(t, "StatefulSet", s), asIs(t, "StatefulSet", changed), native.World{Now: time.Now(), Pods: runningPods("StatefulSet", "web", 3)},
		"3 pods replaced; as a PodManager 3 changed in place.")
	d := &kappsv1.DaemonSet{ObjectMeta: webMeta, Spec: kappsv1.DaemonSetSpec{Selector: webSelector, Template: templateOfWeb()}}
	expectCompared(t, asIs(t, "DaemonSet", d), asIs(t, "DaemonSet", d), native.World{Now: time.Now(), Pods: runningPods("DaemonSet", "web", 1)}, "")
}

func expectCompared(t *testing.T, live, changed *unstructured.Unstructured, around native.World, want string) {
	t.Helper()
	around.Unread = map[string]string{}
	w := world{World: around, namespace: "shop"}
	of, err := workloadOf(live, changed)
	if err != nil {
		t.Fatal(err)
	}
	p := of.foresee(around)
	got, err := w.compare(t.Context(), live, changed, &p)
	if err != nil {
		t.Fatal(err)
	}
	if got == nil && want != "" || got != nil && got.Text != want {
		t.Errorf("it says %+v, want %q; the plan is %+v", got, want, p.Steps)
	}
}
