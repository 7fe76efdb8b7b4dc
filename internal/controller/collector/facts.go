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

package collector

import (
	"slices"
	"strconv"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// version reads a resourceVersion as a number; 0 where it is none.
func version(obj client.Object) uint64 {
	n, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// podFacts takes from a pod what the book keeps.
func podFacts(p *corev1.Pod) pod {
	facts := pod{
		uid:         p.UID,
		controller:  controllerOf(p),
		version:     version(p),
		ended:       p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded,
		terminating: p.DeletionTimestamp != nil,
	}
	for _, ip := range p.Status.PodIPs {
		facts.ips = append(facts.ips, ip.IP)
	}
	if len(facts.ips) == 0 && p.Status.PodIP != "" {
		facts.ips = []string{p.Status.PodIP}
	}
	return facts
}

func controllerOf(obj client.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return ref.UID
	}
	return ""
}

// workloadFacts are what a book keeps of a workload, and whether it is one to
// count: by its own labels or by those of the pods that it makes.
func workloadFacts(selector labels.Selector, seen thing) (facts workload, matching bool) {
	facts = *seen.workload
	if selector.Matches(seen.podLabels) {
		return facts, true
	}
	facts.want = -1
	return facts, selector.Matches(seen.labels)
}

func factsOf(obj client.Object) (facts workload, podLabels map[string]string) {
	facts = workload{
		uid: obj.GetUID(), namespace: obj.GetNamespace(), name: obj.GetName(),
		version: version(obj), generation: obj.GetGeneration(), deleting: obj.GetDeletionTimestamp() != nil,
	}
	var spec any
	switch w := obj.(type) {
	case *kappsv1.Deployment:
		facts.kind, spec, podLabels = "Deployment", &w.Spec, w.Spec.Template.Labels
		facts.want, facts.atGoal = deploymentGoal(w)
	case *kappsv1.ReplicaSet:
		facts.kind, spec, podLabels = "ReplicaSet", &w.Spec, w.Spec.Template.Labels
		facts.want, facts.atGoal = replicaSetGoal(w)
		if ref := metav1.GetControllerOfNoCopy(w); ref != nil && ref.Kind == "Deployment" {
			facts.parent, spec = ref.UID, nil
		}
	case *kappsv1.StatefulSet:
		facts.kind, spec, podLabels = "StatefulSet", &w.Spec, w.Spec.Template.Labels
		facts.want, facts.atGoal = statefulSetGoal(w)
	case *kappsv1.DaemonSet:
		facts.kind, spec, podLabels = "DaemonSet", &w.Spec, w.Spec.Template.Labels
		facts.want, facts.atGoal = daemonSetGoal(w)
	case *appsv1.PodManager:
		facts.kind, spec = "PodManager", &w.Spec
		podLabels = podrender.Template(w.Name, w.Spec.Image, w.Spec.Template).Labels // a copy
		podLabels[appsv1.LabelName] = w.Name
		facts.want, facts.atGoal = podManagerGoal(w)
	}
	if spec != nil {
		facts.spec = store(spec)
	}
	return facts, podLabels
}

// The goals: how many pods a workload wants, and whether its status says that
// all of them are there and right.

func deploymentGoal(d *kappsv1.Deployment) (int, bool) {
	want, s := ptr.Deref(d.Spec.Replicas, 1), &d.Status
	return int(want), s.ObservedGeneration >= d.Generation && s.Replicas == want && s.AvailableReplicas == want &&
		(d.Spec.Paused || s.UpdatedReplicas == want)
}

func replicaSetGoal(r *kappsv1.ReplicaSet) (int, bool) {
	want, s := ptr.Deref(r.Spec.Replicas, 1), &r.Status
	return int(want), s.ObservedGeneration >= r.Generation && s.Replicas == want && s.AvailableReplicas == want
}

func statefulSetGoal(set *kappsv1.StatefulSet) (int, bool) {
	want, s := ptr.Deref(set.Spec.Replicas, 1), &set.Status
	return int(want), s.ObservedGeneration >= set.Generation && s.Replicas == want && s.AvailableReplicas == want &&
		(heldBack(set) || s.UpdatedReplicas == want)
}

func daemonSetGoal(d *kappsv1.DaemonSet) (int, bool) {
	s := &d.Status
	want := s.DesiredNumberScheduled
	onDelete := d.Spec.UpdateStrategy.Type == kappsv1.OnDeleteDaemonSetStrategyType
	return int(want), s.ObservedGeneration >= d.Generation && s.NumberAvailable == want &&
		s.CurrentNumberScheduled == want && s.NumberMisscheduled == 0 && (onDelete || s.UpdatedNumberScheduled == want)
}

func podManagerGoal(pm *appsv1.PodManager) (int, bool) {
	s := &pm.Status
	ready := meta.FindStatusCondition(s.Conditions, appsv1.ConditionReady)
	// A pause, a pin or the strategy OnDelete may keep pods on the old revision for ever.
	stays := []string{appsv1.ReasonPaused, appsv1.ReasonPinned, appsv1.ReasonOnDelete}
	settled := ready != nil && (ready.Status == metav1.ConditionTrue || slices.Contains(stays, ready.Reason))
	return int(desired.Replicas(pm)), settled && s.ObservedGeneration >= pm.Generation &&
		!meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling)
}

// heldBack: pods of the old revision may stay for ever.
func heldBack(s *kappsv1.StatefulSet) bool {
	update := s.Spec.UpdateStrategy
	return update.Type == kappsv1.OnDeleteStatefulSetStrategyType ||
		update.RollingUpdate != nil && ptr.Deref(update.RollingUpdate.Partition, 0) > 0
}
