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
	"time"

	corev1 "k8s.io/api/core/v1"
)

// containers are the restarts: the last end of each container. The kubelet says in
// an event when it ended a container itself, so that an end without one is the
// container's own, as long as the event would still be there.
func containers(f *Facts) []Answer {
	var answers []Answer
	for i := range f.Pods {
		p := &f.Pods[i]
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if a, ok := f.lastEnd(p, &s); ok {
				a.Pods = []string{p.Name}
				answers = append(answers, a)
			}
		}
	}
	return answers
}

// lastEnd is why a container ended last.
func (f *Facts) lastEnd(p *corev1.Pod, s *corev1.ContainerStatus) (Answer, bool) {
	end, field := s.State.Terminated, "state.terminated"
	if end == nil {
		end, field = s.LastTerminationState.Terminated, "lastState.terminated"
	}
	if end == nil {
		if w := s.State.Waiting; w != nil && w.Reason == "CrashLoopBackOff" {
			return Answer{
				Cause: Crashed, Certainty: Likely, Text: fmt.Sprintf("container %s keeps ending: %s", s.Name, w.Message),
				Evidence: "state.waiting of the container is CrashLoopBackOff; how it ended is not recorded",
			}, true
		}
		return Answer{}, false
	}
	// That the whole pod ends is told by who ended it.
	if p.DeletionTimestamp != nil && !end.FinishedAt.Before(p.DeletionTimestamp) || p.Status.Reason == "Evicted" {
		return Answer{}, false
	}
	if field == "state.terminated" && end.ExitCode == 0 && p.Status.Phase != corev1.PodFailed {
		return Answer{}, false // an init container, or one that is done
	}
	a := Answer{Time: end.FinishedAt.Time, Certainty: Sure}
	a.Evidence = fmt.Sprintf("%s of the container: %s, exit code %d", field, orUnknown(end.Reason), end.ExitCode)
	f.judge(&a, p, s, end)
	if s.RestartCount > 0 {
		a.Text += " (" + plural(int(s.RestartCount), "restart") + ")"
	}
	return a, true
}

// judge finds the cause of an end.
func (f *Facts) judge(a *Answer, p *corev1.Pod, s *corev1.ContainerStatus, end *corev1.ContainerStateTerminated) {
	const (
		interrupted = 128 + 2
		killed      = 128 + 9
		terminated  = 128 + 15
	)
	cause, said, certain := f.killing(p, s.Name, end)
	switch {
	case end.Reason == "OOMKilled":
		a.Cause, a.Text = OutOfMemory, fmt.Sprintf("container %s was killed: out of memory%s", s.Name, limit(p, s.Name))
	case end.Reason == "StartError" || end.Reason == "ContainerCannotRun":
		a.Cause, a.Text = Crashed, fmt.Sprintf("container %s could not be started: %s", s.Name, end.Message)
	case cause != "":
		a.Cause, a.Certainty, a.Text = cause, certain, fmt.Sprintf("container %s: %s", s.Name, said)
		a.Evidence += ", and the kubelet's event"
	case end.Reason == "ContainerStatusUnknown", end.ExitCode == killed, end.ExitCode == terminated, end.ExitCode == interrupted:
		a.Cause, a.Certainty = Killed, NotRecorded
		a.Text = fmt.Sprintf("container %s was ended by a signal (exit code %d); whose is not recorded", s.Name, end.ExitCode)
	case end.ExitCode == 0:
		a.Cause, a.Text = Exited, fmt.Sprintf("container %s ended by itself, without an error", s.Name)
		f.unlessKilled(a, end.FinishedAt.Time)
	default:
		a.Cause, a.Text = Crashed, fmt.Sprintf("container %s ended with exit code %d", s.Name, end.ExitCode)
		if end.Message != "" {
			a.Text += ": " + lastLine(end.Message)
		}
		f.unlessKilled(a, end.FinishedAt.Time)
	}
}

// unlessKilled: the kubelet's event, if there was one, may have expired.
func (f *Facts) unlessKilled(a *Answer, at time.Time) {
	if f.recorded(at) {
		a.Evidence += ", and no event of the kubelet that it ended the container"
		return
	}
	a.Certainty = Likely
	a.Evidence += "; the kubelet's events of that time could not be read or have expired"
}

// killings are how a kubelet's event says why it ends a container.
var killings = []struct {
	says  string
	cause Cause
}{
	{" failed liveness probe", LivenessProbe},
	{" failed startup probe", StartupProbe},
	{" definition changed", ChangedInPlace},
	{" resize requires restart", Resized},
}

// killing is the kubelet's event about the end of a container.
func (f *Facts) killing(p *corev1.Pod, container string, end *corev1.ContainerStateTerminated) (Cause, string, Certainty) {
	grace := 30 * time.Second
	if p.Spec.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*p.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	about := func(e Event) bool {
		return (e.Container == "" || e.Container == container) && !e.Last.Before(end.FinishedAt.Add(-grace-before)) &&
			!e.First.After(end.FinishedAt.Add(reaction))
	}
	events := f.ofPod(p)
	failing := ""
	for _, e := range events {
		if e.Reason == "Unhealthy" && about(e) && strings.HasPrefix(e.Message, "Liveness probe") {
			failing = e.Message
		}
	}
	for _, e := range events {
		if e.Reason != "Killing" || !about(e) {
			continue
		}
		for _, k := range killings {
			if strings.Contains(e.Message, "ontainer "+container+k.says) {
				if k.cause == LivenessProbe && failing != "" {
					return k.cause, failing, Sure
				}
				return k.cause, strings.TrimPrefix(k.says, " "), Sure
			}
		}
	}
	if failing != "" {
		return LivenessProbe, failing, Likely
	}
	return "", "", ""
}

func limit(p *corev1.Pod, container string) string {
	for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
		if c.Name != container {
			continue
		}
		if l, ok := c.Resources.Limits[corev1.ResourceMemory]; ok {
			return ", its limit is " + l.String()
		}
		return ", it has no limit of its own"
	}
	return ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func orUnknown(reason string) string {
	if reason == "" {
		return "no reason"
	}
	return reason
}
