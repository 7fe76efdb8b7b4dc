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

package collector

import (
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

func base() *kappsv1.DeploymentSpec {
	return &kappsv1.DeploymentSpec{
		Replicas: ptr.To(int32(3)),
		Strategy: kappsv1.DeploymentStrategy{
			Type:          kappsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &kappsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(1))},
		},
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "web", Image: "nginx:1", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "old"}}},
			{Name: "log", Image: "busybox:1"},
		}}},
	}
}

func TestDescribe(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*kappsv1.DeploymentSpec)
		want string
	}{
		"a number": {func(s *kappsv1.DeploymentSpec) { s.Replicas = ptr.To(int32(1)) }, "replicas 3 -> 1"},
		"to zero":  {func(s *kappsv1.DeploymentSpec) { s.Replicas = ptr.To(int32(0)) }, "replicas 3 -> 0"},
		"the strategy": {func(s *kappsv1.DeploymentSpec) {
			s.Strategy = kappsv1.DeploymentStrategy{Type: kappsv1.RecreateDeploymentStrategyType}
		}, "strategy.type RollingUpdate -> Recreate, strategy.rollingUpdate removed"},
		"one image of two": {
			func(s *kappsv1.DeploymentSpec) { s.Template.Spec.Containers[1].Image = "busybox:2" },
			"template.spec.containers.log.image busybox:1 -> busybox:2",
		},
		"a field that was not set": {func(s *kappsv1.DeploymentSpec) { s.Paused = true }, "paused unset -> true"},
		"a secret value is not told": {
			func(s *kappsv1.DeploymentSpec) { s.Template.Spec.Containers[0].Env[0].Value = "new" },
			"template.spec.containers.web.env.PASSWORD.value changed",
		},
		"a container more": {func(s *kappsv1.DeploymentSpec) {
			s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: "more"})
		}, "template.spec.containers.more added"},
		"an order of names alone": {func(s *kappsv1.DeploymentSpec) {
			c := s.Template.Spec.Containers
			c[0], c[1] = c[1], c[0]
		}, "spec changed"},
		"more than fits": {func(s *kappsv1.DeploymentSpec) {
			s.Replicas, s.MinReadySeconds, s.Paused = ptr.To(int32(1)), 5, true
			s.RevisionHistoryLimit = ptr.To(int32(2))
		}, "minReadySeconds unset -> 5, paused unset -> true, replicas 3 -> 1 and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			after := base()
			c.edit(after)
			if got := describe(base(), after); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestADescriptionIsBounded(t *testing.T) {
	after := base()
	after.Template.Spec.Containers[0].Image = strings.Repeat("long", 1000)
	if n := len(describe(base(), after)); n > collectorv1.MaxChangeLength {
		t.Errorf("it is %d characters long", n)
	}
}
