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

package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

const (
	defaultDeadline = 600
	// through is for how long evictions are let through after the deadline. An
	// eviction that comes later is a new one, and waits for a replacement again.
	through = 10 * time.Minute
)

// request is an eviction that waits, as the annotation on the pod says; the zero
// since means none.
type request struct {
	since    time.Time
	deadline time.Duration
}

// requestOf reads the annotation. A time that cannot be read, that is still to come
// or that is long past counts as none.
func requestOf(pm *appsv1.PodManager, pod *corev1.Pod, now time.Time) request {
	r := request{deadline: time.Duration(ptr.Deref(pm.Spec.Disruption.DeadlineSeconds, defaultDeadline)) * time.Second}
	since, err := time.Parse(time.RFC3339, pod.Annotations[appsv1.AnnotationEvictionRequested])
	if err == nil && !since.After(now) && now.Before(since.Add(r.deadline).Add(through)) {
		r.since = since
	}
	return r
}

func (r request) end() time.Time { return r.since.Add(r.deadline) }

// isLive: the eviction waits for the replacement.
func (r request) isLive(now time.Time) bool { return !r.since.IsZero() && now.Before(r.end()) }

// isOver: it has waited long enough.
func (r request) isOver(now time.Time) bool { return !r.since.IsZero() && !r.isLive(now) }

// at is how times are written, in whole seconds.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
