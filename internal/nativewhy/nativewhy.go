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

// Package nativewhy says why the pods of a Deployment, ReplicaSet, StatefulSet
// or DaemonSet were touched, and what such a workload waits for, from what every
// cluster records by itself: owner references, revisions, field managers,
// conditions, container statuses and events.
//
// It is pure: Facts in, answers out. A rule a file; a rule looks at one group of
// causes and returns what the facts show. Three things hold for each answer: it
// names the record that it rests on (Evidence), it says how sure it is, and where
// the cluster keeps no record it says so instead of guessing. What could not be
// read is never taken for what did not happen.
package nativewhy

import (
	"cmp"
	"slices"
	"time"
)

// Cause is why something happened. The words are those of -o json.
type Cause string

// The causes of a change of the workload.
const (
	// Created: the workload was created.
	Created Cause = "Created"
	// NewTemplate: fields of the pod template changed.
	NewTemplate Cause = "NewTemplate"
	// Restarted: kubectl rollout restart, or another who sets its annotation.
	Restarted Cause = "Restarted"
	// RolledBack: the template of an older revision came back.
	RolledBack Cause = "RolledBack"
	// Scaled: a client changed the replicas.
	Scaled Cause = "Scaled"
	// ScaledByAutoscaler: a HorizontalPodAutoscaler did.
	ScaledByAutoscaler Cause = "ScaledByAutoscaler"
)

// The causes of the end of a pod.
const (
	// Evicted: through the Eviction API, as a drain does.
	Evicted Cause = "Evicted"
	// Preempted: for a pod of higher priority.
	Preempted Cause = "Preempted"
	// NodePressure: the kubelet ended it because the node ran short.
	NodePressure Cause = "NodePressure"
	// StorageLimit: the kubelet ended it because it wrote more than its limit.
	StorageLimit Cause = "StorageLimit"
	// NodeShutdown: the node was shut down.
	NodeShutdown Cause = "NodeShutdown"
	// NodeLost: the node was deleted, or no longer reported.
	NodeLost Cause = "NodeLost"
	// TaintEviction: the node got a taint that the pod does not tolerate.
	TaintEviction Cause = "TaintEviction"
	// RefusedByNode: the kubelet did not take it.
	RefusedByNode Cause = "RefusedByNode"
	// Deleted: a client deleted it, and not its controller.
	Deleted Cause = "Deleted"
	// OwnerDeleted: what owned it was deleted.
	OwnerDeleted Cause = "OwnerDeleted"
	// FailedPod: its controller replaced it, because it had failed.
	FailedPod Cause = "FailedPod"
)

// The causes of the restart of a container.
const (
	// OutOfMemory: the kernel killed it.
	OutOfMemory Cause = "OutOfMemory"
	// LivenessProbe and StartupProbe: the kubelet killed it for its probe.
	LivenessProbe Cause = "LivenessProbe"
	StartupProbe  Cause = "StartupProbe"
	// Crashed: it ended by itself with an error.
	Crashed Cause = "Crashed"
	// Exited: it ended by itself without an error.
	Exited Cause = "Exited"
	// Killed: it ended by a signal; by whose is not recorded.
	Killed Cause = "Killed"
	// ChangedInPlace: its image or its definition was changed in the pod.
	ChangedInPlace Cause = "ChangedInPlace"
	// Resized: the resources of the pod were changed in place.
	Resized Cause = "Resized"
)

// The causes of a pod that does not run, or is not there.
const (
	// ImagePull: an image cannot be pulled.
	ImagePull Cause = "ImagePull"
	// ContainerConfig: a container cannot be made, often for a missing ConfigMap.
	ContainerConfig Cause = "ContainerConfig"
	// Unschedulable: no node takes the pod.
	Unschedulable Cause = "Unschedulable"
	// SchedulingGated: a scheduling gate is set.
	SchedulingGated Cause = "SchedulingGated"
	// Quota: a quota refuses the pod.
	Quota Cause = "Quota"
	// CreateRefused: admission refuses the pod, for another reason.
	CreateRefused Cause = "CreateRefused"
	// NodeNotReady: its node does not report.
	NodeNotReady Cause = "NodeNotReady"
	// ConfigNotRead: a ConfigMap or Secret changed since the container started.
	ConfigNotRead Cause = "ConfigNotRead"
	// Made: the pod was made by its controller.
	Made Cause = "Made"
)

// Certainty is how sure an answer is.
type Certainty string

// The certainties.
const (
	// Sure: the record says this and nothing else.
	Sure Certainty = "sure"
	// Likely: all records agree with it, and another cause would have left one.
	Likely Certainty = "likely"
	// NotRecorded: it happened, and the cluster does not record why.
	NotRecorded Certainty = "not recorded"
)

// Answer is one thing that happened, and why.
type Answer struct {
	// Time is when; zero where that is not recorded.
	Time time.Time
	// Pods are whom it touched; none where it is about the workload.
	Pods  []string
	Cause Cause
	// Text is a sentence without its subject, Evidence the record that says so.
	Text      string
	Evidence  string
	Certainty Certainty
}

// rules look for causes, each for a group of them.
var rules = []func(*Facts) []Answer{
	creation, templates, scalings, making, disruptions, containers, starts, refusals, deletions, owners, resizes, configs,
}

// Why is what the facts say of the workload, or of the pod that is asked for,
// newest first. What is not dated comes last.
func Why(f *Facts) []Answer {
	f.index()
	var answers []Answer
	for _, rule := range rules {
		answers = append(answers, rule(f)...)
	}
	if f.Pod != "" {
		answers = slices.DeleteFunc(answers, func(a Answer) bool { return !f.touches(a) })
	}
	answers = merge(answers)
	slices.SortStableFunc(answers, func(a, b Answer) int { return newestFirst(a.Time, b.Time) })
	return answers
}

func newestFirst(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		if a.IsZero() {
			return 1
		}
		return -1
	}
	return b.Compare(a)
}

// before is how long a change of the workload may come before the pod that it made.
const before = time.Minute

// touches reports whether an answer belongs to the story of the pod that is asked
// for: its own answers, the template that it was made from, and what was changed
// of the workload since.
func (f *Facts) touches(a Answer) bool {
	if len(a.Pods) > 0 {
		return slices.Contains(a.Pods, f.Pod)
	}
	born := f.born()
	return born.IsZero() || a.Time.IsZero() || !a.Time.Before(born.Add(-before)) || f.madeFrom(a)
}

// merge makes one answer of those that say the same about several pods.
func merge(answers []Answer) []Answer {
	type same struct {
		cause          Cause
		certainty      Certainty
		text, evidence string
	}
	at := map[same][]int{}
	var merged []Answer
	for _, a := range answers {
		key := same{a.Cause, a.Certainty, a.Text, a.Evidence}
		index := slices.IndexFunc(at[key], func(i int) bool { return near(merged[i].Time, a.Time, before) })
		if len(a.Pods) == 0 || index < 0 {
			at[key] = append(at[key], len(merged))
			merged = append(merged, a)
			continue
		}
		m := &merged[at[key][index]]
		m.Pods = append(slices.Clip(m.Pods), a.Pods...)
		m.Time = latest(m.Time, a.Time)
	}
	for i := range merged {
		slices.Sort(merged[i].Pods)
		merged[i].Pods = slices.Compact(merged[i].Pods)
	}
	return merged
}

func near(a, b time.Time, within time.Duration) bool {
	return a.IsZero() == b.IsZero() && a.Sub(b).Abs() <= within
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func byNumber(a, b Revision) int { return cmp.Compare(a.Number, b.Number) }
