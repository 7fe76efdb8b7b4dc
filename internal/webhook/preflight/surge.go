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

package preflight

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=list

// checkSurge warns about what keeps a pod from being replaced before it leaves its
// node, where the user asks for that: evictions would wait in vain for the deadline,
// or not at all.
func (i *Inspector) checkSurge(ctx context.Context, c Change, after desired.Fleet) Findings {
	pm, ok := c.New.(*appsv1.PodManager)
	if !ok || pm.Spec.Disruption.Policy != appsv1.DisruptionSurgeFirst || !surgeChanges(c.Old, pm) {
		return Findings{}
	}
	if len(pm.Spec.VolumeClaimTemplates) > 0 {
		return warn("disruption.policy SurgeFirst changes nothing: every pod has volume claims of its own, " +
			"so that no other pod can stand in for it, and evictions are let through")
	}
	var found Findings
	if hasHostPort(&after.Template.Spec) {
		found = join(found, warn("the pods have host ports: a replacement needs a node without a pod of %s, or evictions wait until the deadline", pm.Name))
	}
	if deadline, cut := desired.EvictionDeadline(pm, i.MaxHold); cut && i.MaxHold > 0 {
		found = join(found, warn("disruption.deadlineSeconds is cut to %d: the operator holds no eviction longer than its --max-eviction-hold, %s",
			int(deadline.Seconds()), i.MaxHold))
	}
	return join(found, i.checkVolumes(ctx, after), i.checkQuota(ctx, pm, after))
}

// surgeChanges: what the warnings are about is new or has changed.
func surgeChanges(old client.Object, pm *appsv1.PodManager) bool {
	before, ok := old.(*appsv1.PodManager)
	return !ok || before == nil || before.Spec.Disruption.Policy != pm.Spec.Disruption.Policy ||
		!equality.Semantic.DeepEqual(before.Spec.Disruption.DeadlineSeconds, pm.Spec.Disruption.DeadlineSeconds) ||
		!equality.Semantic.DeepEqual(before.Spec.Template, pm.Spec.Template) || !equality.Semantic.DeepEqual(before.Spec.Replicas, pm.Spec.Replicas) ||
		len(before.Spec.VolumeClaimTemplates) != len(pm.Spec.VolumeClaimTemplates)
}

func hasHostPort(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 || spec.HostNetwork })
	})
}

// checkVolumes warns about volume claims that all pods share and that only one node
// can mount.
func (i *Inspector) checkVolumes(ctx context.Context, f desired.Fleet) Findings {
	for _, v := range f.Template.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{}
		key := client.ObjectKey{Namespace: f.Ref.Namespace, Name: v.PersistentVolumeClaim.ClaimName}
		if err := i.live.Get(ctx, key, claim); err != nil {
			continue // a claim that is missing is reported elsewhere
		}
		shared := slices.ContainsFunc(claim.Spec.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool {
			return mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany
		})
		if !shared {
			return warn("volume claim %s can be mounted by one node only: a replacement on another node cannot start, and evictions wait until the deadline", claim.Name)
		}
	}
	return Findings{}
}

// checkQuota warns where a quota has no room for one pod beyond replicas.
func (i *Inspector) checkQuota(ctx context.Context, pm *appsv1.PodManager, f desired.Fleet) Findings {
	var quotas corev1.ResourceQuotaList
	if err := i.live.List(ctx, &quotas, client.InNamespace(pm.Namespace)); err != nil {
		return warn("whether a quota has room for replacements was not checked: %v", err)
	}
	missing := int64(max(0, f.Desired.Replicas-int(pm.Status.CurrentReplicas)) + 1)
	for n := range quotas.Items {
		q := &quotas.Items[n]
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue // whether it counts these pods is not known
		}
		for name, each := range consumed(f) {
			hard, limited := q.Status.Hard[name]
			if !limited {
				continue
			}
			used := q.Status.Used[name]
			used.Add(*resource.NewMilliQuantity(each.MilliValue()*missing, each.Format))
			if used.Cmp(hard) > 0 {
				return warn("%s", noRoom(q.Name, name, hard))
			}
		}
	}
	return Findings{}
}

func noRoom(quota string, name corev1.ResourceName, hard resource.Quantity) string {
	return fmt.Sprintf("ResourceQuota %s (%s: %s) has no room for a replacement beyond replicas: evictions wait until the deadline", quota, name, hard.String())
}

// consumed is what one pod takes from a quota.
func consumed(f desired.Fleet) corev1.ResourceList {
	pod := &corev1.Pod{Spec: f.Template.Spec}
	one := resource.MustParse("1")
	list := corev1.ResourceList{corev1.ResourcePods: one, "count/pods": one}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	limits := resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})
	for quota, value := range map[corev1.ResourceName]*resource.Quantity{
		corev1.ResourceRequestsCPU: requests.Cpu(), corev1.ResourceRequestsMemory: requests.Memory(),
		corev1.ResourceLimitsCPU: limits.Cpu(), corev1.ResourceLimitsMemory: limits.Memory(),
	} {
		if !value.IsZero() {
			list[quota] = *value
		}
	}
	return list
}
