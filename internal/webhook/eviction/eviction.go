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
// It never makes a drain impossible: an eviction is let through when the deadline, or
// the operator's own maximum, is over, and whenever something does not work. When the
// drain first asked is kept in the pod's status, where a tenant does not set it back.
package eviction

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	Writer interface {
		client.Writer
		client.StatusClient
	}
	Clock clock.PassiveClock
	Scope preflight.Scope
	// MaxHold is for how long an eviction is held at most; zero is desired.DefaultMaxHold.
	MaxHold time.Duration
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
	if apierrors.IsConflict(err) { // the pod is another since it was read
		response, err = h.answer(ctx, key, &asked, isDryRun(req, &asked))
	}
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
	uid := namedUID(asked)
	if owner == nil || uid != "" && uid != pod.UID { // of another pod the API server will say that it is gone
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
	if uid == "" && !dryRun { // one who tries has not tried before
		if gone, err := h.isReplaced(ctx, &pod); gone || err != nil {
			return isGone(&pod), err
		}
	}
	if !serves(&pod) {
		return admission.Allowed(""), nil
	}
	if len(pm.Spec.VolumeClaimTemplates) > 0 {
		return admission.Allowed("").WithWarnings(fmt.Sprintf("pod %s is evicted before it is replaced: PodManager %s has volumeClaimTemplates, "+
			"and a claim is for one pod at a time", pod.Name, pm.Name)), nil
	}
	return h.holdIfNeeded(ctx, &pm, &pod, asked, dryRun)
}

// holdIfNeeded lets pods through for which no replacement is made because none is
// needed: those of no slot of the fleet, and of a fleet that has no pods to keep. One
// that stands in for others goes when they are available, as the operator sees it.
func (h *Handler) holdIfNeeded(ctx context.Context, pm *appsv1.PodManager, pod *corev1.Pod, asked *policyv1.Eviction, dryRun bool) (admission.Response, error) {
	whole := desired.PodManager(pm)
	f := fleet{pm: pm, desired: &whole.Desired}
	if f.desired.Disruption.MaxSurge == 0 || !whole.Selector.Matches(labels.Set(pod.Labels)) {
		return admission.Allowed(""), nil
	}
	if !f.keeps(pod) && pod.Annotations[appsv1.AnnotationSurge] != "true" {
		pods, err := h.podsOf(ctx, pm)
		if err != nil || f.complete(pods) {
			return admission.Allowed(""), err
		}
	}
	return h.hold(ctx, f, pod, asked, dryRun)
}

// hold answers for a pod that is still needed.
func (h *Handler) hold(ctx context.Context, f fleet, pod *corev1.Pod, asked *policyv1.Eviction, dryRun bool) (admission.Response, error) {
	now, pm := h.Clock.Now(), f.pm
	r := requestOf(pm, pod, now, h.MaxHold)
	if !dryRun {
		if err := h.remember(ctx, pod, &r, asked, now); err != nil {
			return admission.Response{}, err
		}
	}
	if r.isOver(now) {
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"the eviction of pod %s is held no longer, and only a PodDisruptionBudget can refuse it: it was asked for at %s, and %s; %s",
			pod.Name, at(r.first), r.limit(pm), h.progress(ctx, f, pod, r))), nil
	}
	if dryRun { // 429 would have kubectl drain --dry-run=server try for ever
		waits := fmt.Sprintf("PodManager %s makes a replacement first", pm.Name)
		if !f.keeps(pod) {
			waits = "it stands in for others of the fleet"
		}
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"pod %s would not be evicted at once: %s, for which an eviction waits for at most %s", pod.Name, waits, r.deadline)), nil
	}
	return wait(pod, h.sentence(ctx, f, pod, r)), nil
}

// graceOf is the grace period that is asked for, as it is written, or empty.
func graceOf(asked *policyv1.Eviction) string {
	if asked.DeleteOptions == nil || asked.DeleteOptions.GracePeriodSeconds == nil {
		return ""
	}
	return strconv.FormatInt(*asked.DeleteOptions.GracePeriodSeconds, 10)
}

// shorter is the shorter one of two grace periods: of two clients that drain a node,
// each would write its own at every attempt.
func shorter(a, b string) string {
	was, err := strconv.ParseInt(b, 10, 64)
	if err != nil {
		return a
	}
	if is, err := strconv.ParseInt(a, 10, 64); err == nil && is < was {
		return a
	}
	return b
}

// note writes onto the pod since when its eviction waits, and how it is to end.
func (h *Handler) note(ctx context.Context, pod *corev1.Pod, since time.Time, grace string) error {
	annotations := map[string]any{appsv1.AnnotationEvictionRequested: at(since), appsv1.AnnotationEvictionGrace: nil}
	if grace != "" {
		annotations[appsv1.AnnotationEvictionGrace] = grace
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": annotations}})
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
