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
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// What surrounds a Deployment is noted where it stops or changes the rollout.
func TestSurroundings(t *testing.T) {
	hpa := autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}, MaxReplicas: 9,
	}}
	quota := func(name corev1.ResourceName, hard, used string) corev1.ResourceQuota {
		return corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{name: resource.MustParse(hard)}, Used: corev1.ResourceList{name: resource.MustParse(used)},
		}}
	}
	for name, given := range map[string]struct {
		edit  func(d *kappsv1.Deployment)
		world func(w *World)
		want  string
		// unknown is a part of a sentence.
		unknown string
	}{
		"nothing": {},
		"an autoscaler owns the replicas": {
			edit: func(d *kappsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](5) }, world: func(w *World) { w.Autoscalers = append(w.Autoscalers, hpa) }, want: Autoscaled,
			unknown: "come and go again",
		},
		"an autoscaler, and the replicas stay": {world: func(w *World) { w.Autoscalers = append(w.Autoscalers, hpa) }},
		"a quota of pods is too small":         {world: func(w *World) { w.Quotas = append(w.Quotas, quota(corev1.ResourcePods, "2", "2")) }, want: QuotaTooSmall},
		"a quota has room":                     {world: func(w *World) { w.Quotas = append(w.Quotas, quota(corev1.ResourcePods, "3", "2")) }},
		"a quota of CPU is too small": {
			edit: func(d *kappsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
			},
			world: func(w *World) { w.Quotas = append(w.Quotas, quota(corev1.ResourceRequestsCPU, "1", "600m")) }, want: QuotaTooSmall,
		},
		"the deadline is shorter than minReadySeconds": {
			edit: func(d *kappsv1.Deployment) {
				d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = 60, ptr.To[int32](30)
			}, want: DeadlineTooShort,
		},
		"the selector matches pods of another": {world: func(w *World) { w.Pods = append(w.Pods, pods("other", "x")...) }, want: SelectorOverlaps},
		"a budget wants more than there are on the way": {
			edit: func(d *kappsv1.Deployment) { d.Spec.Strategy.Type = kappsv1.RecreateDeploymentStrategyType },
			world: func(w *World) {
				w.Budgets = append(w.Budgets, policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}, Status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1}})
			},
			want: NoDisruption,
		},
		"another controls it": {edit: func(d *kappsv1.Deployment) { d.OwnerReferences = ownedBy("operator") }, want: Controlled},
		"no right to read autoscalers": {
			world: func(w *World) { w.Unread = map[string]string{Autoscalers: "you may not list them"} }, unknown: "HorizontalPodAutoscaler",
		},
		"no right to read quotas": {world: func(w *World) { w.Unread = map[string]string{Quotas: "you may not list them"} }, unknown: "ResourceQuota"},
	} {
		t.Run(name, func(t *testing.T) {
			live, changed := deployment("v1", 2, "1", "0"), deployment("v2", 2, "1", "0")
			w := World{Now: now, Pods: pods("rs1", "a", "b"), ReplicaSets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 2, 2, 9)}}
			if given.edit != nil {
				given.edit(changed)
			}
			if given.world != nil {
				given.world(&w)
			}
			p := Deployment(live, changed, w)
			if got := codes(p); got != given.want {
				t.Errorf("warnings %q, want %q: %v", got, given.want, p.Warnings)
			}
			if got := strings.Join(p.Unknown, "\n"); !strings.Contains(got, given.unknown) || given.unknown == "" && got != "" {
				t.Errorf("unknown: %s", got)
			}
		})
	}
}
