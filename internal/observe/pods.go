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

package observe

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// Names of the cache's indexes.
const (
	// IndexPods finds a pod by its controller's UID or, where it has no
	// controller, by desired.OrphanKey.
	IndexPods = "fleet"
	// IndexPodsByNode finds pods by the node they are bound to.
	IndexPodsByNode = "node"
	// IndexClaims finds a volume claim by the fleet's label.
	IndexClaims = "fleet"
	// IndexRevisions finds a revision by its controller's UID.
	IndexRevisions = "controller"
)

// index is a way to find objects of one kind by a value.
type index struct {
	object client.Object
	field  string
	values func(client.Object) []string
}

// indexes are all the ways in which Observe looks things up. orphanLabels are
// the labels by which kinds recognise their orphans.
func indexes(orphanLabels []string) []index {
	return []index{
		{&corev1.Pod{}, IndexPods, podKeys(orphanLabels)},
		{&corev1.Pod{}, IndexPodsByNode, func(obj client.Object) []string {
			if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
				return []string{pod.Spec.NodeName}
			}
			return nil
		}},
		{&corev1.PersistentVolumeClaim{}, IndexClaims, func(obj client.Object) []string {
			return []string{obj.GetLabels()[appsv1.LabelName]}
		}},
		{&kappsv1.ControllerRevision{}, IndexRevisions, controllerKey},
	}
}

// podKeys finds a pod by its controller, or by the fleet that it may be an
// orphan of.
func podKeys(orphanLabels []string) func(client.Object) []string {
	return func(obj client.Object) []string {
		keys := controllerKey(obj)
		if keys != nil {
			return keys
		}
		for _, label := range orphanLabels {
			if value, ok := obj.GetLabels()[label]; ok {
				keys = append(keys, desired.OrphanKey(label, value))
			}
		}
		return keys
	}
}

func controllerKey(obj client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// AddIndexes registers the indexes that Observe reads.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer, orphanLabels ...string) error {
	for _, i := range indexes(orphanLabels) {
		if err := indexer.IndexField(ctx, i.object, i.field, i.values); err != nil {
			return err
		}
	}
	return nil
}

// describePod takes from a pod what the planner reads, and nothing else.
func describePod(desired *plan.Desired, pod *corev1.Pod, membership plan.Membership) plan.Pod {
	p := plan.Pod{
		Name:            pod.Name,
		UID:             pod.UID,
		ResourceVersion: pod.ResourceVersion,
		Membership:      membership,
		Slot:            plan.SlotOf(desired, pod.Name, pod.Labels[appsv1.LabelSlot]),
		Revision:        pod.Labels[appsv1.LabelRevision],
		Created:         pod.CreationTimestamp.Time,
		Phase:           pod.Status.Phase,
		Reason:          pod.Status.Reason,
		Terminating:     pod.DeletionTimestamp != nil,
		Node:            pod.Spec.NodeName,
		DeleteRequested: pod.Labels[appsv1.LabelDelete] == "true",
	}
	p.HoldDelete = holder(pod, appsv1.LabelHoldDelete)
	p.HoldUpdate = holder(pod, appsv1.LabelHoldUpdate)
	p.Wanted = pod.Labels[appsv1.LabelWanted]
	p.RebalancedTo = pod.Annotations[appsv1.AnnotationRebalancedTo]
	p.Surge = pod.Annotations[appsv1.AnnotationSurge] == "true"
	p.Replaces = pod.Annotations[appsv1.AnnotationReplaces]
	if pod.DeletionTimestamp != nil {
		grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
		p.DeletedAt = pod.DeletionTimestamp.Add(-grace)
		p.Ended = pod.DeletionGracePeriodSeconds != nil && grace == 0
		if len(pod.Finalizers) > 0 {
			p.KeptBy = pod.Finalizers[0]
		}
	}
	// A time that cannot be read asks for nothing.
	if at, err := time.Parse(time.RFC3339, pod.Annotations[appsv1.AnnotationEvictionRequested]); err == nil {
		p.EvictionRequested, p.EvictionGrace = at, graceOf(pod)
	}
	describeConditions(&p, pod)
	describeContainers(&p, pod)
	// The scheduler and the ReplicaSet controller read a bad cost as 0, too.
	if text, ok := pod.Annotations[corev1.PodDeletionCost]; ok {
		if cost, err := strconv.Atoi(text); err == nil {
			p.DeletionCost = cost
		}
	}
	if ended(p.Phase) {
		p.FailedAt = endedAt(pod)
	}
	return p
}

// graceOf is the grace period that was asked for with the pod's eviction, or nil.
func graceOf(pod *corev1.Pod) *int64 {
	seconds, err := strconv.ParseUint(pod.Annotations[appsv1.AnnotationEvictionGrace], 10, 31)
	if err != nil {
		return nil
	}
	return ptr.To(int64(seconds))
}

// Ready reports whether a pod is ready, as its kubelet says.
func Ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func ended(phase corev1.PodPhase) bool {
	return phase == corev1.PodFailed || phase == corev1.PodSucceeded
}

// holder names the holder of a pod: the value of a label, or a finalizer of the
// same name.
func holder(pod *corev1.Pod, name string) *string {
	if value, ok := pod.Labels[name]; ok {
		held := value // only what is held takes memory
		return &held
	}
	if slices.Contains(pod.Finalizers, name) {
		held := name
		return &held
	}
	return nil
}

func describeConditions(p *plan.Pod, pod *corev1.Pod) {
	if slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return g.ConditionType == appsv1.GateInService
	}) {
		p.Gate = plan.GateUnset
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		yes := c.Status == corev1.ConditionTrue
		switch {
		case c.Type == corev1.PodReady && yes:
			p.Ready, p.ReadySince = true, c.LastTransitionTime.Time
		case c.Type == corev1.PodReady:
			p.UnreadySince = c.LastTransitionTime.Time
		case c.Type == appsv1.GateInService && p.Gate != plan.GateNone && yes:
			p.Gate = plan.GateOpen
		case c.Type == appsv1.GateInService && p.Gate != plan.GateNone:
			p.Gate = plan.GateShut
		case (c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress) && yes:
			describeResize(p, c, followed(pod))
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			p.Waiting, p.Scheduler = unscheduled(c)
		}
	}
	if p.Resize == plan.ResizeNone && (!followed(pod) || !allocated(pod)) {
		// The kubelet has not answered yet, or tries again what it put off: then
		// it says for a moment that nothing is pending, and has done nothing.
		p.Resize = plan.ResizeInProgress
	}
}

// unscheduled is why a pod has no node. The scheduler also says that preemption would
// not help; the first half is enough.
func unscheduled(c *corev1.PodCondition) (reason, scheduler string) {
	if c.Reason == corev1.PodReasonSchedulingGated {
		return c.Reason, ""
	}
	why, _, _ := strings.Cut(c.Message, " preemption: ")
	if why = strings.TrimSuffix(why, "."); why == "" {
		why = c.Reason
	}
	return corev1.PodReasonUnschedulable, why
}

// allocated reports whether the node has set aside what a running pod asks for.
// Kubelets that do not say so are assumed to have.
func allocated(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodRunning ||
		allAllocated(pod.Spec.Containers, pod.Status.ContainerStatuses) &&
			allAllocated(pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
}

func allAllocated(containers []corev1.Container, statuses []corev1.ContainerStatus) bool {
	for i := range statuses {
		at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == statuses[i].Name })
		if at < 0 {
			continue
		}
		for _, what := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			has, told := statuses[i].AllocatedResources[what]
			if told && has.Cmp(containers[at].Resources.Requests[what]) != 0 {
				return false
			}
		}
	}
	return true
}

// describeResize takes over what the node says of a resize. Until the node has
// seen the newest size, its condition is about the size before.
func describeResize(p *plan.Pod, c *corev1.PodCondition, followed bool) {
	state := plan.ResizeDeferred
	switch {
	case c.Type == corev1.PodResizeInProgress && p.Resize != plan.ResizeNone:
		return // what is pending says more
	case c.Type == corev1.PodResizeInProgress || !followed:
		state = plan.ResizeInProgress
	case c.Reason == corev1.PodReasonInfeasible:
		state = plan.ResizeInfeasible
	}
	p.Resize, p.ResizeSince = state, c.LastTransitionTime.Time
}

// describeContainers says what runs and whether a change in place is done.
func describeContainers(p *plan.Pod, pod *corev1.Pod) {
	marks := inPlaceMarks(pod)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			status := &list[i]
			p.Restarts += int(status.RestartCount)
			at := slices.IndexFunc(marks, func(m plan.ContainerMark) bool { return m.Name == status.Name })
			marked := at >= 0
			var before plan.ContainerMark
			if marked {
				before = marks[at]
			}
			if p.Waiting == "" {
				p.Waiting = trouble(pod, status, before.ContainerID)
			}
			image, serves := servingImage(pod, status.Name)
			if !serves {
				continue
			}
			mark := plan.ContainerMark{Name: status.Name, ContainerID: status.ContainerID, ImageID: status.ImageID, Image: image}
			if marked && before.ContainerID == status.ContainerID {
				mark = before // the container is still the one before the change
			}
			p.Containers = append(p.Containers, mark)
			p.ReadySince = servingSince(p, status)
			if marked && !settled(before, status, image, pod) {
				change(p, settlesAt(before, status, pod))
			}
		}
	}
}

// servingSince is since when a pod has been ready with the container that it
// runs now. A kubelet that restarts one quickly, for a change in place say, need
// not take the pod's readiness back meanwhile.
func servingSince(p *plan.Pod, status *corev1.ContainerStatus) time.Time {
	if run := status.State.Running; p.Ready && run != nil && run.StartedAt.After(p.ReadySince) {
		return run.StartedAt.Time
	}
	return p.ReadySince
}

// servingImage is the image of a container that runs as long as the pod.
func servingImage(pod *corev1.Pod, name string) (image string, serves bool) {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return pod.Spec.Containers[i].Image, true
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && sidecar(c) {
			return c.Image, true
		}
	}
	return "", false
}

// sidecar: an init container that runs as long as the pod.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// trouble is why a container does not serve, if its status says so: what it
// waits for, or how its last run ended. A container in a crash loop waits most
// of the time, but an observation may find it ended or started again. The end
// of the run that a change in place replaced is no trouble.
func trouble(pod *corev1.Pod, status *corev1.ContainerStatus, replaced string) string {
	if w := status.State.Waiting; w != nil && troubled(w.Reason) {
		return w.Reason
	}
	ended := status.State.Terminated
	if run := status.State.Running; run != nil && !status.Ready && neverReady(pod, run.StartedAt.Time) {
		ended = status.LastTerminationState.Terminated
	}
	if ended == nil || ended.ExitCode == 0 || replaced != "" && ended.ContainerID == replaced {
		return ""
	}
	return ended.Reason
}

// troubled leaves out the reasons of a container that is merely starting.
func troubled(reason string) bool {
	return reason != "" && reason != "ContainerCreating" && reason != "PodInitializing"
}

// neverReady: the pod has not been ready since then. A pod that was is not
// unready by how an earlier run of its container ended.
func neverReady(pod *corev1.Pod, since time.Time) bool {
	return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.LastTransitionTime.After(since)
	})
}

// registry, repository and tag written out.
func sameImage(a, b string) bool { return fullImage(a) == fullImage(b) }

func fullImage(name string) string {
	registry, _, hasPath := strings.Cut(name, "/")
	if !hasPath {
		name = "library/" + name
	}
	if !hasPath || !strings.ContainsAny(registry, ".:") && registry != "localhost" {
		name = defaultRegistry + "/" + name
	}
	if !strings.ContainsAny(path.Base(name), ":@") {
		name += ":latest"
	}
	return name
}

// defaultRegistry is what container runtimes put before a short image name.
const defaultRegistry = "docker.io"

// endedAt is when a pod ended, as far as its status says: the last container
// that finished, else the last change of a condition (an evicted or rejected
// pod has no containers), else its creation.
func endedAt(pod *corev1.Pod) time.Time {
	latest := pod.CreationTimestamp.Time
	for i := range pod.Status.Conditions {
		if t := pod.Status.Conditions[i].LastTransitionTime.Time; t.After(latest) {
			latest = t
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil && end.FinishedAt.After(latest) {
			latest = end.FinishedAt.Time
		}
	}
	return latest
}
