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
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// Doubt compares a preview with the pods that cannot become available now. A forecast lets every
// pod that it makes serve; where a pod of the same revision cannot, that supports no
// promise. It adds a warning where a pod that serves would be replaced by one that may not,
// and returns why no duration can be given, or nothing.
func (p *Preview) Doubt(pods []plan.Pod, minReady time.Duration, now time.Time) (unknown string) {
	serving, troubled := map[string]bool{}, []plan.Pod{}
	for i := range pods {
		switch state, _ := PodState(&pods[i], minReady, now); state {
		case PodReady, PodUnproven:
			serving[pods[i].Name] = true
		case PodWaiting:
			troubled = append(troubled, pods[i])
		}
	}
	risked, because := map[string][]string{}, []string{}
	for i := range p.Steps {
		s := &p.Steps[i]
		at := slices.IndexFunc(troubled, s.sharesTroubleOf)
		if s.Wave == 0 || at < 0 {
			continue
		}
		t := &troubled[at]
		trouble := fmt.Sprintf("%s is not available (%s)", t.Name, report.PodState(t, minReady, now))
		if unknown == "" {
			unknown = trouble
		}
		if s.What == Move || s.What == Create || !serving[s.Pod] || t.Revision != s.goal {
			continue // nothing that serves goes before another does
		}
		if risked[trouble] == nil {
			because = append(because, trouble)
		}
		risked[trouble] = append(risked[trouble], s.Pod)
	}
	for _, trouble := range because {
		p.Warnings = append(p.Warnings, warnOf(risked[trouble], trouble))
	}
	return unknown
}

// sharesTroubleOf: what keeps that pod from being available may keep the one of the step, too.
func (s *Step) sharesTroubleOf(p plan.Pod) bool {
	unplaced := p.Waiting == corev1.PodReasonUnschedulable || p.Waiting == corev1.PodReasonSchedulingGated
	switch s.What {
	case Create, Recreate, Move:
		return !p.NodeDown && (unplaced || p.Revision == s.goal)
	case InPlace: // the pod stays where it is
		return p.Name == s.Pod && (unplaced || p.NodeDown) || s.restarts && !unplaced && !p.NodeDown && p.Waiting != "" && p.Revision == s.goal
	}
	return false
}

func warnOf(pods []string, trouble string) string {
	who, verb := pods[0], "serves now, and may not afterwards"
	if more := len(pods) - 1; more > 0 {
		who, verb = fmt.Sprintf("%s and %d more", who, more), "serve now, and may not afterwards"
	}
	return who + " " + verb + ": " + trouble + ", and is of the same revision"
}
