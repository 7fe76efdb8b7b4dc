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
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// retries is for how long clients may still try to evict a pod that is gone.
// kubectl drain tries every 5 s, the cluster autoscaler every 10 s.
const retries = 2 * time.Minute

// isReplaced: the pod has the name of one that the operator evicted a moment ago,
// and the client that waited for it means that one. kubectl drain tries again by name,
// does not look at the UID and would evict the successor from a node that stays. Those
// who drain a node cordon or taint it first: there the successor is meant.
func (h *Handler) isReplaced(ctx context.Context, pm *appsv1.PodManager, pod *corev1.Pod) (bool, error) {
	if h.Clock.Since(pod.CreationTimestamp.Time) > retries || !slices.ContainsFunc(pm.Status.History, func(d appsv1.Decision) bool {
		return d.Action == appsv1.ReasonEvicted && d.Reason == appsv1.WhyEvictionRequested &&
			slices.Contains(d.Pods, pod.Name) && !pod.CreationTimestamp.Before(&d.Time)
	}) {
		return false, nil
	}
	if pod.Spec.NodeName == "" {
		return true, nil
	}
	var node corev1.Node
	if err := h.Live.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node); err != nil {
		return false, fmt.Errorf("read node %s: %w", pod.Spec.NodeName, err)
	}
	return !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}), nil
}

// isGone ends the client's attempts: what it waits for has happened.
func isGone(pod *corev1.Pod) admission.Response {
	return refuse(pod, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf(
		"the pod %s that was to be evicted is gone; this is its replacement, on a node that is not cordoned. "+
			"To evict it too, try again after %s", pod.Name, at(pod.CreationTimestamp.Add(retries))))
}

// sentence says what the eviction waits for.
func (h *Handler) sentence(ctx context.Context, pm *appsv1.PodManager, pod *corev1.Pod, r request) string {
	return fmt.Sprintf("pod %s is evicted when its replacement is available: %s. PodManager %s has disruption.policy SurgeFirst; "+
		"from %s on the eviction is let through in any case. See kubectl podmanager why-not -n %s pod/%s",
		pod.Name, h.replacement(ctx, pm, pod), pm.Name, at(r.end()), pod.Namespace, pod.Name)
}

// replacement says how far the replacement is, as far as it can be told.
func (h *Handler) replacement(ctx context.Context, pm *appsv1.PodManager, leaving *corev1.Pod) string {
	const unknown = "it is being made"
	var pods corev1.PodList
	err := h.Pods.List(ctx, &pods, client.InNamespace(pm.Namespace), client.MatchingLabels{appsv1.LabelUID: string(pm.UID)})
	if err != nil {
		return unknown
	}
	var ready []string
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.UID == leaving.UID || p.DeletionTimestamp != nil || p.Annotations[appsv1.AnnotationSurge] != "true" {
			continue
		}
		if !serves(p) {
			return fmt.Sprintf("pod %s is not ready yet", p.Name)
		}
		ready = append(ready, p.Name)
	}
	if len(ready) == 0 {
		return unknown
	}
	slices.Sort(ready)
	return fmt.Sprintf("ready to stand in: %s; other pods that leave, minReadySeconds or a PodDisruptionBudget may come first", strings.Join(ready, ", "))
}
