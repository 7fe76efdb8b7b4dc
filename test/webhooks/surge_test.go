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

package webhooks

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestWhatCannotBeReplacedFirstSaysSo: at apply, and not when the drain waits.
func TestWhatCannotBeReplacedFirstSaysSo(t *testing.T) {
	t.Parallel()
	claim := func(ns, name string, mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		return c
	}
	mounts := func(name string) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}}}
		}
	}
	for name, c := range map[string]struct {
		change func(pm *appsv1.PodManager)
		pod    func(*corev1.PodSpec)
		want   string
	}{
		"nothing in the way": {},
		"policy Allow": {change: func(pm *appsv1.PodManager) {
			pm.Spec.Disruption.Policy = appsv1.DisruptionAllow
			pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim("", "data", corev1.ReadWriteOnce)}
		}},
		"claims of their own": {
			change: func(pm *appsv1.PodManager) {
				pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim("", "data", corev1.ReadWriteOnce)}
			},
			want: "disruption.policy SurgeFirst changes nothing: every pod has volume claims of its own, " +
				"so that no other pod can stand in for it, and evictions are let through",
		},
		"host ports": {
			pod: func(spec *corev1.PodSpec) {
				spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
			},
			want: `would violate PodSecurity "baseline:latest": hostPort (container "app" uses hostPort 8080)` + "\n" +
				"the pods have host ports: a replacement needs a node without a pod of web, or evictions wait until the deadline",
		},
		"a claim for one node": {
			pod:  mounts("one"),
			want: "volume claim one can be mounted by one node only: a replacement on another node cannot start, and evictions wait until the deadline",
		},
		"a claim for many nodes": {pod: mounts("many")},
		"a quota that is full": {
			change: func(pm *appsv1.PodManager) { pm.Spec.Replicas = new(int32(3)) },
			want:   "ResourceQuota pods (pods: 3) has no room for a replacement beyond replicas: evictions wait until the deadline",
		},
		"a quota of memory": {
			pod: func(spec *corev1.PodSpec) {
				spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("400Mi")}
			},
			want: "ResourceQuota pods (requests.memory: 1Gi) has no room for a replacement beyond replicas: evictions wait until the deadline",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := suite.Namespace(t)
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pods"}}
			quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3"), corev1.ResourceRequestsMemory: resource.MustParse("1Gi")}
			suite.Create(t, quota)
			suite.Create(t, claim(ns, "one", corev1.ReadWriteOnce))
			suite.Create(t, claim(ns, "many", corev1.ReadWriteMany))
			testkit.Eventually(t, "the quota is in force", func() error {
				if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil || len(quota.Status.Hard) == 0 {
					return fmt.Errorf("%w: %+v", err, quota.Status)
				}
				return nil
			})
			build := testkit.MakePodManager(ns, "web").Replicas(2)
			build = build.PodSpec(func(spec *corev1.PodSpec) {
				requests := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Mi")}
				spec.Containers = []corev1.Container{{Name: appsv1.AppContainer, Resources: corev1.ResourceRequirements{Requests: requests}}}
				if c.pod != nil {
					c.pod(spec)
				}
			})
			pm := build.Obj()
			pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
			if c.change != nil {
				c.change(pm)
			}
			l := listen(t)
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "\n")
			}
			l.do(t, name, l.Create(t.Context(), pm), want...)
			l.do(t, "an edit of something else", l.patch(t, pm, `{"spec":{"revisionHistoryLimit":3}}`))
		})
	}
}
