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

package view

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// Pod is the state of a pod: what the colour of its line or tile says.
type Pod string

// The states, of which a pod has the first that fits.
const (
	PodTerminating Pod = "terminating"
	PodLost        Pod = "lost"
	PodFailed      Pod = "failed"
	PodChanging    Pod = "changing"
	// PodUnproven is ready, but not yet for minReadySeconds.
	PodUnproven Pod = "not-yet-available"
	PodReady    Pod = "ready"
	// PodWaiting needs help, or something else than time.
	PodWaiting  Pod = "waiting"
	PodStarting Pod = "starting"
)

// PodState is the state of a pod, and the state in words.
func PodState(p *plan.Pod, minReady time.Duration, now time.Time) (state Pod, text string) {
	switch {
	case p.Terminating:
		return PodTerminating, "terminating"
	case p.NodeState != plan.NodePresent:
		return PodLost, "lost: its node is " + string(p.NodeState)
	case p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded:
		return PodFailed, ended(p)
	}
	text = report.PodState(p, minReady, now)
	reason, _ := report.Unavailable(p, minReady, now)
	switch {
	case p.InChange(now) || p.Gate == plan.GateShut:
		return PodChanging, text
	case reason == appsv1.UnavailableSoon:
		return PodUnproven, text
	case reason == "" || reason == appsv1.UnavailableResize && p.Ready:
		return PodReady, text
	case report.NeedsHelp(reason):
		return PodWaiting, text
	}
	return PodStarting, text
}

// ended is how a pod came to its end.
func ended(p *plan.Pod) string {
	text := "failed"
	if p.Phase == corev1.PodSucceeded {
		text = "finished"
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}
