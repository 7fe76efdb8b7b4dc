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

package helloworld

import (
	"fmt"
	"slices"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	fleetreport "github.com/mycompany/pod-operator/internal/report"
)

// state is a reason with its sentence.
type state struct{ reason, message string }

// report is the status that follows from what was seen. blocked says what keeps
// the Deployment from being ours or right; deployment is nil where there is
// none of ours.
func report(hw *testv1alpha1.HelloWorld, deployment *kappsv1.Deployment, nodes []string, blocked *state, now time.Time) testv1alpha1.HelloWorldStatus {
	status := *hw.Status.DeepCopy()
	status.ObservedGeneration = hw.Generation
	status.Selector = labels.Set{testv1alpha1.LabelName: hw.Name}.String()
	status.Nodes, status.Replicas, status.ReadyReplicas = nil, 0, 0
	if deployment != nil {
		status.Nodes = nodes
		status.Replicas = deployment.Status.Replicas
		status.ReadyReplicas = deployment.Status.ReadyReplicas
	}
	stalled := blocked
	if stalled == nil {
		stalled = stalledBy(deployment, desired.HelloWorldSize(hw))
	}
	var reconciling *state
	if stalled == nil {
		reconciling = reconcilingBy(deployment, desired.HelloWorldSize(hw))
	}
	set := func(kind string, s *state, positive bool) {
		if s == nil {
			meta.RemoveStatusCondition(&status.Conditions, kind)
			return
		}
		c := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: s.reason, Message: fleetreport.Fit(s.message),
			ObservedGeneration: hw.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		}
		if positive {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, c)
	}
	set(testv1alpha1.ConditionStalled, stalled, true)
	set(testv1alpha1.ConditionReconciling, reconciling, true)
	switch {
	case stalled != nil:
		set(testv1alpha1.ConditionReady, stalled, false)
	case reconciling != nil:
		set(testv1alpha1.ConditionReady, reconciling, false)
	default:
		set(testv1alpha1.ConditionReady, &state{testv1alpha1.ReasonAvailable, availability(deployment, desired.HelloWorldSize(hw))}, true)
	}
	return status
}

func availability(d *kappsv1.Deployment, size int32) string {
	return fmt.Sprintf("%d of %d pods are available", d.Status.AvailableReplicas, size)
}

// stalledBy reads from the Deployment what will not move without help.
func stalledBy(d *kappsv1.Deployment, size int32) *state {
	if d == nil || d.Status.ObservedGeneration < d.Generation {
		return nil
	}
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == kappsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			return &state{testv1alpha1.ReasonReplicaFailure, c.Message}
		case c.Type == kappsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			return &state{testv1alpha1.ReasonDeadlineExceeded, c.Message}
		}
	}
	if d.Spec.Paused && d.Status.UpdatedReplicas < size {
		return &state{testv1alpha1.ReasonPaused, "the Deployment is paused, so its pods do not follow: kubectl rollout resume deployment/" + d.Name}
	}
	return nil
}

// reconcilingBy says what is under way, or nil when the goal is reached.
func reconcilingBy(d *kappsv1.Deployment, size int32) *state {
	switch {
	case d == nil:
		return &state{testv1alpha1.ReasonProgressing, "the Deployment is being created"}
	case d.DeletionTimestamp != nil:
		return &state{testv1alpha1.ReasonProgressing, "the Deployment is being deleted and is made again when it is gone"}
	case d.Status.ObservedGeneration < d.Generation:
		return &state{testv1alpha1.ReasonProgressing, "the Deployment's controller has not seen the change yet"}
	case d.Status.AvailableReplicas != size || d.Status.UpdatedReplicas != size || d.Status.Replicas != size:
		return &state{testv1alpha1.ReasonProgressing, availability(d, size)}
	}
	return nil
}

// nodeNames are the names of the Deployment's pods that run or will run. A pod
// is the Deployment's when its ReplicaSet is: that one is named after both.
func nodeNames(hw *testv1alpha1.HelloWorld, pods []corev1.Pod) []string {
	var names []string
	for i := range pods {
		pod := &pods[i]
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil || ref.Kind != "ReplicaSet" || ref.Name != hw.Name+"-"+pod.Labels[kappsv1.DefaultDeploymentUniqueLabelKey] {
			continue
		}
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), testv1alpha1.MaxNodes)]
}
