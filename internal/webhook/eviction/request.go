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
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// probes is how exactly the last attempt of a drain is kept.
const probes = time.Minute

// request is an eviction that waits. since is the planner's, as the annotation on the
// pod says; it begins anew while a client goes on after the deadline, so that the pod
// that stands in stays. first and last are the drain's, as the pod's status says, where
// the tenant cannot write: the answer follows from them. Zero times mean none.
type request struct {
	since, first, last time.Time
	deadline           time.Duration
	cut                bool // by the maximum
	// longest is the longest deadline under which this drain asked, and noted what of it the
	// pod's status says: a shorter one does not make it another drain.
	longest, noted time.Duration
}

// requestOf reads the pod. A time in the annotation that cannot be read, that is still
// to come or that is long past counts as none. A drain is over when it has not asked
// for LetThrough, after its longest deadline: the next attempt is that of another.
func requestOf(pm *appsv1.PodManager, pod *corev1.Pod, now time.Time, most time.Duration) request {
	var r request
	r.deadline, r.cut = desired.EvictionDeadline(pm, most)
	since, err := time.Parse(time.RFC3339, pod.Annotations[appsv1.AnnotationEvictionRequested])
	if err == nil && !since.After(now) && now.Before(since.Add(r.deadline).Add(plan.LetThrough)) {
		r.since, r.first = since, since
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type != appsv1.PodEvictionRequested || c.LastTransitionTime.After(now) {
			continue
		}
		first, last := c.LastTransitionTime.Time, c.LastProbeTime.Time
		noted := notedIn(c)
		lately := first.Add(max(r.deadline, noted))
		if last.After(lately) {
			lately = last
		}
		if now.Before(lately.Add(plan.LetThrough)) {
			r.noted = noted
			if r.first.IsZero() || first.Before(r.first) {
				r.first = first
			}
		}
		if !r.first.IsZero() {
			r.last = last
		}
	}
	r.longest = max(r.deadline, r.noted)
	return r
}

// notedIn reads the longest deadline from the pod's status; what is not there is 0.
func notedIn(c *corev1.PodCondition) time.Duration {
	d, err := time.ParseDuration(strings.TrimPrefix(c.Message, waitsAtMost))
	if err != nil {
		return 0
	}
	return d
}

// waitsAtMost comes before the longest deadline in the message of the condition.
const waitsAtMost = "the eviction waits for at most "

// end is when the eviction is let through.
func (r request) end() time.Time { return r.first.Add(r.deadline) }

// isOver: it has waited long enough.
func (r request) isOver(now time.Time) bool { return !r.first.IsZero() && !now.Before(r.end()) }

// limit says why it waits no longer.
func (r request) limit(pm *appsv1.PodManager) string {
	if r.cut {
		return fmt.Sprintf("the operator's --max-eviction-hold is %s", r.deadline)
	}
	return fmt.Sprintf("disruption.deadlineSeconds of PodManager %s is %d", pm.Name, int(r.deadline.Seconds()))
}

// remember writes onto the pod what is new: that a drain asks, for the answer, and
// since when its eviction waits and how it is to end, for the planner.
func (h *Handler) remember(ctx context.Context, pod *corev1.Pod, r *request, asked *policyv1.Eviction, now time.Time) error {
	now = now.Truncate(time.Second)
	if r.first.IsZero() {
		r.first = now
	}
	if now.Sub(r.last) >= probes || r.longest > r.noted {
		if err := h.probe(ctx, pod, r, now); err != nil {
			return err
		}
	}
	noted := pod.Annotations[appsv1.AnnotationEvictionGrace]
	anew := r.since.IsZero()
	if anew {
		r.since, noted = now, ""
	}
	if grace := shorter(graceOf(asked), noted); anew || grace != noted {
		return h.note(ctx, pod, r.since, grace)
	}
	return nil
}

// probe writes into the pod's status when a drain asked first and last, and its longest deadline.
func (h *Handler) probe(ctx context.Context, pod *corev1.Pod, r *request, last time.Time) error {
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{"conditions": []map[string]any{{
			"type": appsv1.PodEvictionRequested, "status": corev1.ConditionTrue, "lastTransitionTime": at(r.first), "lastProbeTime": at(last),
			"reason": appsv1.WhyEvictionRequested, "message": waitsAtMost + r.longest.String(),
		}}},
	})
	if err != nil {
		return fmt.Errorf("note the drain of pod %s: %w", pod.Name, err)
	}
	if err := h.Writer.Status().Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, raw)); err != nil {
		return fmt.Errorf("note the drain of pod %s: %w", pod.Name, err)
	}
	return nil
}

// at is how times are written, in whole seconds.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
