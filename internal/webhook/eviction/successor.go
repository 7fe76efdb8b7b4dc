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
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
)

// retries is for how long clients may still try to evict a pod that is gone.
// kubectl drain tries every 5 s, the cluster autoscaler every 10 s.
const retries = 2 * time.Minute

// namedUID is the UID of the pod that the eviction is meant for, or empty where it
// goes by the name alone.
func namedUID(asked *policyv1.Eviction) types.UID {
	if asked.DeleteOptions == nil || asked.DeleteOptions.Preconditions == nil || asked.DeleteOptions.Preconditions.UID == nil {
		return ""
	}
	return *asked.DeleteOptions.Preconditions.UID
}

// isReplaced: the pod is new and was made in the place of another, and the client
// that evicts by name means that one. kubectl drain tries again by name and does not
// look at the UID: whatever took the pod that it waits for, be it the operator, a
// rollout or the end of the node, it would evict the successor from a node that
// stays. Those who drain a node cordon or taint it first: there the successor is
// meant.
func (h *Handler) isReplaced(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if pod.Annotations[appsv1.AnnotationReplaces] == "" || h.Clock.Since(pod.CreationTimestamp.Time) > retries {
		return false, nil
	}
	if pod.Spec.NodeName == "" {
		return true, nil
	}
	var node corev1.Node
	if err := h.Live.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node); err != nil {
		return false, fmt.Errorf("read node %s: %w", pod.Spec.NodeName, err)
	}
	return !node.Spec.Unschedulable && observe.Open(&node, pod.Spec.Tolerations), nil
}

// isGone ends the client's attempts: what it waits for has happened.
func isGone(pod *corev1.Pod) admission.Response {
	return refuse(pod, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf(
		"the pod %s that was to be evicted is gone; this is its replacement, on a node that is not cordoned. "+
			"To evict it too, name its UID or try again after %s", pod.Name, at(pod.CreationTimestamp.Add(retries))))
}
