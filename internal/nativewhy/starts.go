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

package nativewhy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// waitings are the reasons for which a kubelet keeps a container waiting, and
// what they come from.
var waitings = map[string]Cause{
	"ErrImagePull": ImagePull, "ImagePullBackOff": ImagePull, "ErrImageNeverPull": ImagePull, "InvalidImageName": ImagePull,
	"ImageInspectError": ImagePull, "RegistryUnavailable": ImagePull, "SignatureValidationFailed": ImagePull,
	"CreateContainerConfigError": ContainerConfig, "CreateContainerError": ContainerConfig, "RunContainerError": ContainerConfig,
	"PreCreateHookError": ContainerConfig, "PostStartHookError": ContainerConfig,
}

// starts are pods that cannot start.
func starts(f *Facts) []Answer {
	var answers []Answer
	for i := range f.Pods {
		p := &f.Pods[i]
		a, ok := notStarted(p)
		if !ok {
			continue
		}
		a.Pods, a.Certainty = []string{p.Name}, Sure
		answers = append(answers, a)
	}
	return answers
}

func notStarted(p *corev1.Pod) (Answer, bool) {
	if p.DeletionTimestamp != nil {
		return Answer{}, false
	}
	if a, ok := refusedByNode(p); ok {
		return a, true
	}
	if c := podCondition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		a := Answer{Time: c.LastTransitionTime.Time, Evidence: "condition PodScheduled, reason " + c.Reason}
		switch c.Reason {
		case corev1.PodReasonUnschedulable:
			a.Cause, a.Text = Unschedulable, "cannot be scheduled: "+c.Message
		case corev1.PodReasonSchedulingGated:
			a.Cause, a.Text = SchedulingGated, "has scheduling gates: "+gates(p)
		default:
			return Answer{}, false
		}
		return a, true
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := s.State.Waiting
		if w == nil || waitings[w.Reason] == "" {
			continue
		}
		a := Answer{Time: p.CreationTimestamp.Time, Cause: waitings[w.Reason], Evidence: "state.waiting of the container is " + w.Reason}
		if c := podCondition(p, corev1.ContainersReady); c != nil {
			a.Time = c.LastTransitionTime.Time
		}
		if a.Cause == ImagePull {
			a.Text = fmt.Sprintf("container %s: image %s cannot be pulled: %s", s.Name, s.Image, w.Message)
		} else {
			a.Text = fmt.Sprintf("container %s cannot be made: %s", s.Name, w.Message)
		}
		return a, true
	}
	return Answer{}, false
}

// refusedByNode: a kubelet did not take a pod that was placed on its node. It
// ran nothing of it.
func refusedByNode(p *corev1.Pod) (Answer, bool) {
	r := p.Status.Reason
	refused := strings.HasPrefix(r, "OutOf") || slices.Contains([]string{
		"NodeAffinity", "NodeName", "NodePorts", "UnexpectedAdmissionError", "TaintToleration", "TopologyAffinityError", "PodOSNotSupported",
	}, r)
	if p.Status.Phase != corev1.PodFailed || !refused {
		return Answer{}, false
	}
	return Answer{
		Time: p.CreationTimestamp.Time, Cause: RefusedByNode, Evidence: "status.reason " + r,
		Text: "refused by node " + p.Spec.NodeName + ": " + p.Status.Message,
	}, true
}

func gates(p *corev1.Pod) string {
	var names []string
	for _, g := range p.Spec.SchedulingGates {
		names = append(names, g.Name)
	}
	return strings.Join(names, ", ")
}
