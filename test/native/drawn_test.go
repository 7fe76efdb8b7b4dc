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
	"math/rand/v2"
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/test/native/judge"
)

// kinds are drawn as often as they are here.
var kinds = []string{"Deployment", "Deployment", "StatefulSet", "StatefulSet", "DaemonSet", "ReplicaSet"}

// version is where a template says which it is.
const version = "VERSION"

func template(name string, draw *rand.Rand) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{judge.Label: name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To(int64(draw.IntN(2))),
			Containers:                    []corev1.Container{{Name: "app", Image: "app:1", Env: []corev1.EnvVar{{Name: version, Value: "a"}}}},
		},
	}
	if draw.IntN(3) == 0 { // what the API server writes in another way
		t.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}
	}
	return t
}

func share(draw *rand.Rand, zero bool) *intstr.IntOrString {
	values := []intstr.IntOrString{
		intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromInt32(5), intstr.FromString("25%"), intstr.FromString("50%"),
		intstr.FromString("100%"), intstr.FromString("10%"),
	}
	if zero {
		values = append(values, intstr.FromInt32(0), intstr.FromString("0%"))
	}
	return &values[draw.IntN(len(values))]
}

func minReady(draw *rand.Rand) int32 {
	if draw.IntN(8) == 0 {
		return 1
	}
	return 0
}

func size(draw *rand.Rand) *int32 { return ptr.To(int32(draw.IntN(9))) }

// drawWorkload draws a workload.
func drawWorkload(kind, name string, draw *rand.Rand) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{judge.Label: name}}
	switch kind {
	case "Deployment":
		d := &kappsv1.Deployment{ObjectMeta: meta, Spec: kappsv1.DeploymentSpec{
			Replicas: size(draw), Selector: selector, Template: template(name, draw), MinReadySeconds: minReady(draw),
		}}
		drawStrategy(d, draw)
		return d
	case "ReplicaSet":
		return &kappsv1.ReplicaSet{ObjectMeta: meta, Spec: kappsv1.ReplicaSetSpec{Replicas: size(draw), Selector: selector, Template: template(name, draw)}}
	case "StatefulSet":
		s := &kappsv1.StatefulSet{ObjectMeta: meta, Spec: kappsv1.StatefulSetSpec{
			Replicas: size(draw), Selector: selector, Template: template(name, draw), MinReadySeconds: minReady(draw), ServiceName: "none",
		}}
		if draw.IntN(3) == 0 {
			s.Spec.PodManagementPolicy = kappsv1.ParallelPodManagement
		}
		if draw.IntN(6) == 0 {
			s.Spec.Ordinals = &kappsv1.StatefulSetOrdinals{Start: int32(draw.IntN(4))}
		}
		drawUpdateStrategy(s, draw)
		return s
	}
	d := &kappsv1.DaemonSet{ObjectMeta: meta, Spec: kappsv1.DaemonSetSpec{Selector: selector, Template: template(name, draw), MinReadySeconds: minReady(draw)}}
	drawPlaces(d, draw)
	drawDaemonStrategy(d, draw)
	return d
}

func drawStrategy(d *kappsv1.Deployment, draw *rand.Rand) {
	switch draw.IntN(6) {
	case 0:
		d.Spec.Strategy = kappsv1.DeploymentStrategy{Type: kappsv1.RecreateDeploymentStrategyType}
	case 1:
		d.Spec.Strategy = kappsv1.DeploymentStrategy{}
	default:
		d.Spec.Strategy = kappsv1.DeploymentStrategy{Type: kappsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &kappsv1.RollingUpdateDeployment{
			MaxSurge: share(draw, false), MaxUnavailable: share(draw, true),
		}}
		if draw.IntN(3) == 0 {
			d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable = share(draw, true), share(draw, false)
		}
	}
}

func drawUpdateStrategy(s *kappsv1.StatefulSet, draw *rand.Rand) {
	s.Spec.UpdateStrategy = kappsv1.StatefulSetUpdateStrategy{}
	switch draw.IntN(6) {
	case 0:
		s.Spec.UpdateStrategy.Type = kappsv1.OnDeleteStatefulSetStrategyType
	case 1, 2:
		s.Spec.UpdateStrategy.RollingUpdate = &kappsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(draw.IntN(5)))}
	case 3:
		s.Spec.UpdateStrategy.RollingUpdate = &kappsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: share(draw, false)}
	}
}

func drawDaemonStrategy(d *kappsv1.DaemonSet, draw *rand.Rand) {
	d.Spec.UpdateStrategy = kappsv1.DaemonSetUpdateStrategy{}
	switch draw.IntN(6) {
	case 0:
		d.Spec.UpdateStrategy.Type = kappsv1.OnDeleteDaemonSetStrategyType
	case 1, 2:
		d.Spec.UpdateStrategy.RollingUpdate = &kappsv1.RollingUpdateDaemonSet{MaxUnavailable: share(draw, false)}
	case 3, 4:
		d.Spec.UpdateStrategy.RollingUpdate = &kappsv1.RollingUpdateDaemonSet{MaxSurge: share(draw, false), MaxUnavailable: ptr.To(intstr.FromInt32(0))}
	}
}

func drawPlaces(d *kappsv1.DaemonSet, draw *rand.Rand) {
	spec := &d.Spec.Template.Spec
	spec.NodeSelector, spec.Tolerations, spec.Affinity = nil, nil, nil
	switch draw.IntN(5) {
	case 0:
		spec.NodeSelector = map[string]string{"zone": string(rune('a' + draw.IntN(4)))}
	case 1:
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "zone", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}},
			}}},
		}}}
	}
	if draw.IntN(3) == 0 {
		spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
}

// templateOf is the template of a workload.
func templateOf(obj client.Object) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *kappsv1.Deployment:
		return &o.Spec.Template
	case *kappsv1.ReplicaSet:
		return &o.Spec.Template
	case *kappsv1.StatefulSet:
		return &o.Spec.Template
	case *kappsv1.DaemonSet:
		return &o.Spec.Template
	}
	return nil
}

func setVersion(obj client.Object, to string) {
	templateOf(obj).Spec.Containers[0].Env = []corev1.EnvVar{{Name: version, Value: to}}
}

func setSize(obj client.Object, to *int32) bool {
	switch o := obj.(type) {
	case *kappsv1.Deployment:
		o.Spec.Replicas = to
	case *kappsv1.ReplicaSet:
		o.Spec.Replicas = to
	case *kappsv1.StatefulSet:
		o.Spec.Replicas = to
	default:
		return false
	}
	return true
}

// edit changes one to three things, and says what.
func edit(obj client.Object, draw *rand.Rand) []string {
	var said []string
	for range 1 + draw.IntN(3)*draw.IntN(2) {
		said = append(said, editOne(obj, draw))
	}
	return said
}

func editOne(obj client.Object, draw *rand.Rand) string {
	switch n := draw.IntN(16); {
	case n < 7:
		to := []string{"a", "b", "c", "c", "d"}[draw.IntN(5)]
		setVersion(obj, to)
		return "template " + to
	case n < 12:
		to := size(draw)
		if !setSize(obj, to) {
			drawPlaces(obj.(*kappsv1.DaemonSet), draw)
			return "nodes"
		}
		return fmt.Sprintf("replicas %d", *to)
	case n == 12:
		obj.SetLabels(map[string]string{"team": "shop"})
		return "a label"
	case n == 13:
		t := templateOf(obj)
		t.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
		return "restart"
	}
	return editStrategy(obj, draw)
}

func editStrategy(obj client.Object, draw *rand.Rand) string {
	switch o := obj.(type) {
	case *kappsv1.Deployment:
		if draw.IntN(2) == 0 {
			o.Spec.Paused = !o.Spec.Paused
			return fmt.Sprintf("paused %t", o.Spec.Paused)
		}
		drawStrategy(o, draw)
	case *kappsv1.StatefulSet:
		drawUpdateStrategy(o, draw)
	case *kappsv1.DaemonSet:
		drawDaemonStrategy(o, draw)
	}
	return "strategy"
}

// broken chooses pods that fail.
func broken(pods []*corev1.Pod, draw *rand.Rand) []*corev1.Pod {
	if len(pods) == 0 || draw.IntN(3) != 0 {
		return nil
	}
	pods = slices.Clone(pods)
	draw.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return pods[:1+draw.IntN(min(2, len(pods)))]
}
