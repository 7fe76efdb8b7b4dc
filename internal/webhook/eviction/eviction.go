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

// Package eviction answers evictions of pods whose PodManager has
// disruption.policy SurgeFirst. The first one is written onto the pod, as the
// annotation AnnotationEvictionRequested, and answered with 429, Too Many Requests,
// which makes clients try again as they do for a PodDisruptionBudget. The operator
// sees the annotation, makes a replacement, and evicts the pod itself when that is
// available.
//
// It never makes a drain impossible: an eviction is let through when the deadline
// is over, and whenever something does not work.
package eviction

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

// budget is a little less than the time that the API server waits for an answer.
const budget = 2500 * time.Millisecond

// Handler answers evictions.
type Handler struct {
	// Live reads past the cache: a replica of the operator that has not seen
	// the annotation yet would write a later time.
	Live client.Reader
	// Pods finds replacements; what it misses is missing in a sentence.
	Pods   client.Reader
	Writer client.Writer
	Clock  clock.PassiveClock
	Scope  preflight.Scope
}

// Handle implements admission.Handler.
func (h *Handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	if !h.Scope.Has(req.Namespace) {
		return admission.Allowed("")
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	var asked policyv1.Eviction
	if err := json.Unmarshal(req.Object.Raw, &asked); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read the eviction of %s/%s: %w", req.Namespace, req.Name, err))
	}
	key := client.ObjectKey{Namespace: req.Namespace, Name: req.Name}
	response, err := h.answer(ctx, key, &asked, isDryRun(req, &asked))
	if client.IgnoreNotFound(err) != nil {
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"pod %s is evicted at once: the operator could not put it off until a replacement is available: %v", key.Name, err))
	}
	if err != nil { // the API server says what is missing
		return admission.Allowed("")
	}
	return response
}

// isDryRun: kubectl drain asks for it in the eviction, and not in the request.
func isDryRun(req admission.Request, asked *policyv1.Eviction) bool {
	return ptr.Deref(req.DryRun, false) || asked.DeleteOptions != nil && len(asked.DeleteOptions.DryRun) > 0
}

func (h *Handler) answer(ctx context.Context, key client.ObjectKey, asked *policyv1.Eviction, dryRun bool) (admission.Response, error) {
	// The configuration does not send us the operator's own. OLM knows no
	// such conditions.
	if _, own := asked.Annotations[appsv1.AnnotationEvictedBy]; own {
		return admission.Allowed(""), nil
	}
	var pod corev1.Pod
	if err := h.Live.Get(ctx, key, &pod); err != nil {
		return admission.Response{}, fmt.Errorf("read pod %s: %w", key, err)
	}
	owner := ours(&pod)
	if owner == nil || isAnother(asked, &pod) {
		return admission.Allowed(""), nil
	}
	var pm appsv1.PodManager
	if err := h.Live.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: owner.Name}, &pm); err != nil {
		return admission.Response{}, fmt.Errorf("read PodManager %s/%s: %w", key.Namespace, owner.Name, err)
	}
	if _, takesOver := pm.Annotations[appsv1.AnnotationTakeOver]; takesOver ||
		pm.UID != owner.UID || pm.DeletionTimestamp != nil || pm.Spec.Disruption.Policy != appsv1.DisruptionSurgeFirst {
		return admission.Allowed(""), nil
	}
	if gone, err := h.isReplaced(ctx, &pm, &pod); gone || err != nil {
		return isGone(&pod), err
	}
	if !serves(&pod) {
		return admission.Allowed(""), nil
	}
	if len(pm.Spec.VolumeClaimTemplates) > 0 {
		return admission.Allowed("").WithWarnings(fmt.Sprintf("pod %s is evicted before it is replaced: PodManager %s has volumeClaimTemplates, "+
			"and a claim is for one pod at a time", pod.Name, pm.Name)), nil
	}
	return h.hold(ctx, &pm, &pod, dryRun)
}

// hold answers for a pod that has to be replaced first.
func (h *Handler) hold(ctx context.Context, pm *appsv1.PodManager, pod *corev1.Pod, dryRun bool) (admission.Response, error) {
	now := h.Clock.Now()
	r := requestOf(pm, pod, now)
	if r.isOver(now) {
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"pod %s is evicted although no replacement is available: the eviction was asked for at %s, and disruption.deadlineSeconds of PodManager %s is %d",
			pod.Name, at(r.since), pm.Name, int(r.deadline.Seconds()))), nil
	}
	if dryRun { // 429 would have kubectl drain --dry-run=server try for ever
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"pod %s would not be evicted at once: PodManager %s makes a replacement first, for which an eviction waits for at most %s",
			pod.Name, pm.Name, r.deadline)), nil
	}
	if !r.isLive(now) {
		r.since = now
		if err := h.note(ctx, pod, now); err != nil {
			return admission.Response{}, err
		}
	}
	return wait(pod, h.sentence(ctx, pm, pod, r)), nil
}

// note writes onto the pod since when its eviction waits.
func (h *Handler) note(ctx context.Context, pod *corev1.Pod, now time.Time) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         pod.UID,
		"annotations": map[string]string{appsv1.AnnotationEvictionRequested: at(now)},
	}})
	if err != nil {
		return fmt.Errorf("note the eviction of pod %s: %w", pod.Name, err)
	}
	if err := h.Writer.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("note the eviction of pod %s: %w", pod.Name, err)
	}
	return nil
}

// ours is the pod's controller, if that is a PodManager.
func ours(pod *corev1.Pod) *metav1.OwnerReference {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || ref.Kind != desired.PodManagerGVK.Kind {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != desired.PodManagerGVK.Group {
		return nil
	}
	return ref
}

// isAnother: the eviction names a pod that is gone, and the API server will say so.
func isAnother(asked *policyv1.Eviction, pod *corev1.Pod) bool {
	if asked.DeleteOptions == nil || asked.DeleteOptions.Preconditions == nil {
		return false
	}
	uid := asked.DeleteOptions.Preconditions.UID
	return uid != nil && *uid != pod.UID
}

// serves: the end of the pod would cost something.
func serves(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && observe.Ready(pod) }

// wait is the answer of a PodDisruptionBudget. It has no time after which to try
// again: client-go would do so by itself, and not show the sentence.
func wait(pod *corev1.Pod, sentence string) admission.Response {
	return refuse(pod, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, sentence)
}

func refuse(pod *corev1.Pod, code int32, reason metav1.StatusReason, sentence string) admission.Response {
	response := admission.Denied("")
	response.Result = &metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: sentence,
		Details: &metav1.StatusDetails{Kind: "pods", Name: pod.Name, UID: pod.UID},
	}
	return response
}
