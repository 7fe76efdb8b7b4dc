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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// replicasField is who asks for how many.
const replicasField = "spec.replicas"

// autoscalerManager is the field manager of the controller of HorizontalPodAutoscalers,
// which writes through the subresource scale.
const autoscalerManager = "kube-controller-manager"

// scalings are changes of spec.replicas: who owns the field, and since when. A
// manager that does not own the selector did not create the object, so that it owns
// the field by having changed it. Of one that did, only what the controller
// recorded says that it changed the field again.
func scalings(f *Facts) []Answer {
	w := f.Workload
	if w == nil || w.Kind == "DaemonSet" {
		return nil
	}
	var answers []Answer
	for _, by := range writers(&w.Meta) {
		if !by.owns(replicasField) {
			continue
		}
		created := by.owns("spec.selector")
		switch {
		case by.subresource == "scale" && by.name == autoscalerManager:
			answers = append(answers, f.autoscaled(by))
		case by.subresource == "scale":
			answers = append(answers, f.scaled(by, Sure, "; it wrote the subresource scale, which has nothing else"))
		case by.subresource == "" && !created && !by.applies && len(by.fields) == 1:
			answers = append(answers, f.scaled(by, Sure, "; it owns no other field"))
		case by.subresource == "" && !created && !by.applies:
			answers = append(answers, f.scaled(by, Likely, "; the time is that of its last write, to this or another of its fields"))
		case by.subresource == "" && f.scaledAt(by.at):
			answers = append(answers, f.scaled(by, Likely, "; the controller changed the number of pods right after its last write, and not the revision"))
		}
	}
	return answers
}

func (f *Facts) scaled(by writer, sure Certainty, how string) Answer {
	at, record := f.when(by)
	return Answer{
		Time: at, Cause: Scaled, Certainty: sure, Text: "scaled to " + f.size(at) + " by " + by.String(),
		Evidence: by.name + " owns spec.replicas" + record + how,
	}
}

// when is when a manager wrote the replicas. The API server keeps no time of a write
// through the subresource; then it is that of the controller's event, if there is one.
func (f *Facts) when(by writer) (at time.Time, record string) {
	if !by.at.IsZero() {
		return by.at, " and wrote at " + stamp(by.at)
	}
	newest := f.newest()
	for _, e := range f.of("Deployment", f.Name) {
		m := replicaSetScaled.FindStringSubmatch(e.Message)
		if m != nil && newest != nil && m[1] == newest.Meta.Name && m[3] == strconv.Itoa(int(f.Workload.Desired)) && !f.rolling(e.Last) {
			at = latest(at, e.Last)
		}
	}
	if at.IsZero() {
		return at, "; since when is not recorded"
	}
	return at, "; the Deployment's event ScalingReplicaSet says when"
}

func (f *Facts) autoscaled(by writer) Answer {
	at, record := f.when(by)
	a := Answer{
		Time: at, Cause: ScaledByAutoscaler, Certainty: Likely,
		Evidence: by.name + " owns spec.replicas through the subresource scale, as its autoscaler does" + record,
	}
	who, reason := "a HorizontalPodAutoscaler", ""
	if len(f.Autoscalers) > 0 {
		hpa := &f.Autoscalers[0]
		a.Certainty, who = Sure, "HorizontalPodAutoscaler "+hpa.Name
		a.Evidence += "; it has this workload as its target"
		if hpa.Status.LastScaleTime != nil {
			a.Time = hpa.Status.LastScaleTime.Time
			a.Evidence += ", and scaled last at " + stamp(a.Time)
		}
		for _, e := range f.of("HorizontalPodAutoscaler", hpa.Name) {
			if e.Reason == "SuccessfulRescale" && near(e.Last, a.Time, reaction) {
				_, reason, _ = strings.Cut(e.Message, "reason")
				a.Evidence += "; its event SuccessfulRescale"
				break
			}
		}
	} else if f.Could(Autoscalers) {
		a.Evidence += "; none has this workload as its target now"
	}
	a.Text = "scaled to " + f.size(a.Time) + " by " + who + reason
	return a
}

// replicaSetScaled is how a Deployment's controller records a new size.
var replicaSetScaled = regexp.MustCompile(`^Scaled (?:up|down) replica set (\S+) from (\d+) to (\d+)$`)

// size is "5 pods", and what it was before where an event after the time says so.
func (f *Facts) size(at time.Time) string {
	newest := f.newest()
	for _, e := range f.of("Deployment", f.Name) {
		m := replicaSetScaled.FindStringSubmatch(e.Message)
		if m == nil || newest == nil || m[1] != newest.Meta.Name || !follows(e.Last, at) || f.rolling(e.Last) {
			continue
		}
		if m[3] == strconv.Itoa(int(f.Workload.Desired)) {
			return m[3] + " pods from " + m[2]
		}
	}
	return plural(int(f.Workload.Desired), "pod")
}

// scaledAt reports whether the controller changed the number of pods after a
// write that made no revision.
func (f *Facts) scaledAt(write time.Time) bool {
	if write.Sub(f.Workload.Meta.CreationTimestamp.Time) <= clockStep || f.rolling(write) {
		return false
	}
	newest := f.newest()
	for _, e := range f.of(f.Kind, f.Name) {
		if !follows(e.Last, write) {
			continue
		}
		if m := replicaSetScaled.FindStringSubmatch(e.Message); m != nil && newest != nil && m[1] == newest.Meta.Name {
			return true
		}
		if e.Reason == "SuccessfulDelete" && f.Kind != "Deployment" {
			return true
		}
	}
	return false
}

// rolling reports whether a rollout may have been under way at a time: a revision
// became the newest not long before, or an older one still has pods.
func (f *Facts) rolling(at time.Time) bool {
	for i := range f.Revisions {
		r := &f.Revisions[i]
		if i > 0 && f.since(r).IsZero() || i > 0 && at.Sub(f.since(r)) >= -clockStep && at.Sub(f.since(r)) < before {
			return true
		}
	}
	return slices.ContainsFunc(f.Revisions[:max(0, len(f.Revisions)-1)], func(r Revision) bool { return r.Desired > 0 })
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
