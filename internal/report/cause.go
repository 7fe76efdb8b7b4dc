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

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// A Cause is why some live pods of a fleet are not available.
type Cause struct {
	// Reason is one of the appsv1.Unavailable constants.
	Reason string
	// Pods are the pods that it keeps, by name.
	Pods []string
	// Trouble: it may last, so that a person should look at it. The others are on the
	// way of every pod.
	Trouble bool

	details []string // of the pods, in the same order
	total   int
}

// cause is how a reason is put in words: for one pod, for several, and beside the
// name of a pod.
type cause struct {
	reason            string
	one, several, own string
	trouble           bool
}

// causes are all reasons, what needs help most first.
var causes = []cause{
	{appsv1.UnavailableCrashing, "is crashing", "are crashing", "crashing", true},
	{appsv1.UnavailableImage, "cannot pull an image", "cannot pull an image", "cannot pull an image", true},
	{appsv1.UnavailableContainer, "cannot start a container", "cannot start a container", "cannot start a container", true},
	{appsv1.UnavailableVolume, "is waiting for a volume", "are waiting for a volume", "waiting for a volume", true},
	{appsv1.UnavailableUnschedulable, "cannot be scheduled", "cannot be scheduled", "cannot be scheduled", true},
	{appsv1.UnavailableGated, "has scheduling gates", "have scheduling gates", "has scheduling gates", true},
	{appsv1.UnavailableNodeDown, "is on a node that does not answer", "are on nodes that do not answer", "its node does not answer", true},
	{appsv1.UnavailableResize, "is waiting for room for a new size", "are waiting for room for a new size", "waiting for room for its new size", true},
	{appsv1.UnavailableNoNode, "is waiting for a node", "are waiting for a node", "waiting for a node", false},
	{appsv1.UnavailableStarting, "is starting", "are starting", "starting", false},
	{appsv1.UnavailableChanging, "is changing in place", "are changing in place", "changing in place", false},
	{appsv1.UnavailableNotReady, "is running and not ready", "are running and not ready", "running, not ready", false},
	{appsv1.UnavailableSoon, "is ready and not yet available", "are ready and not yet available", "ready", false},
}

func causeOf(reason string) (place int, words *cause) {
	place = slices.IndexFunc(causes, func(c cause) bool { return c.reason == reason })
	return place, &causes[place]
}

// NeedsHelp reports whether pods do not overcome this reason by themselves, or not soon.
func NeedsHelp(reason string) bool {
	return slices.ContainsFunc(causes, func(c cause) bool { return c.reason == reason && c.trouble })
}

// causesAfter are why live pods are not available, or do not follow a change, what needs
// help most first. It leaves out what every pod goes through, until it has taken longer
// than patience, and says when the next pod will have.
func causesAfter(patience time.Duration, desired plan.Desired, pods []plan.Pod, live []plan.LivePod, now time.Time) (found []Cause, again time.Duration) {
	var lives map[string]bool // most fleets have no such pod, and need none
	for i := range pods {
		p := &pods[i]
		reason, detail := Unavailable(p, desired.MinReady, now)
		if reason == "" || p.Terminating {
			continue
		}
		if lives == nil {
			lives, found = namesOf(live), make([]Cause, len(causes))
		}
		place, words := causeOf(reason)
		if !lives[p.Name] {
			continue
		}
		if left, soon := passes(words, p, patience, now); soon {
			if left > 0 && (again == 0 || left < again) {
				again = left
			}
			continue
		}
		c := &found[place]
		c.Reason, c.Trouble, c.total = reason, words.trouble, max(desired.Replicas, len(live))
		c.Pods, c.details = append(c.Pods, p.Name), append(c.details, detail)
	}
	return slices.DeleteFunc(found, func(c Cause) bool { return c.Reason == "" }), again
}

func namesOf(live []plan.LivePod) map[string]bool {
	names := make(map[string]bool, len(live))
	for i := range live {
		names[live[i].Name] = true
	}
	return names
}

// passes: a pod is expected to leave this state soon, or there is nothing to add: the counts
// of a status show what is changed in place. What is left of the patience is 0 where it
// has no end.
func passes(words *cause, p *plan.Pod, patience time.Duration, now time.Time) (left time.Duration, yes bool) {
	switch {
	case patience == 0 || words.trouble || words.reason == appsv1.UnavailableSoon:
		return 0, false
	case words.reason == appsv1.UnavailableChanging:
		return 0, true
	}
	left = patience - now.Sub(p.Created)
	return left, left > 0
}

// String is the cause in a sentence: 2 of 5 pods cannot be scheduled: 0/3 nodes are
// available: 3 Too many pods. Where the pods do not share the details, it gives
// those of the first one.
func (c Cause) String() string {
	_, words := causeOf(c.Reason)
	text := words.several
	if len(c.Pods) == 1 {
		text = words.one
	}
	text = fmt.Sprintf("%d of %d pods %s", len(c.Pods), c.total, text)
	first := c.details[0]
	switch {
	case first == "":
		return text
	case slices.ContainsFunc(c.details, func(d string) bool { return d != first }):
		return text + ", " + c.Pods[0] + ": " + first
	}
	return text + ": " + first
}

// Sentence puts causes in words.
func Sentence(list []Cause) string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.String()
	}
	return strings.Join(texts, "; ")
}

// PodState is a live pod in words, beside its name.
func PodState(p *plan.Pod, minReady time.Duration, now time.Time) string {
	reason, detail := Unavailable(p, minReady, now)
	switch reason {
	case "":
		return "ready"
	case appsv1.UnavailableSoon:
		return "ready, available in " + availableIn(p, minReady, now)
	}
	_, words := causeOf(reason)
	if detail == "" {
		return words.own
	}
	return words.own + ": " + detail
}

// availableIn is how long a ready pod has to stay so, in seconds that are never 0.
func availableIn(p *plan.Pod, minReady time.Duration, now time.Time) string {
	left := p.ReadySince.Add(minReady).Sub(now)
	return fmt.Sprintf("%d s", int((left+time.Second-1)/time.Second))
}

// Unavailable is why a live pod is not available, or does not follow a change, with
// what else is known. The reason is empty where nothing is missing.
func Unavailable(p *plan.Pod, minReady time.Duration, now time.Time) (reason, detail string) {
	serves := p.Ready && !p.InChange(now) && p.Gate != plan.GateShut
	switch {
	case p.Resize == plan.ResizeDeferred && p.Waiting == "":
		return appsv1.UnavailableResize, "node " + p.Node + " has none now"
	case serves && minReady > 0 && p.ReadySince.Add(minReady).After(now):
		return appsv1.UnavailableSoon, fmt.Sprintf("minReadySeconds is %d", int(minReady.Seconds()))
	case serves:
		return "", ""
	case p.NodeDown:
		return appsv1.UnavailableNodeDown, p.Node
	case p.Waiting != "":
		return waitsFor(p)
	case p.InChange(now) || p.Gate == plan.GateShut:
		return appsv1.UnavailableChanging, ""
	case p.Phase == corev1.PodRunning || p.Ready:
		return appsv1.UnavailableNotReady, ""
	case p.Node == "":
		return appsv1.UnavailableNoNode, ""
	}
	return appsv1.UnavailableStarting, "images are pulled, volumes mounted or init containers run"
}

// waitsFor sorts the reasons of Kubernetes for which a pod does not run.
func waitsFor(p *plan.Pod) (reason, detail string) {
	switch p.Waiting {
	case corev1.PodReasonUnschedulable:
		lower := strings.ToLower(p.Scheduler)
		if strings.Contains(lower, "persistentvolumeclaim") || strings.Contains(lower, "persistent volumes to bind") {
			return appsv1.UnavailableVolume, p.Scheduler
		}
		return appsv1.UnavailableUnschedulable, p.Scheduler
	case corev1.PodReasonSchedulingGated:
		return appsv1.UnavailableGated, ""
	case "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed":
		return appsv1.UnavailableImage, p.Waiting
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError",
		"PostStartHookError", "ContainerCannotRun", "StartError":
		return appsv1.UnavailableContainer, p.Waiting
	}
	return appsv1.UnavailableCrashing, p.Waiting
}
