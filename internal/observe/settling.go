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
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// inPlaceMarks are the containers that the last change in place replaced, as
// they were before it.
func inPlaceMarks(pod *corev1.Pod) []plan.ContainerMark {
	note, ok := pod.Annotations[appsv1.AnnotationInPlace]
	if !ok {
		return nil
	}
	var marks []plan.ContainerMark
	if err := json.Unmarshal([]byte(note), &marks); err != nil {
		return nil // edited by hand
	}
	return marks
}

// followed reports whether the pod's status is about its newest spec. Older
// kubelets do not say; theirs counts as new.
func followed(pod *corev1.Pod) bool {
	return pod.Status.ObservedGeneration == 0 || pod.Status.ObservedGeneration >= pod.Generation
}

// settled reports whether a container is as the spec wants it. A new container
// alone could be the old image restarted after a crash, so the image has to
// show it: by its name, by another image ID, or, where one image has several
// names, by the kubelet having seen the very spec we wrote. The old container
// is right where the image was taken back before the kubelet followed, or
// where a new size turned out to need no restart.
func settled(before plan.ContainerMark, now *corev1.ContainerStatus, image string, pod *corev1.Pod) bool {
	tells := pod.Status.ObservedGeneration > 0
	named := sameImage(image, now.Image)
	if now.ContainerID != before.ContainerID {
		return named || now.ImageID != before.ImageID || tells && followed(pod)
	}
	return before.Image == image && followed(pod) && (tells || named) && !resizing(pod)
}

// settleTime is how long a container has to run before it counts as the one that
// a change in place asked for, if nothing else shows it: a kubelet that had not
// seen the new spec when it started the container ends it within this time, the
// grace period included.
const settleTime = time.Minute

// settlesInTime: the pod was changed in place, and its kubelet does not say which
// spec it follows.
func settlesInTime(pod *corev1.Pod) bool {
	_, changed := pod.Annotations[appsv1.AnnotationInPlace]
	return changed && pod.Status.ObservedGeneration == 0
}

// settlesAt is when a container that is not settled counts as such, or never.
// One image may have two names. A new container that runs it under the new one
// shows the old image ID and, on some runtimes, the old name: it looks like the
// old one after a crash, but the kubelet lets it run.
func settlesAt(before plan.ContainerMark, now *corev1.ContainerStatus, pod *corev1.Pod) time.Time {
	if !settlesInTime(pod) || now.ContainerID == before.ContainerID || now.State.Running == nil {
		return time.Time{}
	}
	return now.State.Running.StartedAt.Add(settleTime)
}

// change notes that a container is not settled, and when it will be, if ever:
// the last one decides.
func change(p *plan.Pod, settles time.Time) {
	never := settles.IsZero() || p.Changing && p.SettlesAt.IsZero()
	switch p.Changing = true; {
	case never:
		p.SettlesAt = time.Time{}
	case settles.After(p.SettlesAt):
		p.SettlesAt = settles
	}
}

func resizing(pod *corev1.Pod) bool {
	return !allocated(pod) || slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return (c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress) && c.Status == corev1.ConditionTrue
	})
}

// sameImage compares image names as runtimes report them: with the default
