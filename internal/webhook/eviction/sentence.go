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

package eviction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/plan"
)

// podsOf are the fleet's pods. What the cache does not have yet is missing in a
// sentence, or makes an eviction wait until the next attempt.
func (h *Handler) podsOf(ctx context.Context, pm *appsv1.PodManager) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := h.Pods.List(ctx, &pods, client.InNamespace(pm.Namespace),
		client.MatchingFields{observe.IndexPods: string(pm.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the pods of PodManager %s/%s: %w", pm.Namespace, pm.Name, err)
	}
	return pods.Items, nil
}

// progress says what of the pod's replacement is there when its eviction is let through.
func (h *Handler) progress(ctx context.Context, f fleet, pod *corev1.Pod, r request) string {
	if !f.keeps(pod) {
		return "the pod stands in for others of the fleet"
	}
	return "its replacement: " + h.replacement(ctx, f, pod, r)
}

// sentence says what the eviction waits for. A PodDisruptionBudget is the API
// server's to answer for: that it allows the eviction then is not promised.
func (h *Handler) sentence(ctx context.Context, f fleet, pod *corev1.Pod, r request) string {
	waits := fmt.Sprintf("pod %s is evicted when its replacement is available: %s", pod.Name, h.replacement(ctx, f, pod, r))
	if !f.keeps(pod) {
		waits = fmt.Sprintf("pod %s stands in for others of the fleet, and goes without a replacement when they are available", pod.Name)
	}
	return fmt.Sprintf("%s%s. PodManager %s has disruption.policy SurgeFirst; from %s on the webhook lets the eviction through, "+
		"and only a PodDisruptionBudget can refuse it. See kubectl podmanager why-not -n %s pod/%s",
		waits, said(f.pm), f.pm.Name, at(r.end()), pod.Namespace, pod.Name)
}

// replacement says how far the replacement is.
func (h *Handler) replacement(ctx context.Context, f fleet, leaving *corev1.Pod, r request) string {
	pods, err := h.podsOf(ctx, f.pm)
	if err != nil {
		return "how far it is cannot be read"
	}
	var ready []string
	for i := range pods {
		p := &pods[i]
		if p.UID == leaving.UID || p.DeletionTimestamp != nil || !f.replaces(p, r) {
			continue
		}
		if !serves(p) {
			return fmt.Sprintf("pod %s is not ready yet", p.Name)
		}
		ready = append(ready, p.Name)
	}
	if len(ready) == 0 {
		return "the operator was asked for one, and has made none yet"
	}
	slices.Sort(ready)
	return fmt.Sprintf("ready to stand in: %s; other pods that leave, minReadySeconds or a PodDisruptionBudget may come first", strings.Join(ready, ", "))
}

// replaces: the pod was made for one that leaves. With ordinals it stands in; with
// random names it is one of the pods that came after the request.
func (f fleet) replaces(p *corev1.Pod, r request) bool {
	if f.desired.Identity == appsv1.IdentityOrdinal {
		return p.Annotations[appsv1.AnnotationSurge] == "true"
	}
	return !p.CreationTimestamp.Time.Before(r.since) && p.Annotations[appsv1.AnnotationEvictionRequested] == ""
}

// said is what the operator last said of the fleet, where that bears on pods that
// leave: no node takes new pods, a quota is full, a PodDisruptionBudget refuses.
func said(pm *appsv1.PodManager) string {
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled); c != nil {
		return fmt.Sprintf(" (%s: %s)", c.Reason, c.Message)
	}
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionReconciling); c != nil && c.Reason == appsv1.ReasonMovingPods {
		return fmt.Sprintf(" (%s)", c.Message)
	}
	return ""
}

// fleet is a PodManager and what it asks for.
type fleet struct {
	pm      *appsv1.PodManager
	desired *plan.Desired
}

// keeps: the pod is one of those that the fleet keeps.
func (f fleet) keeps(pod *corev1.Pod) bool {
	return f.desired.Keeps(plan.SlotOf(f.desired, pod.Name, pod.Labels[appsv1.LabelSlot]))
}

// complete: all pods that the fleet keeps are there and ready.
func (f fleet) complete(pods []corev1.Pod) bool {
	n := 0
	for i := range pods {
		if serves(&pods[i]) && f.keeps(&pods[i]) {
			n++
		}
	}
	return n >= f.desired.Replicas
}
