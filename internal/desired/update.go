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

package desired

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// update turns the percentages of spec.update into numbers of pods: surge and
// partition round up, unavailable rounds down.
func update(pm *appsv1.PodManager) plan.Update {
	spec := &pm.Spec.Update
	replicas := int(Replicas(pm))
	strategy, onFailure := spec.Strategy, spec.OnFailure
	if strategy == "" {
		strategy = appsv1.UpdateInPlace
	}
	if onFailure == "" {
		onFailure = appsv1.FailurePause
	}
	quarter := intstr.FromString("25%")
	return plan.Update{
		Strategy:         strategy,
		MaxUnavailable:   scaled(spec.MaxUnavailable, quarter, replicas, false),
		NoneUnavailable:  none(spec.MaxUnavailable),
		MaxSurge:         scaled(spec.MaxSurge, quarter, replicas, true),
		Partition:        scaled(spec.Partition, intstr.FromInt32(0), replicas, true),
		ProgressDeadline: time.Duration(ptr.Deref(spec.ProgressDeadlineSeconds, defaultDeadline)) * time.Second,
		OnFailure:        onFailure,
		UseEviction:      spec.UseEviction,
		ResizeDeadline:   time.Duration(ptr.Deref(spec.ResizeDeadlineSeconds, defaultResize)) * time.Second,
	}
}

// disruption is how pods leave their nodes. A pod with claims of its own has no
// stand-in: that would begin with empty volumes.
func disruption(pm *appsv1.PodManager, maxHold time.Duration) plan.Disruption {
	spec := &pm.Spec.Disruption
	d := plan.Disruption{
		SurgeFirst:    spec.Policy == appsv1.DisruptionSurgeFirst,
		AutoRebalance: spec.Rebalance == appsv1.RebalanceAuto,
		Rebalance:     timeOf(pm, appsv1.AnnotationRebalance),
	}
	if len(pm.Spec.VolumeClaimTemplates) > 0 || !d.SurgeFirst && !d.AutoRebalance && d.Rebalance.IsZero() {
		return plan.Disruption{}
	}
	d.Deadline, _ = EvictionDeadline(pm, maxHold)
	d.MaxSurge = scaled(spec.MaxSurge, intstr.FromString("25%"), int(Replicas(pm)), true)
	if d.AutoRebalance || !d.Rebalance.IsZero() {
		d.Spread = spread(pm)
	}
	return d
}

// DefaultMaxHold is for how long an eviction is held at most, whatever a PodManager
// asks for, unless the operator's --max-eviction-hold says otherwise.
const DefaultMaxHold = time.Hour

// EvictionDeadline is for how long an eviction of a pod waits for its replacement, and
// whether the operator's maximum cuts what the PodManager asks for. Without it the
// planner would keep what stands in for a drain that the webhook has long let through.
// A maximum of zero stands for the default.
func EvictionDeadline(pm *appsv1.PodManager, maxHold time.Duration) (deadline time.Duration, cut bool) {
	asked := time.Duration(ptr.Deref(pm.Spec.Disruption.DeadlineSeconds, defaultEviction)) * time.Second
	most := cmp.Or(maxHold, DefaultMaxHold)
	return min(asked, most), asked > most
}

// spread are the template's topology spread constraints that count the fleet's own
// pods.
func spread(pm *appsv1.PodManager) []plan.Spread {
	if pm.Spec.Template == nil {
		return nil
	}
	template := podrender.Template(pm.Name, pm.Spec.Image, pm.Spec.Template)
	own := labels.Set{appsv1.LabelName: pm.Name, appsv1.LabelUID: string(pm.UID)}
	var list []plan.Spread
	for _, c := range template.Spec.TopologySpreadConstraints {
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err == nil && selector.Matches(labels.Merge(template.Labels, own)) {
			list = append(list, plan.Spread{Key: c.TopologyKey, MaxSkew: int(c.MaxSkew)})
		}
	}
	return list
}

// scaled resolves a number or a percentage, to at most replicas: more means the
// same, and a loop that counts up to it must end soon. The schema admits
// nothing that cannot be resolved; should it come all the same, it counts as 0.
func scaled(value *intstr.IntOrString, otherwise intstr.IntOrString, replicas int, up bool) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(value, otherwise)), replicas, up)
	if err != nil {
		return 0
	}
	return min(max(0, n), replicas)
}

// none: the user wrote 0 or 0%.
func none(value *intstr.IntOrString) bool {
	if value == nil {
		return false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, math.MaxInt32, true)
	return err == nil && n <= 0
}

// timeOf is the time in an annotation with which a user asks for something; one
// that cannot be read asks for nothing.
func timeOf(pm *appsv1.PodManager, annotation string) time.Time {
	at, err := time.Parse(time.RFC3339, pm.Annotations[annotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

func reserved(pm *appsv1.PodManager) []int {
	list := make([]int, 0, len(pm.Spec.ReserveOrdinals))
	for _, ordinal := range pm.Spec.ReserveOrdinals {
		list = append(list, int(ordinal))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func claims(pm *appsv1.PodManager) plan.Claims {
	c := plan.Claims{
		WhenDeleted: pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted,
		WhenScaled:  pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled,
	}
	for i := range pm.Spec.VolumeClaimTemplates {
		c.Templates = append(c.Templates, pm.Spec.VolumeClaimTemplates[i].Name)
	}
	return c
}

// finish gives new pods what is not part of their revision: the readiness gate,
// and the hostname and the claims of their own.
func finish(pm *appsv1.PodManager) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		if pm.Spec.Update.ReadinessGate {
			podrender.WithGate(pod)
		}
		if pm.Spec.ServiceName != "" {
			podrender.WithHostname(pod)
		}
		podrender.WithClaims(pod, claims(pm).Templates, plan.ClaimName)
	}
}

func claim(pm *appsv1.PodManager, owner podrender.Owner) func(template, name string) (*corev1.PersistentVolumeClaim, error) {
	return func(template, name string) (*corev1.PersistentVolumeClaim, error) {
		for i := range pm.Spec.VolumeClaimTemplates {
			if pm.Spec.VolumeClaimTemplates[i].Name == template {
				return podrender.Claim(owner, &pm.Spec.VolumeClaimTemplates[i], name), nil
			}
		}
		return nil, fmt.Errorf("PodManager %s/%s has no volume claim template %s", pm.Namespace, pm.Name, template)
	}
}
