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

package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// kubelet is the nodes and the scheduler: it binds pods to a node that exists,
// runs them, follows changes of their spec and ends them. What a node had that
// is gone stays as it was.
type kubelet struct {
	server *Server
	client client.Client
	// ahead is by how much the node's clock is ahead of all others.
	ahead time.Duration
	// failures is how often a pod failed, and most how often pods do before they run;
	// 0 is for ever.
	failures, most int
}

func (k *kubelet) next() time.Time { return time.Time{} }

// busy reports whether a pod needs the kubelet, and for what.
func (k *kubelet) busy(pod *corev1.Pod) string {
	switch {
	case pod.Spec.NodeName != "" && k.server.objects[objectKey{kind: "Node", name: pod.Spec.NodeName}] == nil:
	case pod.DeletionTimestamp != nil:
		if pod.Spec.NodeName != "" && ptr.Deref(pod.DeletionGracePeriodSeconds, 0) > 0 {
			return "ends"
		}
	case pod.Spec.NodeName == "":
		if len(k.server.objectsOf("Node")) > 0 && k.hasClaims(pod) {
			return "binds"
		}
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
	case pod.Status.ObservedGeneration != pod.Generation:
		return "runs"
	}
	return ""
}

// hasClaims: a pod is bound only when its volume claims are there to stay.
func (k *kubelet) hasClaims(pod *corev1.Pod) bool {
	for _, name := range claimsOf(pod) {
		claim, err := k.server.get(objectKey{"PersistentVolumeClaim", pod.Namespace, name})
		if err != nil || claim.GetDeletionTimestamp() != nil {
			return false
		}
	}
	return true
}

func claimsOf(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
	}
	return names
}

// step does for a pod what it needs.
func (k *kubelet) step(pod *corev1.Pod) error {
	pod = pod.DeepCopy()
	ctx := context.Background()
	switch k.busy(pod) {
	case "ends":
		return k.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	case "binds":
		node := k.server.objectsOf("Node")[0].GetName()
		return k.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})
	case "runs":
		k.run(pod)
		return k.client.Status().Update(ctx, pod)
	}
	return nil
}

func (k *kubelet) run(pod *corev1.Pod) {
	ready := corev1.ConditionTrue
	old := pod.Status.ContainerStatuses
	pod.Status.ContainerStatuses = nil
	pod.Status.Phase = corev1.PodRunning
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: "sha-" + c.Image, ContainerID: fmt.Sprintf("%s-%d", pod.UID, pod.Generation)}
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(k.server.now().Add(k.ahead))}
		if i < len(old) {
			status.RestartCount = old[i].RestartCount
			if old[i].Image == c.Image {
				status.ContainerID, status.State = old[i].ContainerID, old[i].State
			} else {
				status.RestartCount++
			}
		}
		if c.Image == scenario.FailingImage && (k.most == 0 || k.failures < k.most) {
			k.failures++
			status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(k.server.now().Add(k.ahead))}}
			ready = corev1.ConditionFalse
			pod.Status.Phase = corev1.PodFailed
		}
		if strings.Contains(c.Image, ".invalid/") {
			status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
			status.Image, status.ImageID, status.ContainerID = c.Image, "", ""
			ready = corev1.ConditionFalse
			pod.Status.Phase = corev1.PodPending
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	since := metav1.NewTime(k.server.now().Add(k.ahead))
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == ready {
			since = c.LastTransitionTime
		}
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp},
		{Type: corev1.PodReady, Status: ready, LastTransitionTime: since},
	}
	pod.Status.ObservedGeneration = pod.Generation
}

// claimProtection is the finalizer that keeps a claim while a pod on a node uses
// it.
const claimProtection = "kubernetes.io/pvc-protection"

// collector is the garbage collector, and the controller that protects claims in
// use.
type collector struct {
	server *Server
	client client.Client
}

// garbage finds the first object that the collector has something to do with.
func (g *collector) garbage() client.Object {
	owners := map[types.UID]bool{}
	for _, obj := range g.server.objectsOf("PodManager") {
		owners[obj.GetUID()] = true
		if slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents) && obj.GetDeletionTimestamp() != nil {
			return obj
		}
		if slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents) && obj.GetDeletionTimestamp() != nil {
			if found := g.foreground(obj); found != nil {
				return found
			}
		}
	}
	for _, kind := range []string{"Pod", "ControllerRevision"} {
		for _, obj := range g.server.objectsOf(kind) {
			refs := obj.GetOwnerReferences()
			dangling := len(refs) > 0 && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.Kind != "PodManager" || owners[r.UID] })
			if dangling && obj.GetDeletionTimestamp() == nil {
				return obj
			}
		}
	}
	for _, obj := range g.server.objectsOf("PersistentVolumeClaim") {
		if obj.GetDeletionTimestamp() != nil && !g.inUse(obj) {
			return obj
		}
	}
	return nil
}

// foreground is what there is to do for an owner that is deleted in the foreground:
// its dependents go, and it goes when none is left that blocks it.
func (g *collector) foreground(owner client.Object) client.Object {
	blocked := false
	for _, kind := range []string{"Pod", "ControllerRevision"} {
		for _, obj := range g.server.objectsOf(kind) {
			at := slices.IndexFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
			if at < 0 {
				continue
			}
			if obj.GetDeletionTimestamp() == nil {
				return obj
			}
			blocked = blocked || ptr.Deref(obj.GetOwnerReferences()[at].BlockOwnerDeletion, false)
		}
	}
	if blocked {
		return nil
	}
	return owner
}

func (g *collector) inUse(claim client.Object) bool {
	return slices.ContainsFunc(g.server.objectsOf("Pod"), func(obj client.Object) bool {
		pod := obj.(*corev1.Pod)
		return pod.Spec.NodeName != "" && slices.Contains(claimsOf(pod), claim.GetName())
	})
}

// step collects an object, or lets go of the dependents of one that is deleted
// with --cascade=orphan.
func (g *collector) step(obj client.Object) error {
	ctx := context.Background()
	if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
		free := claim.DeepCopy()
		free.Finalizers = nil
		return g.client.Update(ctx, free)
	}
	if slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		done := copyOf(obj)
		done.SetFinalizers(slices.DeleteFunc(done.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
		return g.client.Update(ctx, done)
	}
	if len(obj.GetOwnerReferences()) > 0 {
		uid := obj.GetUID()
		return g.client.Delete(ctx, obj, client.Preconditions{UID: &uid})
	}
	for _, kind := range []string{"Pod", "ControllerRevision"} {
		for _, dependent := range g.server.objectsOf(kind) {
			if !slices.ContainsFunc(dependent.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == obj.GetUID() }) {
				continue
			}
			free := copyOf(dependent)
			free.SetOwnerReferences(slices.DeleteFunc(free.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == obj.GetUID() }))
			return g.client.Update(ctx, free)
		}
	}
	done := copyOf(obj)
	done.SetFinalizers(slices.DeleteFunc(done.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerOrphanDependents }))
	return g.client.Update(ctx, done)
}
