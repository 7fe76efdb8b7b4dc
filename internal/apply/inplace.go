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

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// podPatch is a strategic merge patch of a pod: containers and conditions are
// merged by name and type. The UID makes it fail on a successor of the pod that
// was meant, and the resourceVersion on a pod that was changed since, above all
// on one that was asked to go: a patch that meets a pod in the moment of its
// end makes the API server delete by name, and its successor has that name.
type podPatch struct {
	Metadata patchMeta    `json:"metadata"`
	Spec     *patchSpec   `json:"spec,omitempty"`
	Status   *patchStatus `json:"status,omitempty"`
}

type patchMeta struct {
	UID             types.UID          `json:"uid"`
	ResourceVersion string             `json:"resourceVersion,omitempty"`
	Labels          map[string]*string `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

type patchSpec struct {
	Containers     []patchContainer `json:"containers,omitempty"`
	InitContainers []patchContainer `json:"initContainers,omitempty"`
}

type patchContainer struct {
	Name      string                       `json:"name"`
	Image     string                       `json:"image,omitempty"`
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

type patchStatus struct {
	Conditions []corev1.PodCondition `json:"conditions"`
}

// send patches a pod, or one of its subresources.
func (r *run) send(ctx context.Context, action plan.Action, subresource string, body podPatch) error {
	body.Metadata.UID, body.Metadata.ResourceVersion = action.UID, r.version(action)
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the patch of pod %s: %w", action.Pod, err)
	}
	pod := podOf(r, action)
	patch := client.RawPatch(types.StrategicMergePatchType, raw)
	if subresource == "" {
		err = r.writer.Patch(ctx, pod, patch, client.FieldOwner(podrender.ManagedBy))
	} else {
		err = r.writer.SubResource(subresource).Patch(ctx, pod, patch, client.FieldOwner(podrender.ManagedBy))
	}
	if err != nil {
		err = r.explain(ctx, podOf(r, action), body.Metadata.ResourceVersion, err)
		return fmt.Errorf("%s %s/%s: %w", action.Verb, r.target.Ref.Namespace, action.Pod, err)
	}
	r.wrote(pod)
	r.ledger.Wrote(r.target.Ref.UID, pod)
	return nil
}

// version is the version of the pod that an action is right for: the one that
// was read, or the one that an earlier action of this run left.
func (r *run) version(action plan.Action) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if version, ok := r.versions[action.UID]; ok {
		return version
	}
	return action.ResourceVersion
}

func (r *run) wrote(pod *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions[pod.UID] = pod.ResourceVersion
}

// setGate writes the condition that our readiness gate asks for.
func (r *run) setGate(ctx context.Context, action plan.Action) error {
	status := corev1.ConditionTrue
	if action.Verb == plan.ShutGate {
		status = corev1.ConditionFalse
	}
	return r.send(ctx, action, "status", podPatch{Status: &patchStatus{Conditions: []corev1.PodCondition{{
		Type: appsv1.GateInService, Status: status, Reason: action.Why.Reason, Message: action.Why.Message,
		LastTransitionTime: metav1.NewTime(r.clock.Now().Truncate(time.Second)),
	}}}})
}

// resizePod changes cpu and memory through the resize subresource, from the size
// that the pod has.
func (r *run) resizePod(ctx context.Context, action plan.Action) error {
	from, to, err := r.templates(action)
	if err == nil && action.SizeOf != "" {
		from, err = r.target.Template(action.SizeOf)
	}
	if err != nil {
		return err
	}
	spec := patchSpec{
		Containers:     resized(from.Spec.Containers, to.Spec.Containers),
		InitContainers: resized(from.Spec.InitContainers, to.Spec.InitContainers),
	}
	before := r.version(action)
	if err := r.send(ctx, action, "resize", podPatch{Spec: &spec}); err != nil {
		return err
	}
	if action.SizeOf != "" && r.version(action) == before {
		return &keptSizeError{action.Pod}
	}
	return nil
}

// keptSizeError: the API server answered a resize with the pod as it was. The
// size differs, so an admission webhook put the old one back, and would again.
type keptSizeError struct{ pod string }

func (e *keptSizeError) Error() string {
	return "pod " + e.pod + " kept its size: an admission webhook changes the resize"
}

func resized(from, to []corev1.Container) []patchContainer {
	var patches []patchContainer
	for i := range to {
		old := slices.IndexFunc(from, func(c corev1.Container) bool { return c.Name == to[i].Name })
		if old < 0 {
			continue
		}
		before, after := podrender.Resources(&from[old]), podrender.Resources(&to[i])
		if !sameResources(&before, &after) {
			patches = append(patches, patchContainer{Name: to[i].Name, Resources: &after})
		}
	}
	return patches
}

func sameResources(a, b *corev1.ResourceRequirements) bool {
	same := func(x, y corev1.ResourceList) bool {
		return maps.EqualFunc(x, y, func(p, q resource.Quantity) bool { return p.Cmp(q) == 0 })
	}
	return same(a.Requests, b.Requests) && same(a.Limits, b.Limits)
}

// updatePod changes images, labels and annotations, and with them the revision
// label: from then on the pod counts as moved.
func (r *run) updatePod(ctx context.Context, action plan.Action) error {
	from, to, err := r.templates(action)
	if err != nil {
		return err
	}
	body := podPatch{Metadata: patchMeta{
		Labels:      replaced(from.Labels, to.Labels),
		Annotations: replaced(from.Annotations, to.Annotations),
	}}
	for key, value := range r.target.Ref.Labels {
		body.Metadata.Labels[key] = &value
	}
	body.Metadata.Labels[appsv1.LabelRevision] = &action.Revision
	if len(action.Replaced) > 0 {
		note, err := json.Marshal(action.Replaced)
		if err != nil {
			return fmt.Errorf("note the containers of pod %s: %w", action.Pod, err)
		}
		text := string(note)
		body.Metadata.Annotations[appsv1.AnnotationInPlace] = &text
	}
	containers := newImages(from.Spec.Containers, to.Spec.Containers)
	init := newImages(from.Spec.InitContainers, to.Spec.InitContainers)
	if len(containers)+len(init) > 0 {
		body.Spec = &patchSpec{Containers: containers, InitContainers: init}
	}
	return r.send(ctx, action, "", body)
}

func newImages(from, to []corev1.Container) []patchContainer {
	var patches []patchContainer
	for i := range to {
		old := slices.IndexFunc(from, func(c corev1.Container) bool { return c.Name == to[i].Name })
		if old >= 0 && from[old].Image != to[i].Image {
			patches = append(patches, patchContainer{Name: to[i].Name, Image: to[i].Image})
		}
	}
	return patches
}

// replaced sets what the new map has and takes away what only the old one had.
// Keys that others put on the pod stay.
func replaced(from, to map[string]string) map[string]*string {
	patch := map[string]*string{}
	for key := range from {
		patch[key] = nil
	}
	for key, value := range to {
		patch[key] = &value
	}
	return patch
}

func (r *run) templates(action plan.Action) (from, to *corev1.PodTemplateSpec, err error) {
	if from, err = r.target.Template(action.From); err != nil {
		return nil, nil, err
	}
	to, err = r.target.Template(action.Revision)
	return from, to, err
}

// tellHolder says on the pod what we want of it.
func (r *run) tellHolder(ctx context.Context, action plan.Action) error {
	var wanted *string
	if action.Wanted != "" {
		wanted = &action.Wanted
	}
	return r.send(ctx, action, "", podPatch{Metadata: patchMeta{Labels: map[string]*string{appsv1.LabelWanted: wanted}}})
}

// keepPod takes the marks off a pod that was made to stand in for others: it is one of the
// fleet's, and does not show whether a pod that is moved finds room.
func (r *run) keepPod(ctx context.Context, action plan.Action) error {
	return r.send(ctx, action, "", podPatch{Metadata: patchMeta{Annotations: map[string]*string{appsv1.AnnotationSurge: nil, appsv1.AnnotationRebalancedTo: nil}}})
}

// evictPod deletes a pod if its PodDisruptionBudgets allow.
func (r *run) evictPod(ctx context.Context, action plan.Action) error {
	pod := podOf(r, action)
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Annotations: map[string]string{appsv1.AnnotationEvictedBy: podrender.ManagedBy}},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: ptr.To(r.asRead(action)), GracePeriodSeconds: action.Grace},
	}
	err := r.writer.SubResource("eviction").Create(ctx, pod, eviction)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("evict pod %s: %w", client.ObjectKeyFromObject(pod), r.explain(ctx, pod, r.version(action), err))
	}
	r.ledger.TookAway(r.target.Ref.UID, pod)
	return nil
}
