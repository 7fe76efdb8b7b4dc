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
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
}

var selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

// deployment has an image, a number of replicas, and bounds of its rollout.
func deployment(image string, replicas int32, surge, unavailable string) *kappsv1.Deployment {
	d := &kappsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "d"},
		Spec:       kappsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: template(image)},
	}
	if surge == "" {
		d.Spec.Strategy.Type = kappsv1.RecreateDeploymentStrategyType
		return d
	}
	s, u := intstr.Parse(surge), intstr.Parse(unavailable)
	d.Spec.Strategy = kappsv1.DeploymentStrategy{
		Type: kappsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &kappsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u},
	}
	return d
}

// replicaSet is one of the Deployment's, made so many minutes ago.
func replicaSet(name, image string, replicas, scaledFor int32, minutes int) kappsv1.ReplicaSet {
	t := template(image)
	t.Labels = map[string]string{"app": "web", kappsv1.DefaultDeploymentUniqueLabelKey: name}
	return kappsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), CreationTimestamp: ago(minutes), OwnerReferences: ownedBy("d"),
			Annotations: map[string]string{scaledForAnnotation: fmt.Sprint(scaledFor), mostForAnnotation: fmt.Sprint(scaledFor + 1)},
		},
		Spec: kappsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: t},
	}
}

func ago(minutes int) metav1.Time {
	return metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute))
}

func ownedBy(uid string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{UID: types.UID(uid), Controller: ptr.To(true)}}
}

// pods are ready pods of an owner, one for each name.
func pods(owner string, names ...string) []corev1.Pod {
	var list []corev1.Pod
	for i, name := range names {
		list = append(list, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web"}, OwnerReferences: ownedBy(owner), CreationTimestamp: ago(100000 << i),
			},
			Spec: corev1.PodSpec{NodeName: "node-" + name},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(100000 << i)},
			}},
		})
	}
	return list
}

// unready are the same pods, not ready.
func unready(list []corev1.Pod) []corev1.Pod {
	for i := range list {
		list[i].Status.Conditions[0].Status = corev1.ConditionFalse
	}
	return list
}

// story is a plan in a few words: wave, what and pod.
func story(p Plan) string {
	var lines []string
	for _, s := range p.Steps {
		word := s.Pod
		if word == "" {
			word = fmt.Sprint(s.Count)
		}
		if len(s.Among) > 0 {
			word += " of " + strings.Join(s.Among, " ")
		}
		lines = append(lines, fmt.Sprintf("%d %s %s %s", s.Wave, s.What, word, s.Reason))
	}
	return strings.Join(lines, "\n")
}

func codes(p Plan) string {
	var words []string
	for _, w := range p.Warnings {
		words = append(words, w.Code)
	}
	return strings.Join(words, " ")
}
